/// Both programs together: a prediction over a socket is the local one, byte for byte.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "common/json.h"
#include "tests/cli/program_support.h"
#include "tests/support/painted_plane.h"
#include "tests/support/temp_folder.h"

namespace interlacer::testing {
namespace {

/// What may differ between two runs of one prediction: when, how long, where.
nlohmann::json WithoutCircumstances(const std::string& text) {
  auto document = nlohmann::json::parse(text);
  for (const char* key : {"command", "created_time", "durations", "location"}) {
    EXPECT_EQ(document.erase(key), 1u) << key;
  }
  // Names are the user's choice on each side; costs are measured by a server only.
  for (const char* key : {"name", "ingest_cost_s", "step_cost_s", "render_cost_s", "carry_cost_s",
                          "longest_unit_s"}) {
    document["model"].erase(key);
  }
  return document;
}

class ProgramsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const ProcessResult simulated = RunVerb({"simulate", "-o", episodes_, "--seed", "5", "--steps",
                                             "6", "--width", "64", "--height", "48", "--quiet"});
    ASSERT_EQ(simulated.exit_code, 0) << simulated.err;
    const std::string config = WriteTinyRunConfig(folder_.File("run.json"), 4);
    const ProcessResult trained = RunVerb({"train", "--config", config, "--data", episodes_,
                                           "--output", folder_.File("run"), "--quiet"});
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
  }

  void ExpectEqualPredictions(const ServerProcess& server, const Words& request) {
    Words local = request, remote = request;
    local.insert(local.end(), {"-o", folder_.File("local"), "--force", "--model", checkpoint_});
    remote.insert(remote.end(),
                  {"-o", folder_.File("remote"), "--force", "--server", server.address()});
    const ProcessResult here = RunVerb(local), there = RunVerb(remote);
    ASSERT_EQ(here.exit_code, 0) << here.err;
    ASSERT_EQ(there.exit_code, 0) << there.err;
    auto mine = FilesOf(folder_.File("local")), theirs = FilesOf(folder_.File("remote"));
    EXPECT_EQ(WithoutCircumstances(mine["prediction.json"]),
              WithoutCircumstances(theirs["prediction.json"]));
    mine.erase("prediction.json");
    theirs.erase("prediction.json");
    ASSERT_GE(mine.size(), 6u);
    for (const auto& [path, bytes] : mine) {
      EXPECT_TRUE(theirs.count(path) == 1 && theirs[path] == bytes) << path;
    }
    EXPECT_EQ(theirs.size(), mine.size());
  }

  const TempFolder folder_;
  const std::string episodes_ = folder_.File("episodes");
  const std::string checkpoint_ = folder_.File("run") + "/checkpoint";
};

/// Plans are carried out one after another: each begins where the one before has ended.
TEST_F(ProgramsTest, PlansAreCarriedOutInTheSimulator) {
  const std::string cost = folder_.File("cost.json");
  std::ofstream(cost) << R"({"schema": "interlacer.cost", "schema_version": 1, "terms": [
    {"type": "object_to_point", "region_min_m": [-0.5, -0.5, 0], "region_max_m": [0.5, 0.5, 0.3],
     "target_m": [0.3, 0, 0.05]}]})";
  const std::string output = folder_.File("executed");
  const ProcessResult result =
      RunVerb({"plan",  "--simulate", "push_block", "--scene-seed",   "5",         "--split",
               "train", "--execute",  "2",          "--execute-rows", "2",         "--cost",
               cost,    "--horizon",  "3",          "--candidates",   "4",         "--iterations",
               "1",     "--knots",    "2",          "--model",        checkpoint_, "-o",
               output});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto files = FilesOf(output);
  for (const char* file : {"plan.csv", "plan_00/seen_left.png", "plan_01/strip.png",
                           "plan_01/predicted/left/step_003.png", "plan_02/seen_right.png"}) {
    EXPECT_EQ(files.count(file), 1u) << file;
  }
  const auto record = nlohmann::json::parse(files.at("plan.json"));
  ASSERT_EQ(record["plans"].size(), 2u);
  EXPECT_EQ(record["plans"][0]["object_to_m"], record["plans"][1]["object_from_m"]);
  EXPECT_EQ(record["plans"][0]["executed_rows"], 2);
  EXPECT_NE(files.at("plan_00/seen_left.png"), files.at("plan_02/seen_left.png"));
  const std::string& rows = files.at("plan.csv");
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 1 + 4);
  EXPECT_NE(
      RunVerb({"plan", "--simulate", "push_block", "--cost", cost, "-o", output + "2"}).exit_code,
      0)
      << "without --execute";
}

