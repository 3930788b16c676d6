/// PredictRollout over a real socket with a fake model: order of messages, contents, options.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "common/image_codec.h"
#include "tests/server/scene_client.h"

namespace interlacer::testing {
namespace {

constexpr int kParticles = 2 * kViewWidthPx * kViewHeightPx;

std::vector<float> Floats(const std::string& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

class PredictRolloutTest : public ::testing::Test {
 protected:
  std::vector<v1::PredictRolloutResponse> Predict(const v1::PredictRolloutRequest& request) {
    const auto stream = testing::Predict(&fixture_, request);
    EXPECT_TRUE(stream.status.ok()) << stream.status.error_message();
    return stream.messages;
  }

  ServingInProcessServer fixture_;
};

TEST_F(PredictRolloutTest, SendsEveryStepInOrderAndASummaryLast) {
  const auto messages = Predict(MakeRolloutRequest(6));
  ASSERT_EQ(messages.size(), 6u);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(messages[i].request_id(), "test-1");
    EXPECT_EQ(messages[i].step().step(), i + 1);
    EXPECT_EQ(messages[i].step().predict_time().seconds(), 100 + (i + 2) / 2);
    EXPECT_EQ(messages[i].step().predict_time().nanos(), i % 2 == 0 ? 0 : 500'000'000);
    EXPECT_EQ(messages[i].has_summary(), i == 5);
  }
  const v1::CallSummary& summary = messages.back().summary();
  EXPECT_EQ(summary.model_name(), "fake");
  EXPECT_EQ(summary.computed_step_count(), 6);
  EXPECT_EQ(summary.selected_particle_count(), kParticles);
  EXPECT_EQ(summary.scene_report().cameras_size(), 2);
  ASSERT_EQ(summary.findings_size(), 1);
  EXPECT_EQ(summary.findings(0).reason(), "ROLLOUT_BEYOND_TRAINING");
}

TEST_F(PredictRolloutTest, ParticlesFollowTheAction) {
  auto request = MakeRolloutRequest(3);
  for (const int step : {0, 1, 3}) request.mutable_output()->add_steps(step);
  const auto messages = Predict(request);
  ASSERT_EQ(messages.size(), 3u);
  const auto start = Floats(messages[0].step().particles().positions());
  ASSERT_EQ(start.size(), 3u * kParticles);
  for (const auto& [message, moved_m] :
       {std::pair{messages[1], 0.1f}, std::pair{messages[2], 0.3f}}) {
    const auto now = Floats(message.step().particles().positions());
    for (int i = 0; i < kParticles; ++i) {
      ASSERT_NEAR(now[3 * i], start[3 * i] + moved_m, 1e-5) << "particle " << i;
      ASSERT_EQ(now[3 * i + 2], start[3 * i + 2] + 0.0f);
    }
  }
}

TEST_F(PredictRolloutTest, StepOneLeavesBeforeStepTwoIsComputed) {
  fixture_.controls->gate.Close();
  Call call(&fixture_, MakeRolloutRequest(2));
  fixture_.controls->gate.Allow(2);  // the lift and one step
  ASSERT_TRUE(call.Read());
  EXPECT_EQ(call.message.step().step(), 1);
  EXPECT_EQ(fixture_.controls->step_count, 1);
  fixture_.controls->gate.Open();
  ASSERT_TRUE(call.Read());
  EXPECT_EQ(call.message.step().step(), 2);
  EXPECT_TRUE(call.reader->Finish().ok());
}

TEST_F(PredictRolloutTest, NothingHeavyIsSentUnasked) {
  auto request = MakeRolloutRequest(1);
  request.clear_output();
  const auto messages = Predict(request);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_FALSE(messages[0].step().has_particles());
  EXPECT_EQ(messages[0].step().images_size(), 0);
}

TEST_F(PredictRolloutTest, ReadsParticlesOnlyWhereTheyAreAskedFor) {
  auto request = MakeRolloutRequest(2);
  const int reads_before = fixture_.controls->read_count;
  request.clear_output();
  AddView(request.mutable_output(), "view", "left");
  const auto messages = Predict(request);
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[1].step().images_size(), 1);
  EXPECT_EQ(messages[1].summary().selected_particle_count(), kParticles);
  EXPECT_EQ(fixture_.controls->read_count, reads_before);
}

TEST_F(PredictRolloutTest, RegionAndStrideChooseTheSameParticlesInEveryStep) {
  auto request = MakeRolloutRequest(2);
  request.mutable_output()->set_include_colors(true);
  auto* selection = request.mutable_output()->mutable_particle_selection();
  selection->set_stride(3);
  for (auto* corner : {selection->mutable_initial_region()->mutable_min_m(),
                       selection->mutable_initial_region()->mutable_max_m()}) {
    const double sign = corner == selection->mutable_initial_region()->mutable_min_m() ? -1 : 1;
    corner->set_x(sign > 0 ? 0 : -5);
    corner->set_y(sign * 5);
    corner->set_z(sign * 5);
  }
  const auto messages = Predict(request);
  ASSERT_EQ(messages.size(), 2u);
  const auto& first = messages[0].step().particles();
  // Half of the pixels of both cameras lie left of the optical axis.
  EXPECT_EQ(first.particle_count(), kParticles / 2 / 3);
  EXPECT_EQ(first.indices_u32le().size(), 4u * first.particle_count());
  EXPECT_EQ(first.colors_rgb8().size(), 3u * first.particle_count());
  EXPECT_TRUE(messages[1].step().particles().indices_u32le().empty());
  EXPECT_EQ(messages[1].step().particles().colors_rgb8(), first.colors_rgb8());
}

TEST_F(PredictRolloutTest, SpreadsAreThoseOfTheChosenParticles) {
  auto request = MakeRolloutRequest(2);
  EXPECT_TRUE(Predict(request)[0].step().particles().spread_f32le().empty());
  request.mutable_output()->set_include_positions(false);
  request.mutable_output()->set_include_spread(true);
  request.mutable_output()->mutable_particle_selection()->set_stride(2);
  const auto messages = Predict(request);
  ASSERT_EQ(messages.size(), 2u);
  const std::vector<float> spreads_m = Floats(messages[1].step().particles().spread_f32le());
  ASSERT_EQ(spreads_m.size(), static_cast<std::size_t>(kParticles / 2));
  for (std::size_t i = 0; i < spreads_m.size(); ++i) {
    EXPECT_EQ(spreads_m[i], FakeSpread(2, static_cast<std::int64_t>(2 * i)));
  }
}

TEST_F(PredictRolloutTest, QuantizedPositionsStayWithinHalfAStep) {
  auto request = MakeRolloutRequest(1);
  const auto exact = Floats(Predict(request)[0].step().particles().positions());
  request.mutable_output()->set_position_encoding(v1::POSITION_ENCODING_WORKSPACE_U16);
  const std::string bytes = Predict(request)[0].step().particles().positions();
  ASSERT_EQ(bytes.size(), exact.size() * 2);
  const double quantum_m = 10.0 / 65535;  // the fake's workspace is 10 m wide
  for (std::size_t i = 0; i < exact.size(); ++i) {
    std::uint16_t q = 0;
    std::memcpy(&q, bytes.data() + 2 * i, 2);
    ASSERT_NEAR(-5 + q * quantum_m, exact[i], 0.51 * quantum_m);
  }
}

TEST_F(PredictRolloutTest, ViewsAreOfObservedPixelsUnlessTheFieldIsAskedFor) {
  auto request = MakeRolloutRequest(1);
  AddView(request.mutable_output(), "view", "left");
  std::vector<std::string> pictures;
  for (const auto mode :
       {v1::RENDER_MODE_UNSPECIFIED, v1::RENDER_MODE_OBSERVED, v1::RENDER_MODE_FIELD}) {
    request.mutable_output()->set_render_mode(mode);
    const auto messages = Predict(request);
    ASSERT_EQ(messages.size(), 1u);
    pictures.push_back(messages[0].step().images(0).image().data());
  }
  EXPECT_EQ(pictures[0], pictures[1]);
  EXPECT_NE(pictures[1], pictures[2]);
  // The views are small: a tile each, unless the machine stops for long.
  EXPECT_GE(fixture_.controls->observed_tile_count, 2);
  EXPECT_GE(fixture_.controls->field_tile_count, 1);
  EXPECT_EQ(fixture_.controls->carry_count, 2);
}

/// Measured joints lie a little past their limits: joint 2 goes from -3 to 3 rad.
TEST_F(PredictRolloutTest, JointsPastTheirLimitsByTwoPercentAreTaken) {
  auto request = MakeRolloutRequest(1);
  auto* history = request.mutable_source()->mutable_scene_input()->mutable_history_actions();
  history->mutable_joint_positions()->set_values_f32le(
      BytesOf(std::vector<float>{0, 3.11f, -0.0007f, 0, -3.11f, 0.0407f}));
  EXPECT_EQ(Predict(request).size(), 1u);
}

TEST_F(PredictRolloutTest, RendersColourAndDepthInTheContainersAskedFor) {
  auto request = MakeRolloutRequest(1);
  request.mutable_output()->set_render_mode(v1::RENDER_MODE_FIELD);
  request.mutable_output()->set_include_positions(false);
  for (const auto compression :
       {v1::IMAGE_COMPRESSION_NONE, v1::IMAGE_COMPRESSION_PNG, v1::IMAGE_COMPRESSION_JPEG}) {
    AddView(request.mutable_output(), "view" + std::to_string(compression), "left")
        ->set_compression(compression);
  }
  auto* depth = request.mutable_output()->add_render_targets();
  depth->set_target_name("depth");
  depth->set_encoding(v1::PIXEL_ENCODING_DEPTH_F32);
  *depth->mutable_camera() = MakeView("left", 0).calibration();
  depth->mutable_camera()->set_height_px(40);  // several tiles of rows

  const auto messages = Predict(request);
  ASSERT_EQ(messages.size(), 1u);
  const auto& images = messages[0].step().images();
  ASSERT_EQ(images.size(), 4);
  Camera camera;
  camera.width_px = kViewWidthPx;
  camera.height_px = kViewHeightPx;
  const RgbImage color = QuantizeRgb(FakeColors(camera, 1, 0, kViewHeightPx));
  const auto bytes = [&](int i) {
    return std::vector<std::uint8_t>(images[i].image().data().begin(),
                                     images[i].image().data().end());
  };
  EXPECT_EQ(bytes(0), color.pixels);
  const auto decoded = Must(DecodeRgb(bytes(1)));
  EXPECT_EQ(decoded.width_px, kViewWidthPx);
  EXPECT_EQ(decoded.pixels, color.pixels);
  EXPECT_EQ(bytes(2), EncodeJpeg(color, 90));
  EXPECT_EQ(images[3].target_name(), "depth");
  camera.height_px = 40;
  EXPECT_EQ(Floats(images[3].image().data()), FakeDepth(camera, 1, 0, 40).pixels_m);
}

TEST_F(PredictRolloutTest, ColourAndDepthOfOneCameraAreRenderedOnce) {
  auto request = MakeRolloutRequest(1);
  auto* color = AddView(request.mutable_output(), "color", "left");
  auto* depth = request.mutable_output()->add_render_targets();
  *depth = *color;
  depth->set_target_name("depth");
  depth->set_encoding(v1::PIXEL_ENCODING_DEPTH_F32);
  const auto messages = Predict(request);
  ASSERT_EQ(messages.size(), 1u);
  ASSERT_EQ(messages[0].step().images_size(), 2);
  EXPECT_EQ(Floats(messages[0].step().images(1).image().data()).front(), 1.5f);
  EXPECT_THAT(fixture_.server->metrics().Text(),
              ::testing::HasSubstr("interlacer_rendered_pixels_total{model=\"fake\"} " +
                                   std::to_string(kViewWidthPx * kViewHeightPx)));
}

/// Of a call whose time goes into encoding: a stage counted twice would exceed the time that
/// passed.
TEST_F(PredictRolloutTest, StagesTakeNoLongerTogetherThanTheCall) {
  auto request = MakeRolloutRequest(1);
  request.clear_output();
  for (int i = 0; i < 4; ++i) {
    v1::RenderTarget* target = request.mutable_output()->add_render_targets();
    target->set_target_name("view" + std::to_string(i));
    target->set_compression(v1::IMAGE_COMPRESSION_PNG);
    *target->mutable_camera() = MakeView("left", 0).calibration();
    target->mutable_camera()->set_width_px(512);
    target->mutable_camera()->set_height_px(512);
  }
  const auto start = std::chrono::steady_clock::now();
  const auto messages = Predict(request);
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  ASSERT_EQ(messages.size(), 1u);
  const v1::StageDurations& stages = messages[0].summary().durations();
  const auto seconds = [](const google::protobuf::Duration& duration) {
    return static_cast<double>(duration.seconds()) + 1e-9 * duration.nanos();
  };
  double sum_s = 0;
  for (const auto* stage : {&stages.queue(), &stages.decode(), &stages.lift(), &stages.dynamics(),
                            &stages.render(), &stages.encode(), &stages.blocked()}) {
    sum_s += seconds(*stage);
  }
  EXPECT_GT(seconds(stages.encode()), 0);
  EXPECT_LE(sum_s, passed.count());
}

TEST_F(PredictRolloutTest, EqualRequestsGiveEqualBytes) {
  auto request = MakeRolloutRequest(2);
  request.mutable_output()->set_include_colors(true);
  const auto a = Predict(request);
  const auto b = Predict(request);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].step().SerializeAsString(), b[i].step().SerializeAsString());
  }
}

