/// Frames in, particles and views out on a device (tests/model/test_device.h) against the host's;
/// recorded steps; the render operation's gradients.

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "model/engine/step_graph.h"
#include "model/files/checkpoint.h"
#include "model/ops/device_render.h"
#include "model/ops/render_op.h"
#include "model/predictor_on_device.h"
#include "tests/model/gradient_check.h"
#include "tests/model/plane_robot.h"
#include "tests/model/plane_scene.h"
#include "tests/model/test_device.h"
#include "tests/model/tiny_scene.h"
#include "tests/support/must.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

/// Wide enough for the fused layers of a device.
InterlacerConfig WideConfig() {
  InterlacerConfig config = TinyConfig();
  config.network.width = config.network.local.key_width = 64;
  return config;
}

struct ModelRun {
  torch::Tensor lifted_features;
  Particles first, last;
  FloatImage color;
  DepthImage depth;
};

torch::Tensor ToTensor(const std::vector<float>& values) { return at::tensor(values, at::kFloat); }

ModelRun LiftStepAndRender(Predictor* predictor, const SceneInput& input) {
  ModelRun run;
  const auto scene = Must(predictor->Lift(input));
  const auto rollout = Must(predictor->Begin(scene, Joints(2, 1)));
  run.lifted_features = FeaturesOf(*scene);
  run.first = **rollout->ReadParticles();
  const Status stepped = rollout->Step();
  EXPECT_TRUE(stepped.ok()) << stepped.ToString();
  run.last = **rollout->ReadParticles();
  const Camera camera = *rollout->SceneCamera("left");
  const Status rendered =
      rollout->RenderRows(camera, 10, 20, RenderMode::kField, true, &run.color, &run.depth);
  EXPECT_TRUE(rendered.ok()) << rendered.ToString();
  return run;
}

/// The parameter called `overflowing`, if any, is finite; what it gives is not, in whatever order
/// it is summed.
std::unique_ptr<Predictor> WidePredictor(const DeviceChoice& device,
                                         const std::string& overflowing = {},
                                         const InterlacerConfig& config = WideConfig()) {
  const std::string dir = ::testing::TempDir() + "device_predictor_" + std::to_string(getpid());
  const auto model = MakeMovingModel(config, {}, 1);
  if (!overflowing.empty()) {
    const at::NoGradGuard no_grad;
    model->named_parameters()[overflowing].fill_(3e38f);
  }
  EXPECT_TRUE(SaveCheckpoint(dir, *model, {}).ok());
  auto predictor = LoadPredictorOn(device, dir, {"tiny"});
  std::filesystem::remove_all(dir);
  return *std::move(predictor);
}

TEST(DevicePredictor, ScenesStepsAndViewsAsOnTheHost) {
  INTERLACER_SKIP_WITHOUT_TEST_DEVICE();
  const SceneInput input = MakeScene();
  const ModelRun expected = LiftStepAndRender(WidePredictor(DeviceChoice()).get(), input);
  const TestDevice device;
  const ModelRun got = LiftStepAndRender(WidePredictor(device.choice()).get(), input);

  EXPECT_EQ(got.first.positions_m, expected.first.positions_m);
  EXPECT_EQ(got.first.colors_rgb8, expected.first.colors_rgb8);
  EXPECT_LT(RelativeL2(got.lifted_features, expected.lifted_features), device.encoder_tolerance());
  const auto moved = [](const ModelRun& run) {
    return ToTensor(run.last.positions_m) - ToTensor(run.first.positions_m);
  };
  EXPECT_GT(moved(expected).abs().max().item<float>(), 0);
  EXPECT_LT(RelativeL2(moved(got), moved(expected)), device.bfloat16_step_tolerance());
  ASSERT_EQ(got.color.pixels.size(), expected.color.pixels.size());
  EXPECT_LT(
      (ToTensor(got.color.pixels) - ToTensor(expected.color.pixels)).abs().mean().item<float>(),
      device.color_tolerance());
}

