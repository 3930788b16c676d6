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
constexpr double kDisplacementScale = 4;

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

TEST(KinematicContextTest, MatchesASumByHand) {
  const torch::Tensor x = at::zeros({1, 3}, at::kDouble);
  const torch::Tensor y = at::tensor({0.1, 0.0, 0.0, 0.0, 0.2, 0.0}, at::kDouble).reshape({2, 3});
  const torch::Tensor u = at::tensor({0.01, 0.0, 0.0, 0.0, 0.0, 0.02}, at::kDouble).reshape({2, 3});
  const double s = 0.1f;
  const double w0 = std::exp(-0.01 / (2 * s * s)), w1 = std::exp(-0.04 / (2 * s * s));
  const double mass = w0 + w1;
  const torch::Tensor context = KinematicContext(x, y, u, {0.1f}, kDisplacementScale);
  const auto c = context.accessor<double, 2>()[0];
  EXPECT_NEAR(c[0], 4 * w0 * 0.01 / (mass + 0.1), kDoubleOpTolerance);
  EXPECT_NEAR(c[1], 0, kDoubleOpTolerance);
  EXPECT_NEAR(c[2], 4 * w1 * 0.02 / (mass + 0.1), kDoubleOpTolerance);
  EXPECT_NEAR(c[3], 0.1 * std::log(mass + 1e-6), kDoubleOpTolerance);
}

TEST(KinematicContextTest, GradientInPositions) {
  at::manual_seed(1);
  const torch::Tensor y = 0.1 * at::randn({4, 3}, at::kDouble);
  const torch::Tensor u = 0.02 * at::randn({4, 3}, at::kDouble);
  ExpectGradientsMatch(
      [&](const std::vector<torch::Tensor>& x) {
        return KinematicContext(x[0], y, u, {0.05f, 0.2f}, kDisplacementScale).square().sum();
      },
      {0.1 * at::randn({5, 3}, at::kDouble)}, kDoubleGradientTolerance);
}

TEST(KinematicContextTest, WithoutPointsOnlyTheFloorOfTheMassRemains) {
  const torch::Tensor none = at::empty({0, 3}, at::kDouble);
  const torch::Tensor context =
      KinematicContext(at::zeros({2, 3}, at::kDouble), none, none, {0.1f}, kDisplacementScale);
  EXPECT_NEAR(context[0][0].item<double>(), 0, kDoubleOpTolerance);
  EXPECT_NEAR(context[1][3].item<double>(), 0.1 * std::log(1e-6), kDoubleOpTolerance);
}

/// One arm of five bodies: three links in a right angle, then gripper base and two fingers.
TEST(KinematicAttributesTest, OfABentArm) {
  KinematicConfig config;
  config.arm_count = 1;
  config.bodies_per_arm = 5;
  config.finger_span_m = 0.1;
  const torch::Tensor arm = at::tensor({0.0, 0.0, 0.0,   //
                                        0.0, 0.0, 0.3,   //
                                        0.3, 0.0, 0.3,   //
                                        0.3, 0.02, 0.4,  //
                                        0.3, -0.03, 0.4},
                                       at::kDouble)
                                .reshape({1, 5, 3});
  const torch::Tensor shift = at::tensor({0.0, 0.01, 0.03}, at::kDouble).reshape({3, 1, 1});
  const torch::Tensor attributes = KinematicAttributes(arm + shift, config, kDisplacementScale);
  ASSERT_EQ(attributes.sizes(), (at::IntArrayRef{3, 5, 11}));
  const auto a = attributes.accessor<double, 3>();
  EXPECT_EQ(a[0][3][0], 1);                               // the only arm
  EXPECT_EQ(a[0][3][1 + 3], 1);                           // body 3
  EXPECT_NEAR(a[0][1][6], 0.5, kDoubleOpTolerance);       // a right angle, over pi
  EXPECT_EQ(a[0][0][6], 0);                               // the chain's end has no angle
  EXPECT_NEAR(a[0][4][7], 0.5, kDoubleOpTolerance);       // 5 cm of 10
  EXPECT_EQ(a[0][1][7], 0);                               // not a gripper body
  EXPECT_NEAR(a[0][2][8], 4 * 0.01, kDoubleOpTolerance);  // displacement x 4
  EXPECT_NEAR(a[1][2][10], 4 * 0.02, kDoubleOpTolerance);
  EXPECT_EQ(a[2][2][9], 0);  // nothing comes after t
}

