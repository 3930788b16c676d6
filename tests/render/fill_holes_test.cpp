/// Holes take the colours around them, of what lies behind rather than in front.

#include "render/fill_holes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace interlacer {
namespace {

TEST(FillHoles, KeepsWhatIsCoveredAndFillsTheRestBetweenItsNeighbours) {
  FloatImage image{5, 3, 3, std::vector<float>(45, 0)};
  std::vector<float> coverage(15, 0);
  for (int row = 0; row < 3; ++row) {
    for (const auto& [column, value] : {std::pair{0, 0.2f}, {4, 0.8f}}) {
      coverage[5 * row + column] = 1;
      for (int c = 0; c < 3; ++c) image.pixels[3 * (5 * row + column) + c] = value;
    }
  }
  ASSERT_TRUE(FillHoles(coverage, 1, &image).ok());
  for (int row = 0; row < 3; ++row) {
    EXPECT_EQ(image.pixels[3 * 5 * row], 0.2f);
    EXPECT_EQ(image.pixels[3 * (5 * row + 4)], 0.8f);
    for (int column = 1; column < 4; ++column) {
      EXPECT_GE(image.pixels[3 * (5 * row + column)], 0.2f);
      EXPECT_LE(image.pixels[3 * (5 * row + column)], 0.8f);
    }
  }
}

TEST(FillHoles, AHoleBetweenNearAndFarIsFilledFromBehind) {
  // Left half dark at 0.5 m, right half bright at 2 m, the columns between them unknown.
  FloatImage image{16, 8, 3, std::vector<float>(3 * 16 * 8, 0)};
  DepthImage depth{16, 8, std::vector<float>(16 * 8, std::nanf(""))};
  std::vector<float> coverage(16 * 8, 0);
  for (int i = 0; i < 16 * 8; ++i) {
    if (i % 16 >= 5 && i % 16 < 11) continue;
    coverage[i] = 1;
    depth.pixels_m[i] = i % 16 < 8 ? 0.5f : 2.f;
    if (i % 16 >= 8) std::fill_n(image.pixels.begin() + 3 * i, 3, 1.f);
  }
  ASSERT_TRUE(FillHoles(coverage, depth, 1, &image).ok());
  for (int i = 0; i < 16 * 8; ++i) {
    if (i % 16 < 5) {
      EXPECT_EQ(image.pixels[3 * i], 0);
    } else {
      EXPECT_GT(image.pixels[3 * i], 0.95f) << "column " << i % 16;
    }
  }
  depth.pixels_m.pop_back();
  EXPECT_EQ(FillHoles(coverage, depth, 1, &image).field(), "depth");
}

TEST(FillHoles, AnEmptyPictureBecomesBackground) {
  FloatImage image{2, 2, 3, std::vector<float>(12, 0)};
  ASSERT_TRUE(FillHoles(std::vector<float>(4, 0), 0.5f, &image).ok());
  EXPECT_EQ(image.pixels, std::vector<float>(12, 0.5f));
  EXPECT_EQ(FillHoles(std::vector<float>(3, 0), 0.5f, &image).reason(), reason::SHAPE_MISMATCH);
}

}  // namespace
}  // namespace interlacer
