#include <gtest/gtest.h>

#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/local_backend.h"
#include "client/interlacer_client.h"
#include "client/kept_scene.h"
#include "client/remote_backend.h"
#include "tests/support/fake_predictor.h"
#include "tests/support/in_process_server.h"
#include "tests/support/must.h"

namespace interlacer::testing {
namespace {

std::string AddressOf(const InterlacerServer& server) {
  return "127.0.0.1:" + std::to_string(server.port());
}

CallOptions QuickCall() {
  CallOptions call;
  call.deadline_s = 10;
  return call;
}

/// A server with a FakePredictor, and a client of it.
class FakeServerTest : public ::testing::Test {
 protected:
  ServingInProcessServer server_;
  std::unique_ptr<Client> client_ = *Client::Create({.address = AddressOf(*server_.server)});
};

OutputOptions RichOutput() {
  OutputOptions output;
  output.steps = {0, 1, 5};
  output.include_positions = true;
  output.include_colors = true;
  output.include_spread = true;
  output.initial_region = Box{{-0.21, -0.21, 0}, {0.11, 1, 1}};
  output.stride = 2;
  RenderTarget png;
  png.name = "scene";
  png.scene_camera_name = "left";
  png.compression = ViewCompression::kPng;
  RenderTarget jpeg = png;
  jpeg.name = "jpeg";
  jpeg.compression = ViewCompression::kJpeg;
  RenderTarget free_depth;
  free_depth.name = "free";
  free_depth.camera = FakeSceneInput().observations[0].views[1].camera;
  free_depth.encoding = ViewEncoding::kDepthF32;
  output.render_targets = {png, jpeg, free_depth};
  return output;
}

/// A callback that keeps all steps.
StepCallback Into(std::vector<PredictedStep>* steps) {
  return [steps](PredictedStep step) {
    steps->push_back(std::move(step));
    return Status::Ok();
  };
}

std::vector<PredictedStep> Predict(RolloutBackend* backend, const OutputOptions& output,
                                   RolloutSummary* summary) {
  std::vector<PredictedStep> steps;
  *summary = Must(backend->Predict(FakeSceneInput(), FakeActions(5), output, Into(&steps), {}));
  return steps;
}

void ExpectEqualSteps(const std::vector<PredictedStep>& a, const std::vector<PredictedStep>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].step, b[i].step);
    EXPECT_EQ(a[i].predict_time_ns, b[i].predict_time_ns);
    EXPECT_EQ(a[i].particle_count, b[i].particle_count);
    EXPECT_EQ(a[i].positions_m, b[i].positions_m);
    EXPECT_EQ(a[i].colors_rgb8, b[i].colors_rgb8);
    EXPECT_EQ(a[i].spread_m, b[i].spread_m);
    EXPECT_EQ(a[i].indices, b[i].indices);
    ASSERT_EQ(a[i].views.size(), b[i].views.size());
    for (std::size_t j = 0; j < a[i].views.size(); ++j) {
      EXPECT_EQ(a[i].views[j].name, b[i].views[j].name);
      EXPECT_EQ(a[i].views[j].color.pixels, b[i].views[j].color.pixels);
      EXPECT_EQ(a[i].views[j].depth.pixels_m, b[i].views[j].depth.pixels_m);
    }
  }
}

TEST_F(FakeServerTest, LocalAndRemoteGiveEqualNumbers) {
  LocalBackend local(std::make_unique<FakePredictor>());
  auto remote = Must(RemoteBackend::Connect(std::move(client_), QuickCall()));
  EXPECT_EQ(remote->location(), "remote");
  EXPECT_EQ(remote->device_name(), "cpu");
  EXPECT_EQ(remote->metadata().weights_sha256, local.metadata().weights_sha256);
  for (const auto& [encoding, mode] :
       {std::pair(PositionEncoding::kFloat32, RenderMode::kObserved),
        std::pair(PositionEncoding::kWorkspaceU16, RenderMode::kField)}) {
    OutputOptions output = RichOutput();
    output.position_encoding = encoding;
    output.render_mode = mode;
    RolloutSummary a, b;
    const std::vector<PredictedStep> mine = Predict(&local, output, &a);
    const std::vector<PredictedStep> theirs = Predict(remote.get(), output, &b);
    ASSERT_EQ(mine.size(), 3u);
    ASSERT_FALSE(mine[0].indices.empty());
    EXPECT_EQ(mine[2].spread_m.size(), static_cast<std::size_t>(mine[2].particle_count));
    ExpectEqualSteps(mine, theirs);
    const FloatImage field = FakeColors(FakeSceneInput().observations[0].views[0].camera, 0, 0, 12);
    EXPECT_EQ(mine[0].views[0].color.pixels == QuantizeRgb(field).pixels,
              mode == RenderMode::kField);
    EXPECT_EQ(a.computed_step_count, b.computed_step_count);
    EXPECT_EQ(a.selected_particle_count, b.selected_particle_count);
    ASSERT_EQ(a.findings.size(), b.findings.size());
    EXPECT_EQ(a.findings[0].reason, b.findings[0].reason);
  }
}

