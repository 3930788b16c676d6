/// The product by tiles of columns against the recursion with a dense matrix.

#include "model/attention/masks/polynomial_product.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/model/gradient_check.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

using attention::PolynomialBasis;

/// A ring with a chord, and a last node without edges.
struct Ring {
  explicit Ring(std::int64_t n) {
    std::vector<std::int64_t> offsets{0}, indices;
    const std::int64_t ring = n - 1;
    for (std::int64_t i = 0; i < ring; ++i) {
      for (const std::int64_t j : {(i + 1) % ring, (i + ring - 1) % ring}) indices.push_back(j);
      if (i == 0) indices.push_back(ring / 2);
      if (i == ring / 2) indices.push_back(0);
      offsets.push_back(static_cast<std::int64_t>(indices.size()));
    }
    offsets.push_back(static_cast<std::int64_t>(indices.size()));
    pattern = attention::MakePattern(n, n, offsets, indices);
    values = -at::ones({1, pattern->entry_count()}, at::kDouble);
    diagonal = -attention::ToDense(*pattern, values)[0].sum(1);
  }
  torch::Tensor Dense() const {
    return attention::ToDense(*pattern, values)[0] + at::diag(diagonal);
  }

  attention::SparsePatternPtr pattern;
  torch::Tensor values, diagonal;
  double rho = 8;
};

torch::Tensor ByRecursion(PolynomialBasis basis, const Ring& ring, const torch::Tensor& c,
                          const torch::Tensor& x) {
  const torch::Tensor matrix =
      (2 / ring.rho) * ring.Dense() - at::eye(ring.pattern->rows, at::kDouble);
  torch::Tensor before = x, now = at::matmul(matrix, x);
  torch::Tensor sum = c.slice(1, 0, 1).unsqueeze(2) * x;
  for (std::int64_t k = 1; k < c.size(1); ++k) {
    sum = sum + c.slice(1, k, k + 1).unsqueeze(2) * now;
    const torch::Tensor next = basis == PolynomialBasis::kChebyshev
                                   ? 2 * at::matmul(matrix, now) - before
                                   : at::matmul(matrix, now);
    before = now;
    now = next;
  }
  return sum;
}

TEST(PolynomialProduct, IsTheRecursionForAnyWidthAndTerms) {
  at::manual_seed(4);
  const Ring ring(23);
  for (const auto basis : {PolynomialBasis::kChebyshev, PolynomialBasis::kPowers}) {
    for (const std::int64_t heads : {1, 3}) {
      for (const std::int64_t width : {1, 15, 16, 17, 40}) {
        for (const std::int64_t terms : {1, 2, 3, 12}) {
          SCOPED_TRACE(std::to_string(heads) + " x " + std::to_string(width) + " x " +
                       std::to_string(terms) +
                       (basis == PolynomialBasis::kPowers ? " powers" : " polynomials"));
          const torch::Tensor c = at::randn({heads, terms}, at::kDouble);
          const torch::Tensor x = at::randn({heads, 23, width}, at::kDouble);
          const torch::Tensor expected = ByRecursion(basis, ring, c, x);
          const auto product = [&](const torch::Tensor& columns) {
            return attention::PolynomialProduct(basis, *ring.pattern, ring.values, ring.diagonal,
                                                ring.rho, c, columns);
          };
          EXPECT_LT(RelativeL2(product(x), expected), kDoubleOpTolerance);
          // Columns that do not lie one after the other.
          const torch::Tensor turned = x.transpose(1, 2).contiguous().transpose(1, 2);
          EXPECT_TRUE(at::equal(product(turned), product(x)));
        }
      }
    }
  }
}

TEST(PolynomialProduct, OfNoColumnsAndOfOneNode) {
  const Ring ring(5);
  const torch::Tensor c = at::ones({1, 3}, at::kDouble);
  EXPECT_EQ(attention::PolynomialProduct(PolynomialBasis::kChebyshev, *ring.pattern, ring.values,
                                         ring.diagonal, 8, c, at::zeros({1, 5, 0}, at::kDouble))
                .numel(),
            0);
  const auto single = attention::MakePattern(1, 1, {0, 0}, {});
  const torch::Tensor x = at::full({1, 1, 2}, 3., at::kDouble);
  // S = 0: T_0 + T_1 + T_2 at -1 is 1 - 1 + 1.
  EXPECT_TRUE(at::equal(attention::PolynomialProduct(PolynomialBasis::kChebyshev, *single,
                                                     at::zeros({1, 0}, at::kDouble),
                                                     at::zeros({1}, at::kDouble), 8, c, x),
                        x));
}

}  // namespace
}  // namespace interlacer::testing
