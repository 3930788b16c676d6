#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "render/kernels/ray_march_cuda.h"
#include "tests/device/device_array.h"
#include "tests/support/clouds.h"

namespace interlacer::testing {
namespace {

constexpr std::uint64_t kSeed = 39;
constexpr int kSamples = 40;  // exceeds the lanes of a warp
constexpr float kNearM = 0.1F;
constexpr float kFarM = 2.5F;

/// 20 x 16 x 12 cells of 5 cm around the origin.
OccupancyBox Box() {
  OccupancyBox box = {};
  box.cell_m = 0.05;
  const double origin_m[3] = {-0.5, -0.4, -0.3};
  const std::int32_t cells[3] = {20, 16, 12};
  std::copy_n(origin_m, 3, box.origin_m);
  std::copy_n(cells, 3, box.cells);
  return box;
}

struct Rays {
  std::vector<float> origins_m, directions, jitter;

  explicit Rays(int count) {
    RandomSequence random(kSeed, RandomStream::kDataGeneration, 8);
    for (int r = 0; r < count; ++r) {
      const double angle = random.Uniform(0, 6.28), height = random.Uniform(-0.5, 0.5);
      const double flat = std::sqrt(1 - height * height);
      AddPoint(directions, flat * std::cos(angle), flat * std::sin(angle), height);
      AddPoint(origins_m, -flat * std::cos(angle) + random.Uniform(-0.3, 0.3),
               -flat * std::sin(angle), -height);
      for (int s = 0; s < kSamples; ++s) jitter.push_back(random.Uniform());
    }
  }
};

struct Samples {
  std::vector<std::int32_t> first{0};
  std::vector<float> points_m, t_m, delta_m;
};

/// `live` selects the points that count.
template <typename Live>
Samples OnHost(const Rays& rays, bool jitter, const Live& live) {
  Samples samples;
  for (std::size_t r = 0; 3 * r < rays.origins_m.size(); ++r) {
    const auto distance = [&](int s) {
      const float xi = jitter ? rays.jitter[r * kSamples + s] : 0.5F;
      const float step_m = (kFarM - kNearM) / static_cast<float>(kSamples);
      return s == kSamples ? kFarM : kNearM + (static_cast<float>(s) + xi) * step_m;
    };
    for (int s = 0; s < kSamples; ++s) {
      const float t_m = distance(s);
      float point[3];
      for (int axis = 0; axis < 3; ++axis) {
        point[axis] = rays.origins_m[3 * r + axis] + t_m * rays.directions[3 * r + axis];
      }
      if (!live(point)) continue;
      samples.points_m.insert(samples.points_m.end(), point, point + 3);
      samples.t_m.push_back(t_m);
      samples.delta_m.push_back(distance(s + 1) - t_m);
    }
    samples.first.push_back(static_cast<std::int32_t>(samples.t_m.size()));
  }
  return samples;
}

Samples OnDevice(const Rays& rays, bool jitter, const std::vector<std::uint8_t>* occupied) {
  const CheckedStream stream;
  const std::int64_t count = static_cast<std::int64_t>(rays.origins_m.size()) / 3;
  const DeviceArray<float> origins(stream, rays.origins_m), directions(stream, rays.directions),
      jitter_device(stream, rays.jitter);
  const DeviceArray<OccupancyBox> box(stream, std::vector<OccupancyBox>{Box()});
  const DeviceArray<std::uint8_t> occupied_device(
      stream, occupied == nullptr ? std::vector<std::uint8_t>() : *occupied);
  const DeviceArray<std::int32_t> first(stream, count + 1);
  const DeviceArray<float> points(stream, 3 * kSamples * count), t_m(stream, kSamples * count),
      delta_m(stream, kSamples * count);
  const DeviceArray<char> workspace(
      stream, static_cast<std::int64_t>(MarchWorkspaceBytes(count, kSamples)));
  EXPECT_EQ(LaunchMarchRays({count, kSamples, kNearM, kFarM, origins.get(), directions.get(),
                             jitter ? jitter_device.get() : nullptr,
                             occupied == nullptr ? nullptr : box.get(), occupied_device.get()},
                            workspace.get(), {first.get(), points.get(), t_m.get(), delta_m.get()},
                            stream.get()),
            0);
  const std::vector<std::int32_t> offsets = first.Read();
  const std::int64_t live = offsets.back();
  return {offsets, points.Read(3 * live), t_m.Read(live), delta_m.Read(live)};
}

void ExpectEqual(const Samples& got, const Samples& expected) {
  EXPECT_EQ(got.first, expected.first);
  EXPECT_EQ(got.points_m, expected.points_m);
  EXPECT_EQ(got.t_m, expected.t_m);
  EXPECT_EQ(got.delta_m, expected.delta_m);
}

TEST(RayMarchDeviceTest, EverySampleIsLiveWithoutAGrid) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const Rays rays(70);
  for (const bool jitter : {false, true}) {
    ExpectEqual(OnDevice(rays, jitter, nullptr),
                OnHost(rays, jitter, [](const float*) { return true; }));
  }
}

TEST(RayMarchDeviceTest, KeepsTheSamplesOfOccupiedCells) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const Rays rays(200);
  const OccupancyBox box = Box();
  std::vector<std::uint8_t> occupied;
  RandomSequence random(kSeed, RandomStream::kDataGeneration, 9);
  while (static_cast<std::int64_t>(occupied.size()) < box.cell_count()) {
    occupied.push_back(random.Below(2) == 0 ? 1 : 0);
  }
  const Samples expected = OnHost(rays, true, [&](const float* point_m) {
    std::int64_t cell = 0;
    for (int axis = 2; axis >= 0; --axis) {
      const double x = std::floor((double{point_m[axis]} - box.origin_m[axis]) / box.cell_m);
      if (x < 0 || x >= box.cells[axis]) return false;
      cell = cell * box.cells[axis] + static_cast<std::int64_t>(x);
    }
    return occupied[cell] != 0;
  });
  ASSERT_GT(expected.first.back(), 200);
  ExpectEqual(OnDevice(rays, true, &occupied), expected);
}

TEST(RayMarchDeviceTest, NoRaysHaveOneOffset) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  ExpectEqual(OnDevice(Rays(0), false, nullptr), Samples());
}

}  // namespace
}  // namespace interlacer::testing
