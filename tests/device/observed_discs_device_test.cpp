#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "common/random.h"
#include "render/kernels/observed_discs_cuda.h"
#include "tests/device/device_array.h"

namespace interlacer::testing {
namespace {

constexpr int kFrameWidth = 20, kFrameHeight = 14, kFrames = 2;
constexpr float kDepthHole = std::numeric_limits<float>::quiet_NaN();

/// Two frames that look along z from two places beside each other at a wavy surface with holes.
struct Surfels {
  std::vector<float> seen_m, positions_m, pixel_m;
  std::vector<SurfelNeighbors> neighbors;
  std::vector<std::int32_t> frame_of, pixel_of;
  std::vector<std::uint8_t> rgb;
  std::vector<std::uint8_t> frame_rgb[kFrames];
  std::vector<float> frame_depth_m[kFrames];

  std::int64_t count() const { return static_cast<std::int64_t>(pixel_m.size()); }
  SurfelArrays arrays() const {
    return {count(),          seen_m.data(),   positions_m.data(), pixel_m.data(),
            neighbors.data(), frame_of.data(), pixel_of.data(),    rgb.data()};
  }
};

constexpr double kFocalPx = 18;

double EyeX(int frame) { return 0.15 * frame; }

Surfels MakeSurfels(std::uint64_t seed) {
  RandomSequence random(seed, RandomStream::kDataGeneration);
  Surfels s;
  for (int frame = 0; frame < kFrames; ++frame) {
    std::int32_t before = -1;
    for (int pixel = 0; pixel < kFrameWidth * kFrameHeight; ++pixel) {
      const int column = pixel % kFrameWidth, row = pixel / kFrameWidth;
      for (int c = 0; c < 3; ++c) {
        s.frame_rgb[frame].push_back(static_cast<std::uint8_t>(random.Below(256)));
      }
      const bool is_hole = random.Below(9) == 0;
      const float depth_m = is_hole ? kDepthHole : 1 + 0.2F * std::sin(0.4F * column);
      s.frame_depth_m[frame].push_back(depth_m);
      if (is_hole) continue;
      const auto i = static_cast<std::int32_t>(s.count());
      s.seen_m.push_back(static_cast<float>((column - 9.5) / kFocalPx * depth_m + EyeX(frame)));
      s.seen_m.push_back(static_cast<float>((row - 6.5) / kFocalPx * depth_m));
      s.seen_m.push_back(depth_m);
      s.pixel_m.push_back(static_cast<float>(depth_m / kFocalPx));
      SurfelNeighbors near{i, i, i, i, 0, 0};
      // Of the surfel before in the same row, and every third time of one far away.
      if (column > 0 && before == pixel - 1) near.left = i - 1, near.per_column = 1;
      if (i > kFrameWidth && i % 3 == 0) near.above = i - kFrameWidth, near.per_row = 1;
      s.neighbors.push_back(near);
      s.frame_of.push_back(frame);
      s.pixel_of.push_back(pixel);
      s.rgb.insert(s.rgb.end(), s.frame_rgb[frame].end() - 3, s.frame_rgb[frame].end());
      before = pixel;
    }
  }
  s.positions_m = s.seen_m;
  return s;
}

DiscView MakeView(const Surfels& s, int own_frame) {
  DiscView view;
  const double eye_x_m = own_frame < 0 ? 0.07 : EyeX(own_frame);
  const double m[12] = {1, 0, 0, -eye_x_m, 0, 1, 0, 0, 0, 0, 1, 0};
  for (int i = 0; i < 12; ++i) view.camera_from_world[i] = m[i];
  view.fx_px = view.fy_px = view.focal_px = kFocalPx;
  view.cx_px = 9.5, view.cy_px = 6.5;
  view.near_m = 0.01;
  view.max_step_px = 4;
  view.depth_band = 0.01F;
  view.width_px = kFrameWidth, view.height_px = kFrameHeight;
  view.own_frame = own_frame;
  if (own_frame >= 0) {
    view.own_rgb = s.frame_rgb[own_frame].data();
    view.own_depth_m = s.frame_depth_m[own_frame].data();
  }
  return view;
}

struct DrawnPicture {
  std::vector<float> color, depth_m, coverage;
};

/// One surfel after another, one pixel after another.
DrawnPicture DrawOnHost(const DiscView& view, const SurfelArrays& surfels) {
  const std::int64_t pixels = static_cast<std::int64_t>(view.width_px) * view.height_px;
  std::vector<SurfelPixel> at;
  std::vector<std::uint8_t> is_still(pixels, 1), is_kept;
  for (std::int64_t i = 0; i < surfels.count; ++i) {
    at.push_back(ProjectSurfel(view, surfels.positions_m + 3 * i));
    if (surfels.frame_of[i] == view.own_frame && HasMoved(surfels, i)) {
      is_still[surfels.pixel_of[i]] = 0;
    }
  }
  for (int row = 0; row < view.height_px; ++row) {
    for (int column = 0; column < view.width_px; ++column) {
      is_kept.push_back(KeepsColor(view, is_still.data(), row, column));
    }
  }
  DrawnPicture picture;
  for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
    const int row = static_cast<int>(pixel / view.width_px);
    const int column = static_cast<int>(pixel % view.width_px);
    const auto visit_discs = [&](const auto& visit) {
      for (std::int64_t i = surfels.count - 1; i >= 0; --i) {
        if (!HasMoved(surfels, i) && (surfels.frame_of[i] == view.own_frame || is_kept[pixel])) {
          continue;
        }
        const Disc disc = MakeDisc(view, surfels, at.data(), i);
        if (disc.depth_m == 0) continue;
        const float share = ShareAt(disc, row, column);
        if (share > 0) visit(disc, share, DepthAt(disc, row, column));
      }
    };
    float front_m = INFINITY;
    visit_discs([&](const Disc&, float share, float depth_m) {
      if (share >= kCoreShare) front_m = std::min(front_m, depth_m);
    });
    const FrontRange range = RangeOf(front_m, view.depth_band, is_kept[pixel] != 0,
                                     is_kept[pixel] ? view.own_depth_m[pixel] : 0);
    DiscSums sums{};
    visit_discs([&](const Disc& disc, float share, float depth_m) {
      const DiscWeights weights = WeightsOf(depth_m, share, range);
      const DiscTerms terms = TermsOf(disc, depth_m);
      for (int k = 0; k < 6; ++k) {
        sums.rgb_weight_depth_weight[k] += std::uint64_t{terms.rgb_one_depth_one[k]} *
                                           (k < 4 ? weights.of_color : weights.of_depth);
      }
    });
    const PixelResult result = ResultOf(view, sums, is_kept[pixel] != 0, pixel);
    picture.color.insert(picture.color.end(), result.rgb, result.rgb + 3);
    picture.depth_m.push_back(result.depth_m);
    picture.coverage.push_back(result.coverage);
  }
  return picture;
}

DrawnPicture DrawOnDevice(const DiscView& view, const Surfels& s) {
  const CheckedStream stream;
  const DeviceArray<float> seen(stream, s.seen_m), positions(stream, s.positions_m),
      pixel_m(stream, s.pixel_m);
  const DeviceArray<SurfelNeighbors> neighbors(stream, s.neighbors);
  const DeviceArray<std::int32_t> frame_of(stream, s.frame_of), pixel_of(stream, s.pixel_of);
  const DeviceArray<std::uint8_t> rgb(stream, s.rgb);
  const int own = std::max(view.own_frame, 0);
  const DeviceArray<std::uint8_t> own_rgb(stream, s.frame_rgb[own]);
  const DeviceArray<float> own_depth(stream, s.frame_depth_m[own]);
  DiscView device_view = view;
  if (view.own_frame >= 0) {
    device_view.own_rgb = own_rgb.get();
    device_view.own_depth_m = own_depth.get();
  }
  const std::int64_t pixels = static_cast<std::int64_t>(view.width_px) * view.height_px;
  const DeviceArray<char> workspace(stream, static_cast<std::int64_t>(ObservedWorkspaceBytes(
                                                s.count(), view.width_px, view.height_px)));
  const DeviceArray<float> color(stream, 3 * pixels), depth(stream, pixels),
      coverage(stream, pixels);
  EXPECT_EQ(LaunchObservedDiscs(device_view,
                                {s.count(), seen.get(), positions.get(), pixel_m.get(),
                                 neighbors.get(), frame_of.get(), pixel_of.get(), rgb.get()},
                                workspace.get(), {color.get(), depth.get(), coverage.get()},
                                stream.get()),
            0);
  return {color.Read(), depth.Read(), coverage.Read()};
}

void ExpectEqual(const DrawnPicture& got, const DrawnPicture& expected) {
  EXPECT_EQ(got.color, expected.color);
  EXPECT_EQ(got.coverage, expected.coverage);
  ASSERT_EQ(got.depth_m.size(), expected.depth_m.size());
  for (std::size_t i = 0; i < got.depth_m.size(); ++i) {
    const bool is_none = std::isnan(expected.depth_m[i]);
    EXPECT_TRUE(is_none ? std::isnan(got.depth_m[i]) : got.depth_m[i] == expected.depth_m[i])
        << "pixel " << i;
  }
}

int CoveredPixels(const DrawnPicture& picture) {
  int covered = 0;
  for (const float c : picture.coverage) covered += c > 0.5F;
  return covered;
}

TEST(ObservedDiscsDeviceTest, EqualsTheHostInFreeAndRecordedCameras) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  Surfels s = MakeSurfels(1);
  for (const int own_frame : {-1, 0, 1}) {
    for (const float by_m : {0.F, 0.06F}) {
      for (std::int64_t i = 0; i < s.count(); ++i) {
        const bool moves = s.pixel_of[i] % kFrameWidth > 12;
        s.positions_m[3 * i] = s.seen_m[3 * i] - (moves ? by_m : 0);
        s.positions_m[3 * i + 2] = s.seen_m[3 * i + 2] - (moves ? by_m : 0);
      }
      const DiscView view = MakeView(s, own_frame);
      const DrawnPicture expected = DrawOnHost(view, s.arrays());
      EXPECT_GT(CoveredPixels(expected), kFrameWidth * kFrameHeight / 2);
      ExpectEqual(DrawOnDevice(view, s), expected);
    }
  }
}

