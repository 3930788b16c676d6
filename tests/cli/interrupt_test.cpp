/// Ctrl-C on a running verb: exit code 130, what is finished stays, --resume goes on.

#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "common/json.h"
#include "tests/cli/program_support.h"
#include "tests/support/matchers.h"
#include "tests/support/painted_plane.h"
#include "tests/support/temp_folder.h"

namespace interlacer::testing {
namespace {

namespace fs = std::filesystem;

/// Starts the verb, interrupts it as soon as `has_begun`, and returns how it ended.
ProcessResult Interrupt(const Words& arguments, const std::function<bool()>& has_begun) {
  ChildProcess process(Interlacer(arguments));
  EXPECT_TRUE(Eventually([&] { return has_begun() || !process.IsRunning(); })) << process.Err();
  process.Signal(SIGINT);
  return process.Wait();
}

Words Resumed(Words arguments) {
  arguments.push_back("--resume");
  return arguments;
}

std::vector<std::int64_t> StepsOfLog(const std::string& run) {
  std::vector<std::int64_t> steps;
  auto files = FilesOf(run);
  std::istringstream lines(files["metrics.jsonl"]);
  for (std::string line; std::getline(lines, line);) {
    const auto record = nlohmann::json::parse(line);
    if (record["kind"] == "train") steps.push_back(record["step"]);
  }
  return steps;
}

TEST(Interrupt, ATrainingRunResumesWithoutAGap) {
  constexpr int kStepCount = 150;  // seconds
  const TempFolder folder;
  const std::string plane = *WritePaintedPlane(folder.File("plane"), {64, 48, 3, 0.0001});
  const std::string run = folder.File("run");
  const Words train = {
      "train",  "--config",  WriteTinyRunConfig(folder.File("run.json"), kStepCount),
      "--data", plane,       "--output",
      run,      "--threads", "1"};
  const ProcessResult stopped =
      Interrupt(train, [&] { return fs::exists(run + "/metrics.jsonl"); });
  EXPECT_EQ(stopped.exit_code, kInterrupted) << stopped.err;
  EXPECT_TRUE(fs::exists(run + "/checkpoint/weights.safetensors"));
  const std::vector<std::int64_t> before = StepsOfLog(run);
  ASSERT_LT(before.size(), static_cast<std::size_t>(kStepCount));

  const ProcessResult finished = RunVerb(Resumed(train));
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  const std::vector<std::int64_t> after = StepsOfLog(run);
  ASSERT_EQ(after.size(), static_cast<std::size_t>(kStepCount));
  for (int i = 0; i < kStepCount; ++i) EXPECT_EQ(after[i], i + 1);
}

// fm-37
TEST(Interrupt, SimulateKeepsFinishedEpisodes) {
  const TempFolder folder;
  const std::string out = folder.File("episodes");
  const Words simulate = {"simulate", "-o", out,        "--episodes", "8",       "--jobs", "1",
                          "--width",  "64", "--height", "48",         "--steps", "12"};
  const std::string first = out + "/push_block_000000";
  const ProcessResult stopped =
      Interrupt(simulate, [&] { return fs::exists(first + "/manifest.json"); });
  EXPECT_EQ(stopped.exit_code, kInterrupted) << stopped.err;
  EXPECT_THAT(stopped.err, HasSubstr("--resume"));
  EXPECT_FALSE(fs::exists(out + "/push_block_000007"));
  EXPECT_EQ(RunVerb({"validate", out}).exit_code, 0);
  const auto kept = FilesOf(first);

  const ProcessResult finished = RunVerb(Resumed(simulate));
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(FilesOf(first), kept);
  EXPECT_TRUE(fs::exists(out + "/push_block_000007/manifest.json"));
  const ProcessResult validated = RunVerb({"validate", out});
  EXPECT_EQ(validated.exit_code, 0);
  EXPECT_THAT(validated.out, HasSubstr("all 8 episodes with a robot"));
}

// fm-37
TEST(Interrupt, EvaluateGoesOnAfterTheLastFinishedEpisode) {
  constexpr int kEpisodes = 16;
  const TempFolder folder;
  for (int i = 0; i < kEpisodes; ++i) {
    PaintedPlane plane{64, 48, 3, 0.0001};
    plane.episode_id = "plane_" + std::to_string(100 + i);
    ASSERT_TRUE(WritePaintedPlane(folder.File("planes/" + plane.episode_id), plane).ok());
  }
  const std::string config = WriteTinyRunConfig(folder.File("run.json"), 1);
  ASSERT_EQ(RunVerb({"train", "--config", config, "--data", folder.File("planes/plane_100"),
                     "--output", folder.File("run")})
                .exit_code,
            0);
  const std::string out = folder.File("out");
  const Words evaluate = {"evaluate",   folder.File("planes"),
                          "-o",         out,
                          "--model",    folder.File("run") + "/checkpoint",
                          "--steps",    "2",
                          "--no-frames"};
  const auto results = [&] { return nlohmann::json::parse(FilesOf(out)["results.json"]); };
  const ProcessResult stopped = Interrupt(evaluate, [&] {
    return fs::exists(out + "/results.json") && !results()["dataset"]["episodes"].empty();
  });
  EXPECT_EQ(stopped.exit_code, kInterrupted) << stopped.err;
  const auto before = results();
  ASSERT_GE(before["dataset"]["episodes"].size(), 1u);
  ASSERT_LT(before["dataset"]["episodes"].size(), static_cast<std::size_t>(kEpisodes));

  const ProcessResult finished = RunVerb(Resumed(evaluate));
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  const auto after = results();
  EXPECT_EQ(after["dataset"]["episodes"].size(), static_cast<std::size_t>(kEpisodes));
  for (std::size_t i = 0; i < before["values"].size(); ++i) {
    EXPECT_EQ(after["values"][i], before["values"][i]);
  }
}

}  // namespace
}  // namespace interlacer::testing
