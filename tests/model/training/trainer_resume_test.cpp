#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "common/json.h"
#include "common/thread_pool.h"
#include "model/training/run_directory.h"
#include "model/training/run_inputs.h"
#include "model/training/trainer.h"
#include "tests/model/training/trainer_fixture.h"
#include "tests/support/matchers.h"
#include "tests/support/must.h"

namespace interlacer {
namespace {

namespace fs = std::filesystem;
using testing::CountingObserver;

class TrainerResumeTest : public testing::TrainerFixture {
 protected:
  /// Validates where it saves; trains on the data set that WriteSplits makes in root_/data.
  TrainOptions ValidatedOptions(const std::string& name, std::int64_t step_count) const {
    TrainOptions options = Options(name, step_count);
    options.config.training.validation_every = options.config.training.checkpoint_every;
    options.config.training.validation_sample_count = 1;
    options.datasets[0].path = root_ + "/data";
    return options;
  }

  static TrainOptions Resumed(TrainOptions options) {
    options.resume = true;
    return options;
  }
  /// Runs of these options, by name, that are stopped after step 3 of 6 and resumed have the losses
  /// and weights of one that is not; gives the losses.
  template <typename OptionsOf>
  std::vector<double> ExpectResumesToTheBit(const OptionsOf& options_of) const {
    CountingObserver whole, first(3), second;
    Must(Train(options_of("whole"), &whole));
    EXPECT_EQ(Train(options_of("parts"), &first).status().code(), StatusCode::kCancelled);
    Must(Train(Resumed(options_of("parts")), &second));
    EXPECT_EQ(second.losses, std::vector<double>(whole.losses.begin() + 3, whole.losses.end()));
    EXPECT_EQ(Weights(options_of("parts").output_dir), Weights(options_of("whole").output_dir));
    return whole.losses;
  }

