/// Which answers count as waiting for their readers, and which calls are reset for it.

#include "server/calls/call_registry.h"

#include <gtest/gtest.h>

#include <chrono>

#include "tests/support/fake_sink.h"

namespace interlacer::testing {
namespace {

using std::chrono::milliseconds;

class CallRegistryTest : public ::testing::Test {
 protected:
  static void Wait(FakeSink* sink, std::int64_t bytes, milliseconds age) {
    sink->waiting_bytes = bytes;
    sink->waiting_since = std::chrono::steady_clock::now() - age;
  }

  CallRegistry calls_;
  FakeSink older_, newer_;
  const CallRegistry::Entry older_entry_{&calls_, &older_}, newer_entry_{&calls_, &newer_};
};

// gRPC holds an answered call for some time after its client has gone on.
TEST_F(CallRegistryTest, AnAnswerThatHasJustLeftDoesNotWait) {
  Wait(&newer_, 1000, milliseconds(100));
  EXPECT_EQ(calls_.waiting_bytes(), 0);
  calls_.LimitWaiting(0);
  EXPECT_EQ(newer_.abort_count, 0);
}

TEST_F(CallRegistryTest, AnswersThatNobodyReadsAreCounted) {
  Wait(&older_, 1000, milliseconds(3000));
  Wait(&newer_, 200, milliseconds(2000));
  EXPECT_EQ(calls_.waiting_bytes(), 1200);
}

TEST_F(CallRegistryTest, TheLongestWaitIsResetFirst) {
  Wait(&older_, 1000, milliseconds(3000));
  Wait(&newer_, 200, milliseconds(2000));
  calls_.LimitWaiting(200);
  EXPECT_EQ(older_.abort_count, 1);
  EXPECT_EQ(newer_.abort_count, 0);
}

TEST_F(CallRegistryTest, ReadersPastTheLimitAreReset) {
  Wait(&older_, 1, milliseconds(3000));
  Wait(&newer_, 1, milliseconds(2000));
  calls_.AbortStalled(2.5);
  EXPECT_EQ(older_.abort_count, 1);
  EXPECT_EQ(newer_.abort_count, 0);
}

}  // namespace
}  // namespace interlacer::testing
