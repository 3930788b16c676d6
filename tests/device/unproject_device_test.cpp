#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "common/random.h"
#include "data/kernels/unproject_cuda.h"
#include "tests/device/device_array.h"

namespace interlacer::testing {
namespace {

constexpr std::uint64_t kSeed = 36;

/// A camera with a slanted view of a table and a noisy depth image: holes, points outside the range
/// and the box, and points inside.
struct View {
  PixelLift lift;
  int width_px = 0;
  int height_px = 0;
  bool ray_per_pixel = false;
  std::vector<float> depth_m;
  std::vector<double> ray_x, ray_y;

  View(int width, int height, bool per_pixel, std::uint32_t which)
      : width_px(width), height_px(height), ray_per_pixel(per_pixel) {
    lift = {{1, 0, 0, 0.125, 0, 0.8, -0.6, 0.25, 0, 0.6, 0.8, -0.5},
            {-0.6, -0.7, -0.2},
            {0.5, 0.6, 0.9},
            0.2 * 0.2,
            1.5 * 1.5};
    RandomSequence random(kSeed, RandomStream::kDataGeneration, which);
    constexpr float kAwkward[] = {0, -1, NAN, INFINITY, -INFINITY, 1e-30F, 3e38F};
    for (int pixel = 0; pixel < width * height; ++pixel) {
      const bool awkward = random.Below(8) == 0;
      depth_m.push_back(awkward ? kAwkward[random.Below(7)]
                                : static_cast<float>(random.Uniform(0.1, 1.8)));
    }
    const int columns = per_pixel ? width * height : width;
    const int rows = per_pixel ? width * height : height;
    for (int i = 0; i < columns; ++i) ray_x.push_back(random.Uniform(-0.7, 0.7));
    for (int i = 0; i < rows; ++i) ray_y.push_back(random.Uniform(-0.5, 0.5));
  }
};

struct Points {
  std::vector<PixelClass> classes;
  std::vector<float> positions_m;
  std::vector<std::int64_t> source_index;
};

Points OnHost(const std::vector<View>& views) {
  Points points;
  for (const View& view : views) {
    for (int pixel = 0; pixel < view.width_px * view.height_px; ++pixel) {
      const int column = view.ray_per_pixel ? pixel : pixel % view.width_px;
      const int row = view.ray_per_pixel ? pixel : pixel / view.width_px;
      float point_m[3];
      const PixelClass pixel_class =
          LiftPixel(view.lift, view.ray_x[column], view.ray_y[row], view.depth_m[pixel], point_m);
      if (pixel_class == PixelClass::kValid) {
        points.positions_m.insert(points.positions_m.end(), point_m, point_m + 3);
        points.source_index.push_back(static_cast<std::int64_t>(points.classes.size()));
      }
      points.classes.push_back(pixel_class);
    }
  }
  return points;
}

Points OnDevice(const std::vector<View>& views) {
  const CheckedStream stream;
  std::vector<DeviceArray<float>> depths;
  std::vector<DeviceArray<double>> rays;
  std::vector<UnprojectViewDevice> device_views;
  std::int64_t pixels = 0;
  for (const View& view : views) {
    depths.emplace_back(stream, view.depth_m);
    rays.emplace_back(stream, view.ray_x);
    rays.emplace_back(stream, view.ray_y);
    device_views.push_back({view.lift, view.width_px, view.height_px, depths.back().get(),
                            rays[rays.size() - 2].get(), rays.back().get(), view.ray_per_pixel});
    pixels += static_cast<std::int64_t>(view.depth_m.size());
  }
  const DeviceArray<PixelClass> classes(stream, pixels);
  const DeviceArray<float> positions_m(stream, 3 * pixels);
  const DeviceArray<std::int64_t> source_index(stream, pixels);
  const DeviceArray<std::int32_t> count(stream, 1);
  const DeviceArray<char> workspace(stream,
                                    static_cast<std::int64_t>(UnprojectWorkspaceBytes(pixels)));
  EXPECT_EQ(LaunchUnproject(device_views, workspace.get(),
                            {classes.get(), positions_m.get(), source_index.get(), count.get()},
                            stream.get()),
            0);
  const std::int64_t n = count.Read()[0];
  return {classes.Read(), positions_m.Read(3 * n), source_index.Read(n)};
}

void ExpectEqual(const Points& got, const Points& expected) {
  EXPECT_EQ(got.classes, expected.classes);
  EXPECT_EQ(got.positions_m, expected.positions_m);
  EXPECT_EQ(got.source_index, expected.source_index);
}

TEST(UnprojectDeviceTest, EqualsTheCpuByteByByte) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const std::vector<View> views = {View(80, 60, false, 1), View(33, 41, true, 2),
                                   View(1, 1, false, 3)};
  const Points expected = OnHost(views);
  ASSERT_GT(expected.source_index.size(), 500u);
  ASSERT_LT(expected.source_index.size(), 5000u);
  ExpectEqual(OnDevice(views), expected);
  for (const View& view : views) ExpectEqual(OnDevice({view}), OnHost({view}));
}

TEST(UnprojectDeviceTest, WithoutAValidPixelThereIsNoPoint) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  View view(20, 20, false, 4);
  view.depth_m.assign(400, 0.0F);
  const Points points = OnDevice({view});
  EXPECT_TRUE(points.source_index.empty());
  EXPECT_EQ(points.classes, std::vector<PixelClass>(400, PixelClass::kHole));
}

TEST(UnprojectDeviceTest, WithoutViewsThereIsNoPoint) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  EXPECT_TRUE(OnDevice({}).source_index.empty());
}

}  // namespace
}  // namespace interlacer::testing
