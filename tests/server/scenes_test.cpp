/// CreateScene, UpdateScene, DeleteScene and predictions from scenes, over a real socket with a
/// fake model.

#include <gtest/gtest.h>

#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "tests/server/scene_client.h"

namespace interlacer::testing {
namespace {

/// MakeSceneInput moved on by one step, and what UpdateScene sends of that.
v1::SceneInput NextSceneInput() {
  v1::SceneInput input = MakeSceneInput();
  *input.mutable_observations(0) = input.observations(1);
  v1::Observation* next = input.mutable_observations(1);
  for (v1::RgbdView& view : *next->mutable_views()) {
    view.mutable_capture_time()->set_seconds(101);
    view.mutable_capture_time()->set_nanos(0);
    for (char& value : *view.mutable_color()->mutable_data()) value ^= 0x15;
    // Depth one unit farther: the particles of the new observation lie elsewhere.
    for (std::size_t i = 0; i < view.depth().data().size(); i += 2) {
      ++(*view.mutable_depth()->mutable_data())[i];
    }
  }
  *input.mutable_history_actions()->mutable_joint_positions() = MakeJoints(2, 0.0f, 0.05f);
  return input;
}
v1::UpdateSceneRequest MakeUpdate(const std::string& scene_id) {
  v1::UpdateSceneRequest request;
  request.set_scene_id(scene_id);
  *request.mutable_observation() = NextSceneInput().observations(1);
  *request.mutable_history_action()->mutable_joint_positions() = MakeJoints(1, 0.05f, 0);
  return request;
}
grpc::Status Update(InProcessServer* fixture, const v1::UpdateSceneRequest& request,
                    v1::UpdateSceneResponse* response) {
  grpc::ClientContext context;
  SetDeadline(&context);
  return fixture->stub->UpdateScene(&context, request, response);
}

/// The steps' bytes, without what is measured.
std::string StepsOf(const Stream<v1::PredictRolloutResponse>& stream) {
  EXPECT_TRUE(stream.status.ok()) << stream.status.error_message();
  std::string bytes;
  for (const auto& message : stream.messages) bytes += message.step().SerializeAsString();
  return bytes;
}

v1::PredictRolloutRequest RichRollout(int step_count) {
  auto request = MakeRolloutRequest(step_count);
  request.mutable_output()->set_include_colors(true);
  request.mutable_output()->set_position_encoding(v1::POSITION_ENCODING_WORKSPACE_U16);
  AddView(request.mutable_output(), "view", "right");
  return request;
}

TEST(Scene, GivesTheBytesOfItsFrames) {
  auto fixture = ServingServer();
  auto request = RichRollout(3);
  const std::string by_frames = StepsOf(Predict(fixture.get(), request));
  const std::string id = CreateScene(fixture.get());
  const int lifts = fixture->controls->lift_count;
  request.mutable_source()->set_scene_id(id);
  for (int i = 0; i < 2; ++i) {
    const auto by_scene = Predict(fixture.get(), request);
    EXPECT_EQ(StepsOf(by_scene), by_frames);
    EXPECT_FALSE(by_scene.messages.back().summary().has_scene_report());
    EXPECT_EQ(by_scene.messages.back().summary().model_name(), "fake");
  }
  EXPECT_EQ(fixture->controls->lift_count, lifts);
}

TEST(Scene, KeepsTheWorkspaceOfItsRequest) {
  auto fixture = ServingServer();
  auto request = RichRollout(1);
  v1::Box* box = request.mutable_source()->mutable_scene_input()->mutable_workspace();
  for (const auto& [corner, value_m] :
       {std::pair{box->mutable_min_m(), -2.0}, std::pair{box->mutable_max_m(), 3.0}}) {
    corner->set_x(value_m);
    corner->set_y(value_m);
    corner->set_z(value_m);
  }
  v1::CreateSceneRequest create;
  *create.mutable_scene_input() = request.source().scene_input();
  v1::CreateSceneResponse created;
  ASSERT_TRUE(Create(fixture.get(), create, &created).ok());
  const std::string by_frames = StepsOf(Predict(fixture.get(), request));
  request.mutable_source()->set_scene_id(created.scene_id());
  EXPECT_EQ(StepsOf(Predict(fixture.get(), request)), by_frames);
}

TEST(Scene, ReportsWhatValidateSceneReports) {
  auto fixture = ServingServer();
  auto validate = MakeSceneRequest<v1::ValidateSceneRequest>();
  validate.mutable_scene_input()->mutable_observations(1)->mutable_views()->SwapElements(0, 1);
  fixture->controls->lift_findings = {{"LOW_VALID_DEPTH", "", "observations[1].views[0].depth"}};
  grpc::ClientContext context;
  v1::ValidateSceneResponse validated;
  ASSERT_TRUE(fixture->stub->ValidateScene(&context, validate, &validated).ok());
  v1::CreateSceneRequest create;
  *create.mutable_scene_input() = validate.scene_input();
  v1::CreateSceneResponse created;
  ASSERT_TRUE(Create(fixture.get(), create, &created).ok());
  EXPECT_EQ(created.report().SerializeAsString(), validated.report().SerializeAsString());
  EXPECT_EQ(created.report().findings(0).field(), "scene_input.observations[1].views[1].depth");
}

TEST(Scene, TimeToLiveIsTheOneAskedForUpToTheLimit) {
  auto fixture = ServingServer();
  for (const auto& [asked_s, granted_s] : {std::pair{0, 30}, {7, 7}, {3000, 300}}) {
    auto request = MakeSceneRequest<v1::CreateSceneRequest>();
    request.mutable_time_to_live()->set_seconds(asked_s);
    v1::CreateSceneResponse response;
    ASSERT_TRUE(Create(fixture.get(), request, &response).ok());
    EXPECT_EQ(response.time_to_live().seconds(), granted_s);
    EXPECT_EQ(response.scene_id().size(), 32u);
  }
}

// fm-32
TEST(Scene, ExpiresUnlessItIsUsed) {
  auto fixture = ServingServer(TestServerOptions({.scene_ttl_s = 0.3}));
  const std::string id = CreateScene(fixture.get());
  for (int i = 0; i < 5; ++i) {  // in all longer than its time to live
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    fixture->server->Poll();
    ASSERT_TRUE(Predict(fixture.get(), RolloutOf(id, 1)).status.ok());
  }
  EXPECT_TRUE(WaitUntil([&] {
    fixture->server->Poll();
    return fixture->controls->live_scenes == 0;
  }));
  EXPECT_TRUE(HasMetric(*fixture, "interlacer_scene_evictions_total{cause=\"expired\"} 1"));
  ExpectRefused(Predict(fixture.get(), RolloutOf(id, 1)).status, grpc::StatusCode::NOT_FOUND,
                "SCENE_NOT_FOUND", "source.scene_id");
}

// fm-32
TEST(Scene, DeletedTwiceIsFineAndFreedByTheDevicesThread) {
  auto fixture = ServingServer();
  const std::string id = CreateScene(fixture.get());
  EXPECT_EQ(Statistics(fixture.get()).scene_count(), 1);
  EXPECT_EQ(fixture->controls->live_scenes, 1);
  EXPECT_TRUE(Delete(fixture.get(), id).ok());
  EXPECT_TRUE(Delete(fixture.get(), id).ok());
  EXPECT_TRUE(Delete(fixture.get(), "").ok());
  ASSERT_TRUE(WaitUntil([&] { return fixture->controls->live_scenes == 0; }));
  EXPECT_EQ(fixture->controls->freeing_thread.load(), fixture->controls->lifting_thread.load());
  EXPECT_EQ(Statistics(fixture.get()).scene_count(), 0);
  EXPECT_EQ(ReadDetails(Predict(fixture.get(), RolloutOf(id, 1)).status).info.reason(),
            "SCENE_NOT_FOUND");
}

// fm-32
TEST(Scene, DeletedDuringACallLetsItFinish) {
  auto fixture = ServingServer();
  const std::string id = CreateScene(fixture.get());
  const std::string whole = StepsOf(Predict(fixture.get(), RolloutOf(id, 3)));
  fixture->controls->gate.Close();
  Call call(fixture.get(), RolloutOf(id, 3));
  ASSERT_TRUE(fixture->controls->gate.WaitForUnit());
  EXPECT_TRUE(Delete(fixture.get(), id).ok());
  EXPECT_EQ(fixture->controls->live_scenes, 1);
  fixture->controls->gate.Open();
  EXPECT_EQ(StepsOf(ReadAll(&call)), whole);
  ASSERT_TRUE(WaitUntil([&] { return fixture->controls->live_scenes == 0; }));
  EXPECT_EQ(fixture->controls->freeing_thread.load(), fixture->controls->lifting_thread.load());
}

/// A call that waits for its turn, and ends on another thread than the device's.
TEST(Scene, OfACancelledCallThatNeverRanIsFreedByTheDevicesThread) {
  auto fixture = ServingServer(TestServerOptions({.max_active_calls = 1}));
  const std::string id = CreateScene(fixture.get());
  fixture->controls->gate.Close();
  Call running(fixture.get(), MakeRolloutRequest(1));
  ASSERT_TRUE(fixture->controls->gate.WaitForUnit());
  Call waiting(fixture.get(), RolloutOf(id, 1));
  ASSERT_TRUE(WaitUntil([&] { return fixture->server->worker().queue_length() == 1; }));
  EXPECT_TRUE(Delete(fixture.get(), id).ok());
  waiting.context.TryCancel();
  EXPECT_EQ(waiting.Finish().error_code(), grpc::StatusCode::CANCELLED);
  ASSERT_TRUE(WaitUntil([&] { return fixture->server->worker().queue_length() == 0; }));
  fixture->controls->gate.Open();
  EXPECT_TRUE(running.Finish().ok());
  ASSERT_TRUE(WaitUntil([&] { return fixture->controls->live_scenes == 0; }));
  EXPECT_EQ(fixture->controls->freeing_thread.load(), fixture->controls->lifting_thread.load());
}

// fm-32
TEST(Scene, OneTooManyIsRefusedBeforeWork) {
  auto fixture = ServingServer(TestServerOptions({.max_scene_count = 2}));
  const std::string first = CreateScene(fixture.get());
  CreateScene(fixture.get());
  const int lifts = fixture->controls->lift_count;
  v1::CreateSceneResponse response;
  const grpc::Status status =
      Create(fixture.get(), MakeSceneRequest<v1::CreateSceneRequest>(), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReadDetails(status).info.reason(), "SCENE_LIMIT");
  EXPECT_EQ(ReadDetails(status).info.metadata().at("limit"), "2");
  EXPECT_EQ(fixture->controls->lift_count, lifts);
  EXPECT_TRUE(Delete(fixture.get(), first).ok());
  CreateScene(fixture.get());
}

TEST(Scene, AFailedCreationLeavesItsPlace) {
  auto fixture = ServingServer(TestServerOptions({.max_scene_count = 1}));
  v1::CreateSceneRequest request;
  v1::CreateSceneResponse response;
  EXPECT_EQ(ReadDetails(Create(fixture.get(), request, &response)).field(),
            "scene_input.observations");
  *request.mutable_scene_input() = MakeSceneInput();
  fixture->controls->lift_status = InvalidArgument(reason::TOO_FEW_VALID_POINTS, "none");
  EXPECT_EQ(ReadDetails(Create(fixture.get(), request, &response)).info.reason(),
            "TOO_FEW_VALID_POINTS");
  fixture->controls->lift_status = Status::Ok();
  CreateScene(fixture.get());
}

TEST(Scene, MoreMemoryThanThereIsForScenesIsRefused) {
  auto fixture =
      ServingServer(TestServerOptions({.max_scene_bytes = 1999}));  // the fake says 1000 bytes
  CreateScene(fixture.get());
  v1::CreateSceneResponse response;
  const grpc::Status status =
      Create(fixture.get(), MakeSceneRequest<v1::CreateSceneRequest>(), &response);
  EXPECT_EQ(ReadDetails(status).info.reason(), "SCENE_LIMIT");
  ASSERT_TRUE(WaitUntil([&] { return fixture->controls->live_scenes == 1; }));
}

// fm-32
TEST(Scene, OfAnotherModelIsRefused) {
  auto fixture = ServingServer();
  auto request = RolloutOf(CreateScene(fixture.get()), 1);
  request.set_model_name("fake");
  EXPECT_TRUE(Predict(fixture.get(), request).status.ok());
  request.set_model_name("other");
  EXPECT_EQ(ReadDetails(Predict(fixture.get(), request).status).info.reason(), "MODEL_NOT_FOUND");
}

ModelSource FakeSource(const std::string& name) {
  ModelMetadata metadata = FakeMetadata();
  metadata.model_name = name;
  return {name,
          [metadata]() -> StatusOr<std::unique_ptr<Predictor>> {
            return std::unique_ptr<Predictor>(std::make_unique<FakePredictor>(metadata));
          },
          [](const std::stop_token&, ServedModel*) { return Status::Ok(); }};
}

TEST(Scene, BelongsToTheModelThatMadeIt) {
  auto server =
      *InterlacerServer::Start(TestServerOptions(), {FakeSource("first"), FakeSource("second")});
  ASSERT_TRUE(WaitUntil([&] { return server->state() == ServerState::kServing; }));
  auto stub = v1::InterlacerService::NewStub(grpc::CreateChannel(
      "127.0.0.1:" + std::to_string(server->port()), grpc::InsecureChannelCredentials()));
  auto create = MakeSceneRequest<v1::CreateSceneRequest>();
  create.set_model_name("second");
  v1::CreateSceneResponse created;
  grpc::ClientContext create_context;
  ASSERT_TRUE(stub->CreateScene(&create_context, create, &created).ok());
  const auto predict = [&](const std::string& model_name) {
    auto request = MakeCandidatesRequest(1, 1);
    request.set_model_name(model_name);
    request.mutable_source()->set_scene_id(created.scene_id());
    grpc::ClientContext context;
    auto reader = stub->PredictCandidates(&context, request);
    v1::PredictCandidatesResponse message;
    std::string answered;
    while (reader->Read(&message)) answered = message.summary().model_name();
    return std::pair(reader->Finish(), answered);
  };
  for (const char* name : {"", "second"}) {
    const auto [status, answered] = predict(name);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(answered, "second");
  }
  const grpc::Status status = predict("first").first;
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  const ErrorDetails details = ReadDetails(status);
  EXPECT_EQ(details.info.reason(), "SCENE_MODEL_MISMATCH");
  EXPECT_EQ(details.field(), "model_name");
  EXPECT_EQ(details.info.metadata().at("expected"), "second");
  EXPECT_EQ(details.info.metadata().at("got"), "first");
}

TEST(Scene, BadTimesToLiveAreRefused) {
  auto fixture = ServingServer();
  auto request = MakeSceneRequest<v1::CreateSceneRequest>();
  request.mutable_time_to_live()->set_seconds(-1);
  v1::CreateSceneResponse response;
  ExpectRefused(Create(fixture.get(), request, &response), grpc::StatusCode::INVALID_ARGUMENT,
                "ARGUMENT_INVALID", "time_to_live");
}

TEST(Scene, ActionsAreCheckedAgainstItsHistory) {
  auto fixture = ServingServer();
  auto request = RolloutOf(CreateScene(fixture.get()), 2);
  *request.mutable_actions()->mutable_joint_positions() = MakeJoints(2, 1.6f, 0.1f);
  const grpc::Status status = Predict(fixture.get(), request).status;
  EXPECT_EQ(ReadDetails(status).info.reason(), "ACTION_OUT_OF_RANGE");
  EXPECT_EQ(ReadDetails(status).field(), "actions.joint_positions.values_f32le");
}

/// Idle scenes go one by one, the one that was unused for longest first, until the unit succeeds.
TEST(DeviceMemory, IsTakenFromIdleScenes) {
  auto fixture = ServingServer();
  const std::string oldest = CreateScene(fixture.get()), older = CreateScene(fixture.get()),
                    used = CreateScene(fixture.get());
  const std::string whole = StepsOf(Predict(fixture.get(), RolloutOf(used, 3)));
  fixture->controls->no_memory_count = 1;
  EXPECT_EQ(StepsOf(Predict(fixture.get(), RolloutOf(used, 3))), whole);
  EXPECT_EQ(Statistics(fixture.get()).scene_count(), 2);
  EXPECT_EQ(ReadDetails(Predict(fixture.get(), RolloutOf(oldest, 1)).status).info.reason(),
            "SCENE_NOT_FOUND");
  EXPECT_TRUE(HasMetric(*fixture, "interlacer_scene_evictions_total{cause=\"memory\"} 1"));
  // A lift, with frames that are still there the second time.
  fixture->controls->no_memory_count = 2;
  EXPECT_EQ(StepsOf(Predict(fixture.get(), MakeRolloutRequest(3))), whole);
  EXPECT_EQ(Statistics(fixture.get()).scene_count(), 0);
}

// fm-21
TEST(DeviceMemory, WithoutAnyIsAnErrorAndTheNextCallWorks) {
  auto fixture = ServingServer();
  const std::string id = CreateScene(fixture.get());
  fixture->controls->no_memory_count = 1000;
  for (const bool by_scene : {true, false}) {
    auto request = MakeCandidatesRequest(2, 2);
    if (by_scene) request.mutable_source()->set_scene_id(id);
    ExpectRefused(Predict(fixture.get(), request).status, grpc::StatusCode::RESOURCE_EXHAUSTED,
                  "DEVICE_OUT_OF_MEMORY");
    EXPECT_EQ(Statistics(fixture.get()).scene_count(), by_scene ? 1 : 0)
        << "a call keeps the scene that it uses";
  }
  fixture->controls->no_memory_count = 0;
  EXPECT_TRUE(Predict(fixture.get(), MakeCandidatesRequest(2, 2)).status.ok());
  EXPECT_EQ(fixture->server->state(), ServerState::kServing);
}

TEST(UpdateScene, IsASceneOfTheTwoNewestObservations) {
  auto fixture = ServingServer();
  auto request = RichRollout(2);
  *request.mutable_source()->mutable_scene_input() = NextSceneInput();
  const std::string by_frames = StepsOf(Predict(fixture.get(), request));
  const std::string id = CreateScene(fixture.get());
  request.mutable_source()->set_scene_id(id);
  EXPECT_NE(StepsOf(Predict(fixture.get(), request)), by_frames);
  v1::UpdateSceneResponse response;
  const grpc::Status status = Update(fixture.get(), MakeUpdate(id), &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.time_to_live().seconds(), 30);
  EXPECT_EQ(response.report().cameras_size(), 2);
  EXPECT_EQ(StepsOf(Predict(fixture.get(), request)), by_frames);
  EXPECT_EQ(Statistics(fixture.get()).scene_count(), 1);
  ASSERT_TRUE(WaitUntil([&] { return fixture->controls->live_scenes == 1; }));
}

/// It encodes half of the frames.
TEST(UpdateScene, SaysNothingOfWhatAWholeLiftCosts) {
  auto fixture = ServingServer();
  const auto ingest_cost = [&] {
    grpc::ClientContext context;
    v1::GetModelMetadataResponse metadata;
    EXPECT_TRUE(fixture->stub->GetModelMetadata(&context, {}, &metadata).ok());
    return metadata.ingest_cost().SerializeAsString();
  };
  const std::string id = CreateScene(fixture.get());
  const std::string before = ingest_cost();
  fixture->controls->unit_s = 0.02;
  v1::UpdateSceneResponse response;
  ASSERT_TRUE(Update(fixture.get(), MakeUpdate(id), &response).ok());
  EXPECT_EQ(ingest_cost(), before);
  CreateScene(fixture.get());
  EXPECT_NE(ingest_cost(), before);
}

TEST(UpdateScene, CallsInProgressGoOnWithWhatItWas) {
  auto fixture = ServingServer();
  const std::string id = CreateScene(fixture.get());
  const std::string before = StepsOf(Predict(fixture.get(), RolloutOf(id, 3)));
  auto request = RolloutOf(id, 3);
  fixture->controls->gate.Close();
  Call call(fixture.get(), request);
  ASSERT_TRUE(fixture->controls->gate.WaitForUnit());
  std::jthread updater([&] {
    v1::UpdateSceneResponse response;
    EXPECT_TRUE(Update(fixture.get(), MakeUpdate(id), &response).ok());
  });
  ASSERT_TRUE(WaitUntil([&] {
    return fixture->server->worker().active_count() + fixture->server->worker().queue_length() == 2;
  }));
  fixture->controls->gate.Open();
  EXPECT_EQ(StepsOf(ReadAll(&call)), before);
}

struct BadUpdate {
  const char* name;
  void (*spoil)(v1::UpdateSceneRequest*);
  const char* reason;
  const char* field;
};

v1::RgbdView* FirstView(v1::UpdateSceneRequest* request) {
  return request->mutable_observation()->mutable_views(0);
}

// clang-format off
const BadUpdate kBadUpdates[] = {
  {"Id", [](auto* r) { r->set_scene_id("x"); }, "SCENE_NOT_FOUND", "scene_id"},
  {"ObservationAbsent", [](auto* r) { r->clear_observation(); }, "CAMERA_MISSING", "observation.views"},
  {"SameObservationAgain", [](auto* r) { *r->mutable_observation() = MakeSceneInput().observations(1); }, "HISTORY_SPACING", "observation"},
  {"Skew", [](auto* r) { FirstView(r)->mutable_capture_time()->set_nanos(100'000'000); }, "CAMERA_SKEW_TOO_LARGE", "observation.views"},
  {"Depth", [](auto* r) { FirstView(r)->mutable_depth()->mutable_data()->pop_back(); }, "IMAGE_DATA_LENGTH", "observation.views[0].depth.data"},
  {"Calibration", [](auto* r) { FirstView(r)->clear_calibration(); }, "CALIBRATION_INVALID", "observation.views[0].calibration"},
  {"Millimetres", [](auto* r) { FirstView(r)->mutable_depth()->set_depth_unit_m(1e-6); }, "DEPTH_IMPLAUSIBLE", "observation.views[0].depth.data"},
  {"RowAbsent", [](auto* r) { r->clear_history_action(); }, "ACTION_KIND", "history_action"},
  {"TwoRows", [](auto* r) { *r->mutable_history_action()->mutable_joint_positions() = MakeJoints(2, 0, 0); }, "HISTORY_LENGTH", "history_action"},
  {"Degrees", [](auto* r) { *r->mutable_history_action()->mutable_joint_positions() = MakeJoints(1, 45, 0); }, "ACTION_OUT_OF_RANGE", "history_action.joint_positions.values_f32le"},
};
// clang-format on

TEST(UpdateScene, IsRefusedWithReasonAndFieldAndLeavesTheScene) {
  auto fixture = ServingServer();
  const std::string id = CreateScene(fixture.get());
  const std::string before = StepsOf(Predict(fixture.get(), RolloutOf(id, 1)));
  for (const BadUpdate& bad : kBadUpdates) {
    auto request = MakeUpdate(id);
    bad.spoil(&request);
    v1::UpdateSceneResponse response;
    const grpc::Status status = Update(fixture.get(), request, &response);
    EXPECT_EQ(ReadDetails(status).info.reason(), bad.reason)
        << bad.name << ": " << status.error_message();
    EXPECT_EQ(ReadDetails(status).field(), bad.field) << bad.name;
  }
  fixture->controls->lift_status = InvalidArgument(reason::DEPTH_IMPLAUSIBLE, "too far")
                                       .WithField("observations[1].views[1].depth");
  v1::UpdateSceneResponse response;
  EXPECT_EQ(ReadDetails(Update(fixture.get(), MakeUpdate(id), &response)).field(),
            "observation.views[1].depth");
  EXPECT_EQ(StepsOf(Predict(fixture.get(), RolloutOf(id, 1))), before);
}

}  // namespace
}  // namespace interlacer::testing
