/// What a Client makes of answers that are not what it asked for.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/interlacer_client.h"
#include "interlacer/v1/interlacer_service.grpc.pb.h"
#include "tests/client/service_test.h"
#include "tests/support/fake_predictor.h"
#include "tests/support/matchers.h"

namespace interlacer::testing {
namespace {

/// Answers every call with what it is given. A copy of that: who cancels does not wait for the
/// rest.
class FaultyService : public v1::InterlacerService::Service {
 public:
  grpc::Status PredictRollout(grpc::ServerContext*, const v1::PredictRolloutRequest*,
                              grpc::ServerWriter<v1::PredictRolloutResponse>* writer) override {
    const std::vector<v1::PredictRolloutResponse> responses = rollout;
    for (const auto& response : responses) writer->Write(response);
    return grpc::Status::OK;
  }
  grpc::Status PredictCandidates(
      grpc::ServerContext*, const v1::PredictCandidatesRequest*,
      grpc::ServerWriter<v1::PredictCandidatesResponse>* writer) override {
    const std::vector<v1::PredictCandidatesResponse> responses = candidates;
    for (const auto& response : responses) writer->Write(response);
    return grpc::Status::OK;
  }
  grpc::Status GetModelMetadata(grpc::ServerContext*, const v1::GetModelMetadataRequest*,
                                v1::GetModelMetadataResponse*) override {
    return grpc::Status::OK;
  }

  std::vector<v1::PredictRolloutResponse> rollout;
  std::vector<v1::PredictCandidatesResponse> candidates;
};

class FaultyServerTest : public ServiceTest<FaultyService> {
 protected:
  /// The error of a rollout of so many rows that is answered with these steps and a summary.
  Status Rollout(int row_count, const std::vector<int>& steps) {
    service_.rollout.clear();
    for (const int step : steps) service_.rollout.emplace_back().mutable_step()->set_step(step);
    service_.rollout.emplace_back().mutable_summary();
    delivered_.clear();
    const auto keep = [this](const PredictedStep& step) {
      delivered_.push_back(step.step);
      return Status::Ok();
    };
    return client_->PredictRollout(FakeSceneInput(), FakeActions(row_count), output_, keep, call_)
        .status();
  }

  /// Adds an answer to candidate `index`.
  v1::PredictCandidatesResponse* Add(int index, const std::vector<int>& steps) {
    v1::PredictCandidatesResponse* response = &service_.candidates.emplace_back();
    response->set_candidate_index(index);
    for (const int step : steps) response->add_steps()->set_step(step);
    return response;
  }
  /// The error of two candidates of three rows with the answers added, of which the last has the
  /// summary.
  Status Candidates() {
    service_.candidates.back().mutable_summary();
    const Status status = client_
                              ->PredictCandidates(
                                  FakeSceneInput(), {FakeActions(3), FakeActions(3)}, output_,
                                  [](const PredictedCandidate&) { return Status::Ok(); }, call_)
                              .status();
    service_.candidates.clear();
    return status;
  }

  OutputOptions output_;
  std::vector<int> delivered_;
};

TEST_F(FaultyServerTest, ARolloutHasTheStepsAskedFor) {
  EXPECT_TRUE(Rollout(2, {1, 2}).ok());
  EXPECT_EQ(Rollout(3, {1, 2}).message(),
            "the server's answer is malformed: step: expected 3, got none");
  EXPECT_THAT(delivered_, ElementsAre(1, 2));
  EXPECT_EQ(Rollout(2, {2, 1}).field(), "step");
  EXPECT_THAT(delivered_, IsEmpty());
  EXPECT_EQ(Rollout(2, {1, 2, 3}).reason(), reason::INTERNAL_ERROR);
  output_.steps = {0, 2};
  EXPECT_TRUE(Rollout(2, {0, 2}).ok());
  EXPECT_EQ(Rollout(2, {1, 2}).field(), "step");
}

TEST_F(FaultyServerTest, EachCandidateHasTheStepsAskedForOrFailed) {
  Add(1, {3});
  Add(0, {3});
  EXPECT_TRUE(Candidates().ok());
  output_.steps = {0, 3};
  Add(0, {0, 3});
  v1::PredictCandidatesResponse* failed = Add(1, {0});
  failed->set_failure_reason(reason::PREDICTION_NOT_FINITE);
  failed->set_failed_step(1);
  EXPECT_TRUE(Candidates().ok());
  Add(0, {0});
  Add(1, {0, 3});
  EXPECT_EQ(Candidates().field(), "step");
}

TEST_F(FaultyServerTest, EveryCandidateIsAnsweredOnce) {
  Add(1, {3});
  EXPECT_EQ(Candidates().message(),
            "the server's answer is malformed: candidate_index: expected 0, got none");
  Add(0, {3});
  Add(0, {3});
  EXPECT_EQ(Candidates().field(), "candidate_index");
  Add(2, {3});
  EXPECT_EQ(Candidates().field(), "candidate_index");
}

TEST_F(FaultyServerTest, AModelWithoutCamerasIsNone) {
  const Status status = client_->GetModelMetadata(call_).status();
  EXPECT_EQ(status.reason(), reason::INTERNAL_ERROR);
  EXPECT_EQ(status.field(), "cameras");
}

}  // namespace
}  // namespace interlacer::testing