TEST_F(ProgramsTest, LocalAndRemotePredictionsAreEqualToTheByte) {
  const std::string moving = episodes_ + "/push_block_000005";
  const std::string still = *WritePaintedPlane(folder_.File("plane"), {64, 48, 3, 0.0001});
  ServerProcess server(checkpoint_);
  ExpectEqualPredictions(server, {"predict", moving, "--steps", "3", "--seed", "9"});
  const auto files = FilesOf(folder_.File("local"));
  // The model is trained a little, so that equality of two standing clouds would not do.
  EXPECT_NE(files.at("particles/step_000.npy"), files.at("particles/step_003.npy"));
  ExpectEqualPredictions(server, {"predict", still, "--cameras", "view_0,view_1",
                                  "--target-cameras", "view_2", "--wire-images", "png"});
  const ProcessResult ended = server.Stop();
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
}

TEST_F(ProgramsTest, JointsAreTakenByNameWhateverOrderTheRobotsColumnsHave) {
  const std::string episode = episodes_ + "/push_block_000005", robot = folder_.File("robot");
  std::filesystem::copy(episode + "/robot", robot);
  auto description = nlohmann::json::parse(FilesOf(robot).at("robot.json"));
  std::reverse(description["columns"].begin(), description["columns"].end());
  std::ofstream(robot + "/robot.json") << description;
  const auto last_particles = [&](const Words& more) {
    Words words = {"predict", episode, "--model", checkpoint_,         "--steps", "2",
                   "--seed",  "9",     "-o",      folder_.File("out"), "--force"};
    words.insert(words.end(), more.begin(), more.end());
    const ProcessResult run = RunVerb(words);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return FilesOf(folder_.File("out"))["particles/step_002.npy"];
  };
  const std::string expected = last_particles({});
  EXPECT_FALSE(expected.empty());
  EXPECT_TRUE(last_particles({"--robot", robot}) == expected);
}

TEST_F(ProgramsTest, APlanOverASocketIsTheLocalOneAndPredictTakesIt) {
  const std::string episode = episodes_ + "/push_block_000005";
  const std::string cost = folder_.File("cost.json");
  std::ofstream(cost) << R"({"schema": "interlacer.cost", "schema_version": 1, "terms": [
    {"type": "object_to_point", "region_min_m": [-0.5, -0.5, 0], "region_max_m": [0.5, 0.5, 0.3],
     "target_m": [0.3, 0, 0.05]},
    {"type": "uncertainty", "weight": 0.1}, {"type": "smooth_action", "weight": 0.1}]})";
  ServerProcess server(checkpoint_);
  const Words request = {"plan",         episode, "--cost",       cost,
                         "--horizon",    "3",     "--candidates", "5",
                         "--seed",       "4",     "--knots",      "2",
                         "--iterations", "2",     "--joints",     "left_joint_1,left_joint_2"};
  const auto plan = [&](const std::string& name, Words where) {
    Words words = request;
    words.insert(words.end(), where.begin(), where.end());
    words.insert(words.end(), {"-o", folder_.File(name)});
    const ProcessResult result = RunVerb(words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return FilesOf(folder_.File(name));
  };
  auto local = plan("local_plan", {"--model", checkpoint_});
  const auto again = plan("again", {"--model", checkpoint_});
  const auto remote = plan("remote_plan", {"--server", server.address()});
  for (const char* file : {"plan.csv", "plan.npy", "strip.png", "views/left/step_003.png"}) {
    ASSERT_EQ(local.count(file), 1u) << file;
    EXPECT_TRUE(local.at(file) == again.at(file)) << file;
    EXPECT_TRUE(local.at(file) == remote.at(file)) << file;
  }
  // Two servers share the candidates of the same plan.
  ServerProcess second(checkpoint_);
  const auto shared =
      plan("shared_plan", {"--server", server.address(), "--fan-out", second.address()});
  EXPECT_TRUE(local.at("plan.csv") == shared.at("plan.csv"));
  const auto record = nlohmann::json::parse(local.at("plan.json"));
  EXPECT_EQ(record["terms"].size(), 3u);
  EXPECT_GT(record["terms"]["1 uncertainty"].get<double>(), 0);
  EXPECT_EQ(record["best"].size(), 3u);
  // Joints that may not move stay where the robot was.
  EXPECT_EQ(record["best"][0][3], record["best"][2][3]);
  const ProcessResult predicted =
      RunVerb({"predict", episode, "--actions", folder_.File("local_plan") + "/plan.csv", "--model",
               checkpoint_, "-o", folder_.File("of_plan")});
  EXPECT_EQ(predicted.exit_code, 0) << predicted.err;
  // What cannot be planned is said before anything is predicted.
  const auto refusal = [&](Words more) {
    Words words = request;
    words.insert(words.end(), {"--model", checkpoint_, "-o", folder_.File("none")});
    words.insert(words.end(), more.begin(), more.end());
    return RunVerb(words);
  };
  EXPECT_THAT(refusal({"--joints", "elbow"}).err, ::testing::HasSubstr("elbow"));
  EXPECT_THAT(refusal({"--action-block", "0"}).err, ::testing::HasSubstr("action_block"));
  std::ofstream(cost) << R"({"schema": "interlacer.cost", "schema_version": 1, "terms": []})";
  EXPECT_THAT(refusal({}).err, ::testing::HasSubstr("terms"));
  EXPECT_FALSE(std::filesystem::exists(folder_.File("none")));
}

