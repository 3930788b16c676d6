/// Studies of which something could not be evaluated.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "experiments/hdvpd/failures.h"
#include "experiments/hdvpd/page.h"
#include "experiments/hdvpd/record.h"
#include "experiments/hdvpd/relations.h"
#include "tests/evaluation/page_checks.h"
#include "tests/experiments/hdvpd_support.h"
#include "tests/support/matchers.h"

namespace interlacer {
namespace {

Status Torn() { return Mismatch(reason::CHECKPOINT_INVALID, "data section", "128 bytes", "124"); }

TEST(StudyFailures, AreOneLineForEachRunAndError) {
  std::vector<PieceFailure> failures{
      MakeFailure("", "", "b", NotFound(reason::FILE_NOT_FOUND, "no such file").WithField("b/x"))};
  for (int e = 0; e < 5; ++e) {
    failures.push_back(MakeFailure("grf-0", "recorded", "e" + std::to_string(e), Torn()));
  }
  failures.push_back(MakeFailure("grf-1", "recorded", "e0", Torn()));
  failures.push_back(MakeFailure("grf-1", "oracle_render", "e1", Torn()));
  const std::string torn = "CHECKPOINT_INVALID data section: expected 128 bytes, got 124";
  EXPECT_THAT(FailureLines(failures),
              ElementsAre("every run on b: FILE_NOT_FOUND b/x: no such file",
                          "grf-0 on 5 evaluations from e0 (recorded) to e4 (recorded): " + torn,
                          "grf-1 on e0 (recorded), e1 (oracle_render): " + torn));
  EXPECT_EQ(FailuresToJson(failures).size(), 8u);
  EXPECT_EQ(FailuresToJson(failures)[7]["episode"], "e1");
}

TEST(StudyFailures, NameTheFieldOnce) {
  const auto message = [](const Status& why) { return MakeFailure("", "", "", why).message; };
  const std::string torn = "data section: expected 128 bytes, got 124";
  EXPECT_EQ(message(Torn()), torn);
  EXPECT_EQ(message(Torn().WithFieldPrefix("a.safetensors:")), "a.safetensors:" + torn);
  EXPECT_EQ(message(NotFound(reason::FILE_NOT_FOUND, "no such file: b").WithField("b")),
            "no such file: b");
  EXPECT_EQ(message(Cancelled("stopped")), "stopped");
}

TEST(StudyFailures, OnlyWhatEveryPieceWouldMeetEndsAStudy) {
  EXPECT_TRUE(EndsStudy(Cancelled("stopped")));
  EXPECT_TRUE(EndsStudy(FailedPrecondition(reason::DEVICE_ABSENT, "no GPU")));
  EXPECT_TRUE(EndsStudy(FailedPrecondition(reason::FILE_UNWRITABLE, "disk full")));
  EXPECT_TRUE(EndsStudy(Status(StatusCode::kInternal, reason::DEVICE_LOST, "fell off the bus")));
  EXPECT_FALSE(EndsStudy(Status()));
  EXPECT_FALSE(EndsStudy(Torn()));
  EXPECT_FALSE(EndsStudy(InvalidArgument(reason::HASH_MISMATCH, "another frame")));
}

class HdvpdFailuresTest : public testing::FakeStudyTest {
 protected:
  std::vector<Piece> Pieces() const {
    return ListPieces(fake_.setup, fake_.runs, fake_.episodes.readable);
  }
  /// Every piece of the run, or that on the one episode.
  void Fail(const std::string& run, const std::string& episode = "") const {
    for (const Piece& piece : Pieces()) {
      if (piece.run->name() != run || (!episode.empty() && piece.episode->id != episode)) continue;
      ASSERT_TRUE(WriteFailure(fake_.setup, piece, Torn()).ok());
    }
  }
};

TEST_F(HdvpdFailuresTest, StandInPlaceOfScoresUntilThereAreSome) {
  Fail("grf_exact-0", "episode_0");
  const Piece piece = Pieces()[0];
  EXPECT_FALSE(FindPiece(fake_.setup, piece).has_value());
  const auto failure = FindFailure(fake_.setup, piece);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->run, "grf_exact-0");
  EXPECT_EQ(failure->condition, "recorded");
  EXPECT_EQ(failure->episode, "episode_0");
  EXPECT_EQ(failure->reason, reason::CHECKPOINT_INVALID);

