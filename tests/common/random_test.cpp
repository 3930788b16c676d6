#include "common/random.h"

#include <gtest/gtest.h>

#include <set>

namespace interlacer {
namespace {

struct KnownAnswer {
  std::uint32_t counter[4];
  std::uint32_t key[2];
  std::uint32_t words[4];
};

// Known-answer vectors of Random123 for philox4x32-10.
constexpr KnownAnswer kKnownAnswers[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

TEST(PhiloxTest, GivesTheKnownAnswers) {
  for (const KnownAnswer& known : kKnownAnswers) {
    const std::uint64_t seed = (static_cast<std::uint64_t>(known.key[1]) << 32) | known.key[0];
    const PhiloxWords words =
        Philox(seed, known.counter[0], known.counter[1], known.counter[2], known.counter[3]);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(words.word[i], known.words[i]) << "word " << i;
  }
}

TEST(PhiloxTest, UniformIsInTheHalfOpenUnitInterval) {
  EXPECT_EQ(ToUniform(0), 0.0f);
  EXPECT_LT(ToUniform(0xffffffffu), 1.0f);
  EXPECT_EQ(ToUniform(0x80000000u), 0.5f);
}

TEST(RandomSequenceTest, StreamsAndSubstreamsDiffer) {
  std::set<std::uint64_t> firsts;
  for (std::uint64_t seed : {0, 1}) {
    for (RandomStream stream : {RandomStream::kSubsample, RandomStream::kRays}) {
      for (std::uint32_t a : {0u, 1u}) firsts.insert(RandomSequence(seed, stream, a).Next64());
    }
  }
  EXPECT_EQ(firsts.size(), 8u);
}

TEST(RandomSequenceTest, A64BitDrawIsTheFirstTwoWordsLowFirst) {
  const PhiloxWords words = Philox(7, 1, 2, 3, 0);
  RandomSequence sequence(7, RandomStream::kSubsample, 2, 3);
  EXPECT_EQ(sequence.Next64(), (static_cast<std::uint64_t>(words.word[1]) << 32) | words.word[0]);
}

TEST(RandomSequenceTest, BelowStaysBelowAndReachesAll) {
  RandomSequence sequence(3, RandomStream::kRays);
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 200; ++i) {
    const std::uint32_t value = sequence.Below(5);
    ASSERT_LT(value, 5u);
    seen.insert(value);
  }
  EXPECT_EQ(seen.size(), 5u);
  EXPECT_EQ(sequence.Below(1), 0u);
}

TEST(RandomSequenceTest, NormalHasZeroMeanAndUnitVariance) {
  RandomSequence sequence(11, RandomStream::kWeightInit);
  constexpr int kCount = 20000;
  double sum = 0, sum_of_squares = 0;
  for (int i = 0; i < kCount; ++i) {
    const double x = sequence.Normal();
    sum += x;
    sum_of_squares += x * x;
  }
  constexpr double kFourStandardErrors = 4.0 / 141.4;  // 1/sqrt(20000); variance: sqrt(2) of it
  EXPECT_NEAR(sum / kCount, 0, kFourStandardErrors);
  EXPECT_NEAR(sum_of_squares / kCount, 1, 1.5 * kFourStandardErrors);
}

}  // namespace
}  // namespace interlacer