TEST_F(ProgramsTest, AnExportedCheckpointPredicts) {
  const std::string exported = folder_.File("exported");
  const ProcessResult result = RunVerb({"export", "weights", checkpoint_, "-o", exported});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::vector<std::string> predict{
      "predict", episodes_ + "/push_block_000005", "--steps", "1",
      "-o",      folder_.File("prediction"),       "--model", exported};
  EXPECT_EQ(RunVerb(predict).exit_code, 0);
  // Whoever is asked for stands beside the prediction.
  std::vector<std::string> beside = predict;
  beside.insert(beside.end(), {"--force", "--report", "--subjects", "kinematic,model_field"});
  const ProcessResult reported = RunVerb(beside);
  ASSERT_EQ(reported.exit_code, 0) << reported.err;
  std::set<std::string> subjects;
  const auto prediction = ReadJsonFile(folder_.File("prediction") + "/prediction.json");
  ASSERT_TRUE(prediction.ok()) << prediction.status().ToString();
  for (const auto& score : prediction->at("scores")) {
    subjects.insert(score["subject"].get<std::string>());
  }
  EXPECT_THAT(subjects, ::testing::ElementsAre("kinematic", "model", "model_field"));
  for (const auto& score : prediction->at("scores")) {
    const auto metric = score["metric"].get<std::string>();
    if (metric.find(':') != std::string::npos) continue;  // of one object: a definition for all
    EXPECT_TRUE(prediction->at("metrics").contains(metric)) << metric;
  }
  EXPECT_EQ(prediction->at("robot")["name"], "kuka_iiwa_bimanual");
  EXPECT_EQ(RunVerb({"export", "weights", checkpoint_, "-o", exported}).exit_code, 8);
  EXPECT_EQ(
      RunVerb({"export", "weights", folder_.File("nothing"), "-o", folder_.File("none")}).exit_code,
      3);
  EXPECT_FALSE(std::filesystem::exists(folder_.File("none")));
}

