#include "model/kernels/token_features.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "common/kernels/cpu_features.h"
#include "common/thread_pool.h"
#include "model/kernels/token_features_rows.h"
#include "tests/model/kernels/token_features_problem.h"
#include "tests/support/numeric.h"
#include "tests/support/serial_for.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

constexpr int kFeatures = 16;

/// In float64.
std::vector<double> Reference(const TokenFeaturesProblem& problem) {
  const TokenFeatures& tokens = problem.tokens;
  std::vector<double> rows;
  for (std::int64_t i = 0; i < tokens.n; ++i) {
    const float* x = problem.positions_m.data() + 3 * i;
    rows.insert(rows.end(), problem.features.begin() + kFeatures * i,
                problem.features.begin() + kFeatures * (i + 1));
    double p[3];
    for (int c = 0; c < 3; ++c) {
      rows.push_back(p[c] = (double{x[c]} - tokens.center_m[c]) / tokens.extent_m);
    }
    for (int octave = 0; octave < tokens.octaves; ++octave) {
      const double scale = std::ldexp(std::numbers::pi, octave);
      for (const double value : p) rows.push_back(std::sin(scale * value));
      for (const double value : p) rows.push_back(std::cos(scale * value));
    }
    for (int time = 0; time < tokens.times; ++time) rows.push_back(time == tokens.time);
  }
  return rows;
}

std::vector<float> Features(const TokenFeatures& tokens, ParallelForFunction parallel_for) {
  std::vector<float> out = Poisoned<float>(tokens.n * TokenFeatureWidth(tokens));
  WriteTokenFeatures(tokens, out.data(), parallel_for);
  return out;
}

/// Token counts: none, one, not a multiple of the lanes, several tasks.
class TokenFeaturesTest : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(TokenFeaturesTest, MatchesTheFormulas) {
  // Six octaves magnify the float32 rounding of a position 32 times.
  const TokenFeaturesProblem problem(GetParam(), kFeatures, 6);
  const std::vector<float> got = Features(problem.tokens, &ParallelFor);
  const std::vector<double> expected = Reference(problem);
  ASSERT_EQ(got.size(), expected.size());
  EXPECT_LE(RelativeL2(got, expected), 10 * kHostFeatureTolerance);
  EXPECT_EQ(got, Features(problem.tokens, &SerialFor));
}

TEST_P(TokenFeaturesTest, InstructionSetsAgreeToTheBit) {
  const TokenFeaturesProblem problem(GetParam(), kFeatures, 6);
  const int width = TokenFeatureWidth(problem.tokens);
  std::vector<float> columns(static_cast<std::size_t>(kTokenLanes) * width);
  std::vector<float> generic(static_cast<std::size_t>(problem.tokens.n * width)), other = generic;
  cpu::TokenFeatureRows(problem.tokens, 0, problem.tokens.n, columns.data(), generic.data());
  if (HostCpuFeatures().avx2) {
    avx2::TokenFeatureRows(problem.tokens, 0, problem.tokens.n, columns.data(), other.data());
    EXPECT_EQ(other, generic);
  }
  if (HostCpuFeatures().avx512) {
    avx512::TokenFeatureRows(problem.tokens, 0, problem.tokens.n, columns.data(), other.data());
    EXPECT_EQ(other, generic);
  }
}

INSTANTIATE_TEST_SUITE_P(Tokens, TokenFeaturesTest, ::testing::Values(0, 1, 37, 2100),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace interlacer::testing
