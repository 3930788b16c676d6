#include "model/training/trainer.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "common/thread_pool.h"
#include "model/files/checkpoint.h"
#include "model/network/world_model.h"
#include "tests/model/training/trainer_fixture.h"

namespace interlacer {
namespace {

using testing::CountingObserver;

class TrainerTest : public testing::TrainerFixture {};

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

TEST_F(TrainerTest, TrainsWithEveryGraphIndexAndWithAnOutlierFilter) {
  const auto losses = [&](const std::string& name, KnnBackend index,
                          std::optional<OutlierFilter> filter) {
    TrainOptions options = Options(name, 2);
    options.config.model.graph.index = index;
    options.config.model.lifting.outlier_filter = filter;
    CountingObserver observer;
    const auto summary = Train(options, &observer);
    EXPECT_TRUE(summary.ok()) << name << ": " << summary.status().ToString();
    for (const double loss : observer.losses) EXPECT_TRUE(std::isfinite(loss)) << name;
    return observer.losses;
  };
  const std::vector<double> grid = losses("grid", KnnBackend::kGrid, {});
  ASSERT_EQ(grid.size(), 2u);
  if (KnnBackendAvailable(KnnBackend::kFaissFlat)) {
    EXPECT_EQ(losses("flat", KnnBackend::kFaissFlat, {}).size(), 2u);
    EXPECT_EQ(losses("ivf", KnnBackend::kFaissIvf, {}).size(), 2u);
  }
  if (OutlierFilterAvailable()) {
    // Other pixels are left to draw from.
    const OutlierFilter strict{OutlierFilterKind::kStatistical, 16, 0.5};
    EXPECT_NE(losses("filtered", KnnBackend::kGrid, strict), grid);
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

// Two runs that are validated by the same numbers are compared by what they have learnt alone.
TEST_F(TrainerTest, ValidationKnowsNeitherNoiseNorShareOfMovingRays) {
  const std::string data = root_ + "/data";
  ASSERT_TRUE(WriteSplits(data).ok());
  const auto validated = [&](const std::string& name, double jitter_m, double moving_share) {
    TrainOptions options = Options(name, 1);
    options.datasets[0].path = data;
    options.config.training.learning_rate = {{0, 1e-30}};
    options.config.training.reconstruction_jitter_m = {{0, jitter_m}};
    options.config.training.moving_ray_share = moving_share;
    options.config.training.reconstruction_weight = moving_share;
    CountingObserver observer;
    EXPECT_TRUE(Train(options, &observer).ok());
    return std::pair(observer.losses.at(0), observer.validations.at(0));
  };
  const auto [plain_loss, plain] = validated("plain", 0, 0);
  const auto [noisy_loss, noisy] = validated("noisy", 0.05, 0.5);
  EXPECT_NE(noisy_loss, plain_loss);
  EXPECT_EQ(noisy.reconstruction_loss, plain.reconstruction_loss);
  EXPECT_EQ(noisy.prediction_loss, plain.prediction_loss);
  EXPECT_GT(plain.reconstruction_loss, 0);
}

/// Without a weight the start is shown, and its depth is no part of what training minimises.
TEST_F(TrainerTest, ValidationMeasuresDepthOfTheStepsThatTrainingCounts) {
  const std::string data = root_ + "/data";
  ASSERT_TRUE(WriteSplits(data).ok());
  const auto validated = [&](const std::string& name, double reconstruction_weight) {
    TrainOptions options = Options(name, 1);
    options.datasets[0].path = data;
    options.config.training.learning_rate = {{0, 1e-30}};
    options.config.training.depth_weight = 2;
    options.config.training.reconstruction_weight = reconstruction_weight;
    CountingObserver observer;
    EXPECT_TRUE(Train(options, &observer).ok());
    return observer.validations.at(0);
  };
  const ValidationRecord without = validated("without", 0), with = validated("with", 0.5);
  EXPECT_GT(without.reconstruction_loss, 0);
  EXPECT_EQ(without.reconstruction_loss, with.reconstruction_loss);
  EXPECT_EQ(without.prediction_loss, with.prediction_loss);
  EXPECT_GT(without.depth_loss_m, 0);
  EXPECT_NE(without.depth_loss_m, with.depth_loss_m);
  EXPECT_EQ(without.loss, without.prediction_loss + 2 * without.depth_loss_m);
}

TEST_F(TrainerTest, RunsOfAllSeedsAreValidatedOnTheSameSequencesAndRays) {
  const std::string data = root_ + "/data";
  ASSERT_TRUE(WriteSplits(data).ok());
  CountingObserver first;
  ASSERT_TRUE(Train(Options("first", 1), &first).ok());
  const auto validated = [&](const std::string& name, std::uint64_t seed) {
    TrainOptions options = Options(name, 1);
    options.datasets[0].path = data;
    options.initial_checkpoint = root_ + "/first/checkpoint";
    options.seed = seed;
    options.config.training.learning_rate = {{0, 1e-30}};
    options.config.training.reconstruction_weight = 1;
    CountingObserver observer;
    EXPECT_TRUE(Train(options, &observer).ok());
    return std::pair(observer.losses.at(0), observer.validations.at(0));
  };
  const auto [loss_a, a] = validated("a", 1);
  const auto [loss_b, b] = validated("b", 2);
  EXPECT_NE(loss_a, loss_b);
  EXPECT_EQ(a.reconstruction_loss, b.reconstruction_loss);
  EXPECT_EQ(a.prediction_loss, b.prediction_loss);
}

}  // namespace
}  // namespace interlacer