TEST_F(FakeServerTest, EveryPackingOfFramesIsAccepted) {
  const SceneInput input = FakeSceneInput();
  for (const ColorPacking color : {ColorPacking::kRaw, ColorPacking::kPng, ColorPacking::kJpeg}) {
    for (const double unit_m : {0.0, 0.0001}) {
      CallOptions call = QuickCall();
      call.packing = {.color = color, .png_depth_unit_m = unit_m};
      Must(client_->ValidateScene(input, call));
    }
  }
}

TEST_F(FakeServerTest, InfoAndMetadata) {
  const auto info = Must(client_->GetServerInfo(QuickCall()));
  EXPECT_EQ(info.state, "serving");
  EXPECT_EQ(info.device, "cpu");
  ASSERT_EQ(info.models.size(), 1u);
  EXPECT_EQ(info.models[0].state, "ready");
  EXPECT_EQ(info.limits.max_request_bytes, 64ll << 20);
  const auto metadata = Must(client_->GetModelMetadata(QuickCall()));
  EXPECT_EQ(metadata.cameras[1].name, "right");
  EXPECT_EQ(metadata.action_columns[0].name, "joint_1_rad");
  EXPECT_EQ(metadata.workspace, FakeMetadata().workspace);
  EXPECT_EQ(metadata.step_duration_s, 0.5);
}

TEST_F(FakeServerTest, HealthByName) {
  EXPECT_TRUE(*client_->IsServing("interlacer.v1.InterlacerService", QuickCall()));
  EXPECT_EQ(client_->IsServing("no.such.Service", QuickCall()).status().code(),
            StatusCode::kNotFound);
}

TEST_F(FakeServerTest, ErrorsNameReasonAndField) {
  SceneInput input = FakeSceneInput();
  input.observations[1].views[0].camera.world_from_camera.rotation_xyzw = {0, 0, 0, 2};
  const Status status = client_->ValidateScene(input, QuickCall()).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.reason(), reason::QUATERNION_NOT_UNIT);
  EXPECT_NE(status.field().find("observations[1].views[0]"), std::string::npos) << status.field();

  CallOptions call = QuickCall();
  call.model_name = "unknown";
  EXPECT_EQ(client_->GetModelMetadata(call).status().reason(), reason::MODEL_NOT_FOUND);
}

/// Candidate i moves i times as far, those from the 32nd on as those before.
std::vector<ActionSequence> Candidates(int count, int row_count) {
  std::vector<ActionSequence> candidates;
  for (int i = 0; i < count; ++i) {
    candidates.push_back(FakeActions(row_count));
    for (float& value : candidates.back().values) value *= static_cast<float>(i % 32);
  }
  return candidates;
}

TEST_F(FakeServerTest, CandidatesAndScenesGiveTheNumbersOfRollouts) {
  OutputOptions output = RichOutput();
  output.position_encoding = PositionEncoding::kWorkspaceU16;
  SceneInput frames = FakeSceneInput();
  frames.workspace = Box{{-2, -2, -2}, {2, 3, 4}};
  const auto candidates = Candidates(3, 5);
  const auto scene = Must(KeptScene::Create(client_.get(), frames, 7, QuickCall()));
  std::vector<std::vector<PredictedStep>> rollouts(3);
  for (int i = 0; i < 3; ++i) {
    std::vector<PredictedStep> by_scene;
    const auto summary = Must(
        client_->PredictRollout(frames, candidates[i], output, Into(&rollouts[i]), QuickCall()));
    EXPECT_TRUE(summary.scene_report.has_value());
    const auto kept =
        Must(scene->PredictRollout(candidates[i], output, Into(&by_scene), QuickCall()));
    EXPECT_FALSE(kept.scene_report.has_value());
    ExpectEqualSteps(rollouts[i], by_scene);
  }
  for (const bool by_scene : {false, true}) {
    int count = 0;
    const auto check = [&](PredictedCandidate candidate) {
      EXPECT_EQ(candidate.index, count);
      EXPECT_EQ(candidate.failure_reason, "");
      ExpectEqualSteps(candidate.steps, rollouts[count++]);
      return Status::Ok();
    };
    const auto summary =
        Must(by_scene ? scene->PredictCandidates(candidates, output, check, QuickCall())
                      : client_->PredictCandidates(frames, candidates, output, check, QuickCall()));
    EXPECT_EQ(summary.computed_step_count, 15);
    EXPECT_EQ(count, 3);
  }
}

