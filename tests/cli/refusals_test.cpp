/// One table of bad requests, here and on a server: both say the same word about the same field.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "cli/local_backend.h"
#include "client/interlacer_client.h"
#include "client/remote_backend.h"
#include "model/predictor.h"
#include "tests/deploy/running_server.h"

namespace interlacer::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Request {
  SceneInput scene;
  ActionSequence actions;
  OutputOptions output;
};

struct BadRequest {
  const char* name;
  std::function<void(Request*)> spoil;
};

RgbdView& Newest(Request* r) { return r->scene.observations.back().views[0]; }

Camera& FreeCamera(Request* r) {
  RenderTarget target;
  target.name = "free";
  target.camera = Newest(r).camera;
  r->output.render_targets.push_back(target);
  return *r->output.render_targets.back().camera;
}

const BadRequest kBadRequests[] = {
    {"no observations", [](Request* r) { r->scene.observations.clear(); }},
    {"one observation", [](Request* r) { r->scene.observations.pop_back(); }},
    {"unknown camera", [](Request* r) { Newest(r).camera_name = "top"; }},
    {"camera twice",
     [](Request* r) { Newest(r).camera_name = r->scene.observations.back().views[1].camera_name; }},
    {"camera missing", [](Request* r) { r->scene.observations[0].views.pop_back(); }},
    {"times backward",
     [](Request* r) { std::swap(r->scene.observations[0], r->scene.observations[1]); }},
    {"focal length", [](Request* r) { Newest(r).camera.fx_px = -1; }},
    {"focal length NaN", [](Request* r) { Newest(r).camera.fy_px = kNan; }},
    {"quaternion", [](Request* r) { Newest(r).camera.world_from_camera.rotation_xyzw = {}; }},
    {"translation", [](Request* r) { Newest(r).camera.world_from_camera.translation_m[1] = kNan; }},
    {"far away", [](Request* r) { Newest(r).camera.world_from_camera.translation_m[1] = 1e6; }},
    {"near beyond far", [](Request* r) { r->scene.near_m = 3, r->scene.far_m = 2; }},
    {"far NaN", [](Request* r) { r->scene.far_m = kNan; }},
    {"far 1 km", [](Request* r) { r->scene.far_m = 1000; }},
    {"workspace inside out",
     [](Request* r) {
       r->scene.workspace = Box{{1, 0, 0}, {0, 1, 1}};
     }},
    {"workspace of 500 m",
     [](Request* r) {
       r->scene.workspace = Box{{0, 0, 0}, {500, 1, 1}};
     }},
    {"workspace NaN",
     [](Request* r) {
       r->scene.workspace = Box{{0, kNan, 0}, {1, 1, 1}};
     }},
    {"measured joint NaN", [](Request* r) { r->scene.history_actions.values[0] = std::nanf(""); }},
    {"measured joint far out", [](Request* r) { r->scene.history_actions.values[0] = 50; }},
    {"measured rows", [](Request* r) { r->scene.history_actions = {}; }},
    {"planned joint NaN", [](Request* r) { r->actions.values[0] = std::nanf(""); }},
    {"planned joint in degrees", [](Request* r) { r->actions.values[0] = 90; }},
    {"planned joint beyond its speed", [](Request* r) { r->actions.values[0] += 1.25f; }},
    {"columns",
     [](Request* r) {
       --r->actions.column_count;
       r->actions.values.resize(r->actions.values.size() - 1);
     }},
    {"steps descend",
     [](Request* r) {
       r->output.steps = {1, 0};
     }},
    {"step beyond the plan", [](Request* r) { r->output.steps = {9}; }},
    {"free camera's focal length", [](Request* r) { FreeCamera(r).fx_px = 1e-300; }},
    {"free camera far away",
     [](Request* r) { FreeCamera(r).world_from_camera.translation_m[0] = 1e300; }},
    {"free camera's quaternion",
     [](Request* r) {
       FreeCamera(r).world_from_camera.rotation_xyzw = {2, 0, 0, 0};
     }},
    {"no depth",
     [](Request* r) {
       for (auto& view : r->scene.observations.back().views) {
         for (float& depth_m : view.depth.pixels_m) depth_m = 0;
       }
     }},
    {"millimetres",
     [](Request* r) {
       for (auto& observation : r->scene.observations) {
         for (auto& view : observation.views) {
           for (float& depth_m : view.depth.pixels_m) depth_m *= 1000;
         }
       }
     }},
};

TEST(Refusals, AreTheSameHereAndOnAServer) {
  const std::string checkpoint = INTERLACER_SOURCE_DIR "/checkpoints/small";
  RunningServer server;
  ASSERT_TRUE(server.WaitUntilReady());
  CallOptions call;
  call.deadline_s = 100;
  const auto remote = *RemoteBackend::Connect(server.Connect(), call);
  LocalBackend local(*Predictor::Load(checkpoint, {.device = DeviceRequest::kCpu}));
  const auto on_step = [](const PredictedStep&) { return Status::Ok(); };
  const ModelMetadata& model = remote->metadata();
  const auto both = [&](const Request& r) {
    return std::pair{local.Predict(r.scene, r.actions, r.output, on_step, {}).status(),
                     remote->Predict(r.scene, r.actions, r.output, on_step, {}).status()};
  };
  Request good{TableScene(model), RestingRobot(model, 1), {}};
  good.output.include_positions = true;
  const auto [here_good, there_good] = both(good);
  ASSERT_TRUE(here_good.ok() && there_good.ok()) << here_good.ToString() << there_good.ToString();
  for (const BadRequest& bad : kBadRequests) {
    Request request = good;
    bad.spoil(&request);
    const auto [here, there] = both(request);
    EXPECT_FALSE(there.ok()) << bad.name;
    EXPECT_EQ(here.reason(), there.reason()) << bad.name << ": " << here.message();
    EXPECT_EQ(here.field(), there.field()) << bad.name << ": " << here.message();
  }
}

}  // namespace
}  // namespace interlacer::testing
