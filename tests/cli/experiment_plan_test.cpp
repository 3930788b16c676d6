/// `interlacer experiment hdvpd --plan` as a user runs it: a whole study in seconds, interrupted on
/// its way.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "common/json.h"
#include "tests/cli/program_support.h"
#include "tests/evaluation/page_checks.h"
#include "tests/support/matchers.h"
#include "tests/support/temp_folder.h"

namespace interlacer::testing {
namespace {

namespace fs = std::filesystem;

constexpr char kTinyPlan[] = R"({
  "name": "tiny",
  "episodes": {"task": "push_block", "steps": 6, "width_px": 64, "height_px": 48,
               "train": {"seed": 1, "count": 2}, "val": {"seed": 11, "count": 1},
               "test": {"seed": 21, "count": 2}},
  "model": {"base": "small", "name": "tiny",
            "data": {"cameras": [{"name": "left", "width_px": 64, "height_px": 48},
                                 {"name": "right", "width_px": 64, "height_px": 48}],
                     "particle_count": 256, "min_particle_count": 64},
            "encoder": {"widths": [8, 16]}, "tokens": {"fourier_octaves": 2},
            "network": {"width": 32, "block_count": 1, "local": {"key_width": 16}},
            "renderer": {"samples_per_ray": 24, "hidden_width": 16}},
  "training": {"batch_size": 1, "rays_per_step": 16, "reconstruction_weight": 0,
               "checkpoint_every": 1, "validation_every": 1, "validation_sample_count": 1},
  "appearance": {"step_count": 2, "reconstruction_weight": 1,
                 "rollout_steps": [{"from_step": 0, "value": 0}]},
  "stages": [
    {"name": "one_step", "learning_rate_share": 1,
     "training": {"step_count": 40, "rollout_steps": [{"from_step": 0, "value": 1}],
                  "stop_when_flat": {"window": 1, "min_improvement": 0.999}}},
    {"name": "rollouts", "learning_rate_share": 0.5,
     "training": {"step_count": 2, "rollout_steps": [{"from_step": 0, "value": 2}],
                  "stop_when_flat": {"window": 5}}}],
  "search": {"seed": 9, "step_count": 2, "learning_rates": [0.001, 0.002]},
  "seeds": [0, 1],
  "variants": [{"name": "grf_exact", "models": [{"network": {"local": {"kind": "grf_exact"}}}]},
               {"name": "none", "models": [{"network": {"local": {"kind": "none"}}}]}],
  "scoring": {"render": "field", "steps": 2, "windows": 1, "primary_metric": "ssim_wang_rgb_v1"}
})";

/// Lines of a run (of all for ""), without the header.
std::vector<std::string> LinesOfRun(const std::string& csv, const std::string& run) {
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  std::vector<std::string> chosen;
  while (std::getline(lines, line)) {
    if (run.empty() || line.starts_with(run + ",")) chosen.push_back(line);
  }
  return chosen;
}

/// Of the column behind run, variant, seed, episode and task.
double MeanSsim(const std::string& csv, const std::string& run) {
  double sum = 0;
  const std::vector<std::string> lines = LinesOfRun(csv, run);
  for (const std::string& line : lines) {
    std::istringstream cells(line);
    std::string cell;
    for (int i = 0; i < 6; ++i) std::getline(cells, cell, ',');
    sum += std::stod(cell);
  }
  return sum / static_cast<double>(lines.size());
}

class ExperimentPlanTest : public ::testing::Test {
 protected:
  void SetUp() override { std::ofstream(plan_) << kTinyPlan; }
  Words Command() const {
    return {"experiment", "hdvpd", "--plan", plan_, "-o", out_, "--jobs", "2", "--quiet"};
  }
  nlohmann::json Read(const std::string& file) const { return *ReadJsonFile(out_ + "/" + file); }

  const TempFolder folder_;
  const std::string plan_ = folder_.File("plan.json"), out_ = folder_.File("out");
};

