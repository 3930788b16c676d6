#include "render/observed_renderer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/random.h"
#include "common/thread_pool.h"
#include "common/transforms.h"
#include "render/fill_holes.h"
#include "tests/support/numeric.h"

namespace interlacer {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
/// Sums of float32 shares in another order.
constexpr float kColorTolerance = 1e-5f;

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
    frame.depth.pixels_m.push_back(is_hole ? kNaN
                                           : static_cast<float>(1 + 0.1 * std::sin(0.5 * i)));
  }
  return frame;
}

ObservedRenderer MakeRenderer(std::vector<ObservedFrame> frames) {
  auto renderer = ObservedRenderer::Make(std::move(frames));
  EXPECT_TRUE(renderer.ok()) << renderer.status().ToString();
  return *std::move(renderer);
}

/// The definition, pixel by pixel over all surfels.
ObservedPicture SlowPicture(const std::vector<ObservedFrame>& frames,
                            const ObservedRenderer& renderer, const Camera& camera,
                            const std::vector<float>& positions_m, int own) {
  const ObservedOptions options;
  const int w = camera.width_px, h = camera.height_px;
  ObservedPicture out{{w, h, 3, std::vector<float>(3 * w * h, 0)},
                      {w, h, std::vector<float>(w * h, kNaN)},
                      std::vector<float>(w * h, 0)};
  const auto has_moved = [&](std::int64_t i) {
    return !std::equal(positions_m.begin() + 3 * i, positions_m.begin() + 3 * i + 3,
                       renderer.positions_m().begin() + 3 * i);
  };
  for (int pixel = 0; pixel < w * h; ++pixel) {
    bool is_kept = own >= 0;
    for (std::int64_t i = 0; i < renderer.count(); ++i) {
      if (renderer.frame_of()[i] == own && renderer.pixel_of()[i] == pixel && has_moved(i)) {
        is_kept = false;
      }
    }
    struct Hit {
      double depth_m, share;
      std::int64_t surfel;
    };
    std::vector<Hit> hits;
    for (std::int64_t i = 0; i < renderer.count(); ++i) {
      const bool is_own = renderer.frame_of()[i] == own;
      if (!has_moved(i) && (is_own || is_kept)) continue;
      const ProjectedPixel at =
          Project(camera, {positions_m[3 * i], positions_m[3 * i + 1], positions_m[3 * i + 2]});
      if (!(at.depth_m >= options.near_m)) continue;
      const auto& seen = frames[renderer.frame_of()[i]];
      const double seen_m = seen.depth.pixels_m[renderer.pixel_of()[i]];
      const double radius_px =
          std::clamp(std::sqrt(0.5) * seen_m / seen.camera.fx_px * camera.fx_px / at.depth_m,
                     options.min_radius_px, options.max_radius_px);
      const double du = pixel % w - at.u_px, dv = pixel / w - at.v_px;
      const double share = 1 - (du * du + dv * dv) / (radius_px * radius_px);
      if (share > 0) hits.push_back({at.depth_m, share, i});
    }
    double front_m = std::numeric_limits<double>::infinity();
    for (const Hit& hit : hits) front_m = std::min(front_m, hit.depth_m);
    const double own_m = is_kept ? frames[own].depth.pixels_m[pixel] : kNaN;
    const bool is_hidden = is_kept && own_m > 0 && front_m >= own_m * (1 - options.depth_band);
    double sum = 0, depth_sum = 0, color[3] = {0, 0, 0};
    for (const Hit& hit : hits) {
      if (is_hidden || hit.depth_m > front_m * (1 + options.depth_band)) continue;
      const auto& rgb = frames[renderer.frame_of()[hit.surfel]].color.pixels;
      for (int c = 0; c < 3; ++c) {
        color[c] += hit.share * rgb[3 * renderer.pixel_of()[hit.surfel] + c] / 255;
      }
      sum += hit.share;
      depth_sum += hit.share * hit.depth_m;
    }
    double coverage = std::min(sum, 1.0);
    double depth_m = sum > 0 ? depth_sum / sum : kNaN;
    for (double& c : color) c = sum > 0 ? c / sum : 0;
    if (is_kept && coverage < 1) {
      for (int c = 0; c < 3; ++c) {
        color[c] =
            coverage * color[c] + (1 - coverage) * frames[own].color.pixels[3 * pixel + c] / 255;
      }
      if (coverage < 0.5) depth_m = own_m;
      coverage = 1;
    }
    for (int c = 0; c < 3; ++c) out.color.pixels[3 * pixel + c] = static_cast<float>(color[c]);
    out.depth.pixels_m[pixel] = static_cast<float>(depth_m);
    out.coverage[pixel] = static_cast<float>(coverage);
  }
  return out;
}

void ExpectSamePicture(const ObservedPicture& got, const ObservedPicture& expected) {
  ASSERT_EQ(got.coverage.size(), expected.coverage.size());
  int differing = 0;
  for (std::size_t i = 0; i < got.coverage.size(); ++i) {
    bool is_near = std::abs(got.coverage[i] - expected.coverage[i]) <= kColorTolerance;
    for (std::size_t c = 0; c < 3; ++c) {
      is_near = is_near && std::abs(got.color.pixels[3 * i + c] -
                                    expected.color.pixels[3 * i + c]) <= kColorTolerance;
    }
    const float a = got.depth.pixels_m[i], b = expected.depth.pixels_m[i];
    is_near = is_near && (std::isnan(a) ? std::isnan(b) : std::abs(a - b) <= kColorTolerance);
    differing += !is_near;
  }
  // A surfel on the edge of a disc or of the depth band may fall to either side by rounding.
  EXPECT_LE(differing, 2);
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
      ExpectSamePicture(*picture, SlowPicture(frames, renderer, camera, positions_m, own));
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

TEST(ObservedRenderer, ThreadsDoNotChangeABit) {
  const ObservedRenderer renderer =
      MakeRenderer({RandomFrame({1, 0, 0.2}, 6), RandomFrame({0, 1, 0.2}, 7)});
  const std::vector<float> moved_m = Moved(renderer.positions_m(), 2, 0.1f);
  const Camera camera = SmallCamera({0.8, 0.8, 0.5});
  const auto first = renderer.Render(camera, moved_m), second = renderer.Render(camera, moved_m);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->color.pixels, second->color.pixels);
}

TEST(ObservedRenderer, NonFinitePositionsAreLeftOut) {
  const ObservedFrame frame = RandomFrame({1, 0, 0.2}, 8, 0);
  const ObservedRenderer renderer = MakeRenderer({frame});
  const std::vector<float> nowhere(renderer.positions_m().size(), kNaN);
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

TEST(FillHoles, AnEmptyPictureBecomesBackground) {
  FloatImage image{2, 2, 3, std::vector<float>(12, 0)};
  ASSERT_TRUE(FillHoles(std::vector<float>(4, 0), 0.5f, &image).ok());
  EXPECT_EQ(image.pixels, std::vector<float>(12, 0.5f));
  EXPECT_EQ(FillHoles(std::vector<float>(3, 0), 0.5f, &image).reason(), reason::SHAPE_MISMATCH);
}

}  // namespace
}  // namespace interlacer
