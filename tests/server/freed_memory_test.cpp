/// Memory that is freed when no job of the device ends: who hears of it, and that it is given back.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "server/calls/call_registry.h"
#include "server/calls/device_worker.h"
#include "tests/support/eventually.h"
#include "tests/support/fake_sink.h"

namespace interlacer::testing {
namespace {

TEST(FreedMemory, IsHeardOfWhenTheLibraryLetsACallGo) {
  int count = 0;
  CallRegistry calls([&] { ++count; });
  FakeSink sink;
  {
    const CallRegistry::Entry entry(&calls, &sink);
    EXPECT_EQ(count, 0);
  }
  EXPECT_EQ(count, 1);
  EXPECT_EQ(calls.count(), 0);
}

/// A client that asks for statistics all the time is no reason to keep it.
TEST(FreedMemory, IsGivenBackALittleLaterWhateverIsFreedMeanwhile) {
  constexpr std::chrono::milliseconds kDelay(100);
  std::atomic<int> idle_count = 0;
  DeviceWorker worker(
      2, 2, [&] { ++idle_count; }, kDelay);
  const Clock::time_point start = Clock::now();
  EXPECT_TRUE(Eventually([&] {
    worker.NoteFreed();
    return idle_count >= 1;
  }));
  EXPECT_GE(Clock::now() - start, kDelay);
  // Once more for what was freed since.
  EXPECT_TRUE(Eventually([&] {
    worker.NoteFreed();
    return idle_count >= 2;
  }));
}

}  // namespace
}  // namespace interlacer::testing