TEST_F(ExperimentPlanTest, MakesAWholeStudyAndGoesOnWhereItWasInterrupted) {
  ChildProcess first(Interlacer(Command()));
  ASSERT_TRUE(Eventually([&] {
    return fs::exists(out_ + "/runs/appearance/9/metrics.jsonl") || !first.IsRunning();
  })) << first.Err();
  first.Signal(SIGINT);
  EXPECT_EQ(first.Wait().exit_code, kInterrupted) << first.Err();
  EXPECT_FALSE(fs::exists(out_ + "/frozen.json"));
  EXPECT_FALSE(fs::exists(out_ + "/test")) << "no test episode before the runs are frozen";

  const ProcessResult whole = RunVerb(Command());
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_THAT(whole.out, HasSubstr("GRF better than no local layer in SSIM (primary)"));

  // Two trials a variant; the choice is the lowest of their losses.
  const nlohmann::json choices = Read("choices.json");
  ASSERT_EQ(choices.size(), 2u);
  EXPECT_EQ(choices[1]["variant"], "none");
  // What was chosen, in the run; half of it in the next stage, from the weights of the run.
  const nlohmann::json run = Read("runs/one_step/none-1/run.json");
  const nlohmann::json next = Read("runs/rollouts/none-1/run.json");
  const double rate = choices[1]["learning_rate"];
  EXPECT_EQ(run["training"]["learning_rate"][0]["value"], rate);
  EXPECT_EQ(next["training"]["learning_rate"][0]["value"], rate / 2);
  EXPECT_TRUE(Read("runs/rollouts/none-1/inputs.json").contains("initial_weights_sha256"));
  EXPECT_TRUE(Read("runs/one_step/none-1/inputs.json").contains("initial_appearance_sha256"));

  // The first stage ends by its rule at the second validation, the last at its limit, so that
  // nothing is decided.
  const auto files = FilesOf(out_);
  EXPECT_THAT(files.at("runs/one_step/grf_exact-0/metrics.jsonl"),
              HasSubstr(R"({"kind":"end","step":2,"flat":true})"));
  const nlohmann::json study = Read("hdvpd.json");
  EXPECT_EQ(study["runs"].size(), 4u);
  ASSERT_FALSE(study["claims"].empty());
  EXPECT_TRUE(study["claims"][0]["primary"]);
  EXPECT_EQ(study["claims"][0]["verdict"], "undecided");
  EXPECT_TRUE(study["claims"][0].contains("note"));
  EXPECT_FALSE(study["claims"][0]["share"].is_null()) << "true frames rendered are the oracle";
  EXPECT_EQ(Read("frozen.json")["weights_sha256"].size(), 4u);
  const std::string& page = files.at("report.html");
  ExpectSelfContained(page);
  for (const char* heading : {"What holds", "What the search chose", "Training time at equal"}) {
    EXPECT_THAT(page, HasSubstr(heading));
  }

  // Nothing is left to do.
  const std::string weights = out_ + "/runs/rollouts/none-0/checkpoint/weights.safetensors";
  const auto time = fs::last_write_time(weights);
  ASSERT_EQ(RunVerb(Command()).exit_code, 0);
  EXPECT_EQ(fs::last_write_time(weights), time);
  EXPECT_EQ(FilesOf(out_).at("hdvpd.json"), files.at("hdvpd.json"));

  // The differences of a claim, seed by seed, from the file of runs alone.
  const std::string& per_run = files.at("per_run.csv");
  for (const int seed : {0, 1}) {
    const double gap = MeanSsim(per_run, "grf_exact-" + std::to_string(seed)) -
                       MeanSsim(per_run, "none-" + std::to_string(seed));
    EXPECT_NEAR(study["claims"][0]["run_means"][seed].get<double>(), gap, 1e-7);
  }
  EXPECT_THAT(files.at("tables.md"),
              HasSubstr("| last validation loss | SSIM | SSIM where something moves |"));

  // One run once more, by what the search chose: the same weights, the same scores.
  const std::string again = folder_.File("again");
  Words repeat{"experiment", "hdvpd", "--plan",   plan_,    "--data",    out_ + "/data",
               "-o",         again,   "--repeat", "none-1", "--choices", out_ + "/choices.json",
               "--quiet"};
  const ProcessResult repeated = RunVerb(repeat);
  ASSERT_EQ(repeated.exit_code, 0) << repeated.err;
  const auto copy = FilesOf(again);
  EXPECT_EQ(copy.at("runs/rollouts/none-1/checkpoint/weights.safetensors"),
            files.at("runs/rollouts/none-1/checkpoint/weights.safetensors"));
  EXPECT_FALSE(copy.contains("choices.json")) << "nothing was searched";
  EXPECT_FALSE(fs::exists(again + "/runs/appearance/9")) << "of the search alone";
  EXPECT_EQ(LinesOfRun(copy.at("per_run.csv"), ""), LinesOfRun(per_run, "none-1"));
  EXPECT_EQ(RunVerb(repeat).exit_code, 0);

  // Its folder is no place for the whole study, nor for another run, nor the other way round.
  Words whole_there{"experiment", "hdvpd", "--plan", plan_, "-o", again, "--quiet"};
  EXPECT_THAT(RunVerb(whole_there).err, HasSubstr("choose a folder of its own"));
  repeat[9] = "none-0";
  EXPECT_THAT(RunVerb(repeat).err, HasSubstr("choose a folder of its own"));
  repeat[7] = out_;
  EXPECT_THAT(RunVerb(repeat).err, HasSubstr("expected the whole study, which began here"));
  repeat[7] = folder_.File("other");
  repeat[9] = "none-7";
  EXPECT_THAT(RunVerb(repeat).err, HasSubstr("--repeat: expected a run of the plan, such as "
                                             "grf_exact-0, got none-7"));
  repeat[9] = "none-1";
  repeat[11] = folder_.File("choices.json");
  std::ofstream(repeat[11]) << R"([{"variant": "none", "model": {}, "trial": 0}])";
  EXPECT_THAT(RunVerb(repeat).err, HasSubstr("got none of the trials of grf_exact"));

  EXPECT_THAT(page, ::testing::Not(HasSubstr("relations reproduced")))
      << "the claims are what is judged";
  EXPECT_THAT(page, HasSubstr("Validation loss, stage 1"));
  EXPECT_EQ(study["runs"][0]["earlier_stages"].size(), 1u);

  // Nor is a run whose first weights are no longer those of the run before.
  const std::string first_weights = out_ + "/runs/one_step/none-0/checkpoint/weights.safetensors";
  fs::rename(first_weights, first_weights + ".kept");
  fs::copy_file(out_ + "/runs/one_step/none-1/checkpoint/weights.safetensors", first_weights);
  const ProcessResult replaced = RunVerb(Command());
  EXPECT_EQ(replaced.exit_code, 3);
  EXPECT_THAT(replaced.err, HasSubstr("rollouts/none-0/inputs.json: initial_weights_sha256"));
  fs::rename(first_weights + ".kept", first_weights);

  // Other weights than those that were frozen are not scored.
  fs::copy_file(out_ + "/runs/rollouts/none-1/checkpoint/weights.safetensors", weights,
                fs::copy_options::overwrite_existing);
  const ProcessResult changed = RunVerb(Command());
  EXPECT_EQ(changed.exit_code, 3);
  EXPECT_THAT(changed.err, HasSubstr("frozen before the test episodes"));
}

