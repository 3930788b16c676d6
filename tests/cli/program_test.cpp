/// The program `interlacer` as a process: exit codes, streams, no half-written output.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <tuple>

#include "common/json.h"
#include "common/sha256.h"
#include "data/dataset.h"
#include "tests/support/matchers.h"
#include "tests/support/must.h"
#include "tests/support/painted_plane.h"
#include "tests/support/temp_folder.h"

namespace interlacer {
namespace {

struct ProgramResult {
  int exit_code = -1;
  std::string out;
  std::string err;
};

std::string ReadAll(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return "";
  std::string text;
  char buffer[4096];
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;) {
    text.append(buffer, n);
  }
  std::fclose(file);
  return text;
}

ProgramResult RunProgram(const std::string& arguments) {
  const TempFolder folder;
  const std::string command = std::string(INTERLACER_PROGRAM) + " " + arguments + " >" +
                              folder.File("out") + " 2>" + folder.File("err") + " </dev/null";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, ReadAll(folder.File("out")),
          ReadAll(folder.File("err"))};
}

TEST(Program, VersionAsTextAndJson) {
  const ProgramResult text = RunProgram("version");
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.out, HasSubstr("interlacer "));
  const ProgramResult json = RunProgram("version --json");
  const auto document = ParseJson(json.out, "stdout");
  ASSERT_TRUE(document.ok()) << json.out;
  EXPECT_TRUE((*document)["parts"].contains("torch"));
}

TEST(Program, UsageErrorsAreTwo) {
  for (const char* arguments :
       {"", "fly", "version --no-such-flag", "predict", "simulate -o x --task dance", "compare",
        "probe a:1 --wait soon", "train --data x --output y --threads -1",
        "train --data x --output y --steps 0", "evaluate x --model y -o z --episodes -1",
        "experiment hdvpd --data x --runs y -o z --episodes -1",
        "probe a:1 --print-config --wait -1s",
        "experiment closed_loop -o y --print-config --limit -5s",
        "plan x -o y --cost /dev/null --print-config --budget -5s",
        "plan x -o y --cost /dev/null --print-config --budget 0",
        "train --data x -o y --print-config --resume --force", "train --data x=inf -o y"}) {
    EXPECT_EQ(RunProgram(arguments).exit_code, 2) << arguments;
  }
  EXPECT_EQ(RunProgram("--help").exit_code, 0);
  EXPECT_EQ(RunProgram("evaluate --help").exit_code, 0);
}

TEST(Program, PlansInTheSimulatorTakeNoOptionsOfEpisodes) {
  const std::string plan =
      "plan -o x --cost /dev/null --print-config --simulate push_block "
      "--execute 1 ";
  EXPECT_EQ(RunProgram(plan).exit_code, 0);
  for (const char* option :
       {"--robot /tmp", "--render field", "--picture-size 64x48", "--start-step 2"}) {
    const ProgramResult refused = RunProgram(plan + option);
    EXPECT_EQ(refused.exit_code, 2) << option;
    EXPECT_THAT(refused.err, HasSubstr("excludes")) << option;
  }
}

TEST(Program, MissingInputIsThreeAndNamed) {
  const ProgramResult result = RunProgram("info /no/such/place");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("FILE_NOT_FOUND"));
  EXPECT_THAT(result.err, HasSubstr("/no/such/place"));
  EXPECT_EQ(RunProgram("validate /no/such/place").exit_code, 3);
  EXPECT_EQ(RunProgram("report /no/such/place").exit_code, 3);
}

TEST(Program, AnOptionThatTheFormatWouldPassOverIsAnError) {
  for (const auto& [arguments, option, format] :
       {std::tuple{"import tum /no/such/place -o x --intrinsics tum-fr1 --demo demo_0", "--demo",
                   "hdf5"},
        std::tuple{"import lerobot /no/such/place -o x --inverse-kinematics a=b",
                   "--inverse-kinematics", "ros2 or hdf5"},
        std::tuple{"import apc /no/such/place -o x --intrinsics tum-fr1", "--intrinsics",
                   "tum or redwood"}}) {
    const ProgramResult result = RunProgram(arguments);
    EXPECT_EQ(result.exit_code, 2) << arguments;
    EXPECT_THAT(result.err, HasSubstr(option));
    EXPECT_THAT(result.err, HasSubstr(format));
  }
}

