#include "evaluation/merging.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/evaluation/results_support.h"
#include "tests/support/must.h"

namespace interlacer {
namespace {

const std::vector<std::string> kIds{"episode_0", "episode_1", "episode_2"};

/// What a shard that owns these episodes of `whole` writes.
Results PartOf(const Results& whole, const std::vector<std::size_t>& episodes) {
  Results part = whole;
  part.episodes.clear();
  part.values.clear();
  part.timings.clear();
  for (const std::size_t e : episodes) {
    part.episodes.push_back(whole.episodes[e]);
    part.timings.push_back(whole.timings[e]);
    for (const ResultValue& value : whole.values) {
      if (value.episode == whole.episodes[e].id) part.values.push_back(value);
    }
  }
  return part;
}

TEST(MergeResults, ShardsGiveTheBytesOfOneRun) {
  const Results whole = MakeResults(3, 2);
  const auto merged = Must(MergeResults({PartOf(whole, {1}), PartOf(whole, {0, 2})}, kIds));
  EXPECT_EQ(merged.episodes, whole.episodes);
  EXPECT_EQ(ResultsToCsv(merged), ResultsToCsv(whole));
  EXPECT_EQ(merged.timings.size(), 3u);
  EXPECT_EQ(merged.duration_s, 25);
}

TEST(MergeResults, AnEpisodeOfTwoPartsCountsOnce) {
  const Results whole = MakeResults(3, 2);
  const StatusOr<Results> merged =
      MergeResults({PartOf(whole, {0, 1}), PartOf(whole, {1, 2})}, kIds);
  ASSERT_TRUE(merged.ok()) << merged.status().ToString();
  EXPECT_EQ(ResultsToCsv(*merged), ResultsToCsv(whole));
}

TEST(MergeResults, AShardWithoutAnEpisodeIsOne) {
  const Results whole = MakeResults(3, 2);
  const StatusOr<Results> merged =
      MergeResults({PartOf(whole, {}), PartOf(whole, {0, 1, 2})}, kIds);
  ASSERT_TRUE(merged.ok()) << merged.status().ToString();
  EXPECT_EQ(ResultsToCsv(*merged), ResultsToCsv(whole));
}

TEST(MergeResults, AFailureStandsUnlessAnotherPartFinishedTheEpisode) {
  const Results whole = MakeResults(3, 2);
  Results failing = PartOf(whole, {0});
  failing.failures = {{"episode_1", "FILE_NOT_FOUND", "no depth"}};
  failing.warnings = {{"depth_holes", 2}};
  Results rest = PartOf(whole, {2});
  rest.warnings = {{"depth_holes", 1}};
  const auto failed = Must(MergeResults({failing, rest}, kIds));
  ASSERT_EQ(failed.failures.size(), 1u);
  EXPECT_EQ(failed.failures[0].message, "no depth");
  EXPECT_EQ(failed.warnings.at("depth_holes"), 3);

  const auto mended = Must(MergeResults({failing, rest, PartOf(whole, {1})}, kIds));
  EXPECT_TRUE(mended.failures.empty());
  EXPECT_EQ(mended.episodes, whole.episodes);
}

TEST(MergeResults, RefusesWhatIsNoWhole) {
  const Results whole = MakeResults(3, 2);
  const Status missing = MergeResults({PartOf(whole, {0}), PartOf(whole, {2})}, kIds).status();
  EXPECT_EQ(missing.reason(), reason::FILE_NOT_FOUND);
  EXPECT_EQ(missing.field(), "episode_1");
  Results other_model = PartOf(whole, {1, 2});
  other_model.model["weights_sha256"] = "x";
  EXPECT_EQ(MergeResults({PartOf(whole, {0}), other_model}, kIds).status().field(),
            "model.weights_sha256");
}

}  // namespace
}  // namespace interlacer
