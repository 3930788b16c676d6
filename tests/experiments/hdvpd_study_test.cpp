#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "experiments/hdvpd/page.h"
#include "experiments/hdvpd/record.h"
#include "experiments/hdvpd/relations.h"
#include "experiments/hdvpd/study.h"
#include "tests/evaluation/page_checks.h"
#include "tests/experiments/hdvpd_support.h"
#include "tests/support/matchers.h"
#include "tests/support/must.h"
#include "tests/support/tolerances.h"

namespace interlacer {
namespace {

const StudySubject kGrf{"grf_exact", std::string(kModelSubject)};
const StudySubject kUnmasked{"unmasked", std::string(kModelSubject)};

class HdvpdStudyTest : public testing::FakeStudyTest {};

TEST_F(HdvpdStudyTest, AveragesCamerasThenSeedsThenEpisodes) {
  const Study study = ReadStudy();
  const auto values = study.Values(kGrf, kSsim, 1, EpisodeGroup::kMoving);
  ASSERT_EQ(values.size(), 3u);
  // Seeds 0 and 1 of episode 2: 0.82 + 0.002 - 0.01 and 0.0002 more.
  EXPECT_NEAR(values.at("episode_2"), 0.8121, testing::kDoubleSumTolerance);
  const auto mean = study.Mean(kGrf, kSsim, 2, EpisodeGroup::kMoving);
  EXPECT_EQ(mean->n, 3);
  EXPECT_NEAR(mean->mean, 0.82 + 0.001 - 0.02, testing::kDoubleSumTolerance);
  // Step 0, the reconstruction, takes no part in the mean over steps.
  EXPECT_NEAR(study.Mean(kGrf, kSsim, kAllSteps, EpisodeGroup::kMoving)->mean, 0.806,
              testing::kDoubleSumTolerance);
  EXPECT_NEAR(study.Mean(kGrf, kSsim, 1, EpisodeGroup::kStill)->mean, 0.8132,
              testing::kDoubleSumTolerance);
  EXPECT_EQ(study.Mean(kGrf, kSsim, 1, EpisodeGroup::kMoving, "lift_can")->n, 1);
}

TEST_F(HdvpdStudyTest, DifferencesArePairedOverEpisodes) {
  const Study study = ReadStudy();
  const auto gap = study.Difference(kGrf, kUnmasked, kSsim, 2, EpisodeGroup::kMoving);
  ASSERT_TRUE(gap);
  EXPECT_EQ(gap->wins, 3);
  EXPECT_NEAR(gap->difference.mean, 0.02, testing::kDoubleSumTolerance);
  // Every episode has the same difference, however much episodes differ.
  EXPECT_NEAR(gap->difference.interval->low, 0.02, testing::kDoubleSumTolerance);
  EXPECT_NEAR(gap->difference.interval->high, 0.02, testing::kDoubleSumTolerance);
}

// The second seed of the first variant scores 0.1 more: who trains again may get either.
TEST_F(HdvpdStudyTest, IntervalsKnowThatSeedsDiffer) {
  fake_.seed_offset[{"grf_exact", 1}] = 0.1;
  fake_.WritePieces();
  const Study study = ReadStudy();
  const auto gap = study.Difference(kGrf, kUnmasked, kSsim, 2, EpisodeGroup::kMoving);
  ASSERT_TRUE(gap);
  EXPECT_NEAR(gap->difference.mean, 0.07, testing::kDoubleSumTolerance);
  EXPECT_NEAR(gap->difference.interval->low, 0.02, testing::kDoubleSumTolerance);
  EXPECT_NEAR(gap->difference.interval->high, 0.12, testing::kDoubleSumTolerance);
}

TEST_F(HdvpdStudyTest, DifferencesAreOverCommonSeeds) {
  fake_.seed_offset[{"grf_exact", 1}] = 0.1;
  fake_.WritePieces();
  fake_.runs[1].has_diverged = true;  // grf_exact-1
  const Study study = ReadStudy();
  const auto gap = study.Difference(kGrf, kUnmasked, kSsim, 2, EpisodeGroup::kMoving);
  ASSERT_TRUE(gap);
  EXPECT_NEAR(gap->difference.mean, 0.02, testing::kDoubleSumTolerance);
}

TEST_F(HdvpdStudyTest, DivergedRunsTakeNoPart) {
  fake_.runs[0].has_diverged = true;
  const Study study = ReadStudy();
  EXPECT_NEAR(study.Values(kGrf, kSsim, 1, EpisodeGroup::kMoving).at("episode_2"), 0.8122,
              testing::kDoubleSumTolerance);
}

TEST_F(HdvpdStudyTest, WithoutAnyRunNothingIsRead) {
  const auto study = Study::Read(fake_.setup, {}, fake_.episodes);
  EXPECT_EQ(study.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(study.status().message(), HasSubstr("none is left to take part"));
}

TEST_F(HdvpdStudyTest, AForeignFileIsNoScore) {
  const Piece piece{&fake_.runs[0], Condition::kRecorded, &fake_.episodes.readable[0], nullptr,
                    false};
  ASSERT_TRUE(FindPiece(fake_.setup, piece));
  const nlohmann::json whole = Must(ReadJsonFile(PiecePath(fake_.setup, piece)));
  for (const char* study : {"null", "3", R"({"frames": "some"})"}) {
    nlohmann::ordered_json file = whole;
    file["model"]["study"] = nlohmann::json::parse(study);
    ASSERT_TRUE(WriteJsonFile(PiecePath(fake_.setup, piece), file).ok());
    EXPECT_FALSE(FindPiece(fake_.setup, piece)) << study;
  }
}

TEST_F(HdvpdStudyTest, AMissingPieceIsNamed) {
  fake_.runs[3].weights_sha256 = "trained on";
  const auto study = Study::Read(fake_.setup, fake_.runs, fake_.episodes);
  EXPECT_EQ(study.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(study.status().message(), HasSubstr("message_passing-1"));
}

TEST_F(HdvpdStudyTest, ScoresOfAnotherConfigurationAreNotThisOnes) {
  fake_.runs[0].config_sha256 = "more samples a ray";
  const auto study = Study::Read(fake_.setup, fake_.runs, fake_.episodes);
  EXPECT_EQ(study.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(study.status().message(), HasSubstr("grf_exact-0"));
}

TEST_F(HdvpdStudyTest, ScoresWithoutThePicturesThatThePageShowsAreMadeAgain) {
  fake_.setup.strip_count = 0;
  fake_.WritePieces();
  fake_.setup.strip_count = 2;
  EXPECT_EQ(Study::Read(fake_.setup, fake_.runs, fake_.episodes).status().code(),
            StatusCode::kNotFound);
  fake_.WritePieces();
  fake_.setup.strip_count = 0;  // more pictures than are shown do no harm
  EXPECT_TRUE(Study::Read(fake_.setup, fake_.runs, fake_.episodes).ok());
}

TEST_F(HdvpdStudyTest, PageAndFilesCarryTheNumbers) {
  const Study study = ReadStudy();
  const auto relations = CheckRelations(study);
  const std::string page = StudyPageHtml({&study, relations, "interlacer experiment", "now"});
  ExpectSelfContained(page);
  EXPECT_THAT(page, HasSubstr("GRF is above unmasked in SSIM by 0.0200"));
  EXPECT_THAT(page, HasSubstr("above in 2 of 2 runs"));
  EXPECT_THAT(page, HasSubstr("message passing is above unmasked in SSIM by 0.0100"));
  EXPECT_THAT(page, HasSubstr("Only 2 of the 5 seeds"));
  EXPECT_THAT(page, Not(HasSubstr("nan")));
  const auto json = StudyToJson(study, relations);
  EXPECT_EQ(json["runs"].size(), 6u);
  EXPECT_NEAR(json["differences"][0]["published"].get<double>(), 0.010, 1e-9);
  EXPECT_THAT(StudyToMarkdown(study, relations), HasSubstr("| GRF | 0.8110 | 0.8010 | 0.8060 |"));
  EXPECT_THAT(StudyToCsv(study), HasSubstr("moving,\"GRF\",grf_exact,ssim_wang_rgb_v1,0,0.811,"));
}

TEST(ScoreTable, LeavesNullsOutAndAveragesWhatIsThere) {
  Results r = MakeResults(0, 0);
  AddValue(&r, kModelSubject, "a", 1, kSsim, 0.5);
  AddValue(&r, kModelSubject, "a", 1, kSsim, 0.7, "right");
  AddValue(&r, kModelSubject, "a", 2, kSsim, std::nullopt);
  AddValue(&r, kModelSubject, "a", 3, kSsim, 0.2);
  ScoreTable table;
  table.Add(r);
  EXPECT_NEAR(table.Values(kModelSubject, kSsim, 1).at("a"), 0.6, testing::kDoubleSumTolerance);
  EXPECT_TRUE(table.Values(kModelSubject, kSsim, 2).empty());
  EXPECT_NEAR(table.Values(kModelSubject, kSsim, kAllSteps).at("a"), 0.4,
              testing::kDoubleSumTolerance);
  EXPECT_TRUE(table.Values(kCopyLast, kSsim, 1).empty());
}

TEST(MeanOverTables, KeepsEpisodesThatAllHave) {
  const EpisodeValues means = MeanOverTables({{{"a", 1}, {"b", 2}}, {{"b", 4}, {"c", 5}}});
  EXPECT_EQ(means, (EpisodeValues{{"b", 3}}));
  EXPECT_TRUE(MeanOverTables({}).empty());
}

}  // namespace
}  // namespace interlacer
