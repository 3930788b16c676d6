#include "data/unproject.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "common/random.h"
#include "common/thread_pool.h"
#include "tests/data/synthetic_scene.h"
#include "tests/support/tolerances.h"

namespace interlacer {
namespace {

constexpr LiftRegion kRegion{kSyntheticWorkspace, 0.1, 2.0};

std::vector<RgbdView> TwoViews(int width_px = 80, int height_px = 60) {
  return {SyntheticView(SyntheticCamera(true, width_px, height_px)),
          SyntheticView(SyntheticCamera(false, width_px, height_px))};
}

/// The draw as it is defined: sort all keys.
std::vector<std::int64_t> SortedDraw(std::int64_t candidates, std::int64_t count,
                                     std::uint64_t seed, std::uint32_t time) {
  std::vector<std::pair<std::uint64_t, std::int64_t>> keyed;
  for (std::int64_t c = 0; c < candidates; ++c) {
    const PhiloxWords w = Philox(seed, 1, time, static_cast<std::uint32_t>(c), 0);
    keyed.emplace_back((static_cast<std::uint64_t>(w.word[1]) << 32) | w.word[0], c);
  }
  std::sort(keyed.begin(), keyed.end());
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = 0; i < std::min(count, candidates); ++i) chosen.push_back(keyed[i].second);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

TEST(UnprojectTest, PointsLieOnTheSurfacesTheyCameFrom) {
  const std::vector<RgbdView> views = TwoViews();
  const LiftedPoints points = UnprojectViews(views, kRegion);
  ASSERT_GT(points.count(), 3000);
  for (std::int64_t i = 0; i < points.count(); ++i) {
    const float* p = points.positions_m.data() + 3 * i;
    const bool on_table = std::abs(p[2]) < testing::kFloatPlaceToleranceM;
    const bool on_block =
        std::max(std::abs(p[0]), std::abs(p[1])) < 0.1 + testing::kFloatPlaceToleranceM &&
        p[2] < 0.15 + testing::kFloatPlaceToleranceM;
    ASSERT_TRUE(on_table || on_block) << p[0] << " " << p[1] << " " << p[2];
    const std::int64_t pixel_count = 80 * 60;
    const std::int64_t view = points.source_index[i] / pixel_count;
    const std::int64_t pixel = points.source_index[i] % pixel_count;
    const ProjectedPixel back = Project(views[view].camera, {p[0], p[1], p[2]});
    ASSERT_NEAR(back.u_px, static_cast<double>(pixel % 80), 1e-3);
    ASSERT_NEAR(back.v_px, static_cast<double>(pixel / 80), 1e-3);
  }
  EXPECT_TRUE(std::is_sorted(points.source_index.begin(), points.source_index.end()));
}

TEST(UnprojectTest, ThreeClassesOfPixels) {
  Camera camera{6, 1, 100, 100, 0, 0, DistortionModel::kNone, {}, {}};
  const DepthImage depth{6, 1, {NAN, 0, -1, 0.05f, 1, 3}};
  const LiftRegion region{{{-1, -1, -1}, {1, 1, 5}}, 0.1, 2};
  using enum PixelClass;
  EXPECT_EQ(ClassifyPixels(camera, depth, region),
            (std::vector<PixelClass>{kHole, kHole, kHole, kOutside, kValid, kOutside}));
  camera.world_from_camera.translation_m = {5, 0, 0};  // out of the box
  EXPECT_EQ(ClassifyPixels(camera, depth, region)[4], kOutside);
}

TEST(UnprojectTest, RangeIsEuclideanNotDepth) {
  const Camera camera{2, 1, 1, 1, 0, 0, DistortionModel::kNone, {}, {}};
  const DepthImage depth{2, 1, {1.9f, 1.9f}};  // pixel 1 is seen under 45 degrees
  const LiftRegion region{{{-9, -9, -9}, {9, 9, 9}}, 0.1, 2};
  EXPECT_EQ(ClassifyPixels(camera, depth, region)[0], PixelClass::kValid);
  EXPECT_EQ(ClassifyPixels(camera, depth, region)[1], PixelClass::kOutside);
}

TEST(UnprojectTest, LimitsOfTheRangeAreExact) {
  const Camera camera{3, 1, 7, 5, -1.3, 2.1, DistortionModel::kNone, {}, {}};
  const DepthImage depth{3, 1, {0.1F, 0.7F, 1.9F}};
  const Box anywhere{{-9, -9, -9}, {9, 9, 9}};
  for (int u = 0; u < 3; ++u) {
    const auto ray = UndistortPixel(camera, u, 0);
    const double z = depth.pixels_m[u], x = ray[0] * z, y = ray[1] * z;
    const double range_m = std::sqrt(x * x + y * y + z * z);
    const double below_m = std::nextafter(range_m, 0), above_m = std::nextafter(range_m, 9);
    const auto class_at = [&](double near_m, double far_m) {
      return ClassifyPixels(camera, depth, {anywhere, near_m, far_m})[u];
    };
    EXPECT_EQ(class_at(range_m, range_m), PixelClass::kValid);
    EXPECT_EQ(class_at(below_m, above_m), PixelClass::kValid);
    EXPECT_EQ(class_at(above_m, 9), PixelClass::kOutside);
    EXPECT_EQ(class_at(0, below_m), PixelClass::kOutside);
  }
}

// fm-5
TEST(UnprojectTest, NoPointAtTheCameraOrigin) {
  for (float value : {0.0f, NAN, INFINITY, -INFINITY, -1.0f}) {
    RgbdView view = SyntheticView(SyntheticCamera(true));
    std::fill(view.depth.pixels_m.begin(), view.depth.pixels_m.end(), value);
    const LiftRegion anywhere{{{-9, -9, -9}, {9, 9, 9}}, 1e-9, 1e9};
    EXPECT_EQ(UnprojectViews({&view, 1}, anywhere).count(), 0) << value;
    EXPECT_EQ(LiftObservation({&view, 1}, anywhere, 32768, 1, 0, 0).status().reason(),
              reason::TOO_FEW_VALID_POINTS)
        << value;
  }
}

TEST(DrawTest, IsTheDefinition) {
  for (std::int64_t candidates : {0, 1, 5, 1000, 20000}) {
    for (std::int64_t count : {0, 1, 4, 5, 999, 8192}) {
      for (std::uint32_t time : {0u, 1u}) {
        ASSERT_EQ(DrawSubset(candidates, count, 42, time), SortedDraw(candidates, count, 42, time))
            << candidates << " " << count;
      }
    }
  }
}

TEST(DrawTest, IsUniform) {
  constexpr int kCandidates = 50, kCount = 10, kRepeats = 4000;
  std::vector<int> hits(kCandidates, 0);
  for (int seed = 0; seed < kRepeats; ++seed) {
    for (std::int64_t c : DrawSubset(kCandidates, kCount, seed, 0)) ++hits[c];
  }
  const double expected = kRepeats * 1.0 * kCount / kCandidates;
  const double standard_error = std::sqrt(kRepeats * 0.2 * 0.8);
  for (int count : hits) EXPECT_NEAR(count, expected, 4 * standard_error);
}

TEST(DrawTest, TimesAndSeedsAreIndependent) {
  EXPECT_NE(DrawSubset(1000, 100, 1, 0), DrawSubset(1000, 100, 1, 1));
  EXPECT_NE(DrawSubset(1000, 100, 1, 0), DrawSubset(1000, 100, 2, 0));
}

TEST(LiftTest, AFilterChoosesWhatIsDrawnFrom) {
  const std::vector<RgbdView> views = TwoViews();
  const auto lift = [&](const PointFilter& filter) {
    return LiftObservation(views, kRegion, 1024, 100, 5, 1, filter);
  };
  const auto all = lift([](const LiftedPoints& points) { return points; });
  EXPECT_EQ(all->positions_m, lift({})->positions_m);
  EXPECT_EQ(all->source_index, lift({})->source_index);

  const std::int64_t pixel_count = 80 * 60;
  const auto first_view = lift([&](const LiftedPoints& points) {
    std::vector<std::int64_t> kept;
    for (std::int64_t i = 0; i < points.count(); ++i) {
      if (points.source_index[i] < pixel_count) kept.push_back(i);
    }
    return SelectPoints(points, kept);
  });
  EXPECT_EQ(first_view->count(), 1024);
  EXPECT_LT(first_view->source_index.back(), pixel_count);

  const auto none = lift([](const LiftedPoints&) { return LiftedPoints(); });
  EXPECT_EQ(none.status().reason(), reason::TOO_FEW_VALID_POINTS);
  const auto refused =
      lift([](const LiftedPoints&) -> StatusOr<LiftedPoints> { return Internal("filter"); });
  EXPECT_EQ(refused.status().code(), StatusCode::kInternal);
}

TEST(LiftTest, EqualForAnyThreadCount) {
  const std::vector<RgbdView> views = TwoViews(160, 120);
  SetThreadCount(1);
  const auto one = LiftObservation(views, kRegion, 5000, 10, 3, 0);
  SetThreadCount(5);
  const auto five = LiftObservation(views, kRegion, 5000, 10, 3, 0);
  SetThreadCount(0);
  ASSERT_TRUE(one.ok() && five.ok());
  EXPECT_EQ(one->count(), 5000);
  EXPECT_EQ(one->positions_m, five->positions_m);
  EXPECT_EQ(one->source_index, five->source_index);
}

TEST(LiftTest, HolesCountAsIfThePixelsWereNotThere) {
  std::vector<RgbdView> views = TwoViews();
  RandomSequence random(9, RandomStream::kDataGeneration);
  for (RgbdView& view : views) {
    for (float& depth_m : view.depth.pixels_m) {
      if (random.Uniform() < 0.3f) depth_m = NAN;
    }
  }
  const LiftedPoints all = UnprojectViews(views, kRegion);
  const auto lifted = LiftObservation(views, kRegion, 1024, 100, 5, 1);
  ASSERT_TRUE(lifted.ok());
  const LiftedPoints expected = SelectPoints(all, SortedDraw(all.count(), 1024, 5, 1));
  EXPECT_EQ(lifted->source_index, expected.source_index);
}

TEST(LiftTest, TooFewPointsAreAnErrorFewerASmallerCloud) {
  const std::vector<RgbdView> views = TwoViews();
  const std::int64_t all = UnprojectViews(views, kRegion).count();
  EXPECT_EQ(LiftObservation(views, kRegion, 32768, 1024, 0, 0)->count(), all);
  const LiftRegion elsewhere{{{5, 5, 5}, {6, 6, 6}}, 0.1, 2};
  const Status status = LiftObservation(views, elsewhere, 32768, 1024, 0, 0).status();
  EXPECT_EQ(status.reason(), "TOO_FEW_VALID_POINTS");
  EXPECT_EQ(status.metadata().at("got"), "0");
  std::vector<RgbdView> resized = views;
  resized[1].camera.width_px = 81;
  EXPECT_EQ(LiftObservation(resized, kRegion, 9, 1, 0, 0).status().field(), "views[1].depth");
}

TEST(LiftTest, ColoursComeFromTheSourcePixels) {
  const std::vector<RgbdView> views = TwoViews();
  const auto lifted = LiftObservation(views, kRegion, 500, 1, 0, 0);
  const auto colors = ColorsOf(views, lifted->source_index);
  ASSERT_EQ(colors.size(), 1500u);
  for (int i = 0; i < 500; ++i) {
    const std::int64_t view = lifted->source_index[i] / (80 * 60);
    const std::int64_t pixel = lifted->source_index[i] % (80 * 60);
    ASSERT_EQ(colors[3 * i + 1], views[view].color.pixels[3 * pixel + 1]);
  }
}

TEST(PaintTest, OutsideIsWhiteHolesStay) {
  RgbImage color{3, 1, {1, 1, 1, 2, 2, 2, 3, 3, 3}};
  const PixelClass classes[] = {PixelClass::kHole, PixelClass::kOutside, PixelClass::kValid};
  PaintOutsideWhite(classes, &color);
  EXPECT_EQ(color.pixels, (std::vector<std::uint8_t>{1, 1, 1, 255, 255, 255, 3, 3, 3}));
  FloatImage picture{3, 1, 3, {.1f, .1f, .1f, .2f, .2f, .2f, .3f, .3f, .3f}};
  PaintOutsideWhite(classes, &picture);
  EXPECT_EQ(picture.pixels, (std::vector<float>{.1f, .1f, .1f, 1, 1, 1, .3f, .3f, .3f}));
}

}  // namespace
}  // namespace interlacer
