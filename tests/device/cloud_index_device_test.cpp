#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <vector>

#include "render/kernels/hilbert_code.h"
#include "tests/device/cloud_on_device.h"
#include "tests/support/clouds.h"
#include "tests/support/numeric.h"

namespace interlacer::testing {
namespace {

constexpr std::uint64_t kSeed = 41;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

CloudOnDevice Indexed(const Cloud& cloud, float radius_m = 0.1F, int feature_width = 3) {
  const std::int64_t n = static_cast<std::int64_t>(cloud.size()) / 3;
  return CloudOnDevice(cloud, RandomNormal<float>(n * feature_width, kSeed, 1), radius_m);
}

std::vector<NamedCloud> Clouds() {
  return {{"cube", CubeCloud(700, kSeed)},
          {"sheet", SheetCloud(5000, kSeed)},
          {"coincident", CoincidentCloud(300)},
          {"doubled", DoubledCloud(300, kSeed)},
          {"outliers", OutlierCloud(400, kSeed)},
          {"offset", CubeCloud(100, kSeed, 1e6)},
          {"one", CubeCloud(1, kSeed)}};
}

TEST(HilbertCodeTest, CellsThatFollowEachOtherTouch) {
  constexpr std::uint32_t kSide = 16;
  std::vector<std::vector<int>> cells(kSide * kSide * kSide);
  for (std::uint32_t x = 0; x < kSide; ++x) {
    for (std::uint32_t y = 0; y < kSide; ++y) {
      for (std::uint32_t z = 0; z < kSide; ++z) {
        const std::uint32_t code = HilbertCode(x, y, z);
        ASSERT_LT(code, cells.size());
        ASSERT_TRUE(cells[code].empty());
        cells[code] = {static_cast<int>(x), static_cast<int>(y), static_cast<int>(z)};
      }
    }
  }
  for (std::size_t i = 1; i < cells.size(); ++i) {
    int steps = 0;
    for (int axis = 0; axis < 3; ++axis) steps += std::abs(cells[i][axis] - cells[i - 1][axis]);
    ASSERT_EQ(steps, 1) << i;
  }
  EXPECT_EQ(HilbertCode(1023, 0, 0), (1u << kHilbertCodeBits) - 1);
}

TEST(CloudIndexDeviceTest, ParticlesLieAlongTheCurveTiesByIndex) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  for (const NamedCloud& cloud : Clouds()) {
    SCOPED_TRACE(cloud.name);
    const CloudOnDevice device = Indexed(cloud.positions_m);
    const OccupancyBox box = device.Box();
    const auto code = [&](std::uint32_t i) {
      std::uint32_t cell[3];
      for (int axis = 0; axis < 3; ++axis) {
        const float x = (cloud.positions_m[3 * i + axis] - box.low_m[axis]) * box.cells_per_m;
        cell[axis] = static_cast<std::uint32_t>(std::fmin(std::fmax(x, 0.F), 1023.F));
      }
      return HilbertCode(cell[0], cell[1], cell[2]);
    };
    std::vector<std::uint32_t> order(device.n);
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return code(a) < code(b); });
    const std::int64_t slots = (device.n + 15) / 16 * 16;
    std::vector<std::uint32_t> padded = order;
    padded.resize(slots, kNoSlot);
    EXPECT_EQ(device.Read(device.index.original_index, slots), padded);

    const auto slot_of_index = device.Read(device.index.slot_of_index, device.n);
    const auto xyz = device.Read(device.index.leaf_xyz, 3 * slots);
    const auto features = device.Read(device.index.features, device.n * device.feature_width);
    const auto given = RandomNormal<float>(device.n * device.feature_width, kSeed, 1);
    for (std::int64_t slot = 0; slot < slots; ++slot) {
      for (int axis = 0; axis < 3; ++axis) {
        ASSERT_EQ(xyz[48 * (slot / 16) + 16 * axis + slot % 16],
                  slot < device.n ? cloud.positions_m[3 * order[slot] + axis] : kInfinity);
      }
      if (slot >= device.n) continue;
      ASSERT_EQ(slot_of_index[order[slot]], slot);
      for (int c = 0; c < device.feature_width; ++c) {
        ASSERT_EQ(features[slot * device.feature_width + c],
                  given[order[slot] * device.feature_width + c]);
      }
    }
  }
}

TEST(CloudIndexDeviceTest, EveryBoxIsThatOfItsParticles) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  for (const NamedCloud& cloud : Clouds()) {
    SCOPED_TRACE(cloud.name);
    const CloudOnDevice device = Indexed(cloud.positions_m);
    const auto order = device.Read(device.index.original_index, device.n);
    std::int64_t particles_each = 16;  // number in one box of this level
    for (int level = 0; level < device.index.tree.level_count; ++level, particles_each *= 16) {
      const std::int64_t boxes = (device.n + particles_each - 1) / particles_each;
      const std::int64_t groups = (boxes + 15) / 16;
      EXPECT_EQ(groups == 1, level + 1 == device.index.tree.level_count);
      const auto got = device.Read(device.index.level_boxes[level], 96 * groups);
      for (std::int64_t b = 0; b < 16 * groups; ++b) {
        for (int axis = 0; axis < 3; ++axis) {
          float low = kInfinity, high = b < boxes ? -kInfinity : kInfinity;
          for (std::int64_t slot = b * particles_each;
               slot < std::min(device.n, (b + 1) * particles_each); ++slot) {
            const float x = cloud.positions_m[3 * order[slot] + axis];
            low = std::min(low, x);
            high = std::max(high, x);
          }
          const float* box = got.data() + 96 * (b / 16) + b % 16;
          ASSERT_EQ(box[16 * axis], low) << level << ' ' << b;
          ASSERT_EQ(box[48 + 16 * axis], high) << level << ' ' << b;
        }
      }
    }
  }
}

