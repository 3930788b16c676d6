#include "model/training/trainer.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <sstream>
#include <utility>

#include "common/file_io.h"
#include "common/sha256.h"
#include "common/thread_pool.h"
#include "data/dataset.h"
#include "model/checkpoint.h"
#include "model/training/run_directory.h"
#include "model/training/sample_source.h"
#include "model/training/sequence_loss.h"
#include "model/world_model.h"
#include "tests/model/tiny_scene.h"
#include "tests/model/training/tiny_run.h"
#include "tests/support/painted_plane.h"

namespace interlacer {
namespace {

namespace fs = std::filesystem;

class CountingObserver : public TrainObserver {
 public:
  explicit CountingObserver(std::int64_t stop_after = 1 << 30) : stop_after_(stop_after) {}
  bool OnStep(const TrainingRecord& record, std::int64_t) override {
    losses.push_back(record.loss);
    return record.step < stop_after_;
  }
  void OnValidation(const ValidationRecord&) override {}
  std::vector<double> losses;

 private:
  std::int64_t stop_after_;
};

class TrainerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = ::testing::TempDir() + "trainer_test_" +
            ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(root_);
    fs::create_directories(root_);
    episode_ = testing::WritePaintedPlane(root_ + "/plane").value();
  }

  TrainOptions Options(const std::string& name, std::int64_t step_count) const {
    return testing::TinyRun(episode_, root_ + "/" + name, step_count);
  }

  static std::vector<std::uint8_t> Weights(const std::string& run) {
    return ReadFileBytes(run + "/checkpoint/weights.safetensors").value();
  }

  std::string root_, episode_;
};

TEST_F(TrainerTest, LossFallsOnAStaticScene) {
  CountingObserver observer;
  const auto summary = Train(Options("learn", 60), &observer);
  ASSERT_TRUE(summary.ok()) << summary.status().ToString();
  ASSERT_EQ(observer.losses.size(), 60u);
  const auto mean = [&](int from) {
    double sum = 0;
    for (int i = from; i < from + 10; ++i) sum += observer.losses[i] / 10;
    return sum;
  };
  EXPECT_LT(mean(50), 0.6 * mean(0));
}

