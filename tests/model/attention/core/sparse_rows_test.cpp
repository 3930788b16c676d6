/// The loops of every instruction set against plain ones, to the bit.

#include "model/attention/kernels/sparse_rows.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "common/kernels/cpu_features.h"

namespace interlacer::testing {
namespace {

using attention::kPolynomialColumns;
using attention::SparseRows;

constexpr std::int64_t kRows = 37, kColumns = 23;
constexpr int kLanes = 16;

/// Rows of 0 to 6 entries at random columns, and an order of their weights.
struct Problem {
  Problem() {
    for (std::int64_t i = 0; i < kRows; ++i) {
      for (std::int64_t e = 0; e < i % 7; ++e) {
        indices.push_back(static_cast<std::int64_t>(random() % kColumns));
      }
      offsets.push_back(static_cast<std::int64_t>(indices.size()));
    }
    for (std::size_t e = indices.size(); e-- > 0;) order.push_back(static_cast<std::int64_t>(e));
  }
  template <typename T>
  std::vector<T> Numbers(std::int64_t count) {
    std::vector<T> numbers;
    for (std::int64_t i = 0; i < count; ++i) {
      numbers.push_back(static_cast<T>(static_cast<double>(random()) / 2e9 - 1));
    }
    return numbers;
  }
  std::int64_t entry_count() const { return offsets.back(); }

  std::mt19937 random{7};
  std::vector<std::int64_t> offsets{0}, indices, order;
};

/// The forms that this processor runs.
template <typename Function>
std::vector<Function> FormsOf(Function portable, Function avx2, Function avx512) {
  std::vector<Function> forms{portable};
  if (HostCpuFeatures().avx2) forms.push_back(avx2);
  if (HostCpuFeatures().avx512) forms.push_back(avx512);
  return forms;
}

template <typename T>
class SparseRowsOf : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SparseRowsOf, Types);

TYPED_TEST(SparseRowsOf, ProductsAddEntriesInTheirOrder) {
  using T = TypeParam;
  Problem problem;
  for (const std::int64_t width : {1, 7, 16, 17, 32, 64, 65, 144}) {
    for (const bool is_ordered : {false, true}) {
      SCOPED_TRACE(std::to_string(width) + (is_ordered ? " by entries" : ""));
      const SparseRows rows{problem.offsets.data(), problem.indices.data(),
                            is_ordered ? problem.order.data() : nullptr};
      const auto weights = problem.Numbers<T>(problem.entry_count());
      const auto x = problem.Numbers<T>(kColumns * width);
      // The first and the last row are not asked for.
      std::vector<T> expected(static_cast<std::size_t>(kRows * width), T(5));
      for (std::int64_t i = 1; i + 1 < kRows; ++i) {
        for (std::int64_t c = 0; c < width; ++c) {
          T sum = 0;
          for (std::int64_t e = problem.offsets[i]; e < problem.offsets[i + 1]; ++e) {
            sum += weights[is_ordered ? problem.order[e] : e] * x[problem.indices[e] * width + c];
          }
          expected[i * width + c] = sum;
        }
      }
      for (const auto multiply :
           FormsOf(&cpu::MultiplyRows<T>, &avx2::MultiplyRows<T>, &avx512::MultiplyRows<T>)) {
        std::vector<T> out(expected.size(), T(5));
        multiply(rows, weights.data(), x.data(), width, 1, kRows - 1, out.data());
        EXPECT_EQ(out, expected);
      }
    }
  }
}

TYPED_TEST(SparseRowsOf, SampledProductsAddLanesByHalves) {
  using T = TypeParam;
  Problem problem;
  const SparseRows rows{problem.offsets.data(), problem.indices.data()};
  for (const std::int64_t width : {1, 15, 16, 40, 64}) {
    SCOPED_TRACE(width);
    const auto a = problem.Numbers<T>(kRows * width), b = problem.Numbers<T>(kColumns * width);
    std::vector<T> expected;
    for (std::int64_t i = 0; i < kRows; ++i) {
      for (std::int64_t e = problem.offsets[i]; e < problem.offsets[i + 1]; ++e) {
        std::array<T, kLanes> lanes{};
        T rest = 0;
        for (std::int64_t c = 0; c < width; ++c) {
          const T product = a[i * width + c] * b[problem.indices[e] * width + c];
          (c < width / kLanes * kLanes ? lanes[c % kLanes] : rest) += product;
        }
        for (int half = kLanes / 2; half > 0; half /= 2) {
          for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
        }
        expected.push_back(rest + lanes[0]);
      }
    }
    for (const auto sample :
         FormsOf(&cpu::SampleRows<T>, &avx2::SampleRows<T>, &avx512::SampleRows<T>)) {
      std::vector<T> out(expected.size());
      sample(rows, a.data(), b.data(), width, 0, kRows, out.data());
      EXPECT_EQ(out, expected);
    }
  }
}

TEST(PolynomialTerm, IsThatOfPlainLoops) {
  Problem problem;
  for (std::int64_t& column : problem.indices) column %= kRows;
  const SparseRows rows{problem.offsets.data(), problem.indices.data()};
  const auto weights = problem.Numbers<double>(problem.entry_count());
  const auto diagonal = problem.Numbers<double>(kRows);
  constexpr std::int64_t kCount = kRows * kPolynomialColumns;
  const auto x = problem.Numbers<double>(kCount), now = problem.Numbers<double>(kCount),
             before = problem.Numbers<double>(kCount);
  for (const bool has_before : {false, true}) {
    std::vector<double> expected;
    for (std::int64_t at = 0; at < kCount; ++at) {
      const std::int64_t i = at / kPolynomialColumns, c = at % kPolynomialColumns;
      double sum = diagonal[i] * now[at];
      for (std::int64_t e = problem.offsets[i]; e < problem.offsets[i + 1]; ++e) {
        sum += weights[e] * now[problem.indices[e] * kPolynomialColumns + c];
      }
      sum = 2.0 * sum + 0.25 * x[at];
      expected.push_back(has_before ? sum - before[at] : sum);
    }
    for (const auto add_term :
         FormsOf(&cpu::AddPolynomialTerm, &avx2::AddPolynomialTerm, &avx512::AddPolynomialTerm)) {
      std::vector<double> next(kCount);
      add_term(rows, weights.data(), diagonal.data(), kRows, 2, 0.25, x.data(), now.data(),
               has_before ? before.data() : nullptr, next.data());
      EXPECT_EQ(next, expected);
    }
  }
}

}  // namespace
}  // namespace interlacer::testing
