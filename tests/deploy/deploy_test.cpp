/// What the files of deploy/ say about the programs is true: flags, configuration keys, metrics.

#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/json.h"
#include "server/metrics.h"
#include "server/transport/health.h"
#include "tests/support/child_process.h"
#include "tests/support/matchers.h"

namespace interlacer::testing {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = INTERLACER_SOURCE_DIR;

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> Matches(const std::string& text, const std::string& pattern, int group) {
  const std::regex regex(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it) {
    found.push_back((*it)[group].str());
  }
  return found;
}

std::set<std::string> FlagsIn(const std::string& text) {
  const auto flags = Matches(text, "(^|[\\s\"'\\[,])(--[a-z][a-z-]*)", 2);
  return {flags.begin(), flags.end()};
}

std::set<std::string> KnownFlags() {
  std::set<std::string> known =
      FlagsIn(ChildProcess({INTERLACER_SERVER_PROGRAM, "--help"}).Wait().out);
  known.merge(FlagsIn(ChildProcess({INTERLACER_PROGRAM, "--help-all"}).Wait().out));
  return known;
}

/// Lines of a file that run other programs than ours.
std::string WithoutForeignCommands(const std::string& text) {
  static const std::regex foreign(
      "docker|apt-get|useradd|groupadd|dpkg|cmake|cpack|"
      "scripts/setup|HEALTHCHECK|--mount|--packages");
  std::string kept, line;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    line = text.substr(begin, end - begin);
    begin = end + 1;
    if (!std::regex_search(line, foreign)) kept += line + "\n";
  }
  return kept;
}

/// All metrics, each observed at least once.
std::string MetricsText() {
  Metrics metrics;
  metrics.SetBuildInfo("version", "revision", "device");
  metrics.SetState(ServerState::kServing);
  metrics.SetQueue(1, 1);
  metrics.CountStep("model", 0.1);
  metrics.ObserveUnit("model", 0.1);
  metrics.CountPixels("model", 1);
  metrics.CountCandidate("model");
  metrics.CountSceneEviction("expired");
  metrics.SetUnrecorded(1);
  metrics.CountRefusal(ResourceExhausted(reason::HOST_MEMORY, "large"));
  CallRecord record;
  record.method = "PredictRollout";
  record.priority = "normal";
  record.cancelled_where = "slow_reader";
  record.durations = {1, 1, 1, 1, 1, 1, 1};
  metrics.CountCall(record, ResourceExhausted(reason::QUEUE_FULL, "full"));
  SceneReport report;
  report.cameras = {{"left", 1, 1, 0.5}};
  report.cross_camera_distance_m = 0.01;
  metrics.ObserveScene(report);
  return metrics.Text();
}

TEST(Deploy, EveryFlagExists) {
  const std::set<std::string> known = KnownFlags();
  ASSERT_GT(known.size(), 40u);
  std::size_t checked = 0;
  for (const char* file : {"interlacer-server.service", "Dockerfile", "smoke.sh", "k8s/server.yaml",
                           "k8s/simulate-job.yaml"}) {
    for (const std::string& flag :
         FlagsIn(WithoutForeignCommands(ReadFile(kSource / "deploy" / file)))) {
      EXPECT_EQ(known.count(flag), 1u) << file << " names " << flag;
      ++checked;
    }
  }
  EXPECT_GT(checked, 15u);
}

TEST(Deploy, TheServerStartsOnce) {
  for (const auto& [file, line] :
       {std::pair{"interlacer-server.service", "\nEnvironment=OMP_WAIT_POLICY=passive\n"},
        {"Dockerfile", "\nENV OMP_WAIT_POLICY=passive\n"},
        {"k8s/server.yaml", "- {name: OMP_WAIT_POLICY, value: passive}\n"}}) {
    EXPECT_THAT(ReadFile(kSource / "deploy" / file), HasSubstr(line)) << file;
  }
}

TEST(Deploy, TheUnitIsTakenBySystemd) {
  constexpr char kAnalyze[] = "/usr/bin/systemd-analyze";
  if (!fs::exists(kAnalyze)) GTEST_SKIP() << kAnalyze << " is not there";
  std::string unit = ReadFile(kSource / "deploy/interlacer-server.service");
  const std::string installed = "/usr/bin/interlacer-server ";
  const std::size_t place = unit.find(installed);
  ASSERT_NE(place, std::string::npos);
  unit.replace(place, installed.size(), INTERLACER_SERVER_PROGRAM " ");
  // What its comments offer too.
  unit = std::regex_replace(unit, std::regex("\n# (SupplementaryGroups=)"), "\n$1");
  const TempFolder folder;
  const std::string file = folder.File("interlacer-server.service");
  std::ofstream(file) << unit;
  const ProcessResult verified = ChildProcess({kAnalyze, "verify", "--man=no", file}).Wait();
  EXPECT_EQ(verified.exit_code, 0) << verified.err;
  EXPECT_EQ(verified.err, "") << "unknown keys are only said";
}