TEST(DevicePredictor, LeavesTheSameOutliersOutAsTheHost) {
  INTERLACER_SKIP_WITHOUT_TEST_DEVICE();
  if (!OutlierFilterAvailable()) GTEST_SKIP() << "built without Open3D";
  InterlacerConfig config = WideConfig();
  config.lifting.outlier_filter = OutlierFilter{OutlierFilterKind::kStatistical, 16, 0.5};
  const SceneInput input = MakeScene();
  const ModelRun expected =
      LiftStepAndRender(WidePredictor(DeviceChoice(), {}, config).get(), input);
  const ModelRun all = LiftStepAndRender(WidePredictor(DeviceChoice()).get(), input);
  const TestDevice device;
  const ModelRun got = LiftStepAndRender(WidePredictor(device.choice(), {}, config).get(), input);
  EXPECT_NE(got.first.positions_m, all.first.positions_m);
  EXPECT_EQ(got.first.positions_m, expected.first.positions_m);
  EXPECT_EQ(got.first.colors_rgb8, expected.first.colors_rgb8);
  EXPECT_LT(RelativeL2(got.lifted_features, expected.lifted_features), device.encoder_tolerance());
}

TEST(DevicePredictor, ObservedPixelsOfStepZeroAreTheFrames) {
  INTERLACER_SKIP_WITHOUT_TEST_DEVICE();
  SceneInput input = MakeScene();
  input.workspace = Box{{-2, -2, -1}, {2, 2, 2}};
  const TestDevice device;
  const auto predictor = WidePredictor(device.choice());
  const auto rollout = *predictor->Begin(*predictor->Lift(input), Joints(2, 1));
  FloatImage color;
  DepthImage depth;
  for (const RgbdView& view : input.observations[1].views) {
    const Camera camera = *rollout->SceneCamera(view.camera_name);
    ASSERT_TRUE(
        rollout->RenderRows(camera, 0, 48, RenderMode::kObserved, false, &color, &depth).ok());
    EXPECT_EQ(QuantizeRgb(color).pixels, view.color.pixels);
  }
}

/// Whether discs are the device's, and what becomes of an error of its.
TEST(DevicePredictor, ADeviceThatDrawsNoDiscsIsAnError) {
  INTERLACER_SKIP_WITHOUT_TEST_DEVICE();
  const TestDevice device;
  CudaBackend failing = *device.cuda();
  failing.kernels.render.LaunchObservedDiscs = [](const DiscView&, const SurfelArrays&, void*,
                                                  const ObservedPictureDevice&,
                                                  CudaStream) { return CudaError(1); };
  DeviceChoice choice = device.choice();
  choice.cuda = &failing;
  const auto predictor = WidePredictor(choice);
  const auto rollout = *predictor->Begin(*predictor->Lift(MakeScene()), Joints(2, 1));
  FloatImage color;
  DepthImage depth;
  const Status status = rollout->RenderRows(*rollout->SceneCamera("left"), 0, 48,
                                            RenderMode::kObserved, false, &color, &depth);
  EXPECT_EQ(status.reason(), reason::DEVICE_LOST) << status.ToString();
}

/// Particles on the host are of the step that was read last: steps and views copy none.
TEST(DevicePredictor, CopiesParticlesBackOnlyWhenTheyAreRead) {
  INTERLACER_SKIP_WITHOUT_TEST_DEVICE();
  const TestDevice device;
  const auto predictor = WidePredictor(device.choice());
  const auto rollout = *predictor->Begin(*predictor->Lift(MakeScene()), Joints(2, 1));
  const Particles* const held = *rollout->ReadParticles();
  const std::vector<float> initial_m = held->positions_m;
  EXPECT_EQ(initial_m.size(), 3u * rollout->particle_count());
  ASSERT_TRUE(rollout->Step().ok());
  FloatImage color;
  DepthImage depth;
  ASSERT_TRUE(rollout
                  ->RenderRows(*rollout->SceneCamera("left"), 10, 11, RenderMode::kField, true,
                               &color, &depth)
                  .ok());
  EXPECT_EQ(held->positions_m, initial_m);
  ASSERT_EQ(*rollout->ReadParticles(), held);
  EXPECT_NE(held->positions_m, initial_m);
}

