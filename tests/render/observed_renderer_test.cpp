#include "render/observed_renderer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/thread_pool.h"
#include "common/transforms.h"
#include "tests/support/must.h"
#include "tests/support/observed_frames.h"
#include "tests/support/observed_twin.h"

namespace interlacer::testing {
namespace {

/// A few shares of 1/1024, each cut.
constexpr double kShareTolerance = 4e-3;
/// Mean depths at about one metre, within a band of 2 cm, by such shares.
constexpr double kBandToleranceM = 1e-4;

void ExpectSamePicture(const ObservedPicture& got, const ObservedTwin& twin) {
  int differing = 0;
  for (std::size_t i = 0; i < got.coverage.size(); ++i) {
    const TwinPixel expected = twin.At(static_cast<int>(i));
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

TEST(ObservedRenderer, DrawsWhatTheSlowDefinitionDraws) {
  const std::vector<ObservedFrame> frames{RandomFrame({1, 0, 0.2}, 1), RandomFrame({0, 1, 0.2}, 2)};
  const ObservedRenderer renderer = MakeRenderer(frames);
  const std::vector<float> moved_m = Moved(renderer.positions_m(), 3, 0.15f);
  for (const auto& [camera, own] : {std::pair{frames[0].camera, 0},
                                    {frames[1].camera, 1},
                                    {SmallCamera({0.8, 0.8, 0.5}), -1}}) {
    for (const auto& positions_m : {renderer.positions_m(), moved_m}) {
      const auto picture = Must(renderer.Render(camera, positions_m));
      ExpectSamePicture(picture, {frames, camera, renderer.positions_m(), positions_m, own});
    }
  }
}

TEST(ObservedRenderer, UnmovedSurfelsGiveTheRecordedFrameBack) {
  const std::vector<ObservedFrame> frames{RandomFrame({1, 0, 0.2}, 3), RandomFrame({0, 1, 0.2}, 4)};
  const ObservedRenderer renderer = MakeRenderer(frames);
  for (const ObservedFrame& frame : frames) {
    const auto picture = Must(renderer.Render(frame.camera, renderer.positions_m()));
    EXPECT_EQ(QuantizeRgb(picture.color).pixels, frame.color.pixels) << "bit for bit";
    EXPECT_TRUE(std::all_of(picture.coverage.begin(), picture.coverage.end(),
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
  const auto picture = Must(renderer.Render(frame.camera, positions_m));
  const RgbImage image = QuantizeRgb(picture.color);
  for (int pixel = 0; pixel < 24 * 18; ++pixel) {
    if (pixel % 24 < 12) {
      EXPECT_EQ(picture.coverage[pixel], 0) << "a hole";
      EXPECT_TRUE(std::isnan(picture.depth.pixels_m[pixel]));
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
  const auto picture = Must(renderer.Render(frame.camera, positions_m));
  for (int pixel = 0; pixel < 24 * 18; ++pixel) {
    const int column = pixel % 24;
    EXPECT_EQ(picture.coverage[pixel], column >= 3 && column <= 10 ? 0 : 1) << column;
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

TEST(ObservedRenderer, ASlantedSurfaceHasNoPinholesFromAbove) {
  const ObservedRenderer renderer = MakeRenderer({TableFrame({0, -0.8, 0.7}, 90)});
  Camera above = TableFrame({0, -0.02, 1.1}, 0).camera;
  above.fx_px = above.fy_px = 100;  // shows a part of what the slanted camera saw
  const auto picture = Must(renderer.Render(above, renderer.positions_m()));
  for (std::size_t i = 0; i < picture.coverage.size(); ++i) {
    EXPECT_EQ(picture.coverage[i], 1) << "pixel " << i;
    EXPECT_NEAR(picture.color.pixels[3 * i], 90.0 / 255, kShareTolerance);
  }
}

TEST(ObservedRenderer, ASteepSurfaceHasItsOwnDepthAndNoGaps) {
  const ObservedRenderer renderer = MakeRenderer({TableFrame({0, -1.2, 0.5}, 90)});
  const ObservedFrame beside = TableFrame({-0.7, -0.6, 0.4}, 0);
  const auto picture = Must(renderer.Render(beside.camera, renderer.positions_m()));
  // Beside a part that the first camera saw, by rows three centimetres apart: its depth changes by
  // more than the depth band from one row to the next.
  for (int row = 18; row < 30; ++row) {
    for (int column = 20; column < 44; ++column) {
      const std::size_t i = static_cast<std::size_t>(row) * 64 + column;
      EXPECT_EQ(picture.coverage[i], 1) << row << ", " << column;
      EXPECT_NEAR(picture.depth.pixels_m[i], beside.depth.pixels_m[i], 3e-3)
          << row << ", " << column;
    }
  }
}

TEST(ObservedRenderer, WhatTurnedItsBackIsNotDrawn) {
  const ObservedRenderer renderer = MakeRenderer({TableFrame({0, -0.5, 0.8}, 90)});
  const auto picture =
      Must(renderer.Render(TableFrame({0, -0.5, -0.8}, 0).camera, renderer.positions_m()));
  EXPECT_EQ(*std::max_element(picture.coverage.begin(), picture.coverage.end()), 0);
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
  const auto picture = Must(renderer.Render(beside, renderer.positions_m()));
  int near = 0, far = 0, mixed = 0;
  for (std::size_t i = 0; i < picture.coverage.size(); ++i) {
    const float depth_m = picture.depth.pixels_m[i], grey = picture.color.pixels[3 * i];
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

TEST(ObservedRenderer, NonFinitePositionsAreLeftOut) {
  const ObservedFrame frame = RandomFrame({1, 0, 0.2}, 8, 0);
  const ObservedRenderer renderer = MakeRenderer({frame});
  const std::vector<float> nowhere(renderer.positions_m().size(), kNoDepth);
  const auto picture = Must(renderer.Render(frame.camera, nowhere));
  EXPECT_TRUE(std::all_of(picture.coverage.begin(), picture.coverage.end(),
                          [](float c) { return c == 0; }));
}

TEST(ObservedRenderer, NoFrameGivesAnEmptyPicture) {
  const auto picture = Must(MakeRenderer({}).Render(SmallCamera({1, 0, 0}), {}));
  EXPECT_EQ(*std::max_element(picture.coverage.begin(), picture.coverage.end()), 0);
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

}  // namespace
}  // namespace interlacer::testing
