/// The same messages as the Python client (tests/python/test_golden_wire.py), byte for byte, from
/// the same numbers.

#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "client/convert/requests.h"
#include "client/convert/responses.h"
#include "common/file_io.h"
#include "common/json.h"
#include "tests/support/must.h"

namespace interlacer {
namespace {

constexpr int kWidthPx = 4, kHeightPx = 3;

std::string GoldenPath(const std::string& name) {
  return std::string(INTERLACER_SOURCE_DIR) + "/tests/golden/wire/" + name;
}

template <typename Message>
Message ReadGolden(const std::string& name) {
  Message message;
  EXPECT_TRUE(
      google::protobuf::TextFormat::ParseFromString(*ReadTextFile(GoldenPath(name)), &message))
      << name;
  return message;
}

void ExpectEqualMessages(const google::protobuf::Message& got,
                         const google::protobuf::Message& expected) {
  google::protobuf::util::MessageDifferencer differencer;
  std::string difference;
  differencer.ReportDifferencesToString(&difference);
  EXPECT_TRUE(differencer.Compare(expected, got)) << difference;
  EXPECT_EQ(got.SerializeAsString(), expected.SerializeAsString());
}

Camera GoldenCamera(int index) {
  Camera camera;
  camera.width_px = kWidthPx;
  camera.height_px = kHeightPx;
  camera.fx_px = 2.5;
  camera.fy_px = 2.75;
  camera.cx_px = 1.5;
  camera.cy_px = 1;
  camera.world_from_camera = {{0.125 + index, -0.25, 1.25}, {1, 0, 0, 0}};
  if (index > 0) {
    camera.distortion_model = DistortionModel::kPlumbBob;
    camera.distortion_coefficients = {0.1, -0.2, 0.001, 0.002, 0.05};
  }
  return camera;
}

RgbdView GoldenView(int index, int time) {
  RgbdView view;
  view.camera_name = index == 0 ? "left" : "right";
  view.camera = GoldenCamera(index);
  view.color = {kWidthPx, kHeightPx, {}};
  for (int i = 0; i < 3 * kWidthPx * kHeightPx; ++i) {
    view.color.pixels.push_back(static_cast<std::uint8_t>(7 * i + 31 * index + 101 * time));
  }
  view.depth = {kWidthPx, kHeightPx, {}};
  for (int i = 0; i < kWidthPx * kHeightPx; ++i) {
    view.depth.pixels_m.push_back(
        i == 0 ? 0 : 0.5f + 0.25f * static_cast<float>(i) + static_cast<float>(index + time));
  }
  view.capture_time_ns = 1'000'000'000 + 500'000'000 * std::int64_t{time};
  return view;
}

SceneInput GoldenScene() {
  SceneInput input;
  for (int time = 0; time < 2; ++time) {
    input.observations.push_back({{GoldenView(0, time), GoldenView(1, time)}});
  }
  input.history_actions = {
      ActionKind::kJointPositions, 2, 3, {0, -0.25f, 0.03125f, 0.5f, -0.25f, 0.03125f}};
  input.seed = 42;
  input.workspace = Box{{-1, -2, -0.5}, {1, 2, 3.5}};
  input.near_m = 0.25;
  input.far_m = 4;
  return input;
}

OutputOptions GoldenOutput() {
  OutputOptions output;
  output.steps = {0, 2};
  output.include_positions = output.include_colors = output.include_spread = true;
  output.position_encoding = PositionEncoding::kWorkspaceU16;
  output.initial_region = Box{{-0.5, -0.5, 0}, {0.5, 0.5, 1}};
  output.stride = 2;
  output.render_mode = RenderMode::kField;
  RenderTarget left;
  left.name = left.scene_camera_name = "left";
  RenderTarget free;
  free.name = "free";
  free.camera = GoldenCamera(0);
  free.encoding = ViewEncoding::kDepthF32;
  output.render_targets = {left, free};
  return output;
}

TEST(GoldenWire, ARequestIsThatOfTheOtherClient) {
  const auto expected = ReadGolden<v1::PredictRolloutRequest>("predict_rollout_request.txtpb");
  v1::SceneInput scene;
  ASSERT_TRUE(ToProto(GoldenScene(), {}, &scene).ok());
  ExpectEqualMessages(scene, expected.source().scene_input());
  v1::ActionSequence actions;
  ASSERT_TRUE(
      ToProto({ActionKind::kJointPositions, 2, 3, {0.5f, -0.25f, 0, 1, -0.5f, 0.03125f}}, &actions)
          .ok());
  ExpectEqualMessages(actions, expected.actions());
  v1::OutputOptions output;
  ToProto(GoldenOutput(), &output);
  ExpectEqualMessages(output, expected.output());
}

TEST(GoldenWire, CostsAreInSeconds) {
  const auto metadata =
      Must(FromProto(ReadGolden<v1::GetModelMetadataResponse>("model_metadata.txtpb")));
  EXPECT_EQ(metadata.step_cost_s, 0.125);
  EXPECT_EQ(metadata.render_cost_s, 2);
  EXPECT_EQ(metadata.ingest_cost_s, 0.25);
  EXPECT_EQ(metadata.carry_cost_s, 0.0625);
  EXPECT_EQ(metadata.longest_unit_s, 1.5);
}

TEST(GoldenWire, AnAnswerSaysTheSameToBoth) {
  const auto metadata =
      Must(FromProto(ReadGolden<v1::GetModelMetadataResponse>("model_metadata.txtpb")));
  const auto response = ReadGolden<v1::PredictRolloutResponse>("predict_rollout_response.txtpb");
  const nlohmann::json expected = *ReadJsonFile(GoldenPath("predicted_step.json"));
  const auto step = FromProto(response.step(), metadata.workspace);
  ASSERT_TRUE(step.ok()) << step.status().ToString();
  EXPECT_EQ(step->step, expected["step"]);
  EXPECT_EQ(step->predict_time_ns, expected["predict_time_ns"]);
  ASSERT_EQ(step->positions_m.size(), 9u);
  for (std::size_t i = 0; i < 9; ++i) {
    EXPECT_NEAR(step->positions_m[i], expected["positions_m"][i / 3][i % 3].get<double>(), 1e-6);
    EXPECT_EQ(step->colors_rgb8[i], expected["colors"][i / 3][i % 3]);
  }
  EXPECT_EQ(nlohmann::json(step->indices), expected["indices"]);
  EXPECT_EQ(nlohmann::json(step->spread_m), expected["spread_m"]);
  ASSERT_EQ(step->views.size(), 2u);
  ASSERT_EQ(step->views[0].color.pixels.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(step->views[0].color.pixels[i], expected["left"][0][i / 3][i % 3]);
  }
  EXPECT_EQ(nlohmann::json(step->views[1].depth.pixels_m), expected["free_m"][0]);
  EXPECT_EQ(FromProto(response.summary()).computed_step_count, expected["computed_step_count"]);
}

}  // namespace
}  // namespace interlacer