TEST(Program, NoServerIsFour) {
  EXPECT_EQ(RunProgram("probe 127.0.0.1:1").exit_code, 4);
  EXPECT_EQ(RunProgram("info 127.0.0.1:1").exit_code, 4);
}

TEST(Program, ValidatesAnEpisodeAndFindsADamagedOne) {
  const TempFolder folder;
  ASSERT_TRUE(testing::WritePaintedPlane(folder.File("plane")).ok());
  const ProgramResult good = RunProgram("validate " + folder.File("plane") + " --json --overlay " +
                                        folder.File("overlay.png"));
  EXPECT_EQ(good.exit_code, 0) << good.err;
  EXPECT_TRUE(std::filesystem::exists(folder.File("overlay.png")));
  const auto document = ParseJson(good.out, "stdout");
  ASSERT_TRUE(document.ok());
  EXPECT_TRUE((*document)[0]["ok"]);
  const ProgramResult info = RunProgram("info " + folder.File("plane"));
  EXPECT_EQ(info.exit_code, 0);
  EXPECT_THAT(info.out, HasSubstr("static_views"));

  std::filesystem::resize_file(folder.File("plane") + "/depth/view_1/000000.png", 40);
  const ProgramResult broken = RunProgram("validate " + folder.File("plane"));
  EXPECT_EQ(broken.exit_code, 1);
  EXPECT_THAT(broken.out, HasSubstr("depth/view_1/000000.png"));
}

TEST(Program, OneEpisodeThatCannotBeOpenedHidesNoOther) {
  const TempFolder folder;
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_TRUE(testing::WritePaintedPlane(folder.File("set/") + name).ok());
  }
  std::ofstream(folder.File("set/b/manifest.json")) << "{}";
  const ProgramResult result = RunProgram("validate " + folder.File("set"));
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.out, HasSubstr("b: BROKEN"));
  EXPECT_THAT(result.out, HasSubstr("SCHEMA_INVALID"));
  const auto first = result.out.find(": valid");
  ASSERT_NE(first, std::string::npos);
  EXPECT_NE(result.out.find(": valid", first + 1), std::string::npos) << result.out;
}

TEST(Program, ADamagedManifestOfADataSetHidesNoOtherEpisode) {
  const TempFolder folder;
  const std::string set = folder.File("set");
  Dataset dataset{"planes", "MIT", {{"val", {}}, {"test", {}}}, {}};
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_TRUE(testing::WritePaintedPlane(set + "/" + name).ok());
    dataset.splits["train"].push_back(name);
    dataset.manifest_sha256[name] = Must(Sha256OfFile(set + "/" + name + "/manifest.json"));
  }
  ASSERT_TRUE(WriteDataset(set, dataset).ok());
  std::ofstream(set + "/b/manifest.json", std::ios::app) << "\n";
  const ProgramResult edited = RunProgram("validate " + set);
  EXPECT_EQ(edited.exit_code, 1) << edited.err;
  EXPECT_THAT(edited.out, AllOf(HasSubstr("HASH_MISMATCH"), HasSubstr(set + "/b/manifest.json")));
  EXPECT_EQ(RunProgram("validate --no-hash " + set).exit_code, 0);
  std::filesystem::remove(set + "/c/manifest.json");
  const ProgramResult missing = RunProgram("validate --no-hash " + set);
  EXPECT_EQ(missing.exit_code, 1) << missing.err;
  EXPECT_THAT(missing.out,
              AllOf(HasSubstr("c: BROKEN"), HasSubstr("FILE_NOT_FOUND"), HasSubstr(": valid")));
}

TEST(Program, AnOverlayThatFailsHidesNoReport) {
  const TempFolder folder;
  const std::string overlay = folder.File("overlay.png");
  for (const char* name : {"a", "b"}) {
    ASSERT_TRUE(testing::WritePaintedPlane(folder.File("set/") + name).ok());
  }
  std::ofstream(folder.File("set/a/manifest.json")) << "{}";
  const std::string validate = "validate " + folder.File("set") + " --overlay " + overlay;
  const ProgramResult broken = RunProgram(validate);
  EXPECT_EQ(broken.exit_code, 3) << broken.err;
  EXPECT_THAT(broken.out, AllOf(HasSubstr("a: BROKEN"), HasSubstr(": valid")));
  std::ofstream(overlay) << "mine";
  const ProgramResult exists = RunProgram(validate);
  EXPECT_EQ(exists.exit_code, 8) << exists.err;
  EXPECT_EQ(exists.out, "") << "said before the episodes are read";
}

