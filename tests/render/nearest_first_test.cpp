/// Whose pixels show what several frames saw, and what closes their gaps.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/transforms.h"
#include "render/observed_renderer.h"
#include "tests/support/must.h"
#include "tests/support/observed_frames.h"

namespace interlacer::testing {
namespace {

/// A camera beside the first of two that see one table; their depths differ by `by`.
struct TwoViewsOfATable {
  explicit TwoViewsOfATable(double by)
      : frames{TableFrame({0.1, 0, 1}, 200), TableFrame({-0.3, 0, 1}, 50)} {
    for (float& depth_m : frames[1].depth.pixels_m) depth_m *= static_cast<float>(1 - by);
    camera = frames[0].camera;
    camera.world_from_camera = LookAt({0.05, 0, 1}, {0, 0, 0});
  }
  float RedAt(const ObservedPicture& picture, int row, int column) const {
    return picture.color.pixels[static_cast<std::size_t>(3 * (row * 64 + column))];
  }
  std::vector<ObservedFrame> frames;
  Camera camera;
};

TEST(NearestFirst, OneCameraShowsASurfaceThatTwoSaw) {
  TwoViewsOfATable table(0.02);
  for (int i = 0; i < 64 * 48; ++i) {
    if (i % 64 >= 48) table.frames[0].depth.pixels_m[i] = kNoDepth;  // only the other saw this
  }
  const ObservedRenderer renderer = MakeRenderer(table.frames);
  const auto mixed = renderer.Render(table.camera, renderer.positions_m());
  const auto picture = renderer.RenderNearestFirst(table.camera, renderer.positions_m());
  ASSERT_TRUE(mixed.ok() && picture.ok());
  EXPECT_NEAR(table.RedAt(*mixed, 24, 20), 50 / 255.f, 1e-3f);  // the nearer surface wins
  EXPECT_NEAR(table.RedAt(*picture, 24, 20), 200 / 255.f, 1e-3f);
  EXPECT_NEAR(picture->depth.pixels_m[24 * 64 + 20], 1, 0.01f);
  EXPECT_NEAR(table.RedAt(*picture, 24, 58), 50 / 255.f, 1e-3f);
  EXPECT_GT(picture->coverage[24 * 64 + 58], 0.9f);
}

TEST(NearestFirst, GapsWithinASurfaceAreClosedFromTheirSides) {
  TwoViewsOfATable table(0.02);
  for (int i = 0; i < 64 * 48; ++i) {
    if (i % 64 % 6 == 0 || i / 64 % 6 == 0) table.frames[0].depth.pixels_m[i] = kNoDepth;
  }
  const ObservedRenderer renderer = MakeRenderer(table.frames);
  const auto picture = Must(renderer.RenderNearestFirst(table.camera, renderer.positions_m()));
  const DepthImage true_depth = TableFrame({0.05, 0, 1}, 0).depth;
  for (int row = 12; row < 36; ++row) {
    for (int column = 12; column < 40; ++column) {
      ASSERT_NEAR(table.RedAt(picture, row, column), 200 / 255.f, 1e-3f) << row << " " << column;
      const auto pixel = static_cast<std::size_t>(row * 64 + column);
      ASSERT_NEAR(picture.depth.pixels_m[pixel], true_depth.pixels_m[pixel], 0.002f);
    }
  }
}

/// `camera`, half a pixel of what is `depth_m` away beside where it was, along both sides.
Camera HalfAPixelBeside(Camera camera, double depth_m) {
  const Vec3d from_m = Unproject(camera, 0, 0, depth_m),
              to_m = Unproject(camera, 0.5, 0.5, depth_m);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    camera.world_from_camera.translation_m[axis] += to_m[axis] - from_m[axis];
  }
  return camera;
}

TEST(NearestFirst, AThinThingInFrontIsNoGapOfWhatIsBehind) {
  TwoViewsOfATable table(0);
  constexpr int kCableColumn = 30;
  for (int row = 0; row < 48; ++row) table.frames[0].depth.pixels_m[64 * row + kCableColumn] = 0.5f;
  const ObservedRenderer renderer = MakeRenderer(table.frames);
  const auto picture = Must(renderer.RenderNearestFirst(
      HalfAPixelBeside(table.frames[0].camera, 0.5), renderer.positions_m()));
  for (int row = 4; row < 44; ++row) {
    const auto from = picture.depth.pixels_m.begin() + 64 * row + kCableColumn - 2;
    ASSERT_NEAR(*std::min_element(from, from + 5), 0.5f, 0.01f) << row;
  }
}

TEST(NearestFirst, ThePixelsDepthIsOfTheLayerOfWhichItShowsMore) {
  std::vector<ObservedFrame> frames = {TableFrame({0, 0.1, 1}, 200), TableFrame({0, 0.1, 1}, 50)};
  for (int i = 0; i < 64 * 48; ++i) {
    const bool is_shown = i % 64 <= 30;
    frames[0].depth.pixels_m[i] = is_shown ? 0.5f : kNoDepth;
    frames[1].depth.pixels_m[i] = is_shown ? 2.f : kNoDepth;
  }
  const Camera camera = HalfAPixelBeside(frames[0].camera, 0.6);
  const ObservedRenderer both = MakeRenderer(frames), near = MakeRenderer({frames[0]}),
                         far = MakeRenderer({frames[1]});
  const auto picture = Must(both.RenderNearestFirst(camera, both.positions_m()));
  const auto near_alone = Must(near.Render(camera, near.positions_m()));
  const auto far_alone = Must(far.Render(camera, far.positions_m()));
  int count = 0;
  for (std::size_t i = 0; i < picture.coverage.size(); ++i) {
    const float top = near_alone.coverage[i], below = (1 - top) * far_alone.coverage[i];
    if (top == 0 || below == 0 || top >= kFullCoverage) continue;
    ++count;
    ASSERT_NEAR(picture.depth.pixels_m[i], top >= below ? 0.5f : 2.f, 0.01f) << i;
  }
  EXPECT_GT(count, 20);
}

TEST(NearestFirst, AnotherSurfaceInFrontHides) {
  const TwoViewsOfATable table(0.2);
  const ObservedRenderer renderer = MakeRenderer(table.frames);
  const auto picture = Must(renderer.RenderNearestFirst(table.camera, renderer.positions_m()));
  EXPECT_NEAR(table.RedAt(picture, 24, 32), 50 / 255.f, 1e-3f);
  EXPECT_LT(picture.depth.pixels_m[24 * 64 + 32], 0.9f);
}

TEST(NearestFirst, WhatMovedIsDrawnWhoeverSawIt) {
  const TwoViewsOfATable table(0);
  const ObservedRenderer renderer = MakeRenderer(table.frames);
  std::vector<float> positions_m = renderer.positions_m();
  for (std::int64_t i = 0; i < renderer.count(); ++i) {
    if (renderer.frame_of()[i] == 1) positions_m[3 * i + 2] += 0.02f;  // less than the band
  }
  const auto picture = Must(renderer.RenderNearestFirst(table.camera, positions_m));
  EXPECT_NEAR(table.RedAt(picture, 24, 32), 50 / 255.f, 1e-3f);
}

/// Two frames of a surface that moved: their mean would be a blur.
TEST(NearestFirst, WhatMovedHasTheColoursOfTheNearestFrameThatSawIt) {
  TwoViewsOfATable table(0);
  for (int i = 0; i < 64 * 48; ++i) {
    if (i % 64 >= 40) table.frames[0].depth.pixels_m[i] = kNoDepth;  // only the other saw this
  }
  const ObservedRenderer renderer = MakeRenderer(table.frames);
  std::vector<float> positions_m = renderer.positions_m();
  for (float& x : positions_m) x += 0.01f;
  for (const Camera& camera : {table.camera, table.frames[0].camera}) {
    const auto mixed = renderer.Render(camera, positions_m);
    const auto picture = renderer.RenderNearestFirst(camera, positions_m);
    ASSERT_TRUE(mixed.ok() && picture.ok());
    EXPECT_NEAR(table.RedAt(*mixed, 24, 20), 125 / 255.f, 0.1f);
    EXPECT_NEAR(table.RedAt(*picture, 24, 20), 200 / 255.f, 1e-3f);
    EXPECT_NEAR(table.RedAt(*picture, 24, 60), 50 / 255.f, 1e-3f);
    EXPECT_EQ(picture->coverage[24 * 64 + 20], mixed->coverage[24 * 64 + 20]);
    if (camera == table.frames[0].camera) ExpectSameDepth(picture->depth, mixed->depth);
  }
}

TEST(NearestFirst, HasRendersGeometryInRecordedCamerasAndIsRenderOfOneFrame) {
  const ObservedFrame a = RandomFrame({1, 0, 0.2}, 21), b = RandomFrame({0, 1, 0.2}, 22);
  const ObservedRenderer two = MakeRenderer({a, b}), one = MakeRenderer({a});
  const auto expect_same = [](const ObservedRenderer& renderer, const Camera& camera,
                              bool has_same_colors) {
    const std::vector<float> positions_m = Moved(renderer.positions_m(), 5, 0.1f);
    const auto plain = renderer.Render(camera, positions_m);
    const auto layered = renderer.RenderNearestFirst(camera, positions_m);
    ASSERT_TRUE(plain.ok() && layered.ok());
    EXPECT_EQ(plain->color.pixels == layered->color.pixels, has_same_colors);
    EXPECT_EQ(plain->coverage, layered->coverage);
    ExpectSameDepth(plain->depth, layered->depth);
  };
  expect_same(two, a.camera, false);
  expect_same(two, b.camera, false);
  expect_same(one, SmallCamera({0.8, 0.8, 0.5}), true);
  EXPECT_EQ(two.RenderNearestFirst(SmallCamera({1, 1, 0}), std::vector<float>(3)).status().field(),
            "positions_m");
}

}  // namespace
}  // namespace interlacer::testing