  /// The log of a run, but for how long each step took.
  std::vector<std::string> LogLines(const std::string& name) const {
    std::vector<std::string> lines;
    std::istringstream log(ReadTextFile(RunPaths{root_ + "/" + name}.log()).value());
    for (std::string line; std::getline(log, line);) {
      lines.push_back(line.substr(0, line.find(",\"seconds\"")));
    }
    return lines;
  }
};

TEST_F(TrainerResumeTest, StoppedAndResumedEqualsUninterruptedToTheBit) {
  SetThreadCount(1);
  ExpectResumesToTheBit([this](const std::string& name) { return Options(name, 6); });
}

TEST_F(TrainerResumeTest, AveragedWeightsResumeToTheBitAndLeaveTheTrainingAlone) {
  SetThreadCount(1);
  const auto averaged = [this](const std::string& name) {
    TrainOptions options = Options(name, 6);
    options.config.training.average_decay = 0.9;
    return options;
  };
  CountingObserver plain;
  ASSERT_TRUE(Train(Options("plain", 6), &plain).ok());
  EXPECT_EQ(ExpectResumesToTheBit(averaged), plain.losses);
  EXPECT_NE(Weights(root_ + "/whole"), Weights(root_ + "/plain"));
}

TEST_F(TrainerResumeTest, KeptAppearanceResumesToTheBit) {
  SetThreadCount(1);
  // Stopped after step 3: before, when and after appearance is kept.
  for (const std::int64_t appearance_steps : {2, 3, 4}) {
    const auto kept = [&](const std::string& name) {
      TrainOptions options = Options(name + std::to_string(appearance_steps), 6);
      options.config.training.appearance_step_count = appearance_steps;
      options.config.training.reconstruction_jitter_m = {{0, 0.02}};
      options.config.training.average_decay = 0.9;
      return options;
    };
    ExpectResumesToTheBit(kept);
  }
}

TEST_F(TrainerResumeTest, ARunIsNotOverwrittenUnasked) {
  CountingObserver observer;
  ASSERT_TRUE(Train(Options("run", 1), &observer).ok());
  EXPECT_EQ(Train(Options("run", 1), &observer).status().reason(), reason::OUTPUT_EXISTS);
  const Status status = Train(Resumed(Options("run", 2)), &observer).status();
  EXPECT_EQ(status.reason(), reason::CONFIG_INVALID);
  EXPECT_EQ(status.field(), root_ + "/run/run.json: /training/step_count");
}

TEST_F(TrainerResumeTest, OverwritingLeavesNothingOfARunKilledWhileItSaved) {
  CountingObserver observer;
  ASSERT_TRUE(Train(Options("run", 1), &observer).ok());
  const std::string checkpoint = root_ + "/run/checkpoint";
  fs::rename(checkpoint, checkpoint + ".old");  // killed between the two renames
  TrainOptions overwriting = Options("run", 1);
  overwriting.overwrite = true;
  ASSERT_TRUE(PrepareRunDirectory(overwriting, RunPaths{root_ + "/run"}).ok());
  EXPECT_FALSE(fs::exists(checkpoint + ".old")) << "a resumed run would begin with it";
}

TEST_F(TrainerResumeTest, OverwritingWithWrongInputsLeavesTheRunThatIsThere) {
  SetThreadCount(1);
  CountingObserver observer;
  ASSERT_TRUE(Train(Options("run", 1), &observer).ok());
  const auto weights = Weights(root_ + "/run");
  const auto expect_refused = [&](const auto& change, const std::string& words) {
    TrainOptions options = Options("run", 2);
    options.overwrite = true;
    change(&options);
    const Status status = Train(options, &observer).status();
    EXPECT_THAT(status.message(), HasSubstr(words));
    EXPECT_TRUE(fs::exists(root_ + "/run/checkpoint")) << status.ToString();
  };
  const std::string typo = root_ + "/typo";
  expect_refused([&](TrainOptions* o) { o->datasets[0].path = typo; }, typo);
  expect_refused([&](TrainOptions* o) { o->datasets.clear(); }, "no training episodes");
  const std::string one_view =
      testing::WritePaintedPlane(root_ + "/one_view", {.view_count = 1}).value();
  expect_refused([&](TrainOptions* o) { o->datasets[0].path = one_view; }, one_view);
  expect_refused([&](TrainOptions* o) { o->initial_checkpoint = typo; }, typo);
  expect_refused([&](TrainOptions* o) { o->initial_appearance = typo; }, typo);
  EXPECT_EQ(Must(Train(Resumed(Options("run", 1)), &observer)).steps_done, 1);
  EXPECT_EQ(Weights(root_ + "/run"), weights);
}

TEST_F(TrainerResumeTest, ARunBeginsAnewFromItsOwnWeights) {
  SetThreadCount(1);
  CountingObserver observer;
  ASSERT_TRUE(Train(Options("run", 1), &observer).ok());
  const std::string first = Must(Sha256OfFile(root_ + "/run/checkpoint/weights.safetensors"));
  TrainOptions options = Options("run", 1);
  options.overwrite = true;
  options.initial_checkpoint = root_ + "/run/checkpoint";
  Must(Train(options, &observer));
  EXPECT_EQ(Must(ReadJsonFile(root_ + "/run/inputs.json"))[kInitialWeightsKey], first);
}

/// Links to themselves stand for folders of others, which a test that may read everything lacks.
TEST_F(TrainerResumeTest, WhatCannotBeReachedIsNamedAndNotTakenForAbsent) {
  SetThreadCount(1);
  CountingObserver observer;
  fs::create_symlink("loop", root_ + "/loop");
  const Status loop = Train(Options("loop", 1), &observer).status();
  EXPECT_EQ(loop.reason(), reason::FILE_UNWRITABLE) << loop.ToString();
  ASSERT_TRUE(Train(Options("run", 1), &observer).ok());
  const RunPaths paths{root_ + "/run"};
  for (const std::string& path : {paths.checkpoint(), paths.inputs()}) {
    fs::rename(path, path + ".kept");
    fs::create_symlink(fs::path(path).filename(), path);
    const Status status = Train(Resumed(Options("run", 1)), &observer).status();
    EXPECT_NE(status.code(), StatusCode::kInternal) << status.ToString();
    EXPECT_EQ(status.field(), path) << status.ToString();
    fs::remove(path);
    fs::rename(path + ".kept", path);
  }
  EXPECT_TRUE(Train(Resumed(Options("run", 1)), &observer).ok());
}

TEST(RunState, OfMoreThanAFileHoldsIsRefusedBeforeTraining) {
  // Two numbers of four bytes for each parameter, in 4 GiB, with the average three.
  constexpr std::int64_t kParameters = 400'000'000;
  EXPECT_TRUE(CheckStateFits(kParameters, /*has_average=*/false).ok());
  const Status status = CheckStateFits(kParameters, /*has_average=*/true);
  EXPECT_EQ(status.reason(), reason::CONFIG_INVALID);
  EXPECT_EQ(status.metadata().at("got"), std::to_string(kParameters));
}

TEST_F(TrainerResumeTest, FirstWeightsMustBeNamedAgainUntilTheRunHasItsOwn) {
  CountingObserver observer;
  ASSERT_TRUE(Train(Options("first", 1), &observer).ok());
  TrainOptions options = Options("run", 1);
  options.initial_checkpoint = root_ + "/first/checkpoint";
  options.reset_heads = true;
  ASSERT_TRUE(PrepareRunDirectory(options, RunPaths{root_ + "/run"}).ok());  // killed here
  options.resume = true;
  TrainOptions without = options;
  without.initial_checkpoint.clear();
  EXPECT_EQ(Train(without, &observer).status().field(),
            root_ + "/run/inputs.json: initial_weights_sha256");
  without = options;
  without.reset_heads = false;
  EXPECT_EQ(Train(without, &observer).status().field(), root_ + "/run/inputs.json: reset_heads");
  ASSERT_TRUE(Train(options, &observer).ok());
  without.initial_checkpoint.clear();
  EXPECT_TRUE(Train(without, &observer).ok()) << "it has weights of its own";
}

TEST_F(TrainerResumeTest, ARunStoppedWhereItValidatesLosesNoValidation) {
  ASSERT_TRUE(WriteSplits(root_ + "/data").ok());
  SetThreadCount(1);
  CountingObserver whole, first(2), second;
  Must(Train(ValidatedOptions("whole", 4), &whole));
  EXPECT_EQ(Train(ValidatedOptions("parts", 4), &first).status().code(), StatusCode::kCancelled);
  ASSERT_TRUE(Train(Resumed(ValidatedOptions("parts", 4)), &second).ok());
  const std::vector<std::string> lines = LogLines("whole");
  EXPECT_EQ(LogLines("parts"), lines);
  ASSERT_EQ(lines.size(), 7u);
  EXPECT_EQ(lines.back(), R"({"kind":"end","step":4,"flat":false})");
  EXPECT_TRUE(lines[2].starts_with(R"({"kind":"validation","step":2,)")) << lines[2];
}

TEST_F(TrainerResumeTest, ARunEndsWhereItsValidationLossIsFlatAndStaysThere) {
  ASSERT_TRUE(WriteSplits(root_ + "/data").ok());
  SetThreadCount(1);
  const auto flat = [this](const std::string& name) {
    TrainOptions options = ValidatedOptions(name, 100);
    // Whatever is not a thousandth of the loss before is flat: so is the second validation.
    options.config.training.stop_when_flat = {1, 0.999};
    return options;
  };
  CountingObserver whole, first(3), second, again;
  const auto done = Must(Train(flat("whole"), &whole));
  const std::int64_t end = 2 * flat("whole").config.training.validation_every;
  EXPECT_EQ(done.steps_done, end);
  ASSERT_EQ(whole.validations.size(), 2u);
  EXPECT_GT(whole.validations[0].loss, 0);
  const std::vector<std::string> lines = LogLines("whole");
  EXPECT_EQ(lines.back(), R"({"kind":"end","step":)" + std::to_string(end) + R"(,"flat":true})");

  EXPECT_EQ(Train(flat("parts"), &first).status().code(), StatusCode::kCancelled);
  const TrainOptions resumed = Resumed(flat("parts"));
  ASSERT_TRUE(Train(resumed, &second).ok());
  EXPECT_EQ(LogLines("parts"), lines);
  EXPECT_EQ(Weights(root_ + "/parts"), Weights(root_ + "/whole"));
  // A run that has ended is not trained on.
  const auto at_end = Must(Train(resumed, &again));
  EXPECT_EQ(at_end.steps_done, end);
  EXPECT_TRUE(again.losses.empty());
  EXPECT_EQ(LogLines("parts"), lines);
}

/// A loss of another number of particles says nothing of what has been learnt since.
TEST_F(TrainerResumeTest, OnlyLossesSinceTheLastChangeOfClouds) {
  ASSERT_TRUE(WriteSplits(root_ + "/data").ok());
  SetThreadCount(1);
  const auto changing = [this](const std::string& name) {
    TrainOptions options = ValidatedOptions(name, 100);
    TrainingConfig& training = options.config.training;
    training.stop_when_flat = {1, 0.999};
    training.particle_count = {{0, 0}, {training.validation_every, 128}};
    return options;
  };
  const std::int64_t every = changing("whole").config.training.validation_every;
  CountingObserver whole, at_change(every), later(every + 1), rest, ended;
  EXPECT_EQ(Must(Train(changing("whole"), &whole)).steps_done, 3 * every);
  EXPECT_EQ(whole.validations.size(), 3u);
  const std::vector<std::string> lines = LogLines("whole");
  for (auto& [name, first] : {std::pair{"at_change", &at_change}, std::pair{"later", &later}}) {
    EXPECT_EQ(Train(changing(name), first).status().code(), StatusCode::kCancelled);
    EXPECT_EQ(Must(Train(Resumed(changing(name)), &rest)).steps_done, 3 * every);
    EXPECT_EQ(LogLines(name), lines);
  }
  EXPECT_EQ(Must(Train(Resumed(changing("whole")), &ended)).steps_done, 3 * every);
  EXPECT_TRUE(ended.losses.empty());
}

TEST_F(TrainerResumeTest, ResumesWithTheInputsThatItBeganWith) {
  CountingObserver stopped(1), observer;
  EXPECT_EQ(Train(Options("run", 2), &stopped).status().code(), StatusCode::kCancelled);
  const auto refusal = [&](const auto& change) {
    TrainOptions options = Resumed(Options("run", 2));
    change(&options);
    return Train(options, &observer).status();
  };
  const Status seed = refusal([](TrainOptions* o) { o->seed = 8; });
  EXPECT_EQ(seed.reason(), reason::CONFIG_INVALID);
  EXPECT_EQ(seed.field(), root_ + "/run/inputs.json: seed");
  const std::string other =
      testing::WritePaintedPlane(root_ + "/other", {.episode_id = "other"}).value();
  EXPECT_EQ(refusal([&](TrainOptions* o) { o->datasets[0].path = other; }).field(),
            root_ + "/run/inputs.json: data[0].episodes_sha256");
  EXPECT_EQ(refusal([](TrainOptions* o) { o->datasets[0].weight = 0.5; }).field(),
            root_ + "/run/inputs.json: data[0].weight");
  EXPECT_EQ(refusal([](TrainOptions* o) { o->datasets.push_back(o->datasets[0]); }).field(),
            root_ + "/run/inputs.json: data: number of data sets");
  EXPECT_EQ(refusal([this](TrainOptions* o) {
              o->initial_checkpoint = root_ + "/run/checkpoint";
            }).field(),
            root_ + "/run/inputs.json: initial_weights_sha256");
  // The same episode elsewhere is the same data.
  fs::rename(episode_, root_ + "/moved");
  EXPECT_TRUE(refusal([this](TrainOptions* o) { o->datasets[0].path = root_ + "/moved"; }).ok());
}

/// Copies a run's folder as soon as a step is logged: what a kill leaves before anything is saved.
class CopyingObserver : public CountingObserver {
 public:
  CopyingObserver(std::int64_t step, std::string run, std::string copy)
      : step_(step), run_(std::move(run)), copy_(std::move(copy)) {}
  bool OnStep(const TrainingRecord& record, std::int64_t step_count) override {
    if (record.step == step_) fs::copy(run_, copy_, fs::copy_options::recursive);
    return CountingObserver::OnStep(record, step_count);
  }

