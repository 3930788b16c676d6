/// Candidates that several sources share: each is answered once, whatever a source does.

#include "client/planner/fan_out_source.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/matchers.h"

namespace interlacer::testing {
namespace {

using ::testing::Each;

/// Answers a candidate with its own first value, after some time, until it fails.
class Answering final : public CandidateSource {
 public:
  struct Manner {
    std::string weights = "w";
    std::chrono::milliseconds time_each{0};
    int answers_before = 1 << 30;  ///< then `failure`
    Status failure{};
    bool leaves_out_last = false;
    /// Awaited before the first answer: all sources have their first share then.
    std::shared_ptr<std::latch> all_have_begun{};
    Status afterwards{};  ///< what a call ends with that answered all
    int* calls = nullptr;
    double cost_s = 1;
  };
  explicit Answering(Manner manner, std::atomic<int>* answered = nullptr)
      : manner_(std::move(manner)), answered_(answered) {
    metadata_.weights_sha256 = manner_.weights;
    metadata_.config_sha256 = "c";
  }

  const ModelMetadata& metadata() const override { return metadata_; }
  Status Predict(std::span<const PlanRows> candidates, const OutputOptions&,
                 const CandidateCallback& on_candidate, const std::stop_token& stop) override {
    if (manner_.all_have_begun && !has_begun_) manner_.all_have_begun->arrive_and_wait();
    has_begun_ = true;
    if (manner_.calls != nullptr) ++*manner_.calls;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (manner_.leaves_out_last && i + 1 == candidates.size()) return Status::Ok();
      std::this_thread::sleep_for(manner_.time_each);
      if (stop.stop_requested()) return Cancelled("stopped");
      if (count_ == manner_.answers_before) return manner_.failure;
      ++count_;
      if (answered_ != nullptr) ++*answered_;
      PredictedStep step;
      step.positions_m = {static_cast<float>(candidates[i].values[0])};
      INTERLACER_RETURN_IF_ERROR(on_candidate({static_cast<int>(i), {step}, ""}));
    }
    return manner_.afterwards;
  }
  double CostS(int candidate_count, int step_count) const override {
    return manner_.cost_s * candidate_count * step_count;
  }

