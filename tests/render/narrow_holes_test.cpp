/// Narrow holes of a carried picture: who is near, what it becomes, and what keeps its bits.

#include "render/narrow_holes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "render/fill_holes.h"

namespace interlacer {
namespace {

/// Grey everywhere, 1 m away, and wholly covered but where `is_hole`.
template <typename IsHole>
ObservedPicture GreyPicture(int width_px, int height_px, IsHole is_hole) {
  const std::size_t count = static_cast<std::size_t>(width_px) * height_px;
  ObservedPicture picture{{width_px, height_px, 3, std::vector<float>(3 * count)},
                          {width_px, height_px, std::vector<float>(count)},
                          std::vector<float>(count, 1)};
  for (int row = 0; row < height_px; ++row) {
    for (int column = 0; column < width_px; ++column) {
      const std::size_t i = static_cast<std::size_t>(row) * width_px + column;
      const bool hole = is_hole(row, column);
      picture.coverage[i] = hole ? 0.f : 1.f;
      picture.depth.pixels_m[i] = hole ? std::numeric_limits<float>::quiet_NaN() : 1.f;
      for (std::size_t c = 0; c < 3; ++c) {
        picture.color.pixels[3 * i + c] = hole ? 0.f : 0.1f + 0.01f * static_cast<float>(column);
      }
    }
  }
  return picture;
}

TEST(NarrowHoles, TakeTheColoursOfTheirSurroundings) {
  ObservedPicture picture = GreyPicture(24, 16, [](int, int column) { return column == 10; });
  ASSERT_TRUE(FillNarrowHoles(&picture).ok());
  for (int row = 0; row < 16; ++row) {
    const std::size_t i = static_cast<std::size_t>(row) * 24 + 10;
    EXPECT_EQ(picture.coverage[i], 1);
    EXPECT_NEAR(picture.color.pixels[3 * i], 0.2f, 0.02f);  // between those of columns 9 and 11
    EXPECT_TRUE(std::isnan(picture.depth.pixels_m[i]));
  }
}

TEST(NarrowHoles, AreSharedWithTheFieldFartherInsideByTheSlowTwinsDistance) {
  constexpr int kWidth = 40, kHeight = 30;
  const auto is_hole = [](int row, int column) {
    return (row > 6 && row < 26 && column > 8 && column < 33) || (row < 3 && column % 7 == 0);
  };
  ObservedPicture picture = GreyPicture(kWidth, kHeight, is_hole);
  const ObservedPicture before = picture;
  FloatImage filled = before.color;
  ASSERT_TRUE(FillHoles(before.coverage, before.depth, 1, &filled).ok());
  ASSERT_TRUE(FillNarrowHoles(&picture).ok());
  for (int row = 0; row < kHeight; ++row) {
    for (int column = 0; column < kWidth; ++column) {
      int distance_px = kFarPx;
      for (int r = 0; r < kHeight; ++r) {
        for (int c = 0; c < kWidth; ++c) {
          if (is_hole(r, c)) continue;
          distance_px = std::min(distance_px, std::max(std::abs(r - row), std::abs(c - column)));
        }
      }
      const std::size_t i = static_cast<std::size_t>(row) * kWidth + column;
      const float expected =
          std::clamp(static_cast<float>(kFarPx - distance_px) / (kFarPx - kNearPx), 0.f, 1.f);
      EXPECT_EQ(picture.coverage[i], expected) << row << " " << column;
      for (std::size_t c = 3 * i; c < 3 * i + 3; ++c) {
        const bool is_filled = is_hole(row, column) && distance_px < kFarPx;
        EXPECT_EQ(picture.color.pixels[c], is_filled ? filled.pixels[c] : before.color.pixels[c]);
      }
      if (!is_hole(row, column)) {
        EXPECT_EQ(picture.depth.pixels_m[i], 1);
      }
    }
  }
}

TEST(NarrowHoles, WhatIsHalfCoveredTakesWhatItLacksAndKeepsItsDepth) {
  ObservedPicture picture = GreyPicture(8, 8, [](int, int) { return false; });
  picture.coverage[9] = kFullCoverage;
  picture.coverage[10] = 0.4f;
  const ObservedPicture before = picture;
  ASSERT_TRUE(FillNarrowHoles(&picture).ok());
  EXPECT_EQ(picture.coverage[9], kFullCoverage);
  FloatImage filled = before.color;
  ASSERT_TRUE(FillHoles(before.coverage, before.depth, 1, &filled).ok());
  EXPECT_EQ(picture.color.pixels[3 * 9], filled.pixels[3 * 9]);
  EXPECT_NE(picture.color.pixels[3 * 9], before.color.pixels[3 * 9]);
  EXPECT_EQ(picture.color.pixels[3 * 8], before.color.pixels[3 * 8]);
  EXPECT_EQ(picture.depth.pixels_m[9], 1);
  EXPECT_EQ(picture.coverage[10], 1);
  EXPECT_TRUE(std::isnan(picture.depth.pixels_m[10]));
}

TEST(NarrowHoles, APictureOfNothingOrWithoutHolesStaysAsItIs) {
  for (const bool hole : {true, false}) {
    ObservedPicture picture = GreyPicture(9, 7, [&](int, int) { return hole; });
    const ObservedPicture before = picture;
    ASSERT_TRUE(FillNarrowHoles(&picture).ok());
    EXPECT_EQ(picture.coverage, before.coverage);
    EXPECT_EQ(picture.color.pixels, before.color.pixels);
  }
}

}  // namespace
}  // namespace interlacer