/// Frames are decoded into memory that other frames used before.
TEST_F(PredictRolloutTest, WhatCameBeforeLeavesNothingInTheFrames) {
  v1::PredictRolloutRequest request = MakeRolloutRequest(1);
  request.mutable_output()->set_include_positions(true);
  const std::string before = Predict(request)[0].step().SerializeAsString();

  v1::PredictRolloutRequest other = request;
  v1::SceneInput* scene = other.mutable_source()->mutable_scene_input();
  scene->set_near_m(0.2);
  scene->set_far_m(3);
  for (v1::Observation& observation : *scene->mutable_observations()) {
    for (v1::RgbdView& view : *observation.mutable_views()) {
      for (v1::Image* image : {view.mutable_color(), view.mutable_depth()}) {
        image->set_height_px(kViewHeightPx + 2);
        image->mutable_data()->append(image->data().substr(0, image->data().size() / 6));
      }
      view.mutable_calibration()->set_height_px(kViewHeightPx + 2);
    }
  }
  EXPECT_EQ(Predict(other)[0].step().particles().particle_count(),
            2 * kViewWidthPx * (kViewHeightPx + 2));
  EXPECT_EQ(Predict(request)[0].step().SerializeAsString(), before);
}

TEST_F(PredictRolloutTest, PaddedRowsGiveTheParticlesOfPackedOnes) {
  v1::PredictRolloutRequest request = MakeRolloutRequest(1);
  request.mutable_output()->set_include_positions(true);
  request.mutable_output()->set_include_colors(true);
  const std::string packed = Predict(request)[0].step().SerializeAsString();
  for (auto& observation :
       *request.mutable_source()->mutable_scene_input()->mutable_observations()) {
    for (v1::RgbdView& view : *observation.mutable_views()) {
      for (v1::Image* image : {view.mutable_color(), view.mutable_depth()}) {
        const std::size_t row_bytes = image->data().size() / kViewHeightPx;
        std::string padded;
        for (int row = 0; row < kViewHeightPx; ++row) {
          padded += image->data().substr(row * row_bytes, row_bytes) + "pad";
        }
        image->set_data(padded);
        image->set_row_stride_bytes(static_cast<int>(row_bytes + 3));
      }
    }
  }
  EXPECT_EQ(Predict(request)[0].step().SerializeAsString(), packed);
}

