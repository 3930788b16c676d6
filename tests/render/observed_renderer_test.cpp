#include "render/observed_renderer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "common/random.h"
#include "common/thread_pool.h"
#include "common/transforms.h"
#include "render/fill_holes.h"
#include "tests/support/observed_twin.h"

namespace interlacer {
namespace {

constexpr float kNoDepth = std::numeric_limits<float>::quiet_NaN();
/// A few shares of 1/1024, each cut.
constexpr double kShareTolerance = 4e-3;
/// Mean depths at about one metre, within a band of 2 cm, by such shares.
constexpr double kBandToleranceM = 1e-4;

Camera SmallCamera(const Vec3d& eye_m) {
  Camera camera{24, 18, 20, 20, 11.5, 8.5, DistortionModel::kNone, {}, {}};
  camera.world_from_camera = LookAt(eye_m, {0, 0, 0});
  return camera;
}

/// Random colours on a wavy surface about a metre away, a few pixels without depth.
ObservedFrame RandomFrame(const Vec3d& eye_m, std::uint64_t seed, double hole_ratio = 0.1) {
  RandomSequence random(seed, RandomStream::kDataGeneration);
  ObservedFrame frame{SmallCamera(eye_m), {24, 18, {}}, {24, 18, {}}};
  for (int i = 0; i < 24 * 18; ++i) {
    for (int c = 0; c < 3; ++c) {
      frame.color.pixels.push_back(static_cast<std::uint8_t>(random.Below(256)));
    }
    const bool is_hole = random.Uniform(0, 1) < hole_ratio;
    frame.depth.pixels_m.push_back(is_hole ? kNoDepth
                                           : static_cast<float>(1 + 0.1 * std::sin(0.5 * i)));
  }
  return frame;
}

ObservedRenderer MakeRenderer(std::vector<ObservedFrame> frames) {
  auto renderer = ObservedRenderer::Make(std::move(frames));
  EXPECT_TRUE(renderer.ok()) << renderer.status().ToString();
  return *std::move(renderer);
}

void ExpectSamePicture(const ObservedPicture& got, const testing::ObservedTwin& twin) {
  int differing = 0;
  for (std::size_t i = 0; i < got.coverage.size(); ++i) {
    const testing::TwinPixel expected = twin.At(static_cast<int>(i));
    bool is_near = std::abs(got.coverage[i] - expected.coverage) <= kShareTolerance;
    for (std::size_t c = 0; c < 3; ++c) {
      is_near =
          is_near && std::abs(got.color.pixels[3 * i + c] - expected.rgb[c]) <= kShareTolerance;
    }
    const float depth_m = got.depth.pixels_m[i];
    is_near =
        is_near && (std::isnan(depth_m) ? std::isnan(expected.depth_m)
                                        : std::abs(depth_m - expected.depth_m) <= kBandToleranceM);
    differing += !is_near;
  }
  // A pixel on the edge of a core, of a disc or of the depth band may fall to either side.
  EXPECT_LE(differing, 2);
}

/// NaN where NaN.
void ExpectSameDepth(const DepthImage& a, const DepthImage& b) {
  ASSERT_EQ(a.pixels_m.size(), b.pixels_m.size());
  EXPECT_EQ(std::memcmp(a.pixels_m.data(), b.pixels_m.data(), a.pixels_m.size() * sizeof(float)),
            0);
}

std::vector<float> Moved(std::vector<float> positions_m, std::size_t every, float by_m) {
  for (std::size_t i = 0; i < positions_m.size(); i += 3 * every) positions_m[i] += by_m;
  return positions_m;
}

TEST(ObservedRenderer, DrawsWhatTheSlowDefinitionDraws) {
  const std::vector<ObservedFrame> frames{RandomFrame({1, 0, 0.2}, 1), RandomFrame({0, 1, 0.2}, 2)};
  const ObservedRenderer renderer = MakeRenderer(frames);
  const std::vector<float> moved_m = Moved(renderer.positions_m(), 3, 0.15f);
  for (const auto& [camera, own] : {std::pair{frames[0].camera, 0},
                                    {frames[1].camera, 1},
                                    {SmallCamera({0.8, 0.8, 0.5}), -1}}) {
    for (const auto& positions_m : {renderer.positions_m(), moved_m}) {
      const auto picture = renderer.Render(camera, positions_m);
      ASSERT_TRUE(picture.ok());
      ExpectSamePicture(*picture, {frames, camera, renderer.positions_m(), positions_m, own});
    }
  }
}

TEST(ObservedRenderer, UnmovedSurfelsGiveTheRecordedFrameBack) {
  const std::vector<ObservedFrame> frames{RandomFrame({1, 0, 0.2}, 3), RandomFrame({0, 1, 0.2}, 4)};
  const ObservedRenderer renderer = MakeRenderer(frames);
  for (const ObservedFrame& frame : frames) {
    const auto picture = renderer.Render(frame.camera, renderer.positions_m());
    ASSERT_TRUE(picture.ok());
    EXPECT_EQ(QuantizeRgb(picture->color).pixels, frame.color.pixels) << "bit for bit";
    EXPECT_TRUE(std::all_of(picture->coverage.begin(), picture->coverage.end(),
                            [](float c) { return c == 1; }));
  }
}

TEST(ObservedRenderer, PixelsThatDidNotMoveStayEqualBesideOnesThatDid) {
  // The left half of one camera's picture moves away to the left, out of view.
  const ObservedFrame frame = RandomFrame({1, 0, 0.2}, 5, 0);
  const ObservedRenderer renderer = MakeRenderer({frame});
  std::vector<float> positions_m = renderer.positions_m();
  for (std::int64_t i = 0; i < renderer.count(); ++i) {
    if (renderer.pixel_of()[i] % 24 < 12) positions_m[3 * i + 2] += 100;
  }
  const auto picture = renderer.Render(frame.camera, positions_m);
  ASSERT_TRUE(picture.ok());
  const RgbImage image = QuantizeRgb(picture->color);
  for (int pixel = 0; pixel < 24 * 18; ++pixel) {
    if (pixel % 24 < 12) {
      EXPECT_EQ(picture->coverage[pixel], 0) << "a hole";
      EXPECT_TRUE(std::isnan(picture->depth.pixels_m[pixel]));
      continue;
    }
    for (int c = 0; c < 3; ++c) {
      EXPECT_EQ(image.pixels[3 * pixel + c], frame.color.pixels[3 * pixel + c]);
    }
  }
}

TEST(ObservedRenderer, WhatMovesLeavesNoOutlineWithoutDepthBehind) {
  // Columns 4 to 9 move out of view; the sensor measured nothing in columns 3 and 10.
  ObservedFrame frame = RandomFrame({1, 0, 0.2}, 15, 0);
  for (int pixel = 0; pixel < 24 * 18; ++pixel) {
    const int column = pixel % 24;
    if (column == 3 || column == 10 || column == 20) frame.depth.pixels_m[pixel] = kNoDepth;
  }
  const ObservedRenderer renderer = MakeRenderer({frame});
  std::vector<float> positions_m = renderer.positions_m();
  for (std::int64_t i = 0; i < renderer.count(); ++i) {
    const int column = renderer.pixel_of()[i] % 24;
    if (column >= 4 && column <= 9) positions_m[3 * i + 2] += 100;
  }
  const auto picture = renderer.Render(frame.camera, positions_m);
  ASSERT_TRUE(picture.ok());
  for (int pixel = 0; pixel < 24 * 18; ++pixel) {
    const int column = pixel % 24;
    EXPECT_EQ(picture->coverage[pixel], column >= 3 && column <= 10 ? 0 : 1) << column;
  }
}

TEST(ObservedRenderer, ThreadsDoNotChangeABit) {
  const ObservedRenderer renderer =
      MakeRenderer({RandomFrame({1, 0, 0.2}, 6), RandomFrame({0, 1, 0.2}, 7)});
  const std::vector<float> moved_m = Moved(renderer.positions_m(), 2, 0.1f);
  const Camera camera = SmallCamera({0.8, 0.8, 0.5});
  SetThreadCount(1);
  const auto one = renderer.Render(camera, moved_m);
  SetThreadCount(3);
  const auto three = renderer.Render(camera, moved_m);
  SetThreadCount(0);
  ASSERT_TRUE(one.ok() && three.ok());
  EXPECT_EQ(one->color.pixels, three->color.pixels);
  EXPECT_EQ(one->coverage, three->coverage);
  ExpectSameDepth(one->depth, three->depth);
}

TEST(ObservedRenderer, PixelsThatNothingMovingReachesStayEqualInAnyView) {
  std::vector<ObservedFrame> frames{RandomFrame({1, 0, 0.2}, 16), RandomFrame({0, 1, 0.2}, 17)};
  // A gap, so that discs beside it are the same whether those on the other side are there or not.
  for (ObservedFrame& frame : frames) {
    for (int i = 6; i < 24 * 18; i += 24) frame.depth.pixels_m[i] = kNoDepth;
  }
  const ObservedRenderer renderer = MakeRenderer(frames);
  const Camera camera = SmallCamera({0.8, 0.8, 0.5});
  // Some surfels move; alone they show which pixels they reach.
  const auto at_step = [&](float by_m, bool alone) {
    std::vector<float> positions_m = renderer.positions_m();
    for (std::int64_t i = 0; i < renderer.count(); ++i) {
      if (renderer.pixel_of()[i] % 24 < 6) {
        positions_m[3 * i + 2] += by_m;
      } else if (alone) {
        positions_m[3 * i] = kNoDepth;
      }
    }
    return *renderer.Render(camera, positions_m);
  };
  const ObservedPicture before = at_step(0.05f, false), after = at_step(0.2f, false);
  const ObservedPicture alone_before = at_step(0.05f, true), alone_after = at_step(0.2f, true);
  int unreached = 0, changed = 0;
  for (std::size_t i = 0; i < before.coverage.size(); ++i) {
    const auto is_black = [&](const ObservedPicture& picture) {
      return picture.color.pixels[3 * i] + picture.color.pixels[3 * i + 1] +
                 picture.color.pixels[3 * i + 2] ==
             0;
    };
    const bool is_equal =
        std::equal(before.color.pixels.begin() + 3 * i, before.color.pixels.begin() + 3 * i + 3,
                   after.color.pixels.begin() + 3 * i) &&
        before.coverage[i] == after.coverage[i];
    changed += !is_equal;
    if (!is_black(alone_before) || !is_black(alone_after)) continue;
    ++unreached;
    EXPECT_TRUE(is_equal) << "pixel " << i;
  }
  EXPECT_GT(unreached, 50);
  EXPECT_GT(changed, 20);
}

/// A plane z = 0 with its edge beyond the picture, seen from `eye_m`.
ObservedFrame TableFrame(const Vec3d& eye_m, std::uint8_t grey) {
  ObservedFrame frame{{64, 48, 60, 60, 31.5, 23.5, DistortionModel::kNone, {}, {}},
                      {64, 48, std::vector<std::uint8_t>(3 * 64 * 48, grey)},
                      {64, 48, {}}};
  frame.camera.world_from_camera = LookAt(eye_m, {0, 0, 0});
  for (int i = 0; i < 64 * 48; ++i) {
    const Vec3d on_ray = Unproject(frame.camera, i % 64, i / 64, 1);
    const double down = eye_m[2] - on_ray[2];
    frame.depth.pixels_m.push_back(down > 0 ? static_cast<float>(eye_m[2] / down) : kNoDepth);
  }
  return frame;
}

TEST(ObservedRenderer, ASlantedSurfaceHasNoPinholesFromAbove) {
  const ObservedRenderer renderer = MakeRenderer({TableFrame({0, -0.8, 0.7}, 90)});
  Camera above = TableFrame({0, -0.02, 1.1}, 0).camera;
  above.fx_px = above.fy_px = 100;  // shows a part of what the slanted camera saw
  const auto picture = renderer.Render(above, renderer.positions_m());
  ASSERT_TRUE(picture.ok());
  for (std::size_t i = 0; i < picture->coverage.size(); ++i) {
    EXPECT_EQ(picture->coverage[i], 1) << "pixel " << i;
    EXPECT_NEAR(picture->color.pixels[3 * i], 90.0 / 255, kShareTolerance);
  }
}

TEST(ObservedRenderer, ASteepSurfaceHasItsOwnDepthAndNoGaps) {
  const ObservedRenderer renderer = MakeRenderer({TableFrame({0, -1.2, 0.5}, 90)});
  const ObservedFrame beside = TableFrame({-0.7, -0.6, 0.4}, 0);
  const auto picture = renderer.Render(beside.camera, renderer.positions_m());
  ASSERT_TRUE(picture.ok());
  // Beside a part that the first camera saw, by rows three centimetres apart: its depth changes by
  // more than the depth band from one row to the next.
  for (int row = 18; row < 30; ++row) {
    for (int column = 20; column < 44; ++column) {
      const std::size_t i = static_cast<std::size_t>(row) * 64 + column;
      EXPECT_EQ(picture->coverage[i], 1) << row << ", " << column;
      EXPECT_NEAR(picture->depth.pixels_m[i], beside.depth.pixels_m[i], 3e-3)
          << row << ", " << column;
    }
  }
}

TEST(ObservedRenderer, WhatTurnedItsBackIsNotDrawn) {
  const ObservedRenderer renderer = MakeRenderer({TableFrame({0, -0.5, 0.8}, 90)});
  const auto picture =
      renderer.Render(TableFrame({0, -0.5, -0.8}, 0).camera, renderer.positions_m());
  ASSERT_TRUE(picture.ok());
  EXPECT_EQ(*std::max_element(picture->coverage.begin(), picture->coverage.end()), 0);
}

TEST(ObservedRenderer, EdgesMixColoursButNeverDepths) {
  // A dark square at 0.7 m before a bright wall at 1 m, from a little beside.
  ObservedFrame frame = TableFrame({0, 0, 1}, 250);
  frame.camera.world_from_camera = LookAt({0, 0, 1}, {0, 0, 0}, {0, 1, 0});
  for (int i = 0; i < 64 * 48; ++i) {
    const bool is_square = i % 64 > 20 && i % 64 < 40 && i / 64 > 10 && i / 64 < 35;
    frame.depth.pixels_m[i] = is_square ? 0.7f : 1.f;
    if (is_square) std::fill_n(frame.color.pixels.begin() + 3 * i, 3, std::uint8_t{10});
  }
  const ObservedRenderer renderer = MakeRenderer({frame});
  Camera beside = frame.camera;
  // The square's edges fall three quarters of a pixel from pixels of the wall.
  beside.world_from_camera = LookAt({0.0259, 0.02, 1}, {0.0259, 0.02, 0}, {0, 1, 0});
  const auto picture = renderer.Render(beside, renderer.positions_m());
  ASSERT_TRUE(picture.ok());
  int near = 0, far = 0, mixed = 0;
  for (std::size_t i = 0; i < picture->coverage.size(); ++i) {
    const float depth_m = picture->depth.pixels_m[i], grey = picture->color.pixels[3 * i];
    if (std::isnan(depth_m)) continue;
    const bool is_near = std::abs(depth_m - 0.7f) < 1e-3f;
    EXPECT_TRUE(is_near || std::abs(depth_m - 1) < 1e-3f) << depth_m;
    near += is_near, far += !is_near;
    if (is_near) {
      EXPECT_LT(grey, 0.05f) << "the wall shines through pixel " << i;
    }
    mixed += !is_near && grey < 0.9f;
  }
  EXPECT_GT(near, 19 * 24);
  EXPECT_GT(far, 1000);
  EXPECT_GT(mixed, 10) << "edges are soft";
}

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
  const auto picture = renderer.RenderNearestFirst(table.camera, renderer.positions_m());
  ASSERT_TRUE(picture.ok());
  const DepthImage true_depth = TableFrame({0.05, 0, 1}, 0).depth;
  for (int row = 12; row < 36; ++row) {
    for (int column = 12; column < 40; ++column) {
      ASSERT_NEAR(table.RedAt(*picture, row, column), 200 / 255.f, 1e-3f) << row << " " << column;
      const auto pixel = static_cast<std::size_t>(row * 64 + column);
      ASSERT_NEAR(picture->depth.pixels_m[pixel], true_depth.pixels_m[pixel], 0.002f);
    }
  }
}

TEST(NearestFirst, AnotherSurfaceInFrontHides) {
  const TwoViewsOfATable table(0.2);
  const ObservedRenderer renderer = MakeRenderer(table.frames);
  const auto picture = renderer.RenderNearestFirst(table.camera, renderer.positions_m());
  ASSERT_TRUE(picture.ok());
  EXPECT_NEAR(table.RedAt(*picture, 24, 32), 50 / 255.f, 1e-3f);
  EXPECT_LT(picture->depth.pixels_m[24 * 64 + 32], 0.9f);
}

TEST(NearestFirst, WhatMovedIsDrawnWhoeverSawIt) {
  const TwoViewsOfATable table(0);
  const ObservedRenderer renderer = MakeRenderer(table.frames);
  std::vector<float> positions_m = renderer.positions_m();
  for (std::int64_t i = 0; i < renderer.count(); ++i) {
    if (renderer.frame_of()[i] == 1) positions_m[3 * i + 2] += 0.02f;  // less than the band
  }
  const auto picture = renderer.RenderNearestFirst(table.camera, positions_m);
  ASSERT_TRUE(picture.ok());
  EXPECT_NEAR(table.RedAt(*picture, 24, 32), 50 / 255.f, 1e-3f);
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
    ExpectSameDepth(table.frames[0].camera == camera ? picture->depth : mixed->depth, mixed->depth);
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

TEST(ObservedRenderer, NonFinitePositionsAreLeftOut) {
  const ObservedFrame frame = RandomFrame({1, 0, 0.2}, 8, 0);
  const ObservedRenderer renderer = MakeRenderer({frame});
  const std::vector<float> nowhere(renderer.positions_m().size(), kNoDepth);
  const auto picture = renderer.Render(frame.camera, nowhere);
  ASSERT_TRUE(picture.ok());
  EXPECT_TRUE(std::all_of(picture->coverage.begin(), picture->coverage.end(),
                          [](float c) { return c == 0; }));
}

TEST(ObservedRenderer, NoFrameGivesAnEmptyPicture) {
  const auto picture = MakeRenderer({}).Render(SmallCamera({1, 0, 0}), {});
  ASSERT_TRUE(picture.ok());
  EXPECT_EQ(*std::max_element(picture->coverage.begin(), picture->coverage.end()), 0);
}

TEST(ObservedRenderer, RefusesWhatDoesNotFitAndNamesIt) {
  ObservedFrame frame = RandomFrame({1, 0, 0.2}, 9);
  frame.depth.pixels_m.pop_back();
  const auto torn = ObservedRenderer::Make({frame});
  EXPECT_EQ(torn.status().reason(), reason::IMAGE_SIZE_MISMATCH);
  EXPECT_EQ(torn.status().field(), "frames[0].depth");
  const ObservedRenderer renderer = MakeRenderer({RandomFrame({1, 0, 0.2}, 9)});
  EXPECT_EQ(renderer.Render(SmallCamera({1, 0, 0}), std::vector<float>(3)).status().field(),
            "positions_m");
}

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
  DepthImage depth{16, 8, std::vector<float>(16 * 8, kNoDepth)};
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