/// A planner's candidates, from this process and from a scene that the server keeps.
TEST_F(FakeServerTest, SourcesOfAPlannerGiveEqualOutcomes) {
  LocalBackend local(
      std::make_unique<FakePredictor>(FakeMetadata(), std::make_shared<FakeControls>()));
  auto remote = *RemoteBackend::Connect(std::move(client_), QuickCall());
  OutputOptions output;
  output.steps = {0, 2};
  output.include_positions = true;
  std::vector<PlanRows> rows;
  for (int i = 0; i < 3; ++i) rows.push_back({2, 3, {0.1 * i, 0, 0, 0.2 * i, 0, 0}});
  const auto outcomes = [&](RolloutBackend* backend) {
    std::vector<std::vector<PredictedStep>> steps(rows.size());
    const auto source = *backend->OpenScene(FakeSceneInput());
    const Status status = source->Predict(rows, output,
                                          [&](CandidateOutcome outcome) {
                                            steps.at(outcome.index) = std::move(outcome.steps);
                                            return Status::Ok();
                                          },
                                          {});
    EXPECT_TRUE(status.ok()) << status.ToString();
    return steps;
  };
  const auto mine = outcomes(&local);
  const int lifts = server_.controls->lift_count;
  const auto theirs = outcomes(remote.get());
  EXPECT_EQ(server_.controls->lift_count, lifts + 1);
  EXPECT_TRUE(WaitUntil([&] { return server_.controls->live_scenes == 0; })) << "it is deleted";
  for (std::size_t i = 0; i < rows.size(); ++i) ExpectEqualSteps(mine[i], theirs[i]);
}

TEST_F(FakeServerTest, ASceneThatIsLostIsMadeAgain) {
  auto scene = *KeptScene::Create(client_.get(), FakeSceneInput(), 0, QuickCall());
  const std::string first = scene->scene_id();
  ASSERT_TRUE(client_->DeleteScene(first, QuickCall()).ok());
  ASSERT_TRUE(client_->DeleteScene(first, QuickCall()).ok());
  const auto ignore = [](PredictedCandidate) { return Status::Ok(); };
  EXPECT_TRUE(scene->PredictCandidates(Candidates(2, 2), {}, ignore, QuickCall()).ok());
  EXPECT_NE(scene->scene_id(), first);
  const auto statistics = Must(client_->GetStatistics(QuickCall()));
  EXPECT_EQ(statistics.scene_count, 1);
  ASSERT_EQ(statistics.models.size(), 1u);
  EXPECT_EQ(statistics.models[0].candidate_count, 2);
  scene.reset();
  EXPECT_EQ(client_->GetStatistics(QuickCall())->scene_count, 0);
  const auto lost = client_->PredictRollout(
      SceneName{first, {}}, FakeActions(1), {}, [](PredictedStep) { return Status::Ok(); },
      QuickCall());
  EXPECT_EQ(lost.status().reason(), reason::SCENE_NOT_FOUND);
  EXPECT_EQ(lost.status().field(), "source.scene_id");
}

/// FakeSceneInput moved on by one observation, and the robot's row then.
SceneInput LaterSceneInput() {
  SceneInput later = FakeSceneInput();
  later.observations[0] = later.observations[1];
  for (RgbdView& view : later.observations[1].views) {
    view.capture_time_ns += 500'000'000;
    for (float& depth_m : view.depth.pixels_m) depth_m += 0.1f;
  }
  later.history_actions.values = {0, 0, 0, 0.02f, 0, 0};
  return later;
}
ActionSequence LaterRow() { return {ActionKind::kJointPositions, 1, 3, {0.02f, 0, 0}}; }

TEST_F(FakeServerTest, AnUpdatedSceneIsThatOfTheNewestFrames) {
  const SceneInput later = LaterSceneInput();
  const ActionSequence row = LaterRow();
  OutputOptions output;
  output.include_positions = true;
  std::vector<PredictedStep> expected;
  Must(client_->PredictRollout(later, FakeActions(2), output, Into(&expected), QuickCall()));
  for (const bool is_lost : {false, true}) {
    auto scene = *KeptScene::Create(client_.get(), FakeSceneInput(), 0, QuickCall());
    if (is_lost) {
      ASSERT_TRUE(client_->DeleteScene(scene->scene_id(), QuickCall()).ok());
    }
    const Status status = scene->Update(later.observations[1], row, QuickCall());
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(scene->Update(later.observations[1], row, QuickCall()).reason(),
              reason::HISTORY_SPACING);
    std::vector<PredictedStep> steps;
    Must(scene->PredictRollout(FakeActions(2), output, Into(&steps), QuickCall()));
    ExpectEqualSteps(steps, expected);
  }
}