TEST_F(PredictRolloutTest, ASceneWithoutARobotNeedsNoActions) {
  auto request = MakeRolloutRequest(1);
  request.clear_actions();
  request.mutable_source()->mutable_scene_input()->clear_history_actions();
  request.mutable_output()->add_steps(0);
  request.mutable_output()->add_steps(2);
  const auto messages = Predict(request);
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[1].summary().computed_step_count(), 2);
}

/// Later versions may add fields; what they say is not for this one.
// fm-40
TEST_F(PredictRolloutTest, UnknownFieldsAreIgnored) {
  auto request = MakeRolloutRequest(2);
  const auto steps = [&] {
    std::string bytes;
    for (const auto& message : Predict(request)) {
      if (message.has_step()) bytes += message.step().SerializeAsString();
    }
    return bytes;
  };
  const std::string expected = steps();
  ASSERT_FALSE(expected.empty());
  const auto add_unknown = [](google::protobuf::Message* message) {
    auto* fields = message->GetReflection()->MutableUnknownFields(message);
    fields->AddVarint(1000, 7);
    *fields->AddLengthDelimited(1001) = "of a later version";
  };
  auto* input = request.mutable_source()->mutable_scene_input();
  for (google::protobuf::Message* message : std::initializer_list<google::protobuf::Message*>{
           &request, input, input->mutable_observations(0)->mutable_views(0),
           input->mutable_observations(0)->mutable_views(0)->mutable_color(),
           request.mutable_output()}) {
    add_unknown(message);
  }
  EXPECT_EQ(steps(), expected);
}

