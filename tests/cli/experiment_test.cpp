/// `interlacer experiment` as a user runs it, with tiny runs and simulated scenes.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "common/json.h"
#include "common/sha256.h"
#include "tests/cli/program_support.h"
#include "tests/evaluation/page_checks.h"
#include "tests/support/matchers.h"
#include "tests/support/temp_folder.h"

namespace interlacer::testing {
namespace {

class ExperimentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const ProcessResult simulated =
        RunVerb({"simulate", "-o", data_, "--seed", "5", "--episodes", "2", "--steps", "5",
                 "--width", "64", "--height", "48", "--with-still", "--split", "test", "--quiet"});
    ASSERT_EQ(simulated.exit_code, 0) << simulated.err;
    for (const auto& entry : std::filesystem::directory_iterator(data_)) {
      const std::string id = entry.path().filename().string();
      if (entry.is_directory() && !id.ends_with("_still")) moving_.insert(id);
    }
    ASSERT_EQ(moving_.size(), 2u);
    for (const std::string variant : {"grf_exact", "none"}) {
      const std::string config = WriteTinyRunConfig(folder_.File(variant + ".json"), 2, variant);
      const ProcessResult trained =
          RunVerb({"train", "--config", config, "--data", data_ + "/" + *moving_.begin(), "--seed",
                   "0", "--output", runs_ + "/" + variant + "-0", "--quiet"});
      ASSERT_EQ(trained.exit_code, 0) << trained.err;
    }
  }