TEST(Program, InfoSaysWhatTheGraphsIndexFinds) {
  namespace fs = std::filesystem;
  const TempFolder folder;
  const fs::path shipped = std::string(INTERLACER_SOURCE_DIR) + "/checkpoints/small";
  const fs::path copy = folder.File("copy");
  fs::create_directories(copy);
  for (const char* name : {"weights.safetensors", "warmup", "robot"}) {
    fs::create_symlink(shipped / name, copy / name);
  }
  nlohmann::json config = *ReadJsonFile(shipped / "config.json");
  const auto info = [&](const char* index) {
    config["graph"]["index"] = index;
    std::ofstream(copy / "config.json") << config;
    const ProgramResult result = RunProgram("info " + copy.string() + " --json");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return *ParseJson(result.out, "stdout");
  };
  EXPECT_EQ(info("grid")["graph_index"], nlohmann::json({{"name", "grid"}}));
  EXPECT_THAT(RunProgram("info " + copy.string()).out, HasSubstr("grid, exact"));
#if INTERLACER_WITH_FAISS
  const double approximate = info("faiss_ivf")["graph_index"]["warm_up_recall"];
  EXPECT_GT(approximate, 0.99);
  EXPECT_LE(approximate, 1);
  EXPECT_THAT(RunProgram("info " + copy.string()).out, HasSubstr("faiss_ivf, finds "));
#else
  config["graph"]["index"] = "faiss_ivf";
  std::ofstream(copy / "config.json") << config;
  const ProgramResult refused = RunProgram("info " + copy.string());
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_THAT(refused.err, HasSubstr("graph.index"));
#endif
}

/// A recording without a robot has no --model: the shipped checkpoint for such is taken, and said.
TEST(Program, PredictTakesAShippedModelThatFits) {
  const TempFolder folder;
  ASSERT_TRUE(testing::WritePaintedPlane(folder.File("plane")).ok());
  const ProgramResult run =
      RunProgram("predict " + folder.File("plane") +
                 " --cameras view_0,view_2 --steps 0 --no-particles -o " + folder.File("out"));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("checkpoints/paper"));
  const nlohmann::json record =
      nlohmann::json::parse(ReadAll(folder.File("out") + "/prediction.json"));
  EXPECT_EQ(record["model"]["name"], "paper");
  EXPECT_EQ(record["render"], "observed");
}

TEST(Program, PredictNeedsNewOutputAndABackendThatIsThere) {
  const TempFolder folder;
  ASSERT_TRUE(testing::WritePaintedPlane(folder.File("plane")).ok());
  const std::string predict = "predict " + folder.File("plane") + " -o " + folder.File("out");
  EXPECT_EQ(RunProgram(predict + " --model /no/such/checkpoint").exit_code, 3);
  EXPECT_EQ(RunProgram(predict + " --server 127.0.0.1:1").exit_code, 4);
  EXPECT_FALSE(std::filesystem::exists(folder.File("out")));
  std::filesystem::create_directories(folder.File("out"));
  const ProgramResult exists = RunProgram(predict + " --server 127.0.0.1:1");
  EXPECT_EQ(exists.exit_code, 8);
  EXPECT_THAT(exists.err, HasSubstr("--force"));
}

/// Said of the recording, before a model is looked for or a table is read.
TEST(Program, PredictTakesNoActionsForARecordingWithoutARobot) {
  const TempFolder folder;
  ASSERT_TRUE(testing::WritePaintedPlane(folder.File("plane")).ok());
  std::ofstream(folder.File("plan.csv")) << "no table\n";
  const ProgramResult run =
      RunProgram("predict " + folder.File("plane") + " --model /no/such/checkpoint --actions " +
                 folder.File("plan.csv") + " -o " + folder.File("out"));
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, AllOf(HasSubstr("ACTION_KIND"), HasSubstr("--actions"),
                             HasSubstr("neither states nor actions")));
  EXPECT_FALSE(std::filesystem::exists(folder.File("out")));
}