TEST(ObservedDiscsDeviceTest, NoSurfelGivesAnEmptyPictureAndAKeptFrame) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  Surfels s = MakeSurfels(2);
  Surfels none = s;
  none.seen_m.clear(), none.positions_m.clear(), none.pixel_m.clear(), none.neighbors.clear();
  none.frame_of.clear(), none.pixel_of.clear(), none.rgb.clear();
  EXPECT_EQ(CoveredPixels(DrawOnDevice(MakeView(none, -1), none)), 0);
  const DrawnPicture kept = DrawOnDevice(MakeView(none, 0), none);
  ExpectEqual(kept, DrawOnHost(MakeView(none, 0), none.arrays()));
  EXPECT_EQ(CoveredPixels(kept), kFrameWidth * kFrameHeight);
}

TEST(ObservedDiscsDeviceTest, AllInOnePlaceBehindTheCameraAndNowhere) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  Surfels s = MakeSurfels(3);
  for (std::int64_t i = 0; i < s.count(); ++i) {
    float* p = s.positions_m.data() + 3 * i;
    p[0] = 0.05F, p[1] = 0, p[2] = 0.8F;
    if (i % 5 == 1) p[2] = -1;
    if (i % 5 == 2) p[2] = 0;
    if (i % 5 == 3) p[i % 3] = std::numeric_limits<float>::quiet_NaN();
    if (i % 5 == 4) p[i % 3] = std::numeric_limits<float>::infinity();
  }
  for (const int own_frame : {-1, 0}) {
    const DiscView view = MakeView(s, own_frame);
    const DrawnPicture expected = DrawOnHost(view, s.arrays());
    EXPECT_GT(CoveredPixels(expected), 0);
    ExpectEqual(DrawOnDevice(view, s), expected);
  }
}

}  // namespace
}  // namespace interlacer::testing
