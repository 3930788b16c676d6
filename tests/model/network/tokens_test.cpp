#include "model/network/tokens.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "common/transforms.h"
#include "model/engine/token_rows.h"
#include "tests/model/gradient_check.h"
#include "tests/model/operation_count.h"
#include "tests/model/tiny_scene.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

constexpr double kPi = std::numbers::pi;

TEST(FourierFeaturesTest, MatchesTheFormula) {
  const torch::Tensor p = at::tensor({0.25, -0.5, 1.0}, at::kDouble).reshape({1, 3});
  const torch::Tensor features = FourierFeatures(p, 2);
  ASSERT_EQ(features.sizes(), (at::IntArrayRef{1, 12}));
  const auto f = features.accessor<double, 2>()[0];
  EXPECT_NEAR(f[0], std::sin(kPi * 0.25), kDoubleOpTolerance);
  EXPECT_NEAR(f[4], std::cos(kPi * -0.5), kDoubleOpTolerance);
  EXPECT_NEAR(f[6], std::sin(2 * kPi * 0.25), kDoubleOpTolerance);
  EXPECT_NEAR(f[11], std::cos(2 * kPi), kDoubleOpTolerance);
}

/// As a step's clouds are when they become tokens.
StepInput MakeTokenInput(int n, const InterlacerConfig& config, int points = 20) {
  StepInput input = MakeStepInput(n, config, points);
  const double scale = config.tokens.displacement_scale;
  input.older = WithRobotMotion(input.older, input.surface.older_motion, scale);
  input.newer = WithRobotMotion(input.newer, input.surface.newer_motion, scale);
  return input;
}

TEST(TokenEncoderTest, OrderAndCounts) {
  const InterlacerConfig config = TinyConfig();
  TokenEncoder encoder(config);
  const StepInput input = MakeTokenInput(50, config);
  const TokenSet tokens = encoder.forward(input);
  EXPECT_EQ(tokens.h.sizes(), (at::IntArrayRef{2 * 50 + 60, 32}));
  EXPECT_TRUE(at::equal(tokens.positions_m.narrow(0, 50, 50), input.newer.positions_m));
  EXPECT_TRUE(
      at::equal(tokens.positions_m.narrow(0, 140, 20), input.kinematic_points_m.select(0, 2)));
}

/// The one-pass forms of inference against the tensors that training differentiates.
void ExpectFusedEqualsTensors(const InterlacerConfig& config, const StepInput& input) {
  TokenEncoder encoder(config);
  const at::NoGradGuard no_grad;
  for (auto& weight : encoder.parameters()) weight.normal_();
  const TokenSet fused = EncodeTokens(encoder, input, nullptr);
  const TokenSet tensors = encoder.forward(input);
  EXPECT_LT(RelativeL2(fused.h, tensors.h), kFusedTokenTolerance);
  EXPECT_LT(RelativeL2(fused.positions_m, tensors.positions_m), kFloatSumTolerance);
  EXPECT_EQ(fused.newer_count, tensors.newer_count);
  EXPECT_EQ(fused.kinematic_count, tensors.kinematic_count);
  EXPECT_TRUE(at::equal(fused.h, EncodeTokens(encoder, input, nullptr).h));
}

/// With any number of points, none in a scene without a robot.
TEST(FusedTokens, EqualTensorsForEveryRobot) {
  InterlacerConfig config = TinyConfig();
  for (const int octaves : {6, 8}) {
    config.tokens.fourier_octaves = octaves;
    for (const int points : {0, 1, 7, 200}) {
      SCOPED_TRACE(points);
      ExpectFusedEqualsTensors(config, MakeTokenInput(50, config, points));
    }
  }
}

TEST(FusedTokens, EqualTensorsWherePointsAreInOnePlace) {
  StepInput input = MakeTokenInput(50, TinyConfig());
  input.kinematic_points_m.fill_(0.2);
  ExpectFusedEqualsTensors(TinyConfig(), input);
}

/// Part of a wider tensor, with the same result.
TEST(FusedTokens, ReadPointsOutOfMemoryOrder) {
  const InterlacerConfig config = TinyConfig();
  const StepInput input = MakeTokenInput(50, config);
  StepInput part = input;
  part.kinematic_points_m =
      at::cat({input.kinematic_points_m, input.kinematic_points_m}, 2).narrow(2, 0, 3);
  TokenEncoder encoder(config);
  const at::NoGradGuard no_grad;
  for (auto& weight : encoder.parameters()) weight.normal_();
  EXPECT_TRUE(
      at::equal(EncodeTokens(encoder, part, nullptr).h, EncodeTokens(encoder, input, nullptr).h));
}