TEST_F(ProgramsTest, LoadOnAServerIsTimedByPriority) {
  const std::string episode = episodes_ + "/push_block_000005";
  ServerProcess server(checkpoint_);
  for (const Words& form : {Words{"--clients", "3", "--priority", "control,background"},
                            Words{"--rate", "20", "--clients", "2", "--keep-scene", "--candidates",
                                  "2", "--priority", "control,background"}}) {
    Words words = {"bench", server.address(), episode, "--steps",
                   "2",     "--duration",     "1s",    "--json"};
    words.insert(words.end(), form.begin(), form.end());
    const ProcessResult result = RunVerb(words);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto report = nlohmann::json::parse(result.out);
    ASSERT_EQ(report["by_priority"].size(), 2u);
    for (const auto& one : report["by_priority"]) {
      EXPECT_GT(one["answered"], 0) << result.out;
      EXPECT_TRUE(one["errors"].empty()) << result.out;
      EXPECT_LE(one["whole_answer_s"]["p50"], one["whole_answer_s"]["p99"]);
      EXPECT_GT(one["first_message_s"]["p50"], 0);
    }
    EXPECT_EQ(report["by_priority"][0]["priority"], "control");
  }
  const ProcessResult text =
      RunVerb({"bench", server.address(), episode, "--steps", "1", "--duration", "300ms"});
  EXPECT_NE(text.out.find("normal"), std::string::npos) << text.out;
  const ProcessResult none = RunVerb({"bench", "127.0.0.1:1", episode, "--duration", "1s"});
  EXPECT_EQ(none.exit_code, 4) << none.err;
}

// fm-37
TEST_F(ProgramsTest, AnInterruptedLoadIsReported) {
  ServerProcess server(checkpoint_);
  ChildProcess bench(
      Interlacer({"bench", server.address(), episodes_ + "/push_block_000005", "--steps", "2",
                  "--duration", "1000s", "--json", "--progress", "always"}));
  // Drawn when the first call has been answered.
  EXPECT_TRUE(Eventually(
      [&] { return bench.Err().find("bench ") != std::string::npos || !bench.IsRunning(); }));
  bench.Signal(SIGINT);
  const ProcessResult stopped = bench.Wait();
  EXPECT_EQ(stopped.exit_code, kInterrupted) << stopped.err;
  const auto report = nlohmann::json::parse(stopped.out);
  EXPECT_GE(report["by_priority"][0]["answered"], 1);
  EXPECT_TRUE(report["by_priority"][0]["errors"].empty()) << stopped.out;
}

/// Load changes when an answer comes, never what it says.
// fm-34
TEST_F(ProgramsTest, EightClientsAtOnceGetTheBytesOfOneClient) {
  constexpr int kClients = 8;
  const std::string episode = episodes_ + "/push_block_000005";
  ServerProcess server(checkpoint_);
  const auto predict = [&](const std::string& name) {
    return RunVerb({"predict", episode, "--steps", "3", "--seed", "9", "--server", server.address(),
                    "-o", folder_.File(name), "--quiet"});
  };
  const ProcessResult alone = predict("alone");
  ASSERT_EQ(alone.exit_code, 0) << alone.err;
  std::vector<ProcessResult> results(kClients);
  {
    // Others ask for other things meanwhile, and one goes away in the middle.
    ChildProcess other(Interlacer({"predict", episode, "--steps", "2", "--seed", "10", "--server",
                                   server.address(), "--wire-images", "png", "-o",
                                   folder_.File("other"), "--quiet"}));
    ChildProcess bad(Interlacer({"predict", episode, "--steps", "2", "--cameras", "left,left",
                                 "--server", server.address(), "-o", folder_.File("bad")}));
    ChildProcess gone(Interlacer({"predict", episode, "--start-step", "1", "--steps", "5",
                                  "--server", server.address(), "-o", folder_.File("gone")}));
    std::jthread killer([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(700));
      gone.Signal(SIGKILL);
    });
    std::vector<std::jthread> clients;
    for (int i = 0; i < kClients; ++i) {
      clients.emplace_back([&, i] { results[i] = predict("together_" + std::to_string(i)); });
    }
  }
  auto expected = FilesOf(folder_.File("alone"));
  expected.erase("prediction.json");
  ASSERT_GE(expected.size(), 6u);
  for (int i = 0; i < kClients; ++i) {
    ASSERT_EQ(results[i].exit_code, 0) << results[i].err;
    auto files = FilesOf(folder_.File("together_" + std::to_string(i)));
    files.erase("prediction.json");
    EXPECT_TRUE(files == expected) << "client " << i;
  }
}

}  // namespace
}  // namespace interlacer::testing
