/// The checks report the fault of each kernel, and nothing for the same kernel without it.

#include "memory_check.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/kernels/launch.h"
#include "faulty_kernels.h"
#include "tests/device/device_array.h"
#include "tests/support/matchers.h"

namespace interlacer::testing {
namespace {

constexpr int kThreads = kFaultyKernelThreads;

/// The tests rely on unwritten memory, so arrays must not be poisoned.
[[maybe_unused]] const int kNoPoison = setenv("INTERLACER_TEST_NO_POISON", "1", 1);

class MemoryCheckTest : public ::testing::Test {
 protected:
  MemoryCheckTest() { EXPECT_TRUE(emulation::IsChecking()); }

  /// Findings of the checks in one launch.
  template <typename... Parameters, typename... Arguments>
  std::string Findings(void (*kernel)(Parameters...), int blocks, int threads,
                       const Arguments&... arguments) {
    EXPECT_EQ(LaunchBlocks(kernel, blocks, BlockShape{threads, kSharedBytes}, stream_.get(),
                           arguments...),
              0);
    return emulation::TakeFindings();
  }
  DeviceArray<int> Zeros(int count) const {
    return DeviceArray<int>(stream_, std::vector<int>(static_cast<std::size_t>(count)));
  }

  static constexpr std::int64_t kSharedBytes = 16;
  CheckedStream stream_;
};

TEST_F(MemoryCheckTest, ThreadsOfABlockAreOrderedByABarrier) {
  const DeviceArray<int> values = Zeros(kThreads), out = Zeros(kThreads);
  EXPECT_EQ(Findings(NeighborKernel, 1, kThreads, values.get(), out.get(), true), "");
  EXPECT_THAT(Findings(NeighborKernel, 1, kThreads, values.get(), out.get(), false),
              HasSubstr("a race: "));
}

TEST_F(MemoryCheckTest, LanesAreOrderedBySyncwarpAndNotByShuffles) {
  const DeviceArray<int> out = Zeros(kThreads);
  EXPECT_EQ(Findings(LaneKernel, 1, kThreads, out.get(), true), "");
  EXPECT_THAT(Findings(LaneKernel, 1, kThreads, out.get(), false), HasSubstr("a race: "));
}

TEST_F(MemoryCheckTest, BlocksOfALaunchAreNotOrdered) {
  const DeviceArray<int> out = Zeros(1);
  EXPECT_EQ(Findings(StoreKernel, 2, 1, out.get(), true), "");
  EXPECT_EQ(Findings(StoreKernel, 1, 1, out.get(), false), "");
  EXPECT_EQ(Findings(StoreKernel, 1, 1, out.get(), false), "") << "launches are ordered";
  EXPECT_THAT(Findings(StoreKernel, 2, 1, out.get(), false), HasSubstr("a race: "));
}

TEST_F(MemoryCheckTest, AtomicsMayMeetEachOtherOnly) {
  const DeviceArray<int> sum = Zeros(1);
  EXPECT_EQ(Findings(SumKernel, 2, kThreads, sum.get(), true), "");
  EXPECT_EQ(sum.Read()[0], 2 * kThreads);
  EXPECT_THAT(Findings(SumKernel, 2, 1, sum.get(), false), HasSubstr("a race: "));
  EXPECT_THAT(Findings(SumAndReadKernel, 1, 2, sum.get()), HasSubstr("a race: "));
}

TEST_F(MemoryCheckTest, NothingBesideAnAllocationIsTouched) {
  const DeviceArray<int> values = Zeros(4), out = Zeros(1);
  EXPECT_EQ(Findings(ReadKernel, 1, 1, values.get(), out.get(), 3), "");
  for (const int place : {-1, 4}) {
    EXPECT_THAT(Findings(ReadKernel, 1, 1, values.get(), out.get(), place),
                HasSubstr("outside of what was allocated: "));
  }
  const int* freed = nullptr;
  {
    const DeviceArray<int> gone = Zeros(4);
    freed = gone.get();
  }
  EXPECT_THAT(Findings(ReadKernel, 1, 1, freed, out.get(), 0), HasSubstr("outside of what"));
}

TEST_F(MemoryCheckTest, WordsBeginAtTheirBoundaries) {
  const DeviceArray<unsigned char> bytes(stream_, std::vector<unsigned char>(32));
  const DeviceArray<float2> out(stream_, 1);
  EXPECT_EQ(Findings(WordKernel, 1, 1, bytes.get() + 8, out.get()), "");
  EXPECT_THAT(Findings(WordKernel, 1, 1, bytes.get() + 4, out.get()),
              HasSubstr("beside its boundary: "));
}

TEST_F(MemoryCheckTest, NothingIsReadBeforeItWasWritten) {
  const DeviceArray<int> written = Zeros(1), out = Zeros(2), unwritten(stream_, 1);
  EXPECT_EQ(Findings(ReadKernel, 1, 1, written.get(), out.get(), 0), "");
  EXPECT_THAT(Findings(ReadKernel, 1, 1, unwritten.get(), out.get(), 0),
              HasSubstr("read before it was written: "));
  EXPECT_EQ(Findings(UnwrittenKernel, 2, 1, out.get(), true), "");
  EXPECT_THAT(Findings(UnwrittenKernel, 2, 1, out.get(), false),
              HasSubstr("read before it was written: "))
      << "shared memory begins anew with each block";
}

TEST_F(MemoryCheckTest, CopiesAreThereWhenTheyWereAwaited) {
  const DeviceArray<float4> from(stream_, std::vector<float4>(1)), to(stream_, 1);
  EXPECT_EQ(Findings(CopyKernel, 1, 1, from.get(), to.get(), true), "");
  EXPECT_THAT(Findings(CopyKernel, 1, 1, from.get(), to.get(), false),
              HasSubstr("read before it was written: "));
}

TEST_F(MemoryCheckTest, ShiftsStayWithinTheirType) {
  const DeviceArray<int> out = Zeros(1);
  EXPECT_EQ(Findings(ShiftKernel, 1, 1, out.get(), 30), "");
  EXPECT_THAT(Findings(ShiftKernel, 1, 1, out.get(), 32), HasSubstr("out of range: "));
}

TEST_F(MemoryCheckTest, FindingsNameTheirLines) {
  const DeviceArray<int> unwritten(stream_, 1), out(stream_, 1);
  EXPECT_THAT(Findings(ReadKernel, 1, 1, unwritten.get(), out.get(), 0),
              HasSubstr("faulty_kernels.cpp:"));
}

}  // namespace
}  // namespace interlacer::testing