TEST(Deploy, TheAlertsAreTakenByPrometheus) {
  constexpr char kPromtool[] = INTERLACER_PROMTOOL;
  if (!fs::exists(kPromtool)) {
    GTEST_SKIP() << kPromtool << " is not there; scripts/setup fetches it";
  }
  const std::string file = (kSource / "deploy/monitoring/alerts.yaml").string();
  const ProcessResult checked = ChildProcess({kPromtool, "check", "rules", file}).Wait();
  EXPECT_EQ(checked.exit_code, 0) << checked.out << checked.err;

  const std::string cases = ReadFile(kSource / "tests/deploy/alerts_test.yaml");
  for (const std::string& alert : Matches(ReadFile(file), "- alert: ([A-Za-z]+)", 1)) {
    const std::regex fires("alertname: " + alert + "\n[^\n]*\n *exp_alerts:\n");
    EXPECT_TRUE(std::regex_search(cases, fires)) << alert << " is never seen to fire";
  }
  const TempFolder folder;
  std::ofstream(folder.File("cases.yaml")) << std::regex_replace(cases, std::regex("RULES"), file);
  const ProcessResult fired =
      ChildProcess({kPromtool, "test", "rules", folder.File("cases.yaml")}).Wait();
  EXPECT_EQ(fired.exit_code, 0) << fired.out << fired.err;
}

TEST(Deploy, TheConfigurationFileIsValid) {
  const std::string file = (kSource / "deploy/server.toml").string();
  const ProcessResult checked =
      ChildProcess({INTERLACER_SERVER_PROGRAM, "--config", file, "--check-config"}).Wait();
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  const ProcessResult printed =
      ChildProcess({INTERLACER_SERVER_PROGRAM, "--config", file, "--print-config"}).Wait();
  EXPECT_THAT(printed.out, HasSubstr("# file"));
}

TEST(Deploy, TlsOfTheConfigurationFileIsValidAndReadByTheService) {
  std::string text = ReadFile(kSource / "deploy/server.toml");
  text = std::regex_replace(text, std::regex("\n# (tls-|allow-)"), "\n$1");
  text = std::regex_replace(text, std::regex("\naddress = \"127.0.0.1"), "\naddress = \"0.0.0.0");
  const TempFolder folder;
  std::ofstream(folder.File("server.toml")) << text;
  const ProcessResult printed = ChildProcess({INTERLACER_SERVER_PROGRAM, "--config",
                                              folder.File("server.toml"), "--print-config"})
                                    .Wait();
  for (const char* line : {"address = \"0.0.0.0:50051\"  # file\n",
                           "tls-key = \"/etc/interlacer/server.key\"  # file\n",
                           "allow-client = \"robot\"  # file\n"}) {
    EXPECT_THAT(printed.out, HasSubstr(line)) << printed.err;
  }
  const ProcessResult checked = ChildProcess({INTERLACER_SERVER_PROGRAM, "--config",
                                              folder.File("server.toml"), "--check-config"})
                                    .Wait();
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  // A user that is made at the start reads no key of root's.
  const std::string unit = ReadFile(kSource / "deploy/interlacer-server.service");
  EXPECT_THAT(unit, HasSubstr("\nDynamicUser=yes\n"));
  EXPECT_THAT(unit, HasSubstr("chgrp interlacer-tls /etc/interlacer/server.key"));
  EXPECT_THAT(unit, HasSubstr("\n# SupplementaryGroups=interlacer-tls\n"));
}

TEST(Deploy, TheFolderOfTheProxysSocketsIsMade) {
  const std::string proxy = ReadFile(kSource / "deploy/proxy/haproxy.cfg");
  const std::vector<std::string> sockets =
      Matches(proxy, "presetenv INTERLACER_SOCKET_[12] /run/([a-z]+)/", 1);
  EXPECT_EQ(sockets, (std::vector<std::string>(2, "interlacer")));
  EXPECT_THAT(ReadFile(kSource / "deploy/interlacer-server.service"),
              HasSubstr("\nRuntimeDirectory=interlacer\n"));
  for (const std::string& text : {proxy, ReadFile(kSource / "docs/install.md")}) {
    EXPECT_THAT(text, HasSubstr("install -d -o \"$USER\" /run/interlacer"));
  }
}

