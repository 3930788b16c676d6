#include "model/training/sequence_loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "model/network/world_model.h"
#include "model/training/sample_source.h"
#include "tests/model/tiny_scene.h"
#include "tests/model/training/trainer_fixture.h"

namespace interlacer {
namespace {

using testing::CountingObserver;

class SequenceLossTest : public testing::TrainerFixture {};

// With every pixel as a ray the loss depends on the draw through the graph alone. A token that is
// an anchor in one sequence is none in another; otherwise the same few would be trained as anchors.
TEST_F(SequenceLossTest, AnchorsAreDrawnAnewForEverySequence) {
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

TEST_F(SequenceLossTest, MotionHasItsPricesAndStandingStillIsFree) {
  using Weight = Schedule<double> TrainingConfig::*;
  const auto first_loss = [&](const std::string& name, Weight which, double weight,
                              bool reset_heads) {
    TrainOptions options = Options(name, 1);
    options.initial_checkpoint = root_ + "/start/checkpoint";
    options.reset_heads = reset_heads;
    options.config.training.*which = {{0, weight}};
    CountingObserver observer;
    EXPECT_TRUE(Train(options, &observer).ok());
    return observer.losses.at(0);
  };
  CountingObserver start;
  ASSERT_TRUE(Train(Options("start", 20), &start).ok());
  const Weight displacement = &TrainingConfig::displacement_weight;
  const double free = first_loss("free", displacement, 0, false);
  const double still_free = first_loss("still_free", displacement, 0, true);
  for (const auto& [name, which] :
       {std::pair{"displacement", displacement},
        std::pair{"stretch", &TrainingConfig::stretch_weight},
        std::pair{"feature_change", &TrainingConfig::feature_change_weight}}) {
    EXPECT_GT(first_loss(name, which, 10, false), free) << name;
    EXPECT_EQ(first_loss(std::string("still_") + name, which, 10, true), still_free) << name;
  }
}

TEST_F(SequenceLossTest, JitterMovesTheReconstructionAlone) {
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

}  // namespace
}  // namespace interlacer
