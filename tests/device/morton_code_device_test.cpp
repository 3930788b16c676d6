#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "knn/kernels/morton_code.h"
#include "knn/kernels/morton_code_cuda.h"
#include "tests/device/device_array.h"
#include "tests/support/clouds.h"

namespace interlacer::testing {
namespace {

constexpr double kCellEdgeM = 0.01;

TEST(MortonCodeDevice, EqualsTheHostByteByByte) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  Cloud far_point = CubeCloud(50, 3);
  far_point[7] = 1e6F;  // beyond the last cell
  for (const Cloud& cloud : {Cloud{}, CubeCloud(1, 1), SheetCloud(777, 2), far_point}) {
    const auto n = static_cast<std::int64_t>(cloud.size() / 3);
    std::vector<float> low(3, 0.0F);
    for (int axis = 0; axis < 3 && n > 0; ++axis) {
      low[axis] = cloud[axis];
      for (std::int64_t i = 0; i < n; ++i) low[axis] = std::min(low[axis], cloud[3 * i + axis]);
    }
    const double low_m[3] = {low[0], low[1], low[2]};
    std::vector<std::int64_t> expected;
    for (std::int64_t i = 0; i < n; ++i) {
      expected.push_back(static_cast<std::int64_t>(MortonCodeOf(&cloud[3 * i], low_m, kCellEdgeM)));
    }
    const CheckedStream stream;
    const DeviceArray<float> positions_m(stream, cloud), corner(stream, low);
    const DeviceArray<std::int64_t> codes(stream, n);
    ASSERT_EQ(LaunchMortonCodes(positions_m.get(), n, corner.get(), kCellEdgeM, codes.get(),
                                stream.get()),
              0);
    EXPECT_EQ(codes.Read(), expected);
  }
}

}  // namespace
}  // namespace interlacer::testing
