#pragma once

/// Tests of the prefix sums and sorts in the kernels' headers. One file of each program includes
/// it, in the language of its kernels.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "common/kernels/prefix_sum.h"
#include "common/kernels/radix_sort.h"
#include "tests/device/device_array.h"

namespace interlacer::testing {
namespace {

TEST(PrefixSum, EqualsTheHostAroundEveryChangeOfForm) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
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

/// Keys under a mask; few bits give few values, so that all tiles contain equal keys.
std::vector<std::uint32_t> RandomKeys(std::int64_t count, std::uint32_t mask) {
  std::mt19937 random(static_cast<unsigned>(count));
  std::vector<std::uint32_t> keys(count);
  for (std::uint32_t& key : keys) key = static_cast<std::uint32_t>(random()) & mask;
  return keys;
}

void ExpectStableSort(const std::vector<std::uint32_t>& keys, int key_bits) {
  const CheckedStream stream;
  const auto count = static_cast<std::int64_t>(keys.size());
  std::vector<std::uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0u);
  const DeviceArray<std::uint32_t> keys_0(stream, keys), values_0(stream, order);
  const DeviceArray<std::uint32_t> keys_1(stream, count), values_1(stream, count);
  const DeviceArray<std::int32_t> scratch(stream, RadixSortScratchCount(count));
  const RadixSortBuffers buffers{
      {keys_0.get(), keys_1.get()}, {values_0.get(), values_1.get()}, scratch.get()};
  ASSERT_EQ(LaunchRadixSort(buffers, count, key_bits, stream.get()), 0);
  const auto used = [&](std::uint32_t i) { return keys[i] & ((1ull << key_bits) - 1); };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return used(a) < used(b); });
  const bool second = RadixSortResult(key_bits) == 1;
  EXPECT_EQ((second ? values_1 : values_0).Read(), order) << count << " by " << key_bits;
  std::vector<std::uint32_t> sorted;
  for (const std::uint32_t i : order) sorted.push_back(keys[i]);
  EXPECT_EQ((second ? keys_1 : keys_0).Read(), sorted) << count << " by " << key_bits;
}

TEST(RadixSort, IsStableAroundEveryChangeOfForm) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  constexpr std::int64_t kFew = kRadixFewTiles * kRadixTile;
  for (const std::int64_t count :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{kRadixTile}, std::int64_t{kRadixTile + 1},
        std::int64_t{5 * kRadixTile - 3}}) {
    ExpectStableSort(RandomKeys(count, ~0u), 32);
    ExpectStableSort(RandomKeys(count, 0x07010003u), 17);
  }
  for (const std::int64_t count : {kFew, kFew + 1}) ExpectStableSort(RandomKeys(count, ~0u), 16);
}

}  // namespace
}  // namespace interlacer::testing
