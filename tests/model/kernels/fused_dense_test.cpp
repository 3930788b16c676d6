/// Fused bfloat16 layers against the same formulas in float64.

#include "model/kernels/fused_dense.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "common/thread_pool.h"
#include "tests/model/kernels/fused_reference.h"
#include "tests/support/numeric.h"
#include "tests/support/serial_for.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

double GeluReference(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }

const DenseForm* FormNamed(std::string_view name, int in_width) {
  for (const DenseForm* form : DenseFormsOfHost(in_width)) {
    if (form->name == name) return form;
  }
  return nullptr;
}

using RowsAndForm = std::tuple<std::int64_t, const char*>;

std::string NameOf(const ::testing::TestParamInfo<RowsAndForm>& info) {
  const auto& [rows, form] = info.param;
  return std::to_string(rows) + (std::string_view(form) == "AMX" ? "Amx" : "Avx512Bf16");
}

/// Row counts: none, one, less than a tile, a chunk and one more, several tasks. Each with every
/// form of the products.
class FusedDense : public ::testing::TestWithParam<RowsAndForm> {
 protected:
  static constexpr int kWidth = 64, kHidden = 256;
  void SetUp() override {
    if (!form_) GTEST_SKIP() << "this processor has no " << std::get<1>(GetParam());
  }
  PackedDense Packed(const Layer& layer) const {
    PackedDense packed = layer.packed();
    packed.form = form_;
    return packed;
  }
  std::int64_t n_ = std::get<0>(GetParam());
  const DenseForm* form_ = FormNamed(std::get<1>(GetParam()), kWidth);
  std::vector<float> h_ = RandomNormal<float>(n_ * kWidth, 3, 0);
  std::vector<float> scale_ = RandomNormal<float>(kWidth, 3, 1);
  std::vector<float> norm_bias_ = RandomNormal<float>(kWidth, 3, 2);
  RowNorm norm_{scale_.data(), norm_bias_.data(), 1e-5F};
};

TEST_P(FusedDense, AddsExactProducts) {
  const Layer layer = RandomLayer(kHidden, kWidth, 10, true);
  std::vector<float> x = RandomNormal<float>(n_ * kHidden, 3, 3);
  for (float& value : x) value = Eighths(value);
  std::vector<double> expected = DenseReference({x.begin(), x.end()}, layer);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += h_[i];
  AddDense(n_, x.data(), Packed(layer), h_.data(), &ParallelFor);
  EXPECT_LE(RelativeL2(h_, expected), kFloatSumTolerance);
}

TEST_P(FusedDense, SeveralLayersReadOneNormedInput) {
  const Layer a = RandomLayer(kWidth, kWidth, 20), b = RandomLayer(kWidth, kHidden, 30);
  const PackedDense packed_a = Packed(a), packed_b = Packed(b);
  std::vector<float> out_a = Poisoned<float>(n_ * kWidth), out_b = Poisoned<float>(n_ * kHidden);
  const DenseOutput outputs[] = {{&packed_a, out_a.data()}, {&packed_b, out_b.data()}};
  NormDense(n_, h_.data(), norm_, outputs, &ParallelFor);
  const std::vector<double> normed = NormReference(h_, kWidth, scale_, norm_bias_);
  EXPECT_LE(RelativeL2(out_a, DenseReference(normed, a)), kBfloat16LayerTolerance);
  EXPECT_LE(RelativeL2(out_b, DenseReference(normed, b)), kBfloat16LayerTolerance);
}

TEST_P(FusedDense, FeedForwardIsAddedInPlace) {
  const Layer first = RandomLayer(kWidth, kHidden, 40), second = RandomLayer(kHidden, kWidth, 50);
  std::vector<double> hidden = DenseReference(NormReference(h_, kWidth, scale_, norm_bias_), first);
  for (double& x : hidden) x = GeluReference(x);
  std::vector<double> expected = DenseReference(hidden, second);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += h_[i];
  AddFeedForward(n_, norm_, Packed(first), Packed(second), h_.data(), &ParallelFor);
  EXPECT_LE(RelativeL2(h_, expected), kBfloat16LayerTolerance);
}

INSTANTIATE_TEST_SUITE_P(Rows, FusedDense,
                         ::testing::Combine(::testing::Values(0, 1, 5, 97, 2000),
                                            ::testing::Values("AMX", "AVX-512 BF16")),
                         &NameOf);

/// Half a tile of inputs, 16, is left over: only registers take such layers.
TEST(FusedDenseEdgeTest, WidthsThatAreNoWholeTiles) {
  constexpr int kInputs = 48, kOutputs = 64, kRows = 7;
  if (!CanFuseDense(kInputs, kOutputs)) GTEST_SKIP() << "this processor has no AVX-512 BF16";
  EXPECT_EQ(FormNamed("AMX", kInputs), nullptr);
  const Layer layer = RandomLayer(kInputs, kOutputs, 60, true);
  std::vector<float> x = RandomNormal<float>(kRows * kInputs, 3, 4);
  for (float& value : x) value = Eighths(value);
  std::vector<float> h(kRows * kOutputs, 0);
  AddDense(kRows, x.data(), layer.packed(), h.data(), &SerialFor);
  EXPECT_LE(RelativeL2(h, DenseReference({x.begin(), x.end()}, layer)), kFloatSumTolerance);
}

/// Through layers that pass one number on: values far from zero are exact, NaN stays.
TEST(FusedDenseEdgeTest, GeluOfLargeAndBrokenNumbers) {
  constexpr int kWidth = 64;
  if (!CanFuseDense(kWidth, kWidth)) GTEST_SKIP() << "this processor has no AVX-512 BF16";
  Layer first{kWidth, kWidth, std::vector<float>(kWidth * kWidth), std::vector<float>(kWidth)};
  Layer second = first;
  for (int c = 0; c < kWidth; ++c) {
    first.bias[c] = (static_cast<float>(c) - 32) / 2;
    second.weight[c * kWidth + c] = 1;
  }
  first.bias[63] = NAN;
  const std::vector<float> scale(kWidth, 1), bias(kWidth, 0);
  std::vector<float> h(kWidth, 0);
  AddFeedForward(1, {scale.data(), bias.data(), 1e-5F}, first.packed(), second.packed(), h.data(),
                 &SerialFor);
  for (int c = 0; c < kWidth; ++c) EXPECT_TRUE(std::isnan(h[c])) << "a NaN reaches every sum";

  first.bias[63] = 100;
  h.assign(kWidth, 0);
  AddFeedForward(1, {scale.data(), bias.data(), 1e-5F}, first.packed(), second.packed(), h.data(),
                 &SerialFor);
  for (int c = 0; c < kWidth; ++c) {
    const double expected = GeluReference(first.bias[c]);
    EXPECT_NEAR(h[c], expected, kGeluTolerance + std::abs(expected) * kBfloat16Rounding)
        << first.bias[c];
  }
}

}  // namespace
}  // namespace interlacer::testing