void ExpectRefusedSteps(Predictor* predictor) {
  const auto rollout = *predictor->Begin(*predictor->Lift(MakeScene()), Joints(2, 1));
  const std::vector<float> initial_m = (*rollout->ReadParticles())->positions_m;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const Status status = rollout->Step();
    ASSERT_EQ(status.code(), StatusCode::kDataLoss) << status.ToString();
    EXPECT_EQ(status.reason(), reason::PREDICTION_NOT_FINITE);
    EXPECT_EQ(status.metadata().at("step"), "1");
  }
  EXPECT_EQ(rollout->step(), 0);
  EXPECT_EQ((*rollout->ReadParticles())->positions_m, initial_m);
  FloatImage color;
  DepthImage depth;
  EXPECT_TRUE(rollout
                  ->RenderRows(*rollout->SceneCamera("left"), 10, 11, RenderMode::kField, true,
                               &color, &depth)
                  .ok());
}

/// Positions and features are looked at: a head's features overflow alone. What moves a particle is
/// bounded, so that only a sum of infinities of both signs, as behind a norm that overflows, is
/// seen.
class OverflowingHead : public ::testing::TestWithParam<std::string> {};

TEST_P(OverflowingHead, LeavesTheRolloutWhereItWas) {
  INTERLACER_SKIP_WITHOUT_TEST_DEVICE();
  const std::string parameter = "head." + GetParam();
  {
    SCOPED_TRACE("host");
    ExpectRefusedSteps(WidePredictor(DeviceChoice(), parameter).get());
  }
  SCOPED_TRACE("device");
  const TestDevice device;
  ExpectRefusedSteps(WidePredictor(device.choice(), parameter).get());
}

INSTANTIATE_TEST_SUITE_P(All, OverflowingHead,
                         ::testing::Values("position_norm.scale", "feature.weight"),
                         [](const auto& test) {
                           return test.param.substr(0, test.param.find_first_of("_."));
                         });

struct Recorded {
  const char* name;
  LocalLayer local;
  DenseDtype dtype = DenseDtype::kFloat32;
  EdgeWeight edge_weight = EdgeWeight::kUniform;
  GraphScope scope = GraphScope::kAll;
};

class StepGraphOf : public ::testing::TestWithParam<Recorded> {};

TEST_P(StepGraphOf, ReplaysEqualSteps) {
  INTERLACER_SKIP_WITHOUT_TEST_DEVICE();
  InterlacerConfig config = WideConfig();
  config.network.local.kind = GetParam().local;
  config.graph.edge_weight = GetParam().edge_weight;
  config.graph.scope = GetParam().scope;
  const std::shared_ptr<WorldModel> model = MakeMovingModel(config, {GetParam().dtype});
  const at::NoGradGuard no_grad;
  const TestDevice device;
  device.Place(model.get());
  StepGraph steps(model);
  const StepEngine& engine = steps.engine();
  StepInput input = device.Put(MakeStepInput(150, model->config()));
  for (int step = 0; step < 3; ++step) {
    const CloudTensors expected = engine.Step(input);
    CloudTensors got = steps.Step(input);
    EXPECT_TRUE(at::equal(got.positions_m, expected.positions_m)) << step;
    EXPECT_TRUE(at::equal(got.features, expected.features)) << step;
    input.older = input.newer;
    input.newer = std::move(got);
    input.kinematic_points_m = input.kinematic_points_m + 0.01;
  }
  EXPECT_EQ(steps.replay_count(), 2);
  const StepInput other = device.Put(MakeStepInput(140, model->config()));
  EXPECT_EQ(steps.Step(other).positions_m.size(0), 140);
  EXPECT_EQ(steps.replay_count(), 2);
}

INSTANTIATE_TEST_SUITE_P(
    All, StepGraphOf,
    ::testing::Values(Recorded{"GrfExact", LocalLayer::kGrfExact},
                      Recorded{"GrfExactBfloat16", LocalLayer::kGrfExact, DenseDtype::kBfloat16},
                      Recorded{"GrfExactExpDistance", LocalLayer::kGrfExact, DenseDtype::kFloat32,
                               EdgeWeight::kExpDistance},
                      Recorded{"GrfPerTime", LocalLayer::kGrfExact, DenseDtype::kFloat32,
                               EdgeWeight::kUniform, GraphScope::kPerTime},
                      Recorded{"GrfSampled", LocalLayer::kGrfSampled},
                      Recorded{"Unmasked", LocalLayer::kUnmasked},
                      Recorded{"None", LocalLayer::kNone},
                      Recorded{"MessagePassing", LocalLayer::kMessagePassing},
                      Recorded{"MessagePassingPerTime", LocalLayer::kMessagePassing,
                               DenseDtype::kFloat32, EdgeWeight::kUniform, GraphScope::kPerTime}),
    [](const auto& test) { return test.param.name; });