 private:
  const Manner manner_;
  std::atomic<int>* const answered_;
  ModelMetadata metadata_;
  int count_ = 0;
  bool has_begun_ = false;
};

std::vector<PlanRows> Candidates(int count) {
  std::vector<PlanRows> candidates;
  for (int i = 0; i < count; ++i) candidates.push_back({1, 1, {10.0 + i}});
  return candidates;
}

std::unique_ptr<FanOutSource> Shared(std::vector<std::unique_ptr<CandidateSource>> sources) {
  auto made = FanOutSource::Make(std::move(sources));
  EXPECT_TRUE(made.ok()) << made.status().ToString();
  return *std::move(made);
}

template <typename... Sources>
std::vector<std::unique_ptr<CandidateSource>> List(Sources... sources) {
  std::vector<std::unique_ptr<CandidateSource>> list;
  (list.push_back(std::move(sources)), ...);
  return list;
}

std::unique_ptr<Answering> Source(Answering::Manner manner, std::atomic<int>* answered = nullptr) {
  return std::make_unique<Answering>(std::move(manner), answered);
}

/// How often each candidate was answered; every answer has to be the candidate's own.
struct Answers {
  explicit Answers(int count) : of_candidate(static_cast<std::size_t>(count)) {}
  CandidateCallback Callback() {
    return [this, caller = std::this_thread::get_id()](const CandidateOutcome& outcome) {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      ++of_candidate.at(static_cast<std::size_t>(outcome.index));
      EXPECT_EQ(outcome.steps.at(0).positions_m.at(0), 10 + outcome.index);
      return Status::Ok();
    };
  }
  std::vector<int> of_candidate;
};

constexpr std::chrono::milliseconds kShort{2};

TEST(FanOutSource, EveryCandidateIsAnsweredOnceByWhoeverIsFree) {
  std::atomic<int> first{0}, second{0};
  const auto both = std::make_shared<std::latch>(2);
  const auto shared = Shared(List(Source({.time_each = kShort, .all_have_begun = both}, &first),
                                  Source({.time_each = kShort, .all_have_begun = both}, &second)));
  Answers answers(40);
  ASSERT_TRUE(shared->Predict(Candidates(40), {}, answers.Callback(), {}).ok());
  EXPECT_THAT(answers.of_candidate, Each(1));
  EXPECT_EQ(first + second, 40);
  // A first share is a quarter of what is left.
  EXPECT_GE(first, 7);
  EXPECT_GE(second, 7);
  // The same sources answer again.
  ASSERT_TRUE(shared->Predict(Candidates(40), {}, answers.Callback(), {}).ok());
  EXPECT_THAT(answers.of_candidate, Each(2));
}

TEST(FanOutSource, WhatAnUnavailableSourceLeftIsAnsweredByTheOthers) {
  std::atomic<int> lost{0};
  const auto both = std::make_shared<std::latch>(2);
  const auto shared = Shared(List(Source({.answers_before = 3,
                                          .failure = Unavailable(reason::QUEUE_FULL, "gone"),
                                          .all_have_begun = both},
                                         &lost),
                                  Source({.time_each = kShort, .all_have_begun = both})));
  Answers answers(24);
  const Status status = shared->Predict(Candidates(24), {}, answers.Callback(), {});
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_THAT(answers.of_candidate, Each(1));
  EXPECT_EQ(lost, 3);
}

TEST(FanOutSource, ASourceThatWasUnavailableRestsUntilNobodyElseIsLeft) {
  int calls_of_lost = 0;
  const auto both = std::make_shared<std::latch>(2);
  const auto shared = Shared(List(Source({.answers_before = 0,
                                          .failure = Unavailable(reason::QUEUE_FULL, "lost"),
                                          .all_have_begun = both,
                                          .calls = &calls_of_lost,
                                          .cost_s = 7}),
                                  Source({.answers_before = 60,
                                          .failure = Unavailable(reason::QUEUE_FULL, "late"),
                                          .all_have_begun = both})));
  EXPECT_EQ(shared->CostS(2, 1), 7);
  Answers answers(24);
  ASSERT_TRUE(shared->Predict(Candidates(24), {}, answers.Callback(), {}).ok());
  EXPECT_EQ(calls_of_lost, 1);
  EXPECT_EQ(shared->CostS(2, 1), 2) << "of the one that is left";
  ASSERT_TRUE(shared->Predict(Candidates(24), {}, answers.Callback(), {}).ok());
  EXPECT_EQ(calls_of_lost, 1) << "it rests";
  EXPECT_THAT(answers.of_candidate, Each(2));
  const Status status = shared->Predict(Candidates(24), {}, answers.Callback(), {});
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(calls_of_lost, 2) << "asked all the same when the other had left";
  EXPECT_EQ(shared->CostS(2, 1), 7) << "without anybody else all are asked";
}

TEST(FanOutSource, WhoLeavesAfterItsLastAnswerTakesNothingWithIt) {
  const auto shared =
      Shared(List(Source({.afterwards = Unavailable(reason::QUEUE_FULL, "drained")})));
  Answers one(1);
  EXPECT_TRUE(shared->Predict(Candidates(1), {}, one.Callback(), {}).ok());
  EXPECT_THAT(one.of_candidate, Each(1));
}

TEST(FanOutSource, TheLastSourcesUnavailabilityIsTheCalls) {
  const auto gone = [](const char* text) {
    return Source({.answers_before = 2, .failure = Unavailable(reason::QUEUE_FULL, text)});
  };
  const auto shared = Shared(List(gone("first"), gone("second")));
  Answers answers(24);
  const Status status = shared->Predict(Candidates(24), {}, answers.Callback(), {});
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
}

TEST(FanOutSource, AnyOtherErrorEndsTheCallAndIsNotItsEcho) {
  std::atomic<int> answered{0};
  const auto shared = Shared(List(
      Source({.answers_before = 1, .failure = InvalidArgument(reason::ARGUMENT_INVALID, "bad")}),
      Source({.time_each = std::chrono::milliseconds(20)}, &answered)));
  Answers answers(200);
  const Status status = shared->Predict(Candidates(200), {}, answers.Callback(), {});
  EXPECT_EQ(status.reason(), reason::ARGUMENT_INVALID);
  EXPECT_LT(answered, 199);
}

TEST(FanOutSource, ASourceThatLeavesOneOutIsAnErrorAndNoEndlessCall) {
  const auto shared = Shared(List(Source({.leaves_out_last = true})));
  Answers answers(4);
  const Status status = shared->Predict(Candidates(4), {}, answers.Callback(), {});
  EXPECT_EQ(status.code(), StatusCode::kInternal);
}

TEST(FanOutSource, TheCallersErrorAndStopEndTheCall) {
  const auto shared = Shared(List(Source({.time_each = kShort}), Source({.time_each = kShort})));
  int seen = 0;
  const Status refused = shared->Predict(Candidates(100), {},
                                         [&](const CandidateOutcome&) {
                                           ++seen;
                                           return seen == 3 ? Cancelled("enough") : Status::Ok();
                                         },
                                         {});
  EXPECT_EQ(refused.message(), "enough");
  EXPECT_EQ(seen, 3);
  std::stop_source stop;
  const Status stopped = shared->Predict(
      Candidates(100), {},
      [&](const CandidateOutcome&) {
        stop.request_stop();
        return Status::Ok();
      },
      stop.get_token());
  EXPECT_EQ(stopped.code(), StatusCode::kCancelled);
}

TEST(FanOutSource, NoCandidatesAreNoWork) {
  const auto shared = Shared(List(Source({}), Source({})));
  Answers answers(1);
  EXPECT_TRUE(shared->Predict({}, {}, answers.Callback(), {}).ok());
  EXPECT_THAT(answers.of_candidate, Each(0));
}

TEST(FanOutSource, CostsAreThoseOfTheSlowestShare) {
  const auto shared = Shared(List(Source({.cost_s = 1}), Source({.cost_s = 2})));
  EXPECT_EQ(shared->CostS(7, 3), 2 * 4 * 3);
}

TEST(FanOutSource, RefusesNoSourcesAndOtherWeights) {
  EXPECT_EQ(FanOutSource::Make({}).status().field(), "sources");
  const Status other = FanOutSource::Make(List(Source({}), Source({.weights = "v"}))).status();
  EXPECT_EQ(other.reason(), reason::ARGUMENT_INVALID);
  EXPECT_EQ(other.field(), "sources[1]");
  EXPECT_THAT(other.message(), HasSubstr("weights w"));
}

}  // namespace
}  // namespace interlacer::testing
