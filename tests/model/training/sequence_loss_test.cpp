#include "model/training/sequence_loss.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "common/random.h"
#include "model/lifting/lifting.h"
#include "model/network/world_model.h"
#include "model/training/ray_batch.h"
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
    const auto model = testing::MakeMovingModel(config, {}, 7);
    const auto source = MakeDatasetSource(config, options.datasets, 7).value();
    const TrainingSample sample = source->Draw({.particle_count = 256}).value();
    SequenceLossOptions drawn;
    drawn.ray_count = 1 << 12;
    drawn.jitter_depth = false;
    const double first = ComputeSequenceLoss(model.get(), sample, drawn).prediction;
    drawn.draw_index = 1;
    return std::pair(first, ComputeSequenceLoss(model.get(), sample, drawn).prediction);
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
  const auto model = testing::MakeMovingModel(options.config.model, {}, 7);
  const auto source = MakeDatasetSource(options.config.model, options.datasets, 7).value();
  const TrainingSample sample = source->Draw({.particle_count = 256}).value();
  const auto loss_of = [&](double jitter_m, std::uint32_t draw_index) {
    SequenceLossOptions drawn;
    drawn.ray_count = 1 << 12;
    drawn.jitter_depth = false;
    drawn.reconstruction_weight = 1;
    drawn.reconstruction_jitter_m = jitter_m;
    drawn.draw_index = draw_index;
    return ComputeSequenceLoss(model.get(), sample, drawn);
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

constexpr double kDepthWeight = 0.3;

std::vector<float> RowMajorValues(const torch::Tensor& values) {
  const torch::Tensor row = values.detach().contiguous();
  return {row.data_ptr<float>(), row.data_ptr<float>() + row.numel()};
}

/// The loss of a still cloud's rays by its definition, in float64, and its gradients, those of
/// depth with kDepthWeight.
struct SlowViewLoss {
  double video = 0, depth_m = 0;
  torch::Tensor by_rgb, by_opacity, by_distance;  // as those of RenderedRays
};
SlowViewLoss SlowLossOf(const RenderedRays& rendered, const TrainingRays& rays,
                        const std::vector<float>& background) {
  SlowViewLoss loss;
  const std::vector<float> rgb = RowMajorValues(rendered.rgb),
                           opacities = RowMajorValues(rendered.opacity),
                           distances_m = RowMajorValues(rendered.distance_m);
  std::vector<float> by_rgb(rgb.size()), by_opacity(opacities.size()),
      by_distance(opacities.size());
  const auto hits = static_cast<double>(std::max<std::ptrdiff_t>(
      1, std::count_if(rays.target_distance_m.begin(), rays.target_distance_m.end(),
                       [](float distance_m) { return std::isfinite(distance_m); })));
  for (std::int64_t r = 0; r < rays.count; ++r) {
    const double target_m = rays.target_distance_m[r], opacity = opacities[r];
    const bool hits_something = std::isfinite(target_m);
    for (int c = 0; c < 3; ++c) {
      const double behind = background.empty() ? 1 : background[3 * r + c];
      const double shown = rgb[3 * r + c] + (1 - opacity) * (behind - 1);
      const double target = hits_something ? rays.target_rgb[3 * r + c] : behind;
      const double share = 1 / (3.0 * static_cast<double>(rays.count));
      loss.video += share * (shown - target) * (shown - target);
      const double slope = 2 * share * (shown - target);
      by_rgb[3 * r + c] = static_cast<float>(slope);
      by_opacity[r] += static_cast<float>(slope * (1 - behind));
    }
    if (!hits_something) continue;
    const double behind_m = distances_m[r] - target_m;
    const double error_m = std::abs(behind_m);
    loss.depth_m += (error_m < 0.01 ? error_m * error_m / 0.02 : error_m - 0.005) / hits;
    by_distance[r] =
        static_cast<float>(kDepthWeight / hits * std::clamp(behind_m / 0.01, -1.0, 1.0));
  }
  loss.by_rgb = torch::tensor(by_rgb).view_as(rendered.rgb);
  loss.by_opacity = torch::tensor(by_opacity);
  loss.by_distance = torch::tensor(by_distance);
  return loss;
}

/// Of the radiance field, in one row.
torch::Tensor FieldGradients(WorldModel* model) {
  std::vector<torch::Tensor> rows;
  for (const auto& entry : model->named_parameters()) {
    if (!entry.key().starts_with("radiance_field.")) continue;
    rows.push_back(entry.value().grad().flatten().clone());
  }
  model->zero_grad();
  return torch::cat(rows);
}

TEST_F(SequenceLossTest, DepthAndColoursBehindTheRaysFollowTheSlowTwin) {
  const TrainOptions options = Options("unused", 1);
  WorldModel model(options.config.model, {});
  InitializeWeights(&model, 7);  // nothing moves
  TrainingSample sample = MakeDatasetSource(options.config.model, options.datasets, 7)
                              .value()
                              ->Draw({.particle_count = 256})
                              .value();
  // Nothing stands in a third of the pixels.
  SupervisedView& view = sample.target_steps[1][0];
  for (std::size_t i = 0; i < view.depth.pixels_m.size(); i += 3) {
    view.depth.pixels_m[i] = std::numeric_limits<float>::quiet_NaN();
    std::fill_n(view.color.pixels.begin() + static_cast<std::ptrdiff_t>(3 * i), 3, 255);
  }
  SequenceLossOptions drawn;
  drawn.jitter_depth = false;
  drawn.depth_weight = kDepthWeight;
  drawn.draw_index = 5;
  drawn.seed = 9;
  const TrainingRays rays =
      DrawTrainingRays(sample.target_steps[1], {drawn.ray_count, 0, 9, 5, 1}).value();
  const CloudTensors cloud =
      LiftCloud(&model, ColorsInUnit(ImageBytes(sample.newer.images, torch::kCPU)),
                RowsOf3(sample.newer.positions_m, torch::kCPU),
                torch::tensor(sample.newer.source_index, torch::kInt64));
  const RenderedRays rendered = model.RenderRays(
      cloud, RowsOf3(rays.origins_m, torch::kCPU), RowsOf3(rays.directions, torch::kCPU), {},
      RendererForRange(model.config().renderer, sample.near_m, sample.far_m));
  for (const bool random_background : {false, true}) {
    std::vector<float> background;
    RandomSequence random(9, RandomStream::kBackgrounds, 5, 1);
    for (std::int64_t i = 0; random_background && i < 3 * rays.count; ++i) {
      background.push_back(random.Uniform());
    }
    drawn.random_background = random_background;
    const SequenceLoss loss = ComputeSequenceLoss(&model, sample, drawn);
    const SlowViewLoss slow = SlowLossOf(rendered, rays, background);
    EXPECT_NEAR(loss.prediction, slow.video, 1e-5);
    EXPECT_NEAR(loss.depth_m, slow.depth_m, 1e-5);
    EXPECT_NEAR(loss.total.item<double>(), loss.prediction + kDepthWeight * loss.depth_m, 1e-6);

    loss.total.backward();
    const torch::Tensor gradients = FieldGradients(&model);
    const torch::Tensor by_slow_gradients = (rendered.rgb * slow.by_rgb).sum() +
                                            (rendered.opacity * slow.by_opacity).sum() +
                                            (rendered.distance_m * slow.by_distance).sum();
    by_slow_gradients.backward({}, /*retain_graph=*/true);
    const torch::Tensor expected = FieldGradients(&model);
    const double largest = expected.abs().max().item<double>();
    EXPECT_GT(largest, 0);
    EXPECT_LT((gradients - expected).abs().max().item<double>(), 1e-4 * largest);
  }
}

TEST_F(SequenceLossTest, AStartThatIsOnlyShownChangesNothingElse) {
  const TrainOptions options = Options("unused", 1);
  const auto model = testing::MakeMovingModel(options.config.model, {}, 7);
  const TrainingSample sample = MakeDatasetSource(options.config.model, options.datasets, 7)
                                    .value()
                                    ->Draw({.particle_count = 256})
                                    .value();
  SequenceLossOptions drawn;
  drawn.depth_weight = kDepthWeight;
  const SequenceLoss hidden = ComputeSequenceLoss(model.get(), sample, drawn);
  drawn.shows_start = true;
  const SequenceLoss shown = ComputeSequenceLoss(model.get(), sample, drawn);
  EXPECT_EQ(hidden.reconstruction, 0);
  EXPECT_GT(shown.reconstruction, 0);
  EXPECT_EQ(shown.prediction, hidden.prediction);
  EXPECT_EQ(shown.depth_m, hidden.depth_m);
  EXPECT_EQ(shown.total.item<double>(), hidden.total.item<double>());
  drawn.reconstruction_weight = 1;
  const SequenceLoss counted = ComputeSequenceLoss(model.get(), sample, drawn);
  EXPECT_EQ(counted.reconstruction, shown.reconstruction);
  EXPECT_NE(counted.depth_m, shown.depth_m);
}

TEST_F(SequenceLossTest, StepsWithoutASupervisedPixelTeachNothing) {
  const TrainOptions options = Options("unused", 1);
  const auto model = testing::MakeMovingModel(options.config.model, {}, 7);
  TrainingSample sample = MakeDatasetSource(options.config.model, options.datasets, 7)
                              .value()
                              ->Draw({.particle_count = 256})
                              .value();
  SequenceLossOptions drawn;
  drawn.reconstruction_weight = 1;
  drawn.depth_weight = kDepthWeight;
  const SequenceLoss whole = ComputeSequenceLoss(model.get(), sample, drawn);
  const auto hide = [&](std::size_t step) {
    for (SupervisedView& view : sample.target_steps[step]) {
      view.is_supervised.assign(view.is_supervised.size(), 0);
    }
  };
  for (std::size_t step = 1; step < sample.target_steps.size(); ++step) hide(step);
  const SequenceLoss start = ComputeSequenceLoss(model.get(), sample, drawn);
  EXPECT_EQ(start.prediction, 0);
  EXPECT_EQ(start.reconstruction, whole.reconstruction);
  EXPECT_TRUE(std::isfinite(start.total.item<double>()));
  EXPECT_GT(start.depth_m, 0);
  EXPECT_LT(start.depth_m, whole.depth_m);
  EXPECT_TRUE(start.total.requires_grad());
  hide(0);
  const SequenceLoss none = ComputeSequenceLoss(model.get(), sample, drawn);
  EXPECT_EQ(none.total.item<double>(), 0);
  EXPECT_EQ(none.reconstruction, 0);
  EXPECT_EQ(none.depth_m, 0);
}

TEST_F(SequenceLossTest, WithoutVideoOnlyTheTracksTeach) {
  const TrainOptions options = Options("unused", 1);
  WorldModel model(options.config.model, {});
  InitializeWeights(&model, 7);
  TrainingSample sample = MakeDatasetSource(options.config.model, options.datasets, 7)
                              .value()
                              ->Draw({.particle_count = 256, .with_views = false})
                              .value();
  SequenceLossOptions drawn;
  drawn.video_weight = 0;
  drawn.track_weight = 2;
  EXPECT_FALSE(ComputeSequenceLoss(&model, sample, drawn).total.requires_grad());
  sample.tracks.positions_m = {sample.newer.positions_m};
  for (float& value : sample.tracks.positions_m[0]) value += 0.03f;
  sample.tracks.is_known.assign(sample.newer.source_index.size(), 1);
  const SequenceLoss loss = ComputeSequenceLoss(&model, sample, drawn);
  const double expected_m = 0.5 * (std::sqrt(3.0) * 0.03 - 0.005);  // nothing stands still
  EXPECT_NEAR(loss.track_m, expected_m, 1e-5);
  EXPECT_NEAR(loss.still_track_m, expected_m, 1e-5);
  EXPECT_NEAR(loss.total.item<double>(), 2 * expected_m, 2e-5);
  loss.total.backward();
  EXPECT_GT(model.named_parameters()["head.position.bias"].grad().abs().sum().item<double>(), 0);
}

}  // namespace
}  // namespace interlacer
