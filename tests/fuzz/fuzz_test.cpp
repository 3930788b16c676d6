/// Damaged inputs from outside: never a crash, never an unexplained refusal, never more memory than
/// the limits allow. The same damage in every run; `--gtest_random_seed=N` does other damage.
/// scripts/fuzz lets a fuzzer that follows coverage look for what these miss.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/fuzz/mutator.h"
#include "tests/fuzz/targets.h"
#include "tests/support/counted_memory.h"
#include "tests/support/wire_requests.h"

namespace interlacer::testing {
namespace {

constexpr int kRounds = 20'000;

/// What an input of a few kilobytes may have at once, whatever it says of its own size.
constexpr std::int64_t kMostBytes = 64 << 20;

/// The most that is allocated at once from here on. A sanitizer has an operator new of its own, and
/// a limit.
class AllocatedPeak {
 public:
#if INTERLACER_COUNTS_MEMORY
  AllocatedPeak() : before_(of_all.held) { of_all.peak = before_; }
  std::int64_t bytes() const { return of_all.peak - before_; }

 private:
  const std::int64_t before_;
#else
  std::int64_t bytes() const { return 0; }
#endif
};

std::uint32_t Seed() { return static_cast<std::uint32_t>(GTEST_FLAG_GET(random_seed)); }

void DamageSeedsOf(const std::string& name) {
  for (const FuzzTarget& target : FuzzTargets()) {
    if (target.name != name) continue;
    for (const std::string& seed : target.seeds) EXPECT_TRUE(target.check(seed)) << seed;
    Mutator mutator(Seed());
    int taken = 0, round = 0;
    for (; round < kRounds && !::testing::Test::HasFailure(); ++round) {
      const std::string bytes =
          mutator.Bytes(target.seeds[static_cast<std::size_t>(round) % target.seeds.size()]);
      const AllocatedPeak peak;
      taken += target.check(bytes) ? 1 : 0;
      EXPECT_LE(peak.bytes(), kMostBytes) << "of " << bytes.size() << " bytes, round " << round;
    }
    // Most damage is refused, some is harmless; otherwise it is not where the checks are.
    EXPECT_GT(taken, 0) << round;
    EXPECT_LT(taken, round);
    return;
  }
  FAIL() << name << " is no target";
}

// fm-2
TEST(Fuzz, FieldsOfARequest) {
  Mutator mutator(Seed());
  const v1::PredictRolloutRequest seeds[] = {MakeRolloutRequest(2), CompressedRequest()};
  for (const auto& seed : seeds) ASSERT_TRUE(Admit(seed));
  int accepted = 0;
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    v1::PredictRolloutRequest request = seeds[round % 2];
    mutator.Message(&request);
    const AllocatedPeak peak;
    accepted += Admit(request) ? 1 : 0;
    EXPECT_LE(peak.bytes(), kMostBytes) << "round " << round;
  }
  EXPECT_GT(accepted, kRounds / 20);
  EXPECT_LT(accepted, kRounds * 19 / 20);
}

// fm-1 fm-2
TEST(Fuzz, BytesOfARequest) { DamageSeedsOf("requests"); }
// fm-4
TEST(Fuzz, Pictures) { DamageSeedsOf("pictures"); }
// fm-1 fm-20
TEST(Fuzz, Connections) { DamageSeedsOf("connections"); }
// fm-24
TEST(Fuzz, Tensors) { DamageSeedsOf("tensors"); }
// fm-38
TEST(Fuzz, Manifests) { DamageSeedsOf("manifests"); }
// fm-38
TEST(Fuzz, Tables) { DamageSeedsOf("tables"); }
TEST(Fuzz, Arrays) { DamageSeedsOf("arrays"); }
TEST(Fuzz, Messages) { DamageSeedsOf("messages"); }
TEST(Fuzz, Mcap) { DamageSeedsOf("mcap"); }
TEST(Fuzz, Sqlite) { DamageSeedsOf("sqlite"); }
TEST(Fuzz, Costs) { DamageSeedsOf("costs"); }

}  // namespace
}  // namespace interlacer::testing