 private:
  std::int64_t step_;
  std::string run_, copy_;
};

/// A moment in a run that saves every second step.
struct KillMoment {
  const char* name;
  std::int64_t logged_steps;
  std::int64_t saved_steps;
  /// What happened to the folder after the line of the last step.
  void (*leave)(const RunPaths& paths);
};

void LeaveHalfACheckpoint(const std::string& folder) {
  fs::create_directories(folder);
  std::ofstream(folder + "/weights.safetensors") << "half of them";
}

void LeavePartial(const RunPaths& paths) { LeaveHalfACheckpoint(paths.checkpoint() + ".partial"); }

const KillMoment kKillMoments[] = {
    {"BetweenSaves", 3, 2, [](const RunPaths&) {}},
    {"AmidALogLine", 3, 2,
     [](const RunPaths& paths) { fs::resize_file(paths.log(), fs::file_size(paths.log()) - 10); }},
    {"AmidTheFirstCheckpoint", 2, 0, LeavePartial},
    {"AmidALaterCheckpoint", 4, 2, LeavePartial},
    {"BetweenTheRenames", 4, 2,
     [](const RunPaths& paths) {
       fs::rename(paths.checkpoint(), paths.checkpoint() + ".old");
       LeavePartial(paths);
     }},
    {"AmidTheRemovalOfTheOldCheckpoint", 5, 4,
     [](const RunPaths& paths) { LeaveHalfACheckpoint(paths.checkpoint() + ".old"); }}};

class KilledRunTest : public TrainerResumeTest, public ::testing::WithParamInterface<KillMoment> {};

INSTANTIATE_TEST_SUITE_P(Moments, KilledRunTest, ::testing::ValuesIn(kKillMoments),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(KilledRunTest, ResumesAsIfItHadNotBeenKilled) {
  const KillMoment& moment = GetParam();
  ASSERT_TRUE(WriteSplits(root_ + "/data").ok());
  SetThreadCount(1);
  const RunPaths killed{root_ + "/killed"};
  CopyingObserver whole(moment.logged_steps, root_ + "/whole", killed.dir);
  Must(Train(ValidatedOptions("whole", 6), &whole));
  const std::string last_line = LogLines("killed").back();
  const std::string last_step = R"({"kind":"train","step":)" + std::to_string(moment.logged_steps);
  ASSERT_TRUE(last_line.starts_with(last_step + ",")) << "the log is not ahead: " << last_line;
  moment.leave(killed);

  CountingObserver rest;
  Must(Train(Resumed(ValidatedOptions("killed", 6)), &rest));
  // Weights and log would be the same if it had begun anew; what it has trained on tells.
  EXPECT_EQ(rest.losses,
            std::vector<double>(whole.losses.begin() + moment.saved_steps, whole.losses.end()));
  EXPECT_EQ(Weights(killed.dir), Weights(root_ + "/whole"));
  EXPECT_EQ(LogLines("killed"), LogLines("whole"));
  EXPECT_EQ(LogLines("whole").size(), 10u) << "six steps, three validations, the end";
  for (const char* suffix : {".old", ".partial"}) {
    EXPECT_FALSE(fs::exists(killed.checkpoint() + suffix)) << suffix;
  }
}

}  // namespace
}  // namespace interlacer