/// A folder of the user's with pictures of his own, which hold `bytes`.
void WriteForeignFolder(const std::string& folder, const std::string& bytes) {
  std::filesystem::create_directories(folder + "/frames");
  std::ofstream(folder + "/frames/holiday.jpg") << bytes;
}

// fm-37
TEST(Program, ForceDeletesOnlyWhatTheVerbItselfHasWritten) {
  const TempFolder folder;
  ASSERT_TRUE(testing::WritePaintedPlane(folder.File("plane")).ok());
  const std::string out = folder.File("out"), picture = out + "/frames/holiday.jpg";
  WriteForeignFolder(out, "sun");
  const std::string evaluate =
      "evaluate " + folder.File("plane") + " -o " + out + " --server 127.0.0.1:1";
  const std::string study =
      "experiment hdvpd --data D --runs " + folder.File("none") + " -o " + out;
  for (const std::string& command :
       {evaluate + " --force", evaluate + " --resume", study + " --force"}) {
    const ProgramResult refused = RunProgram(command);
    EXPECT_EQ(refused.exit_code, 8) << command << refused.err;
    EXPECT_THAT(refused.err, HasSubstr("no earlier output")) << command;
  }
  EXPECT_EQ(ReadAll(picture), "sun");

  // What another program calls results.json is no reason either; our own is.
  std::ofstream(out + "/results.json") << R"({"schema": "other"})";
  EXPECT_EQ(RunProgram(evaluate + " --force").exit_code, 8);
  std::ofstream(out + "/results.json") << R"({"schema": "interlacer.results"})";
  EXPECT_EQ(RunProgram(evaluate + " --force").exit_code, 4) << "allowed, but there is no server";
}

// fm-37
TEST(Program, ForceKeepsARecordingThatLiesInTheOutput) {
  const TempFolder folder;
  const std::string out = folder.File("out"), plane = out + "/plane";
  ASSERT_TRUE(testing::WritePaintedPlane(plane).ok());
  std::ofstream(out + "/prediction.json") << R"({"schema": "interlacer.prediction"})";
  const ProgramResult refused =
      RunProgram("predict " + plane + " -o " + out + " --force --server 127.0.0.1:1");
  EXPECT_EQ(refused.exit_code, 2) << refused.err;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("--output"), HasSubstr(plane)));
  EXPECT_TRUE(std::filesystem::exists(plane + "/manifest.json"));
}

TEST(Program, AShardDoesNotBeginTheStudyOfAllAnew) {
  const ProgramResult refused =
      RunProgram("experiment hdvpd --data D --runs R -o O --force --shard 1/2");
  EXPECT_EQ(refused.exit_code, 2) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("--force"));
}

TEST(Program, ConfigFileBelowFlagsAboveDefaults) {
  const TempFolder folder;
  const std::string file = folder.File("interlacer.toml");
  std::ofstream(file) << "quiet = true\n[predict]\nepisode = \"E\"\nsteps = 3\nseed = 4\n";
  const std::string command =
      "--config " + file + " predict --output O --seed 5 --wire-images png --print-config";
  const ProgramResult printed = RunProgram(command);
  ASSERT_EQ(printed.exit_code, 0) << printed.err;
  for (const char* line :
       {"quiet = \"true\"  # file\n", "color = \"auto\"  # default\n", "[predict]\n",
        "episode = \"E\"  # file\n", "output = \"O\"  # flag\n", "steps = \"3\"  # file\n",
        "seed = \"5\"  # flag\n", "device = \"auto\"  # default\n", "# model is not set\n"}) {
    EXPECT_THAT(printed.out, HasSubstr(line));
  }
  // What was printed is a configuration that says the same.
  const std::string again = folder.File("again.toml");
  std::ofstream(again) << printed.out;
  const std::string repeated = RunProgram("predict --print-config --config " + again).out;
  const std::regex source("# (flag|file|default)\n");
  EXPECT_EQ(std::regex_replace(repeated, source, "\n"),
            std::regex_replace(printed.out, source, "\n"));
}

