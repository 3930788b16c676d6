#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "common/kernels/block_memory.h"
#include "common/kernels/launch.h"
#include "tests/device/device_array.h"

namespace interlacer::testing {
namespace {

/// Fails if a call failed that no test expects, or if checked kernels have a fault: no test of a
/// kernel may leave either, not even one of a refusal.
class NothingFails : public ::testing::EmptyTestEventListener {
  void OnTestEnd(const ::testing::TestInfo&) override {
    EXPECT_EQ(emulation::TakeFailedCalls(), 0) << "failed calls of the runtime";
    EXPECT_EQ(emulation::TakeFindings(), "") << "faults in kernels";
  }
};
[[maybe_unused]] const bool kListens = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(
      std::make_unique<NothingFails>().release());
  return true;
}();

__global__ void NothingKernel() {}
/// A kernel for each test, because a limit once raised stays raised.
template <int kWhich>
__global__ void WriteKernel(int place) {
  LaunchedShared<char>()[place] = 1;
}

TEST(LaunchTest, SharedMemoryOfAllSizesThatTheDeviceHas) {
  const CheckedStream stream;
  for (const std::int64_t bytes : {std::int64_t{1}, kPlainSharedBytes, 2 * kPlainSharedBytes}) {
    EXPECT_EQ(LaunchBlocks(WriteKernel<0>, 1, BlockShape{1, bytes}, stream.get(),
                           static_cast<int>(bytes) - 1),
              0)
        << bytes;
  }
  EXPECT_EQ(LaunchBlocks(WriteKernel<0>, 1, BlockShape{1, 227 * 1024}, stream.get(), 0),
            static_cast<int>(cudaErrorInvalidValue));
  EXPECT_EQ(emulation::TakeFailedCalls(), 0);
}

TEST(LaunchTest, ResidentBlocksShareThreadsAndMemory) {
  std::int64_t blocks = 0;
  EXPECT_EQ(ResidentBlocks(NothingKernel, {256, 0}, &blocks), 0);
  EXPECT_EQ(blocks, 8);
  EXPECT_EQ(ResidentBlocks(NothingKernel, {256, 2 * kPlainSharedBytes}, &blocks), 0);
  EXPECT_EQ(blocks, 2);
  EXPECT_NE(ResidentBlocks(NothingKernel, {256, 227 * 1024}, &blocks), 0);
  EXPECT_EQ(emulation::TakeFailedCalls(), 0);
}

/// A launch that raises no limit: declared memory counts too.
TEST(EmulationTest, PlainLimitHoldsDeclaredAndLaunchedMemory) {
  const CheckedStream stream;
  cudaLaunchConfig_t config;
  config.gridDim = config.blockDim = dim3(1);
  config.stream = stream.get();
  config.dynamicSmemBytes = kPlainSharedBytes;
  EXPECT_EQ(cudaLaunchKernelEx(&config, WriteKernel<1>, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(emulation::TakeFailedCalls(), 1);
}

TEST(EmulationDeathTest, WritingBehindLaunchedMemoryEndsTheProgram) {
  const CheckedStream stream;
  EXPECT_DEATH((void)LaunchBlocks(WriteKernel<2>, 1, BlockShape{1, 16}, stream.get(), 16),
               "behind what the launch asked for");
}

TEST(LaunchTest, ErrorsStayWithTheirCalls) {
  const CheckedStream stream;
  char byte = 0;
  EXPECT_NE(cudaMemsetAsync(&byte, 0, 1, nullptr), cudaSuccess);
  EXPECT_EQ(LaunchBlocks(NothingKernel, 1, 32, stream.get()), 0);
  EXPECT_NE(cudaGetLastError(), cudaSuccess);
  EXPECT_NE(LaunchBlocks(NothingKernel, 1, 32, nullptr), 0);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(emulation::TakeFailedCalls(), 2);
}

/// Outcome of a device test that has only its first line.
::testing::TestPartResult Outcome(const char* require_device) {
  setenv("INTERLACER_REQUIRE_DEVICE", require_device, 1);
  ::testing::TestPartResultArray results;
  {
    const ::testing::ScopedFakeTestPartResultReporter reporter(&results);
    [] { INTERLACER_SKIP_WITHOUT_DEVICE(); }();
  }
  unsetenv("INTERLACER_REQUIRE_DEVICE");
  return results.size() == 1
             ? results.GetTestPartResult(0)
             : ::testing::TestPartResult(::testing::TestPartResult::kSuccess, "", 0, "");
}

TEST(DeviceTestsTest, AMissingDeviceFailsWhereOneIsRequired) {
  EXPECT_TRUE(Outcome("1").passed());
  for (const cudaError_t error : {cudaSuccess, cudaErrorMemoryAllocation}) {
    emulation::AnswerDeviceCount(error, error == cudaSuccess ? 0 : 1);
    EXPECT_TRUE(Outcome("").skipped());
    EXPECT_TRUE(Outcome("0").skipped());
    const ::testing::TestPartResult required = Outcome("1");
    EXPECT_TRUE(required.fatally_failed());
    EXPECT_NE(std::string(required.message()).find(error == cudaSuccess ? "counts none" : "memory"),
              std::string::npos);
  }
  emulation::AnswerDeviceCount(cudaSuccess, 1);
  EXPECT_EQ(emulation::TakeFailedCalls(), 3);
}

}  // namespace
}  // namespace interlacer::testing