TEST(StepGraph, ReplaysStepsOfAnExactModel) {
  INTERLACER_SKIP_WITHOUT_TEST_DEVICE();
  InterlacerConfig config = TinyExactConfig();
  config.network.width = WideConfig().network.width;
  const std::shared_ptr<WorldModel> model = MakeMovingModel(config, {DenseDtype::kFloat32});
  const at::NoGradGuard no_grad;
  const TestDevice device;
  device.Place(model.get());
  StepGraph steps(model);
  const StepEngine& engine = steps.engine();
  StepInput input = device.Put(MakeStepInput(150, config, 40));
  for (int step = 0; step < 3; ++step) {
    const CloudTensors expected = engine.Step(input), got = steps.Step(input);
    EXPECT_TRUE(at::equal(got.positions_m, expected.positions_m)) << step;
    EXPECT_TRUE(at::equal(got.features, expected.features)) << step;
    input.surface.newer_motion = input.surface.newer_motion + 0.01;
    input.surface.normals = -input.surface.normals;
  }
  EXPECT_EQ(steps.replay_count(), 2);
}

/// The robot's particles go where they go on the host, all others stay.
TEST(DevicePredictor, TheRobotAloneMovesAsOnTheHost) {
  INTERLACER_SKIP_WITHOUT_TEST_DEVICE();
  SceneInput input = MakeScene();
  input.robot = std::make_shared<const Robot>(PlatesOfBodies());
  const auto run = [&](const DeviceChoice& choice) {
    const auto predictor = WidePredictor(choice);
    const auto rollout =
        *predictor->Begin(*predictor->Lift(input), Joints(2, 2), MotionSource::kRobotOnly);
    std::vector<std::vector<float>> positions_m{(*rollout->ReadParticles())->positions_m};
    for (int step = 0; step < 2; ++step) {
      EXPECT_TRUE(rollout->Step().ok());
      positions_m.push_back((*rollout->ReadParticles())->positions_m);
    }
    return positions_m;
  };
  const auto expected = run({});
  EXPECT_NE(expected[2], expected[0]);
  const TestDevice device;
  const auto got = run(device.choice());
  for (std::size_t step = 0; step < got.size(); ++step) {
    EXPECT_LT(RelativeL2(ToTensor(got[step]), ToTensor(expected[step])), kFloatSumTolerance);
  }
}

TEST(StepGraph, LeavesAloneWhatNeedsTheHost) {
  INTERLACER_SKIP_WITHOUT_TEST_DEVICE();
  InterlacerConfig undirected = TinyConfig(), crowded = TinyConfig();
  undirected.graph.symmetrise = true;
  crowded.network.local.kind = LocalLayer::kMessagePassing;
  crowded.network.local.anchor_neighbor_count = 33;
  const at::NoGradGuard no_grad;
  for (const InterlacerConfig& config : {undirected, crowded}) {
    const std::shared_ptr<WorldModel> model = MakeMovingModel(config, {DenseDtype::kFloat32});
    const TestDevice device;
    device.Place(model.get());
    StepGraph steps(model);
    const StepInput input = device.Put(MakeStepInput(100, config));
    steps.Step(input);
    EXPECT_TRUE(at::equal(steps.Step(input).features, steps.engine().Step(input).features));
    EXPECT_EQ(steps.replay_count(), 0);
  }
}

TEST(StepGraph, LeavesTheHostAlone) {
  const auto model =
      std::make_shared<WorldModel>(TinyConfig(), WorldModelOptions{DenseDtype::kFloat32});
  InitializeWeights(model.get(), 3);
  const StepInput input = MakeStepInput(100, model->config());
  StepGraph steps(model);
  steps.Step(input);
  steps.Step(input);
  EXPECT_EQ(steps.replay_count(), 0);
}

/// A fan of rays from a metre above a sheet.
struct FanOverSheet {
  static constexpr int kParticles = 150, kRays = 12;

