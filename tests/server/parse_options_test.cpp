/// Options of the program: precedence, units, refusals.

#include "server/parse_options.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/must.h"

namespace interlacer::testing {
namespace {

using Arguments = std::vector<std::string>;
using Environment = std::map<std::string, std::string>;

std::string WriteConfig(const std::string& text) {
  const std::string path =
      ::testing::TempDir() + "/interlacer_options_test_" + std::to_string(getpid()) + ".toml";
  std::ofstream(path) << text;
  return path;
}

TEST(Options, DefaultsAreThoseOfTheStructs) {
  const auto parsed = Must(ParseServerOptions({"--model", "small=/models/small"}, {}));
  EXPECT_EQ(parsed.options.address, "127.0.0.1:50051");
  EXPECT_EQ(parsed.options.limits.max_queue_length, 8);
  ASSERT_EQ(parsed.options.models.size(), 1u);
  EXPECT_EQ(parsed.options.models[0].first, "small");
  EXPECT_EQ(parsed.options.models[0].second, "/models/small");
}

TEST(Options, FlagBeatsEnvironmentBeatsFileBeatsDefault) {
  const std::string config =
      WriteConfig("model = [\"m=/d\"]\nmax-queue = 1\nmax-steps = 1\nmax-image-side = 1\n");
  const Environment environment = {{"INTERLACER_SERVER_MAX_QUEUE", "2"},
                                   {"INTERLACER_SERVER_MAX_STEPS", "2"}};
  const auto parsed =
      Must(ParseServerOptions({"--config", config, "--max-queue", "3"}, environment));
  EXPECT_EQ(parsed.options.limits.max_queue_length, 3);
  EXPECT_EQ(parsed.options.limits.max_step_count, 2);
  EXPECT_EQ(parsed.options.limits.max_image_side_px, 1);
  EXPECT_EQ(parsed.options.limits.max_render_target_count, 8);
}

TEST(Options, PrintConfigNamesEverySource) {
  const std::string config = WriteConfig("max-steps = 7\n");
  const auto parsed = Must(ParseServerOptions({"--print-config", "--config", config, "--threads=3"},
                                              {{"INTERLACER_SERVER_LOG_LEVEL", "error"}}));
  EXPECT_TRUE(parsed.is_done);
  for (const char* line : {"max-steps = \"7\"  # file\n", "threads = \"3\"  # flag\n",
                           "log-level = \"error\"  # environment\n",
                           "insecure = \"false\"  # default\n", "max-queue = \"8\"  # default\n"}) {
    EXPECT_NE(parsed.text.find(line), std::string::npos) << line << parsed.text;
  }
}

/// What is printed sets the same again.
TEST(Options, PrintedConfigIsAFileForConfig) {
  const Arguments arguments = {"--model=a=/\"1\"", "--model=b=\\2", "--max-request-bytes=010MB",
                               "--insecure", "--drain-timeout=2min"};
  Arguments print = arguments;
  print.push_back("--print-config");
  const std::string printed = Must(ParseServerOptions(print, {})).text;
  const Arguments from_file = {"--config", WriteConfig(printed)};
  const ServerOptions given = Must(ParseServerOptions(arguments, {})).options;
  const ServerOptions read = Must(ParseServerOptions(from_file, {})).options;
  EXPECT_EQ(read.models, given.models);
  EXPECT_EQ(read.limits.max_request_bytes, 10 << 20);
  EXPECT_EQ(given.limits.max_request_bytes, 10 << 20);
  EXPECT_TRUE(read.insecure);
  EXPECT_TRUE(read.tls.clients.empty());
}

TEST(Options, HelpAndVersionAreText) {
  for (const char* flag : {"--help", "--version"}) {
    const auto parsed = Must(ParseServerOptions({flag}, {}));
    EXPECT_TRUE(parsed.is_done);
    EXPECT_FALSE(parsed.text.empty());
  }
  EXPECT_NE(ParseServerOptions({"--help"}, {})->text.find("INTERLACER_SERVER_MAX_QUEUE"),
            std::string::npos);
}

TEST(Options, DurationsAndBytesTakeUnits) {
  const auto parsed =
      Must(ParseServerOptions({"--model=m=/d", "--max-camera-skew=20ms", "--drain-timeout=2min",
                               "--watchdog=5", "--max-request-bytes=1MB", "--metrics-address", ""},
                              {}));
  EXPECT_DOUBLE_EQ(parsed.options.limits.max_camera_skew_s, 0.02);
  EXPECT_DOUBLE_EQ(parsed.options.limits.drain_timeout_s, 120);
  EXPECT_DOUBLE_EQ(parsed.options.limits.watchdog_s, 5);
  EXPECT_EQ(parsed.options.limits.max_request_bytes, 1 << 20);
  EXPECT_EQ(parsed.options.metrics_address, "");
}

TEST(Options, ReflectionIsAutoOnOrOff) {
  const auto reflection = [](const Arguments& arguments) {
    return Must(ParseServerOptions(arguments, {})).options.reflection;
  };
  EXPECT_EQ(reflection({"--model=m=/d"}), ReflectionMode::kAuto);
  EXPECT_EQ(reflection({"--model=m=/d", "--reflection=auto"}), ReflectionMode::kAuto);
  EXPECT_EQ(reflection({"--model=m=/d", "--reflection=on"}), ReflectionMode::kOn);
  EXPECT_EQ(reflection({"--model=m=/d", "--reflection=off"}), ReflectionMode::kOff);
}

TEST(Options, EmptyValuesLeaveTheNextArgumentAlone) {
  for (const auto& [arguments, environment] :
       {std::pair<Arguments, Environment>{{"--metrics-address=", "--model=m=/d"}, {}},
        {{"--model=m=/d"},
         {{"INTERLACER_SERVER_METRICS_ADDRESS", ""}, {"INTERLACER_SERVER_MAX_QUEUE", "3"}}}}) {
    const auto parsed = Must(ParseServerOptions(arguments, environment));
    EXPECT_EQ(parsed.options.metrics_address, "");
    ASSERT_EQ(parsed.options.models.size(), 1u);
  }
}

TEST(Options, OtherVariablesAreNobodysBusiness) {
  for (const char* variable :
       {"HOME", "INTERLACER_CACHE", "INTERLACER_RANK_TIMEOUT_S", "INTERLACER_REQUIRE_DEVICE",
        "INTERLACER_MAX_QUEUE", "INTERLACER_SERVERS"}) {
    const auto parsed = ParseServerOptions({"--model=m=/d"}, {{variable, "60"}});
    ASSERT_TRUE(parsed.ok()) << variable;
    EXPECT_EQ(parsed->options.limits.max_queue_length, 8) << variable;
  }
}

/// As of a service "interlacer-server" with the ports grpc and metrics, and of one that is named
/// interlacer-server-metrics.
TEST(Options, VariablesThatKubernetesInjectsAreLeftAlone) {
  const Environment environment = {{"INTERLACER_SERVER_SERVICE_HOST", "10.0.0.11"},
                                   {"INTERLACER_SERVER_SERVICE_PORT", "50051"},
                                   {"INTERLACER_SERVER_SERVICE_PORT_GRPC", "50051"},
                                   {"INTERLACER_SERVER_SERVICE_PORT_METRICS", "9464"},
                                   {"INTERLACER_SERVER_PORT", "tcp://10.0.0.11:50051"},
                                   {"INTERLACER_SERVER_PORT_50051_TCP", "tcp://10.0.0.11:50051"},
                                   {"INTERLACER_SERVER_PORT_50051_TCP_PROTO", "tcp"},
                                   {"INTERLACER_SERVER_PORT_50051_TCP_PORT", "50051"},
                                   {"INTERLACER_SERVER_PORT_50051_TCP_ADDR", "10.0.0.11"},
                                   {"INTERLACER_SERVER_METRICS_SERVICE_HOST", "10.0.0.12"},
                                   {"INTERLACER_SERVER_METRICS_PORT", "tcp://10.0.0.12:9464"},
                                   {"INTERLACER_SERVER_MAX_QUEUE", "3"}};
  const auto parsed = Must(ParseServerOptions({"--model=m=/d"}, environment));
  EXPECT_EQ(parsed.options.limits.max_queue_length, 3);
  EXPECT_EQ(parsed.options.address, "127.0.0.1:50051");
}

/// So that nothing which Kubernetes injects is ever taken for an option.
TEST(Options, NoFlagHasAVariableOfAService) {
  const std::string text = ParseServerOptions({"--print-config"}, {})->text;
  std::istringstream lines(text);
  int count = 0;
  for (std::string name; std::getline(lines, name); ++count) {
    if (name.starts_with("# ")) name = name.substr(2);
    name = "-" + name.substr(0, name.find(' ')) + "-";
    for (const char* part : {"-port-", "-service-"}) {
      EXPECT_EQ(name.find(part), std::string::npos) << name;
    }
  }
  EXPECT_GT(count, 20);
}

TEST(Options, CheckConfigStopsAfterTheChecks) {
  const auto parsed = Must(ParseServerOptions({"--check-config", "--model=m=/d"}, {}));
  EXPECT_TRUE(parsed.is_done);
}

struct BadOptions {
  const char* name;
  Arguments arguments;
  Environment environment;
};

class OptionsRefusalTest : public ::testing::TestWithParam<BadOptions> {};

TEST_P(OptionsRefusalTest, IsAConfigError) {
  const Status parsed = ParseServerOptions(GetParam().arguments, GetParam().environment).status();
  EXPECT_EQ(parsed.reason(), reason::CONFIG_INVALID);
  EXPECT_FALSE(parsed.message().empty());
}

INSTANTIATE_TEST_SUITE_P(
    All, OptionsRefusalTest,
    ::testing::Values(
        BadOptions{"UnknownFlag", {"--model=m=/d", "--queue=3"}, {}},
        BadOptions{"UnknownVariable", {"--model=m=/d"}, {{"INTERLACER_SERVER_QUEUE", "3"}}},
        BadOptions{"VariableLikeAPort", {"--model=m=/d"}, {{"INTERLACER_SERVER_REPORT", "3"}}},
        BadOptions{"VariableOfACommand", {"--model=m=/d"}, {{"INTERLACER_SERVER_HELP", "1"}}},
        BadOptions{"NoModel", {}, {}}, BadOptions{"ModelWithoutName", {"--model=/d"}, {}},
        BadOptions{"BlanksAroundTheNamesEnd", {"--check-config", "--model=m = /d"}, {}},
        BadOptions{"NotANumber", {"--model=m=/d", "--max-queue=many"}, {}},
        BadOptions{"Zero", {"--model=m=/d", "--max-queue=0"}, {}},
        BadOptions{"BytesBelowZero", {"--model=m=/d", "--max-request-bytes=-1"}, {}},
        BadOptions{"DurationBelowZero", {"--model=m=/d", "--drain-timeout=-5s"}, {}},
        BadOptions{"DurationZero", {"--model=m=/d", "--watchdog=0"}, {}},
        BadOptions{"DurationInfinite", {"--model=m=/d", "--watchdog=inf"}, {}},
        BadOptions{"DurationBeyondTheClock", {"--model=m=/d", "--max-call-duration=1e10"}, {}},
        BadOptions{"MinutesBeyondTheClock", {"--model=m=/d", "--drain-timeout=1e9min"}, {}},
        BadOptions{"ModelTwice", {"--model=m=/d", "--model=m=/e"}, {}},
        BadOptions{
            "MoreThanAnIntegerHolds", {"--model=m=/d", "--max-queue=99999999999999999999"}, {}},
        BadOptions{"UnknownDevice", {"--model=m=/d", "--device=tpu"}, {}},
        BadOptions{"AbsentFile", {"--model=m=/d", "--config=/no/such.toml"}, {}},
        BadOptions{"NoFile", {"--model=m=/d", "--config="}, {}},
        BadOptions{"NoFileInTheNextArgument", {"--model=m=/d", "--config", ""}, {}},
        BadOptions{"OpenAddress", {"--model=m=/d", "--address=0.0.0.0:50051"}, {}},
        BadOptions{"OpenAddressToCheck",
                   {"--check-config", "--model=m=/d", "--address", "[::]:50051"},
                   {}},
        BadOptions{"NoAddress", {"--model=m=/d", "--address=nonsense"}, {}},
        BadOptions{"NoHost", {"--model=m=/d", "--address=:50051"}, {}},
        BadOptions{"PortBeyondAll", {"--model=m=/d", "--address=localhost:65536"}, {}},
        BadOptions{"PortOfLetters", {"--model=m=/d", "--address=localhost:http"}, {}},
        BadOptions{
            "SchemeOfTheWeb", {"--model=m=/d", "--address=http://127.0.0.1:1", "--insecure"}, {}},
        BadOptions{"BareIpv6", {"--model=m=/d", "--address=::1:50051", "--insecure"}, {}},
        BadOptions{"BlankInHost", {"--model=m=/d", "--address=my host:1", "--insecure"}, {}},
        BadOptions{"NoPath", {"--model=m=/d", "--address=unix:"}, {}},
        BadOptions{"PathBeyondTheSystems",
                   {"--model=m=/d", "--address=unix:/" + std::string(107, 'x')},
                   {}},
        BadOptions{"NoMetricsAddress", {"--model=m=/d", "--metrics-address=nonsense"}, {}},
        BadOptions{"MetricsPortBeyondAll", {"--model=m=/d", "--metrics-address=70000"}, {}}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Options, RefusalsSayWhatWasExpected) {
  const std::string message =
      ParseServerOptions({"--model=m=/d", "--max-request-bytes=-1"}, {}).status().message();
  EXPECT_NE(message.find("expected more than 0 bytes, got -1"), std::string::npos) << message;
  EXPECT_TRUE(ParseServerOptions({"--model=m=/d", "--drain-timeout=0"}, {}).ok());
  const std::string above =
      ParseServerOptions({"--model=m=/d", "--watchdog=1e10"}, {}).status().message();
  EXPECT_NE(above.find("expected more than 0 s and at most 1e+09 s, got 1e10"), std::string::npos)
      << above;
  EXPECT_TRUE(ParseServerOptions({"--model=m=/d", "--max-call-duration=1e9"}, {}).ok());
}

TEST(Options, UnknownKeysOfTheFileAreErrors) {
  const std::string config = WriteConfig("model = [\"m=/d\"]\nmax-que = 1\n");
  EXPECT_EQ(ParseServerOptions({"--config", config}, {}).status().reason(), reason::CONFIG_INVALID);
}

TEST(Options, AKeyWithUnderscoresIsToldItsName) {
  const std::string config = WriteConfig("model = [\"m=/d\"]\nmax_queue = 1\n");
  const std::string message = ParseServerOptions({"--config", config}, {}).status().message();
  EXPECT_NE(message.find("max_queue is no option; it is called max-queue"), std::string::npos)
      << message;
  EXPECT_NE(message.find(config), std::string::npos) << message;
}

TEST(Options, WholeNumbersAreDecimal) {
  const ServerOptions options =
      Must(ParseServerOptions({"--model=m=/d", "--max-queue=010"}, {})).options;
  EXPECT_EQ(options.limits.max_queue_length, 10);
}

TEST(Options, AFileIsReadAsToml) {
  const std::string config = WriteConfig(
      "record-dir = \"/data/#1\"  # kept\n"
      "model = [\n  \"a=/1\",  # the default\n  \"b=/2\",\n]\n"
      "allow-client = []\n"
      "address = \"0.0.0.0:50051\"\ninsecure = true\nmax-queue = 3\n");
  const ServerOptions options = Must(ParseServerOptions({"--config", config}, {})).options;
  EXPECT_EQ(options.record_dir, "/data/#1");
  const std::vector<std::pair<std::string, std::string>> models = {{"a", "/1"}, {"b", "/2"}};
  EXPECT_EQ(options.models, models);
  EXPECT_TRUE(options.tls.clients.empty());
  EXPECT_TRUE(options.insecure);
  EXPECT_EQ(options.limits.max_queue_length, 3);
}

TEST(Options, AFileThatIsNoTomlIsRefusedByItsLine) {
  const std::string config =
      WriteConfig("model = \"m=/d\"\nallow-client = [\"robot#1\"\ndevice = \"cuda\"\n");
  const Status status = ParseServerOptions({"--config", config}, {}).status();
  EXPECT_EQ(status.field(), "config");
  EXPECT_NE(status.message().find("line 3: "), std::string::npos) << status.message();
}

TEST(Options, AFlagWithoutAValueIsNamed) {
  const std::string config = WriteConfig("model = \"m=/d\"\ninsecure = \"\"\n");
  for (const auto& [arguments, environment] :
       {std::pair<Arguments, Environment>{{"--model=m=/d", "--insecure="}, {}},
        {{"--model=m=/d"}, {{"INTERLACER_SERVER_INSECURE", ""}}},
        {{"--config", config}, {}}}) {
    const std::string message = ParseServerOptions(arguments, environment).status().message();
    EXPECT_NE(message.find("insecure: expected true or false, got nothing"), std::string::npos)
        << message;
  }
}

TEST(Options, AnAddressOfTheWebIsRefusedForItsForm) {
  const Status status =
      ParseServerOptions({"--model=m=/d", "--address=http://127.0.0.1:1"}, {}).status();
  EXPECT_NE(status.message().find("expected HOST:PORT"), std::string::npos) << status.message();
}

TEST(Options, AddressesOfEveryFormAreTaken) {
  for (const char* address : {"127.0.0.1:0", "localhost:65535", "[::1]:50051",
                              "unix:/run/interlacer/1.sock", "unix-abstract:interlacer"}) {
    EXPECT_TRUE(ParseServerOptions({"--model=m=/d", "--address", address}, {}).ok()) << address;
  }
  const Arguments open = {"--model=m=/d", "--address=0.0.0.0:50051", "--insecure"};
  EXPECT_TRUE(ParseServerOptions(open, {}).ok());
}

}  // namespace
}  // namespace interlacer::testing
