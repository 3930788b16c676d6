#include <gtest/gtest.h>

#include <vector>

#include "model/kernels/token_features_cuda.h"
#include "tests/device/device_array.h"
#include "tests/model/kernels/token_features_problem.h"
#include "tests/support/numeric.h"
#include "tests/support/serial_for.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

std::vector<float> OnHost(const TokenFeatures& tokens) {
  std::vector<float> out(static_cast<std::size_t>(tokens.n * TokenFeatureWidth(tokens)));
  WriteTokenFeatures(tokens, out.data(), SerialFor);
  return out;
}

std::vector<float> OnDevice(const TokenFeaturesProblem& problem) {
  const CheckedStream stream;
  const DeviceArray<float> positions_m(stream, problem.positions_m);
  const DeviceArray<float> features(stream, problem.features);
  const DeviceArray<float> points_m(stream, problem.points_m);
  const DeviceArray<float> next_points_m(stream, problem.next_points_m);
  const DeviceArray<float> bandwidths_m(stream, problem.bandwidths_m);
  TokenFeatures tokens = problem.tokens;
  tokens.positions_m = positions_m.get();
  tokens.features = features.get();
  tokens.robot.points_m = points_m.get();
  tokens.robot.next_points_m = next_points_m.get();
  tokens.robot.bandwidths_m = bandwidths_m.get();
  const DeviceArray<float> out(stream, tokens.n * TokenFeatureWidth(tokens));
  EXPECT_EQ(LaunchTokenFeatures(tokens, out.get(), stream.get()), 0);
  return out.Read();
}

/// Numbers of tokens: none, one, not a multiple of the block, several blocks.
class TokenFeaturesDeviceTest : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(TokenFeaturesDeviceTest, FollowsTheCpu) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  for (const int feature_width : {16, 11}) {  // 11: rows of 64 numbers, two full tiles
    for (const int point_count : {0, 20}) {
      const TokenFeaturesProblem problem(GetParam(), feature_width, 6, point_count);
      const std::vector<float> got = OnDevice(problem);
      EXPECT_LE(RelativeL2(got, OnHost(problem.tokens)), kDeviceFeatureTolerance);
      EXPECT_EQ(got, OnDevice(problem));
    }
  }
}

TEST_P(TokenFeaturesDeviceTest, WithoutARobotThereAreNoColumnsOfIt) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  TokenFeaturesProblem problem(GetParam(), 3, 0, 0);
  problem.tokens.robot.bandwidth_count = 0;
  EXPECT_LE(RelativeL2(OnDevice(problem), OnHost(problem.tokens)), kDeviceFeatureTolerance);
}

INSTANTIATE_TEST_SUITE_P(Tokens, TokenFeaturesDeviceTest, ::testing::Values(0, 1, 127, 300),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace interlacer::testing