TEST_F(FakeServerTest, AnUpdateThatFailsMayBeMadeAgain) {
  const SceneInput later = LaterSceneInput();
  OutputOptions output;
  output.include_positions = true;
  std::vector<PredictedStep> expected, steps;
  Must(client_->PredictRollout(later, FakeActions(2), output, Into(&expected), QuickCall()));
  auto scene = *KeptScene::Create(client_.get(), FakeSceneInput(), 0, QuickCall());
  ASSERT_TRUE(client_->DeleteScene(scene->scene_id(), QuickCall()).ok());
  // The scene is lost, and cannot be made again.
  server_.controls->lift_status = ResourceExhausted(reason::SCENE_LIMIT, "no room");
  EXPECT_EQ(scene->Update(later.observations[1], LaterRow(), QuickCall()).reason(),
            reason::SCENE_LIMIT);
  server_.controls->lift_status = Status::Ok();
  const Status status = scene->Update(later.observations[1], LaterRow(), QuickCall());
  ASSERT_TRUE(status.ok()) << status.ToString();
  Must(scene->PredictRollout(FakeActions(2), output, Into(&steps), QuickCall()));
  ExpectEqualSteps(steps, expected);
}

TEST_F(FakeServerTest, ADeadlineBeyondTheClockIsNone) {
  for (const double deadline_s : {1e10, 1e300}) {
    CallOptions call;
    call.deadline_s = deadline_s;
    const Status status = client_->GetServerInfo(call).status();
    EXPECT_TRUE(status.ok()) << deadline_s << ": " << status.ToString();
  }
}

TEST_F(FakeServerTest, ACallbackThatHasEnoughEndsTheCandidates) {
  int count = 0;
  const auto summary = client_->PredictCandidates(
      FakeSceneInput(), Candidates(200, 2), {},
      [&](PredictedCandidate) { return ++count == 2 ? DataLoss("", "enough") : Status::Ok(); },
      QuickCall());
  EXPECT_EQ(summary.status().message(), "enough");
  EXPECT_EQ(count, 2);
  EXPECT_TRUE(WaitUntil([&] { return server_.controls->live_rollouts == 0; }));
}

TEST(ClientOverFake, AnErrorOfTheCallbackCancelsTheCall) {
  ServingInProcessServer server;
  const auto client = *Client::Create({.address = AddressOf(*server.server)});
  int steps = 0;
  const auto summary = client->PredictRollout(
      FakeSceneInput(), FakeActions(64), {},
      [&](PredictedStep) { return ++steps == 2 ? DataLoss("", "disk full") : Status::Ok(); },
      QuickCall());
  EXPECT_EQ(summary.status().message(), "disk full");
  EXPECT_EQ(steps, 2);
  EXPECT_TRUE(WaitUntil([&] { return server.controls->live_rollouts == 0; }));
}

TEST(ClientOverFake, AStopRequestCancelsAWaitingCall) {
  ServingInProcessServer server;
  server.controls->gate.Close();
  const auto client = *Client::Create({.address = AddressOf(*server.server)});
  std::stop_source stop;
  CallOptions call = QuickCall();
  call.stop = stop.get_token();
  std::jthread stopper([&] {
    server.controls->gate.WaitForUnit();
    stop.request_stop();
  });
  EXPECT_EQ(client->ValidateScene(FakeSceneInput(), call).status().code(), StatusCode::kCancelled);
  server.controls->gate.Open();
}

TEST(ClientOverFake, DeadlinesAreSaidInTheError) {
  ServingInProcessServer server;
  server.controls->gate.Close();
  const auto client = *Client::Create({.address = AddressOf(*server.server)});
  CallOptions call = QuickCall();
  call.deadline_s = 0.2;
  const Status status = client->ValidateScene(FakeSceneInput(), call).status();
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_NE(status.message().find("0.2"), std::string::npos) << status.message();
  server.controls->gate.Open();
}

TEST(Client, NoServerIsUnavailable) {
  // Port 1 of loopback: nobody listens there.
  const auto client = *Client::Create({.address = "127.0.0.1:1", .retry = false});
  EXPECT_EQ(client->GetServerInfo(QuickCall()).status().code(), StatusCode::kUnavailable);
}

TEST(Client, RefusesOptionsThatMakeNoSense) {
  EXPECT_EQ(Client::Create({.address = ""}).status().reason(), reason::ARGUMENT_INVALID);
  EXPECT_FALSE(Client::Create({.address = "a:1", .max_message_bytes = 1ll << 40}).ok());
  const auto client = *Client::Create({.address = "127.0.0.1:1"});
  CallOptions call;
  call.deadline_s = -1;
  EXPECT_EQ(client->GetServerInfo(call).status().field(), "deadline_s");
}

}  // namespace
}  // namespace interlacer::testing
