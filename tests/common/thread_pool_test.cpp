#include "common/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

namespace interlacer {
namespace {

class ThreadPoolTest : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { SetThreadCount(GetParam()); }
  void TearDown() override { SetThreadCount(0); }
};

TEST_P(ThreadPoolTest, VisitsEveryIndexOnce) {
  for (std::int64_t count : {0, 1, 7, 8, 9, 1000}) {
    std::vector<std::atomic<int>> visits(count);
    ParallelFor(count, 8, [&](std::int64_t begin, std::int64_t end) {
      EXPECT_EQ(begin % 8, 0);
      EXPECT_LE(end - begin, 8);
      for (std::int64_t i = begin; i < end; ++i) ++visits[i];
    });
    for (const auto& visit : visits) ASSERT_EQ(visit, 1);
  }
}

TEST_P(ThreadPoolTest, FixedOrderSumsHaveEqualBits) {
  constexpr std::int64_t kCount = 10000, kGrain = 64;
  std::vector<float> partial((kCount + kGrain - 1) / kGrain);
  ParallelFor(kCount, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      partial[begin / kGrain] += 1.0f / static_cast<float>(i + 1);
    }
  });
  std::vector<float> one_by_one(partial.size());
  for (std::int64_t i = 0; i < kCount; ++i) {
    one_by_one[i / kGrain] += 1.0f / static_cast<float>(i + 1);
  }
  EXPECT_EQ(partial, one_by_one);
}

TEST_P(ThreadPoolTest, AnExceptionOfABodyIsThrownOnOnceNoneRuns) {
  for (const std::int64_t chunks : {1, 100}) {
    std::atomic<bool> has_thrown{false};
    std::atomic<int> running{0};
    EXPECT_THROW(ParallelFor(chunks, 1,
                             [&](std::int64_t begin, std::int64_t) {
                               if (begin == 0) {
                                 has_thrown = true;
                                 throw std::runtime_error("of the first chunk");
                               }
                               ++running;
                               while (!has_thrown) std::this_thread::yield();
                               std::this_thread::sleep_for(std::chrono::milliseconds(1));
                               --running;
                             }),
                 std::runtime_error);
    EXPECT_EQ(running, 0);
    SetThreadCount(GetParam());  // aborts within a ParallelFor: this thread has left it
    std::atomic<std::int64_t> sum{0};
    ParallelFor(100, 3, [&](std::int64_t begin, std::int64_t end) { sum += end - begin; });
    EXPECT_EQ(sum, 100);
  }
}

TEST_P(ThreadPoolTest, NestedCallsRunInline) {
  std::atomic<int> visits{0};
  ParallelFor(10, 1, [&](std::int64_t, std::int64_t) {
    const auto outer = std::this_thread::get_id();
    ParallelFor(10, 1, [&](std::int64_t, std::int64_t) {
      EXPECT_EQ(std::this_thread::get_id(), outer);
      ++visits;
    });
  });
  EXPECT_EQ(visits, 100);
}

TEST_P(ThreadPoolTest, CallersFromManyThreadsDoNotBlockEachOther) {
  std::atomic<std::int64_t> sum{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 50; ++repeat) {
        ParallelFor(100, 3, [&](std::int64_t begin, std::int64_t end) { sum += end - begin; });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum, 4 * 50 * 100);
}

INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolTest, ::testing::Values(1, 2, 5),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace interlacer