  FanOverSheet(const RendererConfig& config, const TestDevice* device) {
    at::manual_seed(3);
    cloud = {ToPositions(SheetCloud(kParticles, 4)), at::randn({kParticles, 16})};
    const int input_width = FieldInputWidth(config), hidden = config.hidden_width;
    const std::vector<std::vector<std::int64_t>> shapes{
        {hidden, input_width}, {hidden}, {hidden, hidden}, {hidden}, {4, hidden}, {4}};
    for (std::size_t i = 0; i < shapes.size(); ++i) field[i] = 0.3 * at::randn(shapes[i]);
    rays.origins_m = at::tensor({0.f, 0.f, 1.f}).reshape({1, 3}).repeat({kRays, 1});
    const torch::Tensor directions =
        at::cat({0.5 * (at::rand({kRays, 2}) - 0.5), -at::ones({kRays, 1})}, 1);
    rays.directions = directions / directions.norm(2, {1}, true);
    rays.jitter = at::rand({kRays, config.samples_per_ray});
    if (device == nullptr) return;
    cloud = device->Put(cloud);
    for (torch::Tensor& weight : field) weight = device->Put(weight);
    rays = {device->Put(rays.origins_m), device->Put(rays.directions), device->Put(rays.jitter)};
  }

  CloudTensors cloud;
  FieldTensors field;
  RayTensors rays;
};

RendererConfig FanConfig() {
  RendererConfig config = TinyConfig().renderer;
  config.near_m = 0.2f;
  config.far_m = 1.6f;
  return config;
}

/// On the host without a device.
std::vector<torch::Tensor> RenderAndDifferentiate(const RendererConfig& config,
                                                  const TestDevice* device) {
  FanOverSheet scene(config, device);
  std::vector<torch::Tensor> leaves{scene.cloud.positions_m, scene.cloud.features};
  leaves.insert(leaves.end(), scene.field.begin(), scene.field.end());
  for (torch::Tensor& leaf : leaves) leaf.requires_grad_();
  const RenderedRays out =
      RenderOp(scene.cloud, scene.field, scene.rays.origins_m, scene.rays.directions,
               scene.rays.jitter, config, device != nullptr ? device->cuda() : nullptr);
  std::vector<torch::Tensor> results{out.rgb, out.distance_m, out.opacity};
  at::manual_seed(4);
  torch::Tensor score = at::zeros({}, out.rgb.options());
  for (const torch::Tensor& result : results) {
    score = score + (result * at::rand(result.sizes()).to(result.device())).sum();
  }
  for (const torch::Tensor& grad : torch::autograd::grad({score}, leaves)) results.push_back(grad);
  return results;
}

TEST(DeviceRenderOp, ValuesAndGradientsAsOnTheHost) {
  INTERLACER_SKIP_WITHOUT_TEST_DEVICE();
  const RendererConfig config = FanConfig();
  const std::vector<torch::Tensor> expected = RenderAndDifferentiate(config, nullptr);
  const TestDevice device;
  const std::vector<torch::Tensor> got = RenderAndDifferentiate(config, &device);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_LT(RelativeL2(got[i].detach(), expected[i].detach()), kFloatGradientTolerance) << i;
  }
}

TEST(DeviceCloud, ServesBfloat16PicturesCloseToFloatOnes) {
  INTERLACER_SKIP_WITHOUT_TEST_DEVICE();
  const at::NoGradGuard no_grad;
  const TestDevice device;
  const FanOverSheet scene(FanConfig(), &device);
  const auto colors = [&](FieldPrecision precision) {
    return DeviceCloud(FanConfig(), scene.cloud, *device.cuda(), precision)
        .Render(scene.field, scene.rays)
        .rgb;
  };
  const torch::Tensor expected = colors(FieldPrecision::kFloat32);
  const torch::Tensor got = colors(FieldPrecision::kBfloat16);
  EXPECT_FALSE(at::equal(got, expected));
  EXPECT_TRUE(at::equal(got, colors(FieldPrecision::kBfloat16)));
  EXPECT_LT((got - expected).abs().max().item<float>(), kBfloat16ColorTolerance);
}

TEST(WorldModel, ServesPicturesInThePrecisionOfItsLayers) {
  const auto precision = [](DenseDtype dtype) {
    return WorldModel(TinyConfig(), {dtype}).serving_precision();
  };
  EXPECT_EQ(precision(DenseDtype::kBfloat16), FieldPrecision::kBfloat16);
  EXPECT_EQ(precision(DenseDtype::kFloat32), FieldPrecision::kFloat32);
}

}  // namespace
}  // namespace interlacer::testing