  Words Command(const std::string& output, const Words& more = {}) const {
    Words words{"experiment", "hdvpd", "--data",  data_,        "--runs",
                runs_,        "-o",    output,    "--variants", "grf_exact,none",
                "--seeds",    "0",     "--steps", "2",          "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  const TempFolder folder_;
  const std::string data_ = folder_.File("data");
  const std::string runs_ = folder_.File("runs");
  std::set<std::string> moving_;  // episodes
};

TEST_F(ExperimentTest, ShardsAndResumptionMakeTheSameFiles) {
  const std::string whole = folder_.File("whole"), parts = folder_.File("parts");
  const ProcessResult once = RunVerb(Command(whole));
  ASSERT_EQ(once.exit_code, 0) << once.err;
  EXPECT_THAT(once.out, HasSubstr("no local layer"));

  const ProcessResult first = RunVerb(Command(parts, {"--shard", "0/2"}));
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("missing"));
  EXPECT_FALSE(std::filesystem::exists(parts + "/report.html"));
  const ProcessResult second = RunVerb(Command(parts, {"--shard", "1/2"}));
  ASSERT_EQ(second.exit_code, 0) << second.err;
  const auto mine = FilesOf(whole);
  auto theirs = FilesOf(parts);
  for (const char* file : {"hdvpd.json", "per_step.csv", "tables.md"}) {
    EXPECT_EQ(mine.at(file), theirs[file]) << file;
  }
  ExpectSelfContained(theirs["report.html"]);
  EXPECT_THAT(theirs["report.html"], HasSubstr("<img"));

  // What was lost is made again, what is there is kept.
  const std::string piece = "evaluations/none-0/recorded/" + *moving_.rbegin() + ".json";
  const std::string kept = "evaluations/none-0/recorded/" + *moving_.begin() + ".json";
  std::filesystem::remove(parts + "/" + piece);
  const auto kept_time = std::filesystem::last_write_time(parts + "/" + kept);
  ASSERT_EQ(RunVerb(Command(parts)).exit_code, 0);
  EXPECT_EQ(std::filesystem::last_write_time(parts + "/" + kept), kept_time);
  EXPECT_EQ(FilesOf(parts).at("hdvpd.json"), mine.at("hdvpd.json"));
  EXPECT_EQ(FilesOf(parts).count(piece), 1u);

  const auto document = nlohmann::json::parse(mine.at("hdvpd.json"));
  EXPECT_EQ(document["runs"].size(), 2u);
  std::set<std::string> outcomes;
  for (const auto& relation : document["relations"]) outcomes.insert(relation["id"]);
  EXPECT_EQ(outcomes.size(), 11u);
}

TEST_F(ExperimentTest, OfShardsAtOneTimeTheLastWritesThePage) {
  const std::string out = folder_.File("out");
  ChildProcess first(Interlacer(Command(out, {"--no-ablations", "--shard", "0/2"})));
  const ProcessResult second = RunVerb(Command(out, {"--no-ablations", "--shard", "1/2"}));
  EXPECT_EQ(second.exit_code, 0) << second.err;
  EXPECT_EQ(first.Wait().exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(out + "/report.html"));
}

TEST_F(ExperimentTest, ThinnedRolloutsTakeSharesOfWhatTheSceneHolds) {
  // A model that could draw far more particles than the pictures have pixels.
  for (const std::string run : {"grf_exact-0", "none-0"}) {
    const std::string checkpoint = run + "/checkpoint/config.json";
    auto config = nlohmann::ordered_json::parse(FilesOf(runs_).at(checkpoint));
    config["data"]["particle_count"] = 100'000;
    std::ofstream(runs_ + "/" + checkpoint) << config.dump(2);
  }
  const std::string out = folder_.File("out");
  const ProcessResult result = RunVerb(Command(out));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto files = FilesOf(out);
  constexpr int kPixels = 2 * 64 * 48;
  for (const std::string& episode : moving_) {
    const auto drawn = [&](const std::string& condition) {
      const auto piece = nlohmann::json::parse(
          files.at("evaluations/grf_exact-0/" + condition + "/" + episode + ".json"));
      return piece["model"]["particle_count"].get<int>();
    };
    const int half = drawn("half_particles"), quarter = drawn("quarter_particles");
    EXPECT_GT(half, 64) << episode;
    EXPECT_LE(half, kPixels / 2) << episode;
    EXPECT_EQ(quarter, half / 2) << episode;
  }
}

TEST_F(ExperimentTest, FewEpisodesKeepTheirStillTwinsAndThoseHaveOneRollout) {
  const std::string out = folder_.File("out");
  const ProcessResult result =
      RunVerb(Command(out, {"--no-ablations", "--episodes", "2", "--windows", "2"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto files = FilesOf(out);
  const std::string folder = "evaluations/none-0/recorded/";
  const auto starts = [&](const std::string& episode) {
    std::set<int> found;
    const auto piece = nlohmann::json::parse(files.at(folder + episode + ".json"));
    for (const auto& value : piece["values"]) found.insert(value["start_step"].get<int>());
    return found;
  };
  EXPECT_EQ(starts(*moving_.begin()), (std::set<int>{1, 2}));
  EXPECT_EQ(starts(*moving_.begin() + "_still"), (std::set<int>{1}));
  EXPECT_EQ(files.count(folder + *moving_.rbegin() + ".json"), 0u);
  EXPECT_EQ(files.count(folder + *moving_.rbegin() + "_still.json"), 0u);
}

TEST_F(ExperimentTest, AMissingRunSaysHowToMakeIt) {
  const ProcessResult result = RunVerb(Command(folder_.File("out"), {"--seeds", "3"}));
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("grf_exact-3"));
  EXPECT_THAT(result.err, HasSubstr("interlacer train"));
  EXPECT_FALSE(std::filesystem::exists(folder_.File("out")));
  EXPECT_EQ(RunVerb(Command(folder_.File("out"), {"--shard", "2/2"})).exit_code, 2);
}

/// Other bytes in files until they are mended.
class Damage {
 public:
  /// Without the last 16 bytes, as a copy that was cut off.
  void Cut(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string& whole = files_[path] = {std::istreambuf_iterator<char>(file), {}};
    Write(path, whole.substr(0, whole.size() - 16));
  }
  void Mend() {
    for (const auto& [path, whole] : files_) Write(path, whole);
    files_.clear();
  }

 private:
  static void Write(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  std::map<std::string, std::string> files_;
};

TEST_F(ExperimentTest, WhatFailsTakesNothingElseWithItAndIsMadeLater) {
  const std::string out = folder_.File("out"), weights = "none-0/checkpoint/weights.safetensors";
  const std::string whole = *moving_.begin(), torn = *moving_.rbegin();
  Damage damage;
  damage.Cut(runs_ + "/" + weights);
  damage.Cut(data_ + "/" + whole + "_still/manifest.json");
  for (const auto& [file, bytes] : FilesOf(data_ + "/" + torn)) {
    if (file.ends_with(".png")) damage.Cut(data_ + "/" + torn + "/" + file);
  }
  const ProcessResult first = RunVerb(Command(out, {"--no-ablations", "--shard", "0/2"}));
  EXPECT_EQ(first.exit_code, 3) << first.err;
  const ProcessResult second = RunVerb(Command(out, {"--no-ablations", "--shard", "1/2"}));
  EXPECT_EQ(second.exit_code, 3) << second.err;
  EXPECT_THAT(second.out, HasSubstr("failed: every run on " + whole + "_still: ")) << second.err;
  EXPECT_THAT(second.out,
              HasSubstr("failed: grf_exact-0 on " + torn + " (recorded): HASH_MISMATCH"));
  EXPECT_THAT(second.out, HasSubstr("failed: none-0 on " + whole + " (recorded), " + torn));
  EXPECT_THAT(second.out,
              HasSubstr("none-0/checkpoint/weights.safetensors:data section: expected"));
  auto files = FilesOf(out);
  EXPECT_THAT(files.at("report.html"), HasSubstr("Failed: none-0 on "));
  const auto before = nlohmann::json::parse(files.at("hdvpd.json"));
  EXPECT_EQ(before["runs"].size(), 1u);
  EXPECT_EQ(before["failures"].size(), 5u);

  damage.Mend();
  const std::string kept = out + "/evaluations/grf_exact-0/recorded/" + whole + ".json";
  const auto kept_time = std::filesystem::last_write_time(kept);
  const ProcessResult mended = RunVerb(Command(out, {"--no-ablations"}));
  ASSERT_EQ(mended.exit_code, 0) << mended.err;
  EXPECT_EQ(std::filesystem::last_write_time(kept), kept_time);
  ASSERT_EQ(RunVerb(Command(folder_.File("never"), {"--no-ablations"})).exit_code, 0);
  files = FilesOf(out);
  const auto never = FilesOf(folder_.File("never"));
  for (const char* file : {"hdvpd.json", "per_step.csv", "tables.md"}) {
    EXPECT_EQ(files.at(file), never.at(file)) << file;
  }
}

/// Writes other bytes into a file of an episode, and their hash wherever the episode lists it.
void ReplaceFile(const std::string& episode, const std::string& file, const std::string& bytes) {
  const auto files = FilesOf(episode);
  const std::string before = Sha256Hex(std::string_view(files.at(file)));
  std::ofstream(episode + "/" + file) << bytes;
  for (const std::string list : {"files.sha256", "manifest.json"}) {
    std::string text = files.at(list);
    const std::size_t at = text.find(before);
    if (at == std::string::npos) continue;
    text.replace(at, before.size(), Sha256Hex(std::string_view(bytes)));
    ReplaceFile(episode, list, text);
    return;
  }
}

/// No pixel of the episode belongs to an object any more.
void HideObjects(const std::string& episode) {
  const std::string file = "truth/objects.json";
  auto objects = nlohmann::ordered_json::parse(FilesOf(episode).at(file));
  objects["mask_labels"]["first_object"] = 200;
  ReplaceFile(episode, file, objects.dump(2));
}

TEST(PlannerExperiment, RanksTheMotionsOfAScene) {
  const TempFolder folder;
  const std::string data = folder.File("data"), run = folder.File("run");
  const auto simulate = [&](const Words& more) {
    Words words{"simulate", "-o",      data, "--seed",   "5",  "--steps",
                "5",        "--width", "64", "--height", "48", "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return RunVerb(words);
  };
  ASSERT_EQ(simulate({}).exit_code, 0);
  const std::string config = WriteTinyRunConfig(folder.File("run.json"), 2, "grf_exact");
  // The block has some 40 of the 6144 pixels: the tiny model's 256 particles may leave it 1 or 2.
  auto run_config = nlohmann::ordered_json::parse(std::ifstream(config));
  run_config["model"]["data"]["particle_count"] = 2048;
  std::ofstream(config) << run_config.dump(2);
  ASSERT_EQ(
      RunVerb({"train", "--config", config, "--data", data, "--output", run, "--quiet"}).exit_code,
      0);
  const auto plan = [&](const Words& more) {
    Words words{"experiment",        "planner", "--data",           data,     "--model",
                run + "/checkpoint", "-o",      folder.File("out"), "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return RunVerb(words);
  };
  const ProcessResult none = plan({"--steps", "3", "--split", "train"});
  EXPECT_EQ(none.exit_code, 3) << none.err;
  EXPECT_THAT(none.err, HasSubstr("--motions"));

  ASSERT_EQ(simulate({"--motions", "3", "--resume"}).exit_code, 0);
  const ProcessResult long_horizon = plan({"--steps", "4", "--split", "train"});
  EXPECT_EQ(long_horizon.exit_code, 3);
  EXPECT_THAT(long_horizon.err, HasSubstr("at most 3"));
  const ProcessResult done = plan({"--steps", "3", "--split", "train"});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("rank correlation"));
  const auto files = FilesOf(folder.File("out"));
  ExpectSelfContained(files.at("report.html"));
  const auto document = nlohmann::json::parse(files.at("planner.json"));
  ASSERT_EQ(document["scenes"].size(), 1u);
  EXPECT_EQ(document["scenes"][0]["motions"].size(), 3u) << "not the scene's own";
  EXPECT_EQ(document["horizon"], 3);
  EXPECT_TRUE(document["skipped"].empty());

  // A scene whose object is not seen does not take the others with it.
  ASSERT_EQ(simulate({"--episodes", "2", "--motions", "3", "--resume"}).exit_code, 0);
  std::filesystem::remove(data + "/dataset.json");
  HideObjects(data + "/push_block_000006_motion_0");
  const ProcessResult skipping = plan({"--steps", "3", "--split", "", "--force"});
  ASSERT_EQ(skipping.exit_code, 0) << skipping.err;
  EXPECT_THAT(skipping.out, HasSubstr("scenes ranked: 1, skipped: 1"));
  const auto second = nlohmann::json::parse(FilesOf(folder.File("out")).at("planner.json"));
  EXPECT_EQ(second["scenes"], document["scenes"]);
  ASSERT_EQ(second["skipped"].size(), 1u);
  EXPECT_EQ(second["skipped"][0]["scene"], "push_block_6");
  EXPECT_THAT(
      second["skipped"][0]["reason"].get<std::string>(),
      HasSubstr("push_block_000006_motion_0: expected at least 3 particles of the object, got 0"));
}

}  // namespace
}  // namespace interlacer::testing
