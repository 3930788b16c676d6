#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "common/kernels/prefix_sum.h"
#include "tests/device/device_array.h"

namespace interlacer::testing {
namespace {

TEST(PrefixSum, EqualsTheHostAroundEveryChangeOfForm) {
  const CheckedStream stream;
  std::mt19937 random(1);
  constexpr std::int64_t kFew = kScanFewTiles * kScanTile;
  for (const std::int64_t count :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{kScanTile}, std::int64_t{kScanTile + 1},
        std::int64_t{5 * kScanTile - 3}, kFew, kFew + 1}) {
    std::vector<std::int32_t> values(count);
    for (std::int32_t& value : values) value = static_cast<std::int32_t>(random() % 7) - 2;
    const DeviceArray<std::int32_t> sums(stream, values);
    const DeviceArray<std::int32_t> scratch(stream, PrefixSumScratchCount(count));
    ASSERT_EQ(LaunchPrefixSum(sums.get(), count, scratch.get(), stream.get()), 0);
    std::inclusive_scan(values.begin(), values.end(), values.begin());
    EXPECT_EQ(sums.Read(), values) << count;
  }
}

}  // namespace
}  // namespace interlacer::testing