TEST(TokenEncoderTest, OrderAndCounts) {
  const InterlacerConfig config = TinyConfig();
  TokenEncoder encoder(config);
  const StepInput input = MakeStepInput(50, config);
  const TokenSet tokens = encoder.forward(input);
  EXPECT_EQ(tokens.h.sizes(), (at::IntArrayRef{2 * 50 + 60, 32}));
  EXPECT_TRUE(at::equal(tokens.positions_m.narrow(0, 50, 50), input.newer.positions_m));
  EXPECT_TRUE(
      at::equal(tokens.positions_m.narrow(0, 140, 20), input.kinematic_points_m.select(0, 2)));
}

/// 18 segments of two arms.
TEST(TokenEncoderTest, PointsOnLimbsTakeThePlaceOfBodies) {
  constexpr int kPoints = 18 * 2 * 3;
  InterlacerConfig config = TinyConfig();
  config.tokens.limb_rings = 2;
  config.tokens.limb_ring_points = 3;
  TokenEncoder encoder(config);
  const StepInput input = MakeStepInput(50, config);
  const TokenSet tokens = encoder.forward(input);
  EXPECT_EQ(tokens.kinematic_count, kPoints);
  EXPECT_EQ(tokens.h.sizes(), (at::IntArrayRef{2 * 50 + 3 * kPoints, 32}));
  const torch::Tensor points_m =
      LimbSurface(config.kinematics, config.tokens).forward(input.kinematic_points_m);
  EXPECT_TRUE(at::equal(tokens.positions_m.narrow(0, 100, 3 * kPoints), points_m.reshape({-1, 3})));
}