// fm-10
TEST_F(PredictRolloutTest, BgrAndRgbDeclaredRightGiveEqualParticles) {
  auto request = MakeRolloutRequest(1);
  request.mutable_output()->set_include_colors(true);
  const auto rgb = Predict(request);
  for (auto& observation :
       *request.mutable_source()->mutable_scene_input()->mutable_observations()) {
    for (auto& view : *observation.mutable_views()) {
      view.mutable_color()->set_encoding(v1::PIXEL_ENCODING_BGR8);
      std::string& data = *view.mutable_color()->mutable_data();
      for (std::size_t i = 0; i + 2 < data.size(); i += 3) std::swap(data[i], data[i + 2]);
    }
  }
  const auto bgr = Predict(request);
  EXPECT_EQ(rgb[0].step().SerializeAsString(), bgr[0].step().SerializeAsString());
}

TEST_F(PredictRolloutTest, FindingsOfTheEngineGetAPathFromTheRequest) {
  auto request = MakeRolloutRequest(1);
  Widen(request.mutable_source()->mutable_scene_input()->mutable_observations(1)->mutable_views(1),
        2);
  const auto messages = Predict(request);
  ASSERT_EQ(messages.size(), 1u);
  const auto& findings = messages[0].summary().scene_report().findings();
  ASSERT_EQ(findings.size(), 1);
  EXPECT_EQ(findings[0].reason(), "IMAGE_RESAMPLED");
  EXPECT_EQ(findings[0].field(), "source.scene_input.observations[1]");
}

