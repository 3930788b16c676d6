#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "common/thread_pool.h"
#include "model/training/run_directory.h"
#include "model/training/trainer.h"
#include "tests/model/training/trainer_fixture.h"

namespace interlacer {
namespace {

namespace fs = std::filesystem;
using testing::CountingObserver;

class TrainerResumeTest : public testing::TrainerFixture {};

TEST_F(TrainerResumeTest, StoppedAndResumedEqualsUninterruptedToTheBit) {
  SetThreadCount(1);
  CountingObserver whole, first(3), second;
  ASSERT_TRUE(Train(Options("whole", 6), &whole).ok());
  EXPECT_EQ(Train(Options("parts", 6), &first).status().code(), StatusCode::kCancelled);
  TrainOptions resumed = Options("parts", 6);
  resumed.resume = true;
  ASSERT_TRUE(Train(resumed, &second).ok());
  EXPECT_EQ(second.losses, std::vector<double>(whole.losses.begin() + 3, whole.losses.end()));
  EXPECT_EQ(Weights(root_ + "/parts"), Weights(root_ + "/whole"));
}

TEST_F(TrainerResumeTest, AveragedWeightsResumeToTheBitAndLeaveTheTrainingAlone) {
  SetThreadCount(1);
  const auto averaged = [this](const std::string& name) {
    TrainOptions options = Options(name, 6);
    options.config.training.average_decay = 0.9;
    return options;
  };
  CountingObserver plain, whole, first(3), second;
  ASSERT_TRUE(Train(Options("plain", 6), &plain).ok());
  ASSERT_TRUE(Train(averaged("whole"), &whole).ok());
  EXPECT_EQ(whole.losses, plain.losses);
  EXPECT_NE(Weights(root_ + "/whole"), Weights(root_ + "/plain"));
  EXPECT_EQ(Train(averaged("parts"), &first).status().code(), StatusCode::kCancelled);
  TrainOptions resumed = averaged("parts");
  resumed.resume = true;
  ASSERT_TRUE(Train(resumed, &second).ok());
  EXPECT_EQ(second.losses, std::vector<double>(whole.losses.begin() + 3, whole.losses.end()));
  EXPECT_EQ(Weights(root_ + "/parts"), Weights(root_ + "/whole"));
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
    CountingObserver whole, first(3), second;
    ASSERT_TRUE(Train(kept("whole"), &whole).ok());
    EXPECT_EQ(Train(kept("parts"), &first).status().code(), StatusCode::kCancelled);
    TrainOptions resumed = kept("parts");
    resumed.resume = true;
    ASSERT_TRUE(Train(resumed, &second).ok());
    EXPECT_EQ(second.losses, std::vector<double>(whole.losses.begin() + 3, whole.losses.end()));
    EXPECT_EQ(Weights(resumed.output_dir), Weights(kept("whole").output_dir));
  }
}

TEST_F(TrainerResumeTest, ARunIsNotOverwrittenUnasked) {
  CountingObserver observer;
  ASSERT_TRUE(Train(Options("run", 1), &observer).ok());
  EXPECT_EQ(Train(Options("run", 1), &observer).status().reason(), reason::OUTPUT_EXISTS);
  TrainOptions other = Options("run", 2);
  other.resume = true;
  const Status status = Train(other, &observer).status();
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
  const auto lines = [this](const std::string& name) {
    std::string kept;
    std::istringstream log(ReadTextFile(root_ + "/" + name + "/metrics.jsonl").value());
    for (std::string line; std::getline(log, line);) {
      if (line.find("validation") != std::string::npos) kept += line + "\n";
    }
    return kept;
  };
  const std::string data = root_ + "/data";
  ASSERT_TRUE(WriteSplits(data).ok());
  const auto validated = [&](const std::string& name) {
    TrainOptions options = Options(name, 4);
    options.config.training.validation_every = 2;
    options.datasets[0].path = data;
    return options;
  };
  SetThreadCount(1);
  CountingObserver whole, first(2), second;
  const auto done = Train(validated("whole"), &whole);
  ASSERT_TRUE(done.ok()) << done.status().ToString();
  EXPECT_EQ(Train(validated("parts"), &first).status().code(), StatusCode::kCancelled);
  TrainOptions resumed = validated("parts");
  resumed.resume = true;
  ASSERT_TRUE(Train(resumed, &second).ok());
  EXPECT_EQ(lines("parts"), lines("whole"));
  EXPECT_NE(lines("whole").find("\"step\":2"), std::string::npos);
}

TEST_F(TrainerResumeTest, ResumesWithTheInputsThatItBeganWith) {
  CountingObserver stopped(1), observer;
  EXPECT_EQ(Train(Options("run", 2), &stopped).status().code(), StatusCode::kCancelled);
  const auto refusal = [&](const auto& change) {
    TrainOptions options = Options("run", 2);
    options.resume = true;
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

}  // namespace
}  // namespace interlacer