TEST_F(TrainerTest, StoppedAndResumedEqualsUninterruptedToTheBit) {
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

TEST_F(TrainerTest, AveragedWeightsResumeToTheBitAndLeaveTheTrainingAlone) {
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

TEST_F(TrainerTest, KeptAppearanceResumesToTheBit) {
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

TEST_F(TrainerTest, LibTorchTakesNoMoreThreadsThanAsked) {
  for (const int threads : {1, 2}) {
    SetThreadCount(threads);
    CountingObserver observer;
    ASSERT_TRUE(Train(Options("on" + std::to_string(threads), 1), &observer).ok());
    EXPECT_EQ(at::get_num_threads(), threads);
  }
  SetThreadCount(0);
}

TEST_F(TrainerTest, ARunIsNotOverwrittenUnasked) {
  CountingObserver observer;
  ASSERT_TRUE(Train(Options("run", 1), &observer).ok());
  EXPECT_EQ(Train(Options("run", 1), &observer).status().reason(), reason::OUTPUT_EXISTS);
  TrainOptions other = Options("run", 2);
  other.resume = true;
  const Status status = Train(other, &observer).status();
  EXPECT_EQ(status.reason(), reason::CONFIG_INVALID);
  EXPECT_EQ(status.field(), root_ + "/run/run.json: /training/step_count");
}

TEST_F(TrainerTest, OverwritingLeavesNothingOfARunKilledWhileItSaved) {
  CountingObserver observer;
  ASSERT_TRUE(Train(Options("run", 1), &observer).ok());
  const std::string checkpoint = root_ + "/run/checkpoint";
  fs::rename(checkpoint, checkpoint + ".old");  // killed between the two renames
  TrainOptions overwriting = Options("run", 1);
  overwriting.overwrite = true;
  ASSERT_TRUE(PrepareRunDirectory(overwriting, RunPaths{root_ + "/run"}).ok());
  EXPECT_FALSE(fs::exists(checkpoint + ".old")) << "a resumed run would begin with it";
}

TEST_F(TrainerTest, FirstWeightsMustBeNamedAgainUntilTheRunHasItsOwn) {
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

TEST_F(TrainerTest, ARunStoppedWhereItValidatesLosesNoValidation) {
  const auto lines = [this](const std::string& name) {
    std::string kept;
    std::istringstream log(ReadTextFile(root_ + "/" + name + "/metrics.jsonl").value());
    for (std::string line; std::getline(log, line);) {
      if (line.find("validation") != std::string::npos) kept += line + "\n";
    }
    return kept;
  };
  const std::string data = root_ + "/data";
  Dataset dataset{"planes", "MIT", {{"test", {}}}, {}};
  for (const std::string split : {"train", "val"}) {
    const std::string episode =
        testing::WritePaintedPlane(data + "/" + split, {.episode_id = split}).value();
    dataset.splits[split] = {split};
    dataset.manifest_sha256[split] = Sha256OfFile(episode + "/manifest.json").value();
  }
  ASSERT_TRUE(WriteDataset(data, dataset).ok());
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

TEST_F(TrainerTest, ResumesWithTheInputsThatItBeganWith) {
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

TEST_F(TrainerTest, LocalLayersOfAnotherKindKeepTheirOwnFirstWeights) {
  CountingObserver observer;
  ASSERT_TRUE(Train(Options("grf", 2), &observer).ok());
  // One step at rate 0 leaves the first weights.
  const auto first_weights = [&](const std::string& name, const char* variant, bool with_init) {
    TrainOptions options = Options(name, 1);
    options.config.training.learning_rate = {{0, 1e-30}};
    options.config.model = WithLocalLayer(options.config.model, variant).value();
    if (with_init) options.initial_checkpoint = root_ + "/grf/checkpoint";
    EXPECT_TRUE(Train(options, &observer).ok());
    return LoadCheckpoint(root_ + "/" + name + "/checkpoint", {}).value().model->named_parameters();
  };
  // Query and key of `unmasked` have the shapes of `grf_exact`.
  const auto own = first_weights("own", "unmasked", false);
  const auto begun = first_weights("begun", "unmasked", true);
  const auto grf = LoadCheckpoint(root_ + "/grf/checkpoint", {}).value().model->named_parameters();
  for (const auto& item : begun) {
    const bool is_local = item.key().find(".local") != std::string::npos;
    EXPECT_TRUE(at::allclose(item.value(), (is_local ? own : grf)[item.key()])) << item.key();
  }
}

// With every pixel as a ray the loss depends on the draw through the graph alone. A token that is
// an anchor in one sequence is none in another; otherwise the same few would be trained as anchors.
TEST_F(TrainerTest, AnchorsAreDrawnAnewForEverySequence) {
  const auto losses = [this](const char* variant) {
    const TrainOptions options = Options("unused", 1);
    const InterlacerConfig config = WithLocalLayer(options.config.model, variant).value();
    WorldModel model(config, {});
    InitializeWeights(&model, 7);
    testing::PerturbHeads(&model);
    const auto source = MakeDatasetSource(config, options.datasets, 7).value();
    const TrainingSample sample = source->Draw({.particle_count = 256}).value();
    SequenceLossOptions drawn;
    drawn.ray_count = 1 << 12;
    drawn.jitter_depth = false;
    const double first = ComputeSequenceLoss(&model, sample, drawn).prediction;
    drawn.draw_index = 1;
    return std::pair(first, ComputeSequenceLoss(&model, sample, drawn).prediction);
  };
  const auto grf = losses("grf_exact"), passing = losses("message_passing");
  EXPECT_NEAR(grf.first, grf.second, 1e-6 * grf.first);
  EXPECT_GT(std::abs(passing.first - passing.second), 1e-5 * passing.first);
}

TEST_F(TrainerTest, ResetHeadsPredictThatNothingMoves) {
  CountingObserver first, plain, reset;
  ASSERT_TRUE(Train(Options("first", 20), &first).ok());
  TrainOptions options = Options("reset", 1);
  options.initial_checkpoint = root_ + "/first/checkpoint";
  options.reset_heads = true;
  ASSERT_TRUE(Train(options, &reset).ok());
  options.output_dir = root_ + "/plain";
  options.reset_heads = false;
  ASSERT_TRUE(Train(options, &plain).ok());
  // On a static scene the true motion is none, so zero heads cannot be worse than half-trained
  // ones.
  EXPECT_NE(reset.losses[0], plain.losses[0]);
  EXPECT_LE(reset.losses[0], plain.losses[0] * 1.05);
}

TEST_F(TrainerTest, MotionHasItsPricesAndStandingStillIsFree) {
  using Price = Schedule<double> TrainingConfig::*;
  const auto first_loss = [&](const std::string& name, Price price, double weight,
                              bool reset_heads) {
    TrainOptions options = Options(name, 1);
    options.initial_checkpoint = root_ + "/start/checkpoint";
    options.reset_heads = reset_heads;
    options.config.training.*price = {{0, weight}};
    CountingObserver observer;
    EXPECT_TRUE(Train(options, &observer).ok());
    return observer.losses.at(0);
  };
  CountingObserver start;
  ASSERT_TRUE(Train(Options("start", 20), &start).ok());
  const Price displacement = &TrainingConfig::displacement_weight;
  const double free = first_loss("free", displacement, 0, false);
  const double still_free = first_loss("still_free", displacement, 0, true);
  for (const auto& [name, price] :
       {std::pair{"displacement", displacement},
        std::pair{"stretch", &TrainingConfig::stretch_weight},
        std::pair{"feature_change", &TrainingConfig::feature_change_weight}}) {
    EXPECT_GT(first_loss(name, price, 10, false), free) << name;
    EXPECT_EQ(first_loss(std::string("still_") + name, price, 10, true), still_free) << name;
  }
}

TEST_F(TrainerTest, JitterMovesTheReconstructionAlone) {
  const TrainOptions options = Options("unused", 1);
  WorldModel model(options.config.model, {});
  InitializeWeights(&model, 7);
  testing::PerturbHeads(&model);
  const auto source = MakeDatasetSource(options.config.model, options.datasets, 7).value();
  const TrainingSample sample = source->Draw({.particle_count = 256}).value();
  const auto loss_of = [&](double jitter_m, std::uint32_t draw_index) {
    SequenceLossOptions drawn;
    drawn.ray_count = 1 << 12;
    drawn.jitter_depth = false;
    drawn.reconstruction_weight = 1;
    drawn.reconstruction_jitter_m = jitter_m;
    drawn.draw_index = draw_index;
    return ComputeSequenceLoss(&model, sample, drawn);
  };
  const SequenceLoss still = loss_of(0, 0), jittered = loss_of(0.02, 0);
  EXPECT_NE(jittered.reconstruction, still.reconstruction);
  EXPECT_EQ(jittered.prediction, still.prediction);
  EXPECT_EQ(jittered.reconstruction, loss_of(0.02, 0).reconstruction);
  // Rays of another draw are the same ones in another order.
  EXPECT_NEAR(loss_of(0, 1).reconstruction, still.reconstruction, 1e-5 * still.reconstruction);
  EXPECT_GT(std::abs(loss_of(0.02, 1).reconstruction - jittered.reconstruction),
            1e-4 * jittered.reconstruction);
  EXPECT_NEAR(loss_of(1e-9, 0).reconstruction, still.reconstruction, 1e-5 * still.reconstruction);
}

TEST_F(TrainerTest, TrainsOnJitteredCloudsAsScheduled) {
  const auto losses_from = [&](const std::string& name, std::int64_t from_step) {
    TrainOptions options = Options(name, 2);
    options.config.training.reconstruction_jitter_m = {{0, 0.0}, {from_step, 0.02}};
    CountingObserver observer;
    EXPECT_TRUE(Train(options, &observer).ok());
    return observer.losses;
  };
  const std::vector<double> never = losses_from("never", 5), second = losses_from("second", 1);
  EXPECT_EQ(second.at(0), never.at(0));
  EXPECT_GT(std::abs(second.at(1) - never.at(1)), 1e-5 * never.at(1));
}

TEST_F(TrainerTest, AppearanceKeepsItsWeightsWhenItHasLearnt) {
  const auto trained = [&](const std::string& name, std::int64_t step_count) {
    TrainOptions options = Options(name, step_count);
    options.config.training.appearance_step_count = 2;
    options.config.training.average_decay = 0.9;
    CountingObserver observer;
    EXPECT_TRUE(Train(options, &observer).ok());
    return LoadCheckpoint(root_ + "/" + name + "/checkpoint", {}).value().model;
  };
  const auto two = trained("two", 2), four = trained("four", 4);
  const auto later = four->named_parameters();
  int kept = 0, changed = 0;
  for (const auto& item : two->named_parameters()) {
    const bool is_appearance =
        item.key().starts_with("unet.") || item.key().starts_with("radiance_field.");
    const bool is_equal = at::equal(item.value(), later[item.key()]);
    EXPECT_TRUE(is_equal || !is_appearance) << item.key();
    ++(is_equal ? kept : changed);
  }
  EXPECT_GT(kept, 0);
  EXPECT_GT(changed, 0);
}

TEST_F(TrainerTest, BeginsWithTheSharedWeightsOfAnotherLocalLayer) {
  CountingObserver observer;
  ASSERT_TRUE(Train(Options("grf", 2), &observer).ok());
  TrainOptions options = Options("passing", 1);
  options.config.model = WithLocalLayer(options.config.model, "message_passing").value();
  options.initial_checkpoint = root_ + "/grf/checkpoint";
  EXPECT_TRUE(Train(options, &observer).ok());
  options.output_dir = root_ + "/wider";
  options.config.model.network.width = 32;
  const Status status = Train(options, &observer).status();
  EXPECT_EQ(status.reason(), reason::CHECKPOINT_INVALID) << status.ToString();
}

TEST_F(TrainerTest, MissingDataIsNamed) {
  TrainOptions options = Options("missing", 1);
  options.datasets = {{root_ + "/nowhere", 1.0}};
  CountingObserver observer;
  const Status status = Train(options, &observer).status();
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.ToString().find("nowhere"), std::string::npos) << status.ToString();
}

}  // namespace
}  // namespace interlacer