/// Squared distance between a cell and a point.
double SqDistance(const OccupancyBox& box, const int (&cell)[3], const float* point_m) {
  double sum = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const double low = box.origin_m[axis] + cell[axis] * box.cell_m;
    const double gap =
        std::fmax(0, std::fmax(low - point_m[axis], point_m[axis] - low - box.cell_m));
    sum += gap * gap;
  }
  return sum;
}

TEST(CloudIndexDeviceTest, AClearCellHasNoParticleNear) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  Cloud cloud = CubeCloud(12, kSeed);
  AddPoint(cloud, 1.5, 0, 0);
  for (const float radius_m : {0.2F, 0.5F}) {
    const CloudOnDevice device = Indexed(cloud, radius_m);
    const OccupancyBox box = device.Box();
    ASSERT_LE(box.cell_count(), kMaxOccupancyCells);
    EXPECT_DOUBLE_EQ(box.cell_m, radius_m * (1 + 1e-5) / 8);
    const auto occupied = device.Read(device.index.occupied, box.cell_count());
    std::int64_t clear = 0, needlessly_occupied = 0, place = 0;
    for (int z = 0; z < box.cells[2]; ++z) {
      for (int y = 0; y < box.cells[1]; ++y) {
        for (int x = 0; x < box.cells[0]; ++x, ++place) {
          ASSERT_LE(occupied[place], 1);
          double least = INFINITY;
          for (std::size_t i = 0; i < cloud.size(); i += 3) {
            least = std::fmin(least, SqDistance(box, {x, y, z}, cloud.data() + i));
          }
          const double distance_m = std::sqrt(least);
          if (occupied[place] == 0) {
            ASSERT_GT(distance_m, radius_m);
            ++clear;
          }
          // The position of a particle within its own cell is not known.
          needlessly_occupied += occupied[place] != 0 && distance_m > radius_m + 1.8 * box.cell_m;
        }
      }
    }
    EXPECT_EQ(needlessly_occupied, 0);
    EXPECT_GT(clear, place / 4);
  }
}

TEST(CloudIndexDeviceTest, PointsNearAParticleLieInOccupiedCells) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  constexpr float kRadiusM = 0.07F;
  for (const NamedCloud& cloud : Clouds()) {
    SCOPED_TRACE(cloud.name);
    const CloudOnDevice device = Indexed(cloud.positions_m, kRadiusM);
    const OccupancyBox box = device.Box();
    const auto occupied = device.Read(device.index.occupied, box.cell_count());
    RandomSequence random(kSeed, RandomStream::kDataGeneration, 3);
    for (int i = 0; i < 2000; ++i) {
      const std::size_t particle = random.Below(static_cast<std::uint32_t>(device.n));
      double offset[3], length = 0;
      for (double& x : offset) x = random.Normal();
      for (const double x : offset) length += x * x;
      float point_m[3];
      float sq_dist = 0;
      for (int axis = 0; axis < 3; ++axis) {
        const float x = cloud.positions_m[3 * particle + axis];
        point_m[axis] =
            static_cast<float>(x + 0.999999 * kRadiusM * offset[axis] / std::sqrt(length));
        sq_dist += (point_m[axis] - x) * (point_m[axis] - x);
      }
      if (!(sq_dist <= kRadiusM * kRadiusM)) continue;  // beyond the radius by rounding
      const std::int64_t cell = OccupancyCell(box, point_m);
      ASSERT_GE(cell, 0);
      ASSERT_EQ(occupied[cell], 1);
    }
  }
}

TEST(CloudIndexDeviceTest, WithoutParticlesThereAreNoCells) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const CloudOnDevice device = Indexed({});
  EXPECT_EQ(device.Box().cell_count(), 0);
  EXPECT_EQ(device.index.tree.level_count, 0);
}

TEST(CloudIndexDeviceTest, ParticlesThatAreNotFiniteTakeNoSpace) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  Cloud cloud = CubeCloud(50, kSeed);
  const OccupancyBox expected = Indexed(cloud).Box();
  AddPoint(cloud, kNan, 0, 0);
  AddPoint(cloud, 0, kInfinity, 0);
  AddPoint(cloud, 0, 0, -kInfinity);
  const CloudOnDevice device = Indexed(cloud);
  const OccupancyBox box = device.Box();
  EXPECT_EQ(box.cell_m, expected.cell_m);
  for (int axis = 0; axis < 3; ++axis) EXPECT_EQ(box.cells[axis], expected.cells[axis]);
  std::vector<std::uint32_t> order = device.Read(device.index.original_index, device.n);
  std::sort(order.begin(), order.end());
  for (std::uint32_t i = 0; i < order.size(); ++i) ASSERT_EQ(order[i], i);
  const Cloud nothing{kNan, kNan, kNan};
  EXPECT_EQ(Indexed(nothing).Box().cell_count(), 0);
}

TEST(CloudIndexDeviceTest, TooManyParticlesAreRefused) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  EXPECT_NE(
      LaunchCloudIndex({}, nullptr, nullptr, kMaxIndexedParticles + 1, 1, 0.1F, nullptr, nullptr),
      0);
}

}  // namespace
}  // namespace interlacer::testing