/// The engine counts views in the order of the model's cameras.
TEST_F(PredictRolloutTest, FindingsAndErrorsNameViewsAsTheRequestOrdersThem) {
  auto request = MakeRolloutRequest(1);
  auto* scene = request.mutable_source()->mutable_scene_input();
  scene->mutable_observations(1)->mutable_views()->SwapElements(0, 1);
  fixture_.controls->lift_findings = {{"LOW_VALID_DEPTH", "", "observations[1].views[0].depth"},
                                      {"OTHER", "", "observations[0].views[0].depth"}};
  const auto messages = Predict(request);
  ASSERT_EQ(messages.size(), 1u);
  const auto& findings = messages[0].summary().scene_report().findings();
  ASSERT_EQ(findings.size(), 2);
  EXPECT_EQ(findings[0].field(), "source.scene_input.observations[1].views[1].depth");
  EXPECT_EQ(findings[1].field(), "source.scene_input.observations[0].views[0].depth");

  fixture_.controls->lift_status = InvalidArgument(reason::DEPTH_IMPLAUSIBLE, "too far")
                                       .WithField("observations[1].views[1].depth");
  Call call(&fixture_, request);
  EXPECT_FALSE(call.Read());
  EXPECT_EQ(ReadDetails(call.reader->Finish()).field(),
            "source.scene_input.observations[1].views[0].depth");
}

struct SkewCase {
  const char* name;
  double limit_s;
  bool is_high;
};

class CameraSkewTest : public ::testing::TestWithParam<SkewCase> {};

/// Depth 30 ms after the exposures; the engine sees neither it nor the limit, and says nonsense.
TEST_P(CameraSkewTest, IsMeasuredByTheLimitOfTheServerWithTheDepth) {
  ServingInProcessServer fixture(TestServerOptions({.max_camera_skew_s = GetParam().limit_s}));
  fixture.controls->lift_findings = {{"CAMERA_SKEW_HIGH", "", "observations[1].views"}};
  auto request = MakeSceneRequest<v1::ValidateSceneRequest>();
  auto* view = request.mutable_scene_input()->mutable_observations(0)->mutable_views(1);
  *view->mutable_depth_capture_time() = view->capture_time();
  view->mutable_depth_capture_time()->set_nanos(view->capture_time().nanos() + 30'000'000);
  grpc::ClientContext context;
  v1::ValidateSceneResponse response;
  ASSERT_TRUE(fixture.stub->ValidateScene(&context, request, &response).ok());
  EXPECT_NEAR(response.report().camera_skew_s(), 0.03, 1e-9);
  ASSERT_EQ(response.report().findings_size(), GetParam().is_high ? 1 : 0);
  if (!GetParam().is_high) return;
  EXPECT_EQ(response.report().findings(0).field(), "scene_input.observations[0].views");
  EXPECT_NE(response.report().findings(0).message().find("30.0 ms"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Limits, CameraSkewTest,
                         ::testing::Values(SkewCase{"Narrow", 0.05, true},
                                           SkewCase{"Wide", 1, false}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace interlacer::testing
