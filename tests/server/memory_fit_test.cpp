#include "server/calls/memory_fit.h"

#include <gtest/gtest.h>

#include "tests/support/matchers.h"

namespace interlacer {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

Limits SmallLimits() {
  Limits limits;
  limits.max_active_calls = 3;
  limits.max_queue_length = 1;
  limits.max_scene_count = 10;
  limits.max_scene_bytes = 1024 * kMiB;
  return limits;
}

/// A call that holds 100 MiB, 300 within a unit, and scenes of 20.
ModelMemory Taking(std::int64_t free_bytes, std::int64_t total_bytes) {
  return {100 * kMiB, 300 * kMiB, 20 * kMiB, free_bytes, total_bytes};
}

// fm-21
TEST(MemoryFit, OneCallAtItsPeakAllOthersAtRestAndAllScenes) {
  // In each of three priorities three calls take turns, and four wait for their readers.
  constexpr std::int64_t kNeeded = (300 + 20 * 100 + 10 * 20) * kMiB;
  EXPECT_TRUE(CheckMemoryFits({Taking(kNeeded, kNeeded)}, SmallLimits()).ok());
  const Status status = CheckMemoryFits({Taking(kNeeded - 1, kNeeded)}, SmallLimits());
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(status.reason(), reason::DEVICE_OUT_OF_MEMORY);
  for (const char* word : {"21 calls", "(--max-active-calls=3, --max-queue=1) of 100 MiB",
                           "300 MiB while it runs", "10 scenes (--max-scenes) of 20 MiB",
                           "need 2500 MiB", "it would fit with --max-active-calls=2"}) {
    EXPECT_THAT(status.message(), HasSubstr(word));
  }
  EXPECT_THAT(status.message(), Not(HasSubstr("--max-scenes=")));
}

TEST(MemoryFit, CallsThatMayWaitGiveWayBeforeScenes) {
  Limits limits = SmallLimits();
  limits.max_queue_length = 4;
  const Status status = CheckMemoryFits({Taking(2000 * kMiB, 2000 * kMiB)}, limits);
  EXPECT_THAT(status.message(), HasSubstr("it would fit with --max-active-calls=1 --max-queue=3"));
  EXPECT_THAT(status.message(), Not(HasSubstr("--max-scenes=")));
}

TEST(MemoryFit, ADeviceThatIsTooSmallIsAMatterOfConfiguration) {
  const Status status = CheckMemoryFits({Taking(1150 * kMiB, 1150 * kMiB)}, SmallLimits());
  EXPECT_EQ(status.reason(), reason::CONFIG_INVALID);
  EXPECT_THAT(status.message(),
              HasSubstr("it would fit with --max-active-calls=1 --max-queue=1 --max-scenes=2"));
  EXPECT_THAT(CheckMemoryFits({Taking(1099 * kMiB, 1099 * kMiB)}, SmallLimits()).message(),
              HasSubstr("not even its fewest calls fit"));
}

TEST(MemoryFit, ScenesTakeNoMoreThanTheirBudget) {
  Limits limits = SmallLimits();
  limits.max_scene_bytes = 50 * kMiB;
  EXPECT_TRUE(CheckMemoryFits({Taking(2350 * kMiB, 2350 * kMiB)}, limits).ok());
  EXPECT_FALSE(CheckMemoryFits({Taking(2349 * kMiB, 2350 * kMiB)}, limits).ok());
}

TEST(MemoryFit, TheHungriestModelCountsAndWhatWasFreeBeforeTheFirst) {
  ModelMemory second = Taking(400 * kMiB, 3000 * kMiB);
  second.peak_bytes = 600 * kMiB;
  const ModelMemory first = Taking(2800 * kMiB, 3000 * kMiB);
  EXPECT_TRUE(CheckMemoryFits({first, second}, SmallLimits()).ok());
  second.scene_bytes = 21 * kMiB;
  EXPECT_FALSE(CheckMemoryFits({first, second}, SmallLimits()).ok());
}

TEST(MemoryFit, ADeviceThatTellsNothingIsTrusted) {
  EXPECT_TRUE(CheckMemoryFits({}, SmallLimits()).ok());
}

}  // namespace
}  // namespace interlacer
