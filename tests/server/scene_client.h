#pragma once

/// Scenes and candidates of an in-process server, with answers as values.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/server/rollout_call.h"
#include "tests/support/in_process_server.h"
#include "tests/support/wire_requests.h"

namespace interlacer::testing {

inline grpc::Status Create(InProcessServer* fixture, const v1::CreateSceneRequest& request,
                           v1::CreateSceneResponse* response) {
  grpc::ClientContext context;
  SetDeadline(&context);
  return fixture->stub->CreateScene(&context, request, response);
}

/// The id of a scene of MakeSceneInput.
inline std::string CreateScene(InProcessServer* fixture) {
  v1::CreateSceneResponse response;
  const grpc::Status status =
      Create(fixture, MakeSceneRequest<v1::CreateSceneRequest>(), &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.scene_id();
}

inline grpc::Status Delete(InProcessServer* fixture, const std::string& scene_id) {
  grpc::ClientContext context;
  SetDeadline(&context);
  v1::DeleteSceneRequest request;
  request.set_scene_id(scene_id);
  v1::DeleteSceneResponse response;
  return fixture->stub->DeleteScene(&context, request, &response);
}

/// MakeRolloutRequest from a scene that is kept.
inline v1::PredictRolloutRequest RolloutOf(const std::string& scene_id, int step_count) {
  v1::PredictRolloutRequest request = MakeRolloutRequest(step_count);
  request.mutable_source()->set_scene_id(scene_id);
  return request;
}

/// Candidate i moves the first joint by i / 100 in its first step, and by as much in each that
/// follows.
inline v1::PredictCandidatesRequest MakeCandidatesRequest(int candidate_count, int step_count) {
  v1::PredictCandidatesRequest request;
  request.set_request_id("test-2");
  *request.mutable_source()->mutable_scene_input() = MakeSceneInput();
  for (int i = 0; i < candidate_count; ++i) {
    const float slope = 0.01f * static_cast<float>(i % 64) / static_cast<float>(step_count);
    *request.add_candidates()->mutable_joint_positions() = MakeJoints(step_count, slope, slope);
  }
  request.mutable_output()->set_include_positions(true);
  return request;
}

template <typename Message>
struct Stream {
  std::vector<Message> messages;
  grpc::Status status;
};

template <typename Message>
Stream<Message> ReadAll(CallOf<Message>* call) {
  Stream<Message> stream;
  while (call->Read()) stream.messages.push_back(call->message);
  stream.status = call->reader->Finish();
  return stream;
}

inline Stream<v1::PredictRolloutResponse> Predict(InProcessServer* fixture,
                                                  const v1::PredictRolloutRequest& request) {
  Call call(fixture, request);
  return ReadAll(&call);
}

inline Stream<v1::PredictCandidatesResponse> Predict(InProcessServer* fixture,
                                                     const v1::PredictCandidatesRequest& request) {
  CandidatesCall call(fixture, request);
  return ReadAll(&call);
}

inline v1::GetStatisticsResponse Statistics(InProcessServer* fixture) {
  grpc::ClientContext context;
  SetDeadline(&context);
  v1::GetStatisticsResponse response;
  const grpc::Status status = fixture->stub->GetStatistics(&context, {}, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

}  // namespace interlacer::testing