TEST(Deploy, EveryMetricExistsWithItsLabels) {
  const std::string text = MetricsText();
  std::set<std::string> used;
  for (const char* file : {"alerts.yaml", "dashboard.json"}) {
    const std::string rules = ReadFile(kSource / "deploy/monitoring" / file);
    for (const std::string& name : Matches(rules, "\\binterlacer_[a-z_]+", 0)) used.insert(name);
    for (const std::string& selected :
         Matches(rules, "(interlacer_[a-z_]+\\{[a-z]+=\\\\?\"[A-Za-z_]+)", 1)) {
      const std::string plain = std::regex_replace(selected, std::regex("\\\\"), "");
      const std::size_t brace = plain.find('{');
      const std::regex sample(plain.substr(0, brace) + "\\{[^}]*" + plain.substr(brace + 1) + "\"");
      EXPECT_TRUE(std::regex_search(text, sample)) << file << ": " << selected;
    }
  }
  EXPECT_GT(used.size(), 12u);
  for (const std::string& name : used) {
    EXPECT_TRUE(std::regex_search(text, std::regex("\n" + name + "[ {]"))) << name;
  }
}

TEST(Deploy, DashboardShowsEveryMetric) {
  const std::string dashboard = ReadFile(kSource / "deploy/monitoring/dashboard.json");
  ASSERT_TRUE(ParseJson(dashboard, "dashboard.json").ok());
  for (const std::string& name : Matches(MetricsText(), "# TYPE (interlacer_[a-z_]+)", 1)) {
    EXPECT_THAT(dashboard, HasSubstr(name));
  }
}

TEST(Deploy, TheStartIsThatOfTheProcess) {
  constexpr double kToleranceS = 60;  // of a loaded machine; six digits alone would round to 10000
  const std::vector<std::string> starts =
      Matches(MetricsText(), "\ninterlacer_start_time_seconds ([0-9.e+]+)", 1);
  ASSERT_EQ(starts.size(), 1u);
  EXPECT_NEAR(std::stod(starts[0]), static_cast<double>(std::time(nullptr)), kToleranceS);
}

TEST(Deploy, ProbesNameTheHealthServicesAndPorts) {
  const std::string manifest = ReadFile(kSource / "deploy/k8s/server.yaml");
  EXPECT_THAT(manifest, HasSubstr(std::string("service: ") + kHealthServiceName));
  EXPECT_THAT(manifest, HasSubstr(std::string("service: ") + kHealthLiveName));
  const std::string image = ReadFile(kSource / "deploy/Dockerfile");
  for (const std::string& port : Matches(manifest, "containerPort: ([0-9]+)", 1)) {
    EXPECT_THAT(image, HasSubstr("0.0.0.0:" + port));
  }
}

/// Docker 20.10 of Debian 12 knows `RUN --mount` with BuildKit alone.
TEST(Deploy, TheImageIsBuiltByBuildKit) {
  const std::string image = ReadFile(kSource / "deploy/Dockerfile");
  EXPECT_THAT(image, HasSubstr("RUN --mount="));
  const std::vector<std::string> builds = Matches(image, "\n#( .*) docker build ", 1);
  EXPECT_EQ(builds, (std::vector<std::string>(2, "   DOCKER_BUILDKIT=1")));
}

TEST(Deploy, PathsOfTheImageExist) {
  const std::string image = ReadFile(kSource / "deploy/Dockerfile");
  const auto of_image = [&](const std::string& pattern) { return Matches(image, pattern, 1); };
  for (const auto& [pattern, paths] :
       {std::pair("\nCOPY ([^ ]+) ", std::vector<std::string>{"scripts", "."}),
        std::pair("\nRUN (scripts/[a-z]+)", std::vector<std::string>{"scripts/setup"})}) {
    EXPECT_EQ(of_image(pattern), paths) << pattern;
    for (const std::string& path : paths) EXPECT_TRUE(fs::exists(kSource / path)) << path;
  }
  const std::string presets = ReadFile(kSource / "CMakePresets.json");
  for (const std::string& preset : of_image("--preset ([a-z]+)")) {
    EXPECT_THAT(presets, HasSubstr("\"name\": \"" + preset + "\"")) << preset;
  }
  EXPECT_EQ(of_image("--preset ([a-z]+)").size(), 2u) << "configured and built";
  EXPECT_TRUE(fs::exists(kSource / "deploy/interlacer-server.service"));
}

}  // namespace
}  // namespace interlacer::testing
