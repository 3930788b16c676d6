#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "knn/kernels/morton_code.h"
#include "knn/kernels/morton_order_cuda.h"
#include "tests/device/device_array.h"
#include "tests/support/clouds.h"

namespace interlacer::testing {
namespace {

constexpr double kCellEdgeM = 0.01;
constexpr int kWidth = 5;

std::int64_t PointCount(const Cloud& cloud) { return static_cast<std::int64_t>(cloud.size() / 3); }

std::vector<std::int64_t> OrderOnHost(const Cloud& cloud) {
  std::vector<std::int64_t> order(cloud.size() / 3);
  std::iota(order.begin(), order.end(), 0);
  if (order.empty()) return order;
  float low_m[3], high_m[3];
  for (int axis = 0; axis < 3; ++axis) {
    low_m[axis] = high_m[axis] = cloud[axis];
    for (std::size_t c = axis; c < cloud.size(); c += 3) {
      low_m[axis] = std::min(low_m[axis], cloud[c]);
      high_m[axis] = std::max(high_m[axis], cloud[c]);
    }
  }
  const MortonCells cells = MortonCellsOf(low_m, high_m, kCellEdgeM);
  const auto code = [&](std::int64_t i) { return MortonCodeOf(&cloud[3 * i], cells); };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return code(a) < code(b); });
  return order;
}

/// A cloud on the device, and its order.
struct Ordered {
  Ordered(const CheckedStream& stream, const Cloud& cloud)
      : n(PointCount(cloud)),
        features_on_host(n * kWidth),
        positions_m(stream, cloud),
        features(stream, Numbered()),
        ordered_positions_m(stream, 3 * n),
        ordered_features(stream, kWidth * n),
        point_at(stream, n),
        place_of(stream, n) {}

  const std::vector<float>& Numbered() {
    std::iota(features_on_host.begin(), features_on_host.end(), 0.0F);
    return features_on_host;
  }
  MortonCloud View(bool with_rows) const {
    MortonCloud view{positions_m.get(), n, point_at.get(), place_of.get()};
    if (!with_rows) return view;
    view.features = features.get();
    view.ordered_positions_m = ordered_positions_m.get();
    view.ordered_features = ordered_features.get();
    return view;
  }

  std::int64_t n;
  std::vector<float> features_on_host;
  DeviceArray<float> positions_m, features, ordered_positions_m, ordered_features;
  DeviceArray<std::int64_t> point_at, place_of;
};

void ExpectOrdered(const Ordered& got, const Cloud& cloud, bool with_rows) {
  const std::vector<std::int64_t> order = OrderOnHost(cloud);
  EXPECT_EQ(got.point_at.Read(), order);
  std::vector<std::int64_t> place_of(order.size());
  for (std::size_t place = 0; place < order.size(); ++place) {
    place_of[order[place]] = static_cast<std::int64_t>(place);
  }
  EXPECT_EQ(got.place_of.Read(), place_of);
  if (!with_rows) return;
  std::vector<float> positions_m, features;
  for (const std::int64_t i : order) {
    for (int c = 0; c < 3; ++c) positions_m.push_back(cloud[3 * i + c]);
    for (int c = 0; c < kWidth; ++c) features.push_back(static_cast<float>(kWidth * i + c));
  }
  EXPECT_EQ(got.ordered_positions_m.Read(), positions_m);
  EXPECT_EQ(got.ordered_features.Read(), features);
}

CudaError OrderOnDevice(const CheckedStream& stream, const Ordered& first, const Ordered& second,
                        bool with_rows) {
  const DeviceArray<char> workspace(
      stream, static_cast<std::int64_t>(MortonOrderWorkspaceBytes(first.n, second.n)));
  const CudaError error = LaunchMortonOrder(first.View(with_rows), second.View(with_rows), kWidth,
                                            kCellEdgeM, workspace.get(), stream.get());
  stream.Wait();
  return error;
}

TEST(MortonOrderDevice, EqualsTheHostIndexByIndex) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  Cloud far_point = CubeCloud(50, 3);
  far_point[7] = 1e6F;  // makes the cells longer
  const Cloud many = CubeCloud(20000, 4);
  const std::vector<Cloud> clouds = {Cloud{},   CubeCloud(1, 1),      SheetCloud(777, 2),
                                     far_point, CoincidentCloud(300), many};
  const CheckedStream stream;
  for (std::size_t c = 0; c < clouds.size(); ++c) {
    const Cloud& a = clouds[c];
    const Cloud& b = clouds[(c + 2) % clouds.size()];
    const Ordered first(stream, a), second(stream, b);
    const bool with_rows = c % 2 == 0;
    ASSERT_EQ(OrderOnDevice(stream, first, second, with_rows), 0);
    ExpectOrdered(first, a, with_rows);
    ExpectOrdered(second, b, with_rows);
  }
}

TEST(MortonOrderDevice, IsAPermutationWhateverPositionsHold) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  Cloud cloud = SheetCloud(500, 5);
  for (std::size_t c = 0; c < cloud.size(); c += 7) cloud[c] = c % 2 == 0 ? NAN : INFINITY;
  const CheckedStream stream;
  const Ordered first(stream, cloud), second(stream, cloud);
  ASSERT_EQ(OrderOnDevice(stream, first, second, true), 0);
  std::vector<std::int64_t> order = first.point_at.Read();
  EXPECT_EQ(second.point_at.Read(), order);
  std::sort(order.begin(), order.end());
  std::vector<std::int64_t> all(order.size());
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(order, all);
}

}  // namespace
}  // namespace interlacer::testing