TEST(Program, ConfigOfVerbsBelowVerbsAndOfGroupsIsWhole) {
  const TempFolder folder;
  const std::string file = folder.File("interlacer.toml");
  std::ofstream(file) << "[robot.make]\nseed = 7\n";
  const ProgramResult made =
      RunProgram("robot make a.urdf b.urdf -o R --print-config --config " + file);
  ASSERT_EQ(made.exit_code, 0) << made.err;
  for (const char* line :
       {"[robot.make]\n", "models = [\"a.urdf\", \"b.urdf\"]  # flag\n", "output = \"R\"  # flag\n",
        "seed = \"7\"  # file\n", "points-per-link = ", "# name is not set\n"}) {
    EXPECT_THAT(made.out, HasSubstr(line));
  }
  std::ofstream(file) << made.out;
  const std::string again = RunProgram("robot make --print-config --config " + file).out;
  EXPECT_THAT(again, HasSubstr("models = [\"a.urdf\", \"b.urdf\"]  # file\n"));
  EXPECT_THAT(again, HasSubstr("seed = \"7\"  # file\n"));

  std::ofstream(file) << "[plan]\nepisode = \"E\"\n";
  const std::string plan = RunProgram("plan --print-config --config " + file).out;
  EXPECT_THAT(plan,
              AllOf(HasSubstr("episode = \"E\"  # file\n"), HasSubstr("# simulate is not set\n")));
}

TEST(Program, IntegersAreDecimalAndWithinTheirRange) {
  const std::string simulate = "simulate -o x --print-config ";
  const ProgramResult padded = RunProgram(simulate + "--seed 000123 --episodes 010");
  ASSERT_EQ(padded.exit_code, 0) << padded.err;
  EXPECT_THAT(padded.out, AllOf(HasSubstr("seed = \"123\""), HasSubstr("episodes = \"10\"")));
  const ProgramResult largest = RunProgram(simulate + "--seed 18446744073709551615");
  EXPECT_THAT(largest.out, HasSubstr("seed = \"18446744073709551615\""));
  for (const std::string& arguments :
       {simulate + "--seed 18446744073709551616", simulate + "--seed 0x10", simulate + "--seed 1.5",
        simulate + "--episodes 99999999999", std::string("train --data x -o y --seed -1"),
        std::string("predict x -o y --seed 9223372036854775808")}) {
    EXPECT_EQ(RunProgram(arguments).exit_code, 2) << arguments;
  }
  EXPECT_THAT(RunProgram("train --data x -o y --seed -1").err,
              AllOf(HasSubstr("--seed"), HasSubstr("from 0 to 18446744073709551615, got -1")));
}

TEST(Program, ConfigMistakesAreTwo) {
  const TempFolder folder;
  const std::string file = folder.File("interlacer.toml");
  EXPECT_EQ(RunProgram("version --config " + file).exit_code, 2);
  EXPECT_EQ(RunProgram("version --config ''").exit_code, 2);
  for (const char* text :
       {"no-such-key = 1\n", "[predict]\nno-such-key = 1\n", "progress = \"sometimes\"\n",
        "[predict]\nsteps = \"many\"\n", "quiet = true\nquiet = false\n", "color = [\"never\"\n"}) {
    std::ofstream(file) << text;
    EXPECT_EQ(RunProgram("version --config " + file).exit_code, 2) << text;
  }
}

TEST(Program, ColourOnlyWhereItIsWanted) {
  EXPECT_THAT(RunProgram("info /no/such/place").err, Not(HasSubstr("\033")));
  EXPECT_THAT(RunProgram("info /no/such/place --color always").err, HasSubstr("\033[1;31merror:"));
}

/// Of a server that takes the connection and never says a word.
TEST(Program, DeadlineOfACallIsSaidInTheError) {
  const TempFolder folder;
  const std::string path = folder.File("socket");
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(listener, 8), 0);
  const ProgramResult result = RunProgram("info unix:" + path + " --deadline 200ms");
  close(listener);
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_THAT(result.err, HasSubstr("no answer within the deadline of 0.2"));
  EXPECT_EQ(RunProgram("info 127.0.0.1:1 --deadline soon").exit_code, 2);
}

// fm-37
TEST(Program, AClosedStdoutIsAnError) {
  const std::string command = std::string(INTERLACER_PROGRAM) + " version --quiet >/dev/full";
  const int status = std::system((command + " 2>/dev/null").c_str());
  EXPECT_EQ(WEXITSTATUS(status), 8);
}

}  // namespace
}  // namespace interlacer