/// A limb that turns moves its points by different displacements: each token has its own.
TEST(TokenEncoderTest, PointsOnALimbMoveOnTheirOwn) {
  InterlacerConfig config = TinyConfig();
  config.tokens.limb_rings = 2;
  config.tokens.limb_ring_points = 3;
  TokenEncoder encoder(config);
  const at::NoGradGuard no_grad;
  for (const auto& item : encoder.named_parameters()) {
    // The dense layer of the robot passes on the displacement along x, and nothing else.
    item.value().zero_();
    if (item.key() == "kinematic.weight") item.value()[0][item.value().size(1) - 3] = 1;
  }
  StepInput input = MakeStepInput(50, config);
  input.kinematic_points_m[2].narrow(0, 1, 1).add_(0.02);
  const torch::Tensor points_m =
      LimbSurface(config.kinematics, config.tokens).forward(input.kinematic_points_m);
  const torch::Tensor moved_m = (points_m[2] - points_m[1]).select(1, 0);
  const torch::Tensor h =
      encoder.forward(input).h.select(1, 0).narrow(0, 100 + moved_m.size(0), moved_m.size(0));
  EXPECT_GT(moved_m.narrow(0, 0, 6).std().item<float>(), 1e-3f);
  EXPECT_TRUE(at::allclose(h, config.tokens.displacement_scale * moved_m, 1e-5, 1e-5));
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

struct FusedCase {
  const char* name;
  bool context = true;
  int limb_rings = 0;
  int arm_count = 2;
  int bodies_per_arm = 10;
  int octaves = 6;
};

class FusedTokens : public ::testing::TestWithParam<FusedCase> {
 protected:
  InterlacerConfig Config() const {
    InterlacerConfig config = TinyConfig();
    config.tokens.kinematic_context = GetParam().context;
    config.tokens.limb_rings = GetParam().limb_rings;
    config.tokens.fourier_octaves = GetParam().octaves;
    config.kinematics.arm_count = GetParam().arm_count;
    config.kinematics.bodies_per_arm = GetParam().bodies_per_arm;
    return config;
  }
};

TEST_P(FusedTokens, EqualTensors) {
  ExpectFusedEqualsTensors(Config(), MakeStepInput(50, Config()));
}

TEST_P(FusedTokens, EqualTensorsWhereBodiesAreInOnePlace) {
  StepInput input = MakeStepInput(50, Config());
  input.kinematic_points_m.fill_(0.2);
  ExpectFusedEqualsTensors(Config(), input);
}

TEST_P(FusedTokens, EqualTensorsWithoutARobot) {
  StepInput input = MakeStepInput(50, Config());
  input.kinematic_points_m = at::empty({kKinematicTimes, 0, 3});
  ExpectFusedEqualsTensors(Config(), input);
}

/// Part of a wider tensor, with the same result.
TEST_P(FusedTokens, ReadPointsOutOfMemoryOrder) {
  const StepInput input = MakeStepInput(50, Config());
  StepInput part = input;
  part.kinematic_points_m =
      at::cat({input.kinematic_points_m, input.kinematic_points_m}, 2).narrow(2, 0, 3);
  TokenEncoder encoder(Config());
  const at::NoGradGuard no_grad;
  for (auto& weight : encoder.parameters()) weight.normal_();
  EXPECT_TRUE(
      at::equal(EncodeTokens(encoder, part, nullptr).h, EncodeTokens(encoder, input, nullptr).h));
}

INSTANTIATE_TEST_SUITE_P(
    All, FusedTokens,
    ::testing::Values(FusedCase{"Bare"}, FusedCase{"BareWithoutContext", false},
                      FusedCase{"Limbs", true, 2}, FusedCase{"LimbsWithoutContext", false, 2},
                      FusedCase{"OneArm", true, 2, 1}, FusedCase{"ThreeBodies", true, 1, 2, 3},
                      FusedCase{"FourBodiesBare", false, 0, 1, 4},
                      FusedCase{"EightOctaves", true, 6, 2, 10, 8}),
    [](const auto& test) { return test.param.name; });

/// Every number of the rows of one particle and of one surface point, by loops. The layers pass on
/// one column at a time.
TEST(SurfaceTokens, RowsMatchTheirDefinition) {
  constexpr int kCount = 9, kPoints = 5;
  const InterlacerConfig config = TinyExactConfig();
  const StepInput input = MakeSurfaceStepInput(kCount, kPoints, config);
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

  StepInput widened = input;
  widened.older = WithRobotMotion(input.older, input.surface.older_motion, scale);
  widened.newer = WithRobotMotion(input.newer, input.surface.newer_motion, scale);
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

/// The one-pass form of surface tokens, with any number of points.
TEST(SurfaceTokens, FusedEqualTensorsForEveryRobot) {
  const InterlacerConfig config = TinyExactConfig();
  for (const int points : {0, 1, 7, 200}) {
    SCOPED_TRACE(points);
    StepInput input = MakeSurfaceStepInput(50, points, config);
    const double scale = config.tokens.displacement_scale;
    input.older = WithRobotMotion(input.older, input.surface.older_motion, scale);
    input.newer = WithRobotMotion(input.newer, input.surface.newer_motion, scale);
    ExpectFusedEqualsTensors(config, input);
  }
}

TEST(SurfaceTokens, ParametersDoNotDependOnTheRobot) {
  InterlacerConfig one = TinyExactConfig(), other = one;
  other.kinematics.arm_count = 1;
  other.kinematics.bodies_per_arm = 5;
  const TokenEncoder a(one), b(other);
  const auto parameters = b.named_parameters();
  for (const auto& item : a.named_parameters()) {
    EXPECT_EQ(item.value().sizes(), parameters[item.key()].sizes()) << item.key();
  }
}

/// A device starts each of them: the time of a recorded step goes with their number.
TEST(TokenEncoderTest, FusedFormIsFewOperations) {
  constexpr int kMostOperations = 40;  // with views and allocations; seen: 31
  InterlacerConfig config = TinyConfig();
  config.tokens.limb_rings = 2;
  TokenEncoder encoder(config);
  const StepInput input = MakeStepInput(50, config);
  const at::NoGradGuard no_grad;
  EXPECT_LE(CountOperations([&] { EncodeTokens(encoder, input, nullptr); }), kMostOperations);
}

}  // namespace
}  // namespace interlacer::testing
