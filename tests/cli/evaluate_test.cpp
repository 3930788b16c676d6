/// `interlacer evaluate` as a user runs it: going on, beginning anew, and what must not be mixed.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "common/json.h"
#include "tests/cli/program_support.h"
#include "tests/support/matchers.h"
#include "tests/support/painted_plane.h"
#include "tests/support/temp_folder.h"

namespace interlacer::testing {
namespace {

namespace fs = std::filesystem;

/// Two recordings of a painted plane and a model that has seen one of them.
class Evaluate : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const std::string id : {"plane_0", "plane_1"}) {
      PaintedPlane plane{64, 48, 3, 0.0001};
      plane.episode_id = id;
      ASSERT_TRUE(WritePaintedPlane(planes_ + "/" + id, plane).ok());
    }
    const std::string config = WriteTinyRunConfig(folder_.File("run.json"), 1);
    ASSERT_EQ(RunVerb({"train", "--config", config, "--data", planes_ + "/plane_0", "--output",
                       folder_.File("run")})
                  .exit_code,
              0);
  }

  Words WithModel() const {
    return {"--model", folder_.File("run") + "/checkpoint", "--steps", "1"};
  }

  ProcessResult Run(const std::string& out, const Words& more) const {
    Words words{"evaluate", planes_, "-o", out, "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return RunVerb(words);
  }

  const TempFolder folder_;
  const std::string planes_ = folder_.File("planes");
};