TEST_F(ExperimentPlanTest, NothingBesideThePlanSaysWhatIsScored) {
  for (const char* option : {"--variants=none", "--seeds=0", "--split=val", "--episodes=2",
                             "--steps=1", "--start-step=2", "--windows=2", "--seed=1",
                             "--target-background=none", "--no-ablations"}) {
    std::vector<std::string> command = Command();
    command.push_back(option);
    const ProcessResult refused = RunVerb(command);
    EXPECT_EQ(refused.exit_code, 2) << option;
    EXPECT_THAT(refused.err, HasSubstr("--plan")) << option;
  }
  EXPECT_FALSE(fs::exists(out_));
}

TEST_F(ExperimentPlanTest, AnotherPlanIsAnotherStudy) {
  fs::create_directories(out_);
  std::ofstream(out_ + "/plan.json") << "{}";
  const ProcessResult other = RunVerb(Command());
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("expected the plan that the study began with"));
}

TEST_F(ExperimentPlanTest, TwoCommandsDoNotShareAFolder) {
  fs::create_directories(out_);
  const int lock = open((out_ + "/.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  ASSERT_EQ(flock(lock, LOCK_EX | LOCK_NB), 0);
  const ProcessResult second = RunVerb(Command());
  EXPECT_EQ(second.exit_code, 8);
  EXPECT_THAT(second.err, HasSubstr("at work here"));
  close(lock);
}

TEST_F(ExperimentPlanTest, AFailingTrainingNamesItsLog) {
  auto plan = nlohmann::json::parse(kTinyPlan);
  plan["model"]["data"]["cameras"][1]["name"] = "top";
  std::ofstream(plan_) << plan.dump();
  const ProcessResult failed = RunVerb(Command());
  EXPECT_NE(failed.exit_code, 0);
  // Of two that run at once, the one that the plan names first, whichever ended first.
  EXPECT_THAT(failed.err, HasSubstr("logs/appearance/9.log"));
  EXPECT_THAT(failed.err, HasSubstr("CAMERA_UNKNOWN"));
}

TEST_F(ExperimentPlanTest, APlanOfWhichARunWouldBeRefusedMakesNothing) {
  const auto tiny = nlohmann::json::parse(kTinyPlan);
  const auto refused = [&](const char* patch, const char* run, const char* why) {
    std::ofstream(plan_) << tiny.patch(nlohmann::json::parse(patch)).dump();
    const ProcessResult result = RunVerb(Command());
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_THAT(result.err, HasSubstr(run));
    EXPECT_THAT(result.err, HasSubstr(why));
    EXPECT_FALSE(fs::exists(out_ + "/data"));
    EXPECT_FALSE(fs::exists(out_ + "/plan.json")) << "so that it may be mended";
  };
  refused(R"([{"op": "replace", "path": "/model/network/width", "value": 33}])", "appearance/9",
          "head_count");
  refused(R"([{"op": "replace", "path": "/search/learning_rates/1", "value": -1}])",
          "search/grf_exact-0-1", "learning_rate");
  refused(R"([{"op": "replace", "path": "/stages/1/training/step_count", "value": 0}])",
          "rollouts/grf_exact-0", "step_count");
  refused(R"([{"op": "replace", "path": "/variants/1/models/0/network/local/kind",
               "value": "message_passing"}])",
          "search/none-0-0", "network.local.kind");
  refused(R"([{"op": "add", "path": "/variants/1/models/0/tokens",
               "value": {"fourier_octaves": 3}}])",
          "search/none-0-0", "fourier_octaves");
}