  fake_.WritePiece(piece);
  EXPECT_TRUE(FindPiece(fake_.setup, piece).has_value());
  EXPECT_FALSE(FindFailure(fake_.setup, piece).has_value());
}

TEST_F(HdvpdFailuresTest, OfOtherWeightsAreNoneOfThese) {
  Fail("grf_exact-0", "episode_0");
  fake_.runs[0].weights_sha256 = "mended";
  EXPECT_FALSE(FindFailure(fake_.setup, Pieces()[0]).has_value());
}

// Seeds and variants would be means over different episodes otherwise.
TEST_F(HdvpdFailuresTest, LeaveTheEpisodeOutOfEveryRun) {
  Fail("grf_exact-0", "episode_2");
  const Study study = ReadStudy();
  EXPECT_EQ(study.runs().size(), 6u);
  EXPECT_EQ(study.EpisodeCount(EpisodeGroup::kMoving), 2);
  EXPECT_EQ(study.EpisodeCount(EpisodeGroup::kStill), 1);
  EXPECT_THAT(study.tasks(), ElementsAre("push_block"));
  for (const char* variant : {"grf_exact", "unmasked"}) {
    EXPECT_EQ(
        study.Values({variant, std::string(kModelSubject)}, kSsim, 1, EpisodeGroup::kMoving).size(),
        2u);
  }
  ASSERT_EQ(study.failures().size(), 1u);
  EXPECT_EQ(study.failures()[0].episode, "episode_2");
}

TEST_F(HdvpdFailuresTest, OnEveryEpisodeLeaveTheRunOut) {
  Fail("grf_exact-0");
  const Study study = ReadStudy();
  EXPECT_EQ(study.runs().size(), 5u);
  EXPECT_EQ(study.EpisodeCount(EpisodeGroup::kMoving), 3);
  const auto gap =
      study.Difference({"grf_exact", std::string(kModelSubject)},
                       {"unmasked", std::string(kModelSubject)}, kSsim, 1, EpisodeGroup::kMoving);
  ASSERT_TRUE(gap);
  EXPECT_EQ(gap->run_count, 1);
}

TEST_F(HdvpdFailuresTest, OfAVariantLeaveTheOthersToCompare) {
  Fail("grf_exact-0");
  Fail("grf_exact-1");
  const Study study = ReadStudy();
  EXPECT_THAT(study.variants(), ElementsAre("message_passing", "unmasked"));
  EXPECT_EQ(ComparedPairs(study).size(), 1u);
  ExpectSelfContained(StudyPageHtml({&study, CheckRelations(study), "", ""}));
}

TEST_F(HdvpdFailuresTest, AreNamedByPageAndFiles) {
  Fail("grf_exact-0");
  fake_.episodes.unreadable.push_back(MakeFailure(
      "", "", "episode_9", NotFound(reason::FILE_NOT_FOUND, "no such file: manifest.json")));
  const Study study = ReadStudy();
  const auto relations = CheckRelations(study);
  const std::string run =
      "grf_exact-0 on episode_0 (recorded), episode_1 (recorded), "
      "episode_2 (recorded), episode_3 (recorded): CHECKPOINT_INVALID";
  const std::string episode = "every run on episode_9: FILE_NOT_FOUND no such file: manifest.json";
  const std::string page = StudyPageHtml({&study, relations, "interlacer experiment", "now"});
  ExpectSelfContained(page);
  for (const std::string& line : {run, episode}) {
    EXPECT_THAT(page, HasSubstr(line));
    EXPECT_THAT(StudyToMarkdown(study, relations), HasSubstr(line));
  }
  EXPECT_THAT(page, HasSubstr("Only 1 of the 5 seeds"));
  EXPECT_EQ(StudyToJson(study, relations)["failures"].size(), 5u);
}

TEST_F(HdvpdFailuresTest, OfEveryEpisodeForSomeRunLeaveNoStudy) {
  for (const char* episode : {"episode_0", "episode_1"}) Fail("grf_exact-0", episode);
  for (const char* episode : {"episode_2", "episode_3"}) Fail("unmasked-1", episode);
  const auto study = Study::Read(fake_.setup, fake_.runs, fake_.episodes);
  EXPECT_EQ(study.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(study.status().message(), HasSubstr("every episode failed for some run"));
}

TEST_F(HdvpdFailuresTest, TornScoresAreNone) {
  const Piece piece = Pieces()[0];
  ASSERT_TRUE(FindPiece(fake_.setup, piece).has_value());
  std::filesystem::resize_file(PiecePath(fake_.setup, piece), 100);
  EXPECT_FALSE(FindPiece(fake_.setup, piece).has_value());
}

TEST_F(HdvpdFailuresTest, OfEverythingLeaveNoStudy) {
  for (const TrainedRun& run : fake_.runs) Fail(run.name());
  const auto study = Study::Read(fake_.setup, fake_.runs, fake_.episodes);
  EXPECT_EQ(study.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(study.status().message(), HasSubstr("data section: expected 128 bytes, got 124"));
}

TEST_F(HdvpdFailuresTest, AreNoneOfAWholeStudy) {
  const Study study = ReadStudy();
  EXPECT_THAT(study.failures(), IsEmpty());
  EXPECT_THAT(StudyToJson(study, {})["failures"], IsEmpty());
}

}  // namespace
}  // namespace interlacer