TEST_F(Evaluate, ShardsMergeToTheBytesOfOneRun) {
  const auto evaluate = [&](const std::string& name, const Words& more) {
    Words words = WithModel();
    words.insert(words.end(), more.begin(), more.end());
    const ProcessResult result = Run(folder_.File(name), words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
  };
  evaluate("whole", {});
  evaluate("part_0", {"--shard", "0/3"});
  evaluate("part_1", {"--shard", "1/3"});
  const std::string merged = folder_.File("merged");
  const ProcessResult half = Run(merged, {"--merge", folder_.File("part_0")});
  EXPECT_EQ(half.exit_code, 3) << half.err;
  EXPECT_THAT(half.err, HasSubstr("plane_1"));
  EXPECT_FALSE(fs::exists(merged));

  evaluate("part_2", {"--shard", "2/3"});  // no episode is left for it
  const ProcessResult result = Run(
      merged, {"--merge", folder_.File("part_2"), folder_.File("part_1"), folder_.File("part_0")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  auto files = FilesOf(merged), expected = FilesOf(folder_.File("whole"));
  const auto scores = [](const std::string& text) {
    const auto json = nlohmann::json::parse(text);
    return std::pair(json["values"].dump(), json["dataset"].dump());
  };
  EXPECT_EQ(scores(files["results.json"]), scores(expected["results.json"]));
  files.erase("results.json");  // it has its own command and times
  expected.erase("results.json");
  EXPECT_GT(files.size(), 1u);
  EXPECT_EQ(files, expected);
}

TEST_F(Evaluate, CompareHoldsOneResultAgainstItsBaselines) {
  const std::string scores = folder_.File("scores");
  ASSERT_EQ(Run(scores, WithModel()).exit_code, 0);
  const ProcessResult result = RunVerb({"compare", scores});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("splat of the particles"));
  EXPECT_THAT(result.out, HasSubstr("of so few episodes their bounds are about the extreme ones"));
  const ProcessResult gate = RunVerb({"compare", scores, "--fail-if", "ssim < 0"});
  EXPECT_NE(gate.exit_code, 0);
  EXPECT_THAT(gate.err, HasSubstr("--fail-if: expected two results or more, got one"));
}

TEST_F(Evaluate, CompareEndsWithCodeOneWhereARuleIsBroken) {
  const std::string good = folder_.File("good"), worse = folder_.File("worse");
  ASSERT_EQ(Run(good, WithModel()).exit_code, 0);
  auto results = nlohmann::json::parse(FilesOf(good)["results.json"]);
  nlohmann::json* last = nullptr;
  for (auto& value : results["values"]) {
    if (value["subject"] != "model" || value["metric"] != "ssim_wang_rgb_v1") continue;
    if (value["value"].is_number()) last = &value["value"];
  }
  ASSERT_NE(last, nullptr);
  *last = last->get<double>() - 0.5;
  fs::create_directory(worse);
  std::ofstream(worse + "/results.json") << results;

  const Words rule = {"--fail-if", "ssim < -0.01"};
  const ProcessResult broken = RunVerb({"compare", good, worse, rule[0], rule[1]});
  EXPECT_EQ(broken.exit_code, 1) << broken.err;
  EXPECT_THAT(broken.err, HasSubstr("regression: worse, ssim < -0.01"));
  const ProcessResult kept = RunVerb({"compare", worse, good, rule[0], rule[1]});
  EXPECT_EQ(kept.exit_code, 0) << kept.err;
  EXPECT_THAT(kept.err, Not(HasSubstr("regression")));
}

TEST_F(Evaluate, WhatNeedsNoModelRunsWithoutOne) {
  const std::string out = folder_.File("bare");
  const ProcessResult result = Run(out, {"--subjects", "kinematic,copy_last"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("kinematic"));
  const auto results = nlohmann::json::parse(FilesOf(out)["results.json"]);
  EXPECT_EQ(results["model"]["name"], "none");
  EXPECT_TRUE(results["aggregates"].empty());
  EXPECT_GT(results["baselines"]["kinematic"].size(), 0u);
  for (const auto& value : results["values"]) EXPECT_EQ(value["subject"], "kinematic");
  const ProcessResult page = RunVerb({"report", out, "--quiet"});
  EXPECT_EQ(page.exit_code, 0) << page.err;
  EXPECT_THAT(FilesOf(out)["report.html"], HasSubstr("kinematic"));

  const ProcessResult unknown = Run(folder_.File("none"), {"--subjects", "kinematics"});
  EXPECT_EQ(unknown.exit_code, 2) << unknown.err;
  EXPECT_THAT(unknown.err, HasSubstr("oracle_motion"));
}

TEST_F(Evaluate, AFailureIsListedUnderTheEpisodesIdWhateverItsFolder) {
  fs::rename(planes_ + "/plane_1", planes_ + "/renamed");
  fs::resize_file(planes_ + "/renamed/depth/view_1/000000.png", 40);
  const std::string out = folder_.File("out"), merged = folder_.File("merged");
  EXPECT_EQ(Run(out, WithModel()).exit_code, 3);
  const auto results = nlohmann::json::parse(FilesOf(out)["results.json"]);
  ASSERT_EQ(results["failures"].size(), 1u);
  EXPECT_EQ(results["failures"][0]["episode"], "plane_1");
  const ProcessResult merge = Run(merged, {"--merge", out});
  EXPECT_EQ(merge.exit_code, 3) << "the failure, not a missing shard: " << merge.err;
  EXPECT_EQ(nlohmann::json::parse(FilesOf(merged)["results.json"])["failures"],
            results["failures"]);
}

TEST_F(Evaluate, ResumptionForgetsFailuresAndMixesNothing) {
  const std::string out = folder_.File("out");
  const auto evaluate = [&](const Words& more) {
    Words words = WithModel();
    words.insert(words.end(), more.begin(), more.end());
    return Run(out, words);
  };
  const auto results = [&] { return nlohmann::json::parse(FilesOf(out)["results.json"]); };

  const fs::path depth = planes_ + "/plane_1/depth/view_1/000000.png";
  const fs::path whole = folder_.File("whole.png");
  fs::copy_file(depth, whole);
  fs::resize_file(depth, 40);
  const ProcessResult failed = evaluate({});
  EXPECT_EQ(failed.exit_code, 3) << failed.err;
  EXPECT_EQ(results()["failures"].size(), 1u);
  EXPECT_EQ(results()["setup"]["plan"]["windows"], 1);

  fs::copy_file(whole, depth, fs::copy_options::overwrite_existing);
  const ProcessResult other_plan = evaluate({"--windows", "2", "--resume"});
  EXPECT_EQ(other_plan.exit_code, 2) << other_plan.err;
  EXPECT_THAT(other_plan.err, HasSubstr("windows"));
  const ProcessResult mended = evaluate({"--resume"});
  EXPECT_EQ(mended.exit_code, 0) << mended.err;
  EXPECT_EQ(results()["failures"].size(), 0u);
  EXPECT_EQ(results()["dataset"]["episodes"].size(), 2u);

  // The same name for another recording.
  std::ofstream(planes_ + "/plane_0/manifest.json", std::ios::app) << "\n";
  const ProcessResult changed = evaluate({"--resume"});
  EXPECT_EQ(changed.exit_code, 3) << changed.err;
  EXPECT_THAT(changed.err, HasSubstr("HASH_MISMATCH"));

  std::ofstream(out + "/frames/stale.png") << "of an earlier run";
  const ProcessResult anew = evaluate({"--force", "--episodes", "1"});
  EXPECT_EQ(anew.exit_code, 0) << anew.err;
  EXPECT_EQ(results()["dataset"]["episodes"].size(), 1u);
  EXPECT_FALSE(fs::exists(out + "/frames/stale.png"));
}

TEST_F(Evaluate, KeepsParticlesThatTheReportShows) {
  const std::string out = folder_.File("kept"), bare = folder_.File("bare");
  const auto evaluate = [&](Words more) {
    Words words = {"evaluate", planes_};
    const Words model = WithModel();
    words.insert(words.end(), model.begin(), model.end());
    words.insert(words.end(), more.begin(), more.end());
    return RunVerb(words);
  };
  const ProcessResult kept = evaluate({"-o", out, "--windows", "2"});
  ASSERT_EQ(kept.exit_code, 0) << kept.err;
  for (const char* id : {"plane_0", "plane_1"}) {
    int scenes = 0;
    for (const auto& [name, content] : FilesOf(out + "/frames/" + id)) {
      scenes += name.ends_with("scene.json") ? 1 : 0;
    }
    EXPECT_EQ(scenes, 1) << id;  // of two rollouts
  }
  const ProcessResult report = RunVerb({"report", out});
  ASSERT_EQ(report.exit_code, 0) << report.err;
  EXPECT_THAT(FilesOf(out)["report.html"], HasSubstr("id=\"scene-data\""));

  ASSERT_EQ(evaluate({"-o", bare, "--no-frames"}).exit_code, 0);
  EXPECT_FALSE(fs::exists(bare + "/frames"));
  ASSERT_EQ(RunVerb({"report", bare}).exit_code, 0);
  EXPECT_THAT(FilesOf(bare)["report.html"], ::testing::Not(HasSubstr("scene-data")));
}

}  // namespace
}  // namespace interlacer::testing