TEST_F(ExperimentPlanTest, EpisodesThatCannotBeMadeAreSaidAndThePlanMayBeMended) {
  auto plan = nlohmann::json::parse(kTinyPlan);
  plan["episodes"]["task"] = "juggle";
  std::ofstream(plan_) << plan.dump();
  const ProcessResult failed = RunVerb(Command());
  EXPECT_EQ(failed.exit_code, 2);
  EXPECT_THAT(failed.err, HasSubstr("--task"));
  EXPECT_THAT(failed.err, HasSubstr("juggle"));
  EXPECT_FALSE(fs::exists(out_ + "/plan.json"));
}

TEST_F(ExperimentPlanTest, DataOfOtherSeedsAreNotThePlans) {
  ASSERT_EQ(RunVerb({"simulate", "--task", "push_block", "--steps", "6", "--width", "64",
                     "--height", "48", "--split", "train", "--seed", "3", "--episodes", "2", "-o",
                     folder_.File("data/train"), "--quiet"})
                .exit_code,
            0);
  Words command = Command();
  command.insert(command.end(), {"--data", folder_.File("data")});
  const ProcessResult other = RunVerb(command);
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("the 2 episodes of the plan, got 4"));
}

TEST_F(ExperimentPlanTest, WithoutAPlanDataAndRunsAreNeeded) {
  const ProcessResult result = RunVerb({"experiment", "hdvpd", "-o", out_});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_THAT(result.err, HasSubstr("--plan"));
  EXPECT_EQ(RunVerb({"experiment", "hdvpd", "-o", out_, "--plan", plan_, "--runs", "x"}).exit_code,
            2);
}

}  // namespace
}  // namespace interlacer::testing
