#include "model/ops/deterministic_gradients.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <string>

#include "tests/model/gradient_check.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

struct Size {
  std::int64_t height, width;
};

class OrderedDoubling : public ::testing::TestWithParam<Size> {};

TEST_P(OrderedDoubling, IsTheBilinearOneWithItsGradient) {
  const auto [height, width] = GetParam();
  const torch::Tensor x = at::randn({2, 3, height, width}, at::kDouble).requires_grad_();
  const torch::Tensor expected = DoubleSize(x, nullptr), got = DoubleSizeBySums(x);
  ASSERT_EQ(got.sizes(), expected.sizes());
  EXPECT_LT(RelativeL2(got, expected), kDoubleGradientTolerance);
  const torch::Tensor weight = at::randn_like(got);
  const auto gradient = [&](const torch::Tensor& y) {
    return torch::autograd::grad({(y * weight).sum()}, {x})[0];
  };
  EXPECT_LT(RelativeL2(gradient(got), gradient(expected)), kDoubleGradientTolerance);
}

INSTANTIATE_TEST_SUITE_P(Sizes, OrderedDoubling,
                         ::testing::Values(Size{1, 1}, Size{1, 5}, Size{2, 2}, Size{6, 7}),
                         [](const auto& test) {
                           return std::to_string(test.param.height) + "x" +
                                  std::to_string(test.param.width);
                         });

}  // namespace
}  // namespace interlacer::testing