/// Every number of the rows of one particle and of one surface point, by loops. The layers pass on
/// one column at a time.
TEST(TokenEncoderTest, RowsMatchTheirDefinition) {
  constexpr int kCount = 9, kPoints = 5;
  const InterlacerConfig config = TinyConfig();
  const StepInput input = MakeStepInput(kCount, config, kPoints);
  const float scale = config.tokens.displacement_scale;
  const auto place = [&](const float* x, std::vector<double>* row) {
    const Vec3d center = BoxCenter(config.data.workspace);
    double p[3];
    for (int c = 0; c < 3; ++c) {
      p[c] = (x[c] - center[c]) / LargestHalfExtent(config.data.workspace);
      row->push_back(p[c]);
    }
    for (int octave = 0; octave < config.tokens.fourier_octaves; ++octave) {
      for (const double v : p) row->push_back(std::sin(std::ldexp(kPi, octave) * v));
      for (const double v : p) row->push_back(std::cos(std::ldexp(kPi, octave) * v));
    }
  };
  std::vector<std::vector<double>> expected;
  for (int time = 0; time < 2; ++time) {
    const CloudTensors& cloud = time == 0 ? input.older : input.newer;
    const torch::Tensor& motion =
        time == 0 ? input.surface.older_motion : input.surface.newer_motion;
    for (int i = 0; i < kCount; ++i) {
      std::vector<double>& row = expected.emplace_back();
      for (int c = 0; c < config.encoder.feature_width; ++c) {
        row.push_back(cloud.features[i][c].item<float>());
      }
      row.push_back(i % 4 == 0 ? 1 : 0);
      for (int c = 1; c < 4; ++c) row.push_back(scale * motion[i][c].item<float>());
      place(cloud.positions_m[i].contiguous().const_data_ptr<float>(), &row);
      row.insert(row.end(), {time == 0 ? 1. : 0., time == 1 ? 1. : 0.});
    }
  }
  const std::size_t particle_rows = expected.size();
  for (int time = 0; time < 3; ++time) {
    for (int k = 0; k < kPoints; ++k) {
      std::vector<double>& row = expected.emplace_back();
      const torch::Tensor point = input.kinematic_points_m[time][k].contiguous();
      row.push_back(input.surface.is_gripper[k].item<float>());
      for (int c = 0; c < 3; ++c) {
        row.push_back(
            time == 2
                ? 0
                : scale * (input.kinematic_points_m[time + 1][k][c] - point[c]).item<float>());
      }
      for (int c = 0; c < 3; ++c) row.push_back(input.surface.normals[time][k][c].item<float>());
      place(point.const_data_ptr<float>(), &row);
      for (int t = 0; t < 3; ++t) row.push_back(t == time ? 1 : 0);
    }
  }

  const StepInput widened = MakeTokenInput(kCount, config, kPoints);
  TokenEncoder encoder(config);
  for (auto& weight : encoder.parameters()) weight.requires_grad_(false).zero_();
  const at::NoGradGuard no_grad;
  for (const bool one_pass : {true, false}) {
    for (std::size_t column = 0; column < expected[0].size(); ++column) {
      for (const auto& item : encoder.named_parameters()) {
        if (!item.key().ends_with(".weight")) continue;
        item.value().zero_();
        const auto width = static_cast<std::size_t>(item.value().size(1));
        if (column < width) item.value()[0][static_cast<std::int64_t>(column)] = 1;
      }
      const torch::Tensor h =
          (one_pass ? EncodeTokens(encoder, widened, nullptr) : encoder.forward(widened)).h;
      ASSERT_EQ(h.size(0), static_cast<std::int64_t>(expected.size()));
      for (std::size_t row = 0; row < expected.size(); ++row) {
        if (column >= expected[row].size()) continue;
        ASSERT_NEAR(h[static_cast<std::int64_t>(row)][0].item<float>(), expected[row][column], 1e-4)
            << "row " << row << " column " << column << " of " << particle_rows << " particles";
      }
    }
  }
}

/// A device starts each of them: the time of a recorded step goes with their number.
TEST(TokenEncoderTest, FusedFormIsFewOperations) {
  constexpr int kMostOperations = 70;  // with views and allocations; seen: 65
  const InterlacerConfig config = TinyConfig();
  TokenEncoder encoder(config);
  const StepInput input = MakeTokenInput(50, config);
  const at::NoGradGuard no_grad;
  EXPECT_LE(CountOperations([&] { EncodeTokens(encoder, input, nullptr); }), kMostOperations);
}

}  // namespace
}  // namespace interlacer::testing
