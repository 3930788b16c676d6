#pragma once

/// A rollout in flight on an in-process server, and what is visible of that server from outside.

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <type_traits>

#include "tests/support/in_process_server.h"
#include "tests/support/wire_requests.h"

namespace interlacer::testing {

inline void SetDeadline(grpc::ClientContext* context, double deadline_s = 20) {
  context->set_deadline(std::chrono::system_clock::now() +
                        std::chrono::milliseconds(static_cast<int>(1e3 * deadline_s)));
}

/// A call in flight, and its newest message.
template <typename Response>
struct CallOf {
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReader<Response>> reader;
  Response message;

  template <typename Request>
  CallOf(InProcessServer* fixture, const Request& request, double deadline_s = 20) {
    SetDeadline(&context, deadline_s);
    if constexpr (std::is_same_v<Request, v1::PredictRolloutRequest>) {
      reader = fixture->stub->PredictRollout(&context, request);
    } else {
      reader = fixture->stub->PredictCandidates(&context, request);
    }
  }
  bool Read() { return reader->Read(&message); }
  grpc::Status Finish() {
    while (Read()) {
    }
    return reader->Finish();
  }
};
using Call = CallOf<v1::PredictRolloutResponse>;
using CandidatesCall = CallOf<v1::PredictCandidatesResponse>;

inline std::unique_ptr<ServingInProcessServer> ServingServer(
    const ServerOptions& options = TestServerOptions()) {
  return std::make_unique<ServingInProcessServer>(options);
}

/// The call failed with this code and reason and, where one is given, at this field.
inline void ExpectRefused(const grpc::Status& status, grpc::StatusCode code,
                          const std::string& reason, const char* field = nullptr) {
  EXPECT_EQ(status.error_code(), code) << status.error_message();
  EXPECT_EQ(ReadDetails(status).info.reason(), reason) << status.error_message();
  if (field == nullptr) return;
  EXPECT_EQ(ReadDetails(status).field(), field);
}

/// Waits until the metrics contain `text`.
inline bool HasMetric(const InProcessServer& fixture, const std::string& text) {
  return WaitUntil(
      [&] { return fixture.server->metrics().Text().find(text) != std::string::npos; });
}

inline bool IsIdle(const InProcessServer& fixture) {
  return fixture.server->worker().active_count() == 0 &&
         fixture.server->worker().queue_length() == 0 && fixture.controls->live_rollouts == 0;
}

/// A request for one view by the name of a scene camera, from frames four times as wide as the
/// model's.
inline v1::PredictRolloutRequest WideSceneCameraRequest() {
  auto request = MakeRolloutRequest(1);
  request.clear_output();
  for (auto& observation :
       *request.mutable_source()->mutable_scene_input()->mutable_observations()) {
    for (v1::RgbdView& view : *observation.mutable_views()) Widen(&view, 4);
  }
  AddView(request.mutable_output(), "view", "left");
  return request;
}

inline constexpr int kModelViewPx = kViewWidthPx * kViewHeightPx;  // the fake's images

}  // namespace interlacer::testing
