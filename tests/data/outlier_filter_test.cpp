/// Flying pixels go, surfaces stay.

#include "data/outlier_filter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "common/random.h"
#include "common/thread_pool.h"
#include "data/unproject.h"

namespace interlacer {
namespace {

constexpr int kWidthPx = 160, kHeightPx = 120;
constexpr int kBoxBeginPx = 50, kBoxEndPx = 110;  // columns of the foreground, over all rows
constexpr float kForegroundM = 0.8f, kBackgroundM = 1.4f, kNoiseM = 0.001f;
constexpr LiftRegion kRegion{{{-2, -2, 0}, {2, 2, 2}}, 0.1, 3};

bool IsEdge(int u) { return u == kBoxBeginPx || u == kBoxEndPx; }

/// A wall with a post before it. Pixels on the post's edges are measured at depths of neither, a
/// few pixels at none.
RgbdView EdgeView() {
  RgbdView view;
  view.camera.width_px = kWidthPx;
  view.camera.height_px = kHeightPx;
  view.camera.fx_px = view.camera.fy_px = 150;
  view.camera.cx_px = (kWidthPx - 1) / 2.0;
  view.camera.cy_px = (kHeightPx - 1) / 2.0;
  view.color = {kWidthPx, kHeightPx, std::vector<std::uint8_t>(3 * kWidthPx * kHeightPx, 99)};
  view.depth = {kWidthPx, kHeightPx, {}};
  RandomSequence random(20261, RandomStream::kDataGeneration);
  for (int v = 0; v < kHeightPx; ++v) {
    for (int u = 0; u < kWidthPx; ++u) {
      const auto uniform = static_cast<float>(random.Uniform());
      const bool is_post = u > kBoxBeginPx && u < kBoxEndPx;
      float depth_m = (is_post ? kForegroundM : kBackgroundM) + kNoiseM * (uniform - .5f);
      if (IsEdge(u)) depth_m = std::lerp(kForegroundM + .1f, kBackgroundM - .1f, uniform);
      if (u % 40 == 7 && v % 40 == 7) depth_m = std::numeric_limits<float>::quiet_NaN();
      view.depth.pixels_m.push_back(depth_m);
    }
  }
  return view;
}

class OutlierFilterTest : public ::testing::TestWithParam<OutlierFilter> {
 protected:
  void SetUp() override {
    if (!OutlierFilterAvailable()) GTEST_SKIP() << "built without Open3D";
  }
  static LiftedPoints Kept(const LiftedPoints& points) {
    const auto inliers = FindInliers(points.positions_m, GetParam());
    EXPECT_TRUE(inliers.ok()) << inliers.status().ToString();
    EXPECT_TRUE(std::is_sorted(inliers->begin(), inliers->end()));
    return SelectPoints(points, *inliers);
  }
};

TEST_P(OutlierFilterTest, FlyingPixelsGoAndSurfacesStay) {
  const RgbdView view = EdgeView();
  const LiftedPoints all = UnprojectViews({&view, 1}, kRegion);
  const LiftedPoints kept = Kept(all);
  const auto count = [](const LiftedPoints& points, bool flying) {
    return std::count_if(
        points.source_index.begin(), points.source_index.end(),
        [&](std::int64_t pixel) { return IsEdge(static_cast<int>(pixel % kWidthPx)) == flying; });
  };
  ASSERT_EQ(count(all, true), 2 * kHeightPx);
  EXPECT_LE(count(kept, true), 0.02 * static_cast<double>(count(all, true)));
  EXPECT_GE(count(kept, false), 0.99 * static_cast<double>(count(all, false)));
  EXPECT_TRUE(std::all_of(kept.positions_m.begin(), kept.positions_m.end(),
                          [](float x) { return std::isfinite(x); }));
}

TEST_P(OutlierFilterTest, GivesEqualIndicesForAnyThreadCount) {
  const RgbdView view = EdgeView();
  const LiftedPoints all = UnprojectViews({&view, 1}, kRegion);
  SetThreadCount(1);
  const auto one = FindInliers(all.positions_m, GetParam());
  SetThreadCount(5);
  EXPECT_EQ(*FindInliers(all.positions_m, GetParam()), *one);
  SetThreadCount(0);
}

TEST_P(OutlierFilterTest, ACloudTooSmallToJudgeByStaysWhole) {
  for (int n = 0; n <= GetParam().neighbor_count; ++n) {
    std::vector<float> positions_m;
    for (int i = 0; i < n; ++i) positions_m.insert(positions_m.end(), {1.f * i * i, 0, 0});
    std::vector<std::int64_t> all(n);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(*FindInliers(positions_m, GetParam()), all) << n;
  }
}

TEST_P(OutlierFilterTest, ACloudWithoutSpreadStaysWhole) {
  const std::vector<float> positions_m(3 * 200, .5f);
  EXPECT_EQ(FindInliers(positions_m, GetParam())->size(), 200u);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, OutlierFilterTest,
    ::testing::Values(OutlierFilter{}, OutlierFilter{OutlierFilterKind::kRadius, 8, 0, 0.03}),
    [](const auto& test) {
      return std::string(test.param.kind == OutlierFilterKind::kRadius ? "Radius" : "Statistical");
    });

TEST(OutlierFilter, WithoutOpen3DIsUnimplemented) {
  if (OutlierFilterAvailable()) GTEST_SKIP() << "built with Open3D";
  EXPECT_EQ(FindInliers({}, {}).status().reason(), reason::FEATURE_NOT_BUILT);
}

}  // namespace
}  // namespace interlacer
