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
  TokenFeatures tokens = problem.tokens;
  tokens.positions_m = positions_m.get();
  tokens.features = features.get();
  const DeviceArray<float> out(stream, tokens.n * TokenFeatureWidth(tokens));
  EXPECT_EQ(LaunchTokenFeatures(tokens, out.get(), stream.get()), 0);
  return out.Read();
}

/// Numbers of tokens: none, one, not a multiple of the block, several blocks.
class TokenFeaturesDeviceTest : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(TokenFeaturesDeviceTest, FollowsTheCpu) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  for (const int feature_width : {16, 23}) {  // 23: rows of 64 numbers, two full tiles
    const TokenFeaturesProblem problem(GetParam(), feature_width, 6);
    const std::vector<float> got = OnDevice(problem);
    EXPECT_LE(RelativeL2(got, OnHost(problem.tokens)), kDeviceFeatureTolerance);
    EXPECT_EQ(got, OnDevice(problem));
  }
}

INSTANTIATE_TEST_SUITE_P(Tokens, TokenFeaturesDeviceTest, ::testing::Values(0, 1, 127, 300),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace interlacer::testing
