#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "client/convert/geometry.h"
#include "client/convert/requests.h"
#include "client/convert/responses.h"
#include "common/image_codec.h"
#include "tests/support/matchers.h"
#include "tests/support/must.h"

namespace interlacer {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

RgbImage PatternImage(int width_px, int height_px) {
  RgbImage image{width_px, height_px, {}};
  for (int i = 0; i < width_px * height_px * 3; ++i) {
    image.pixels.push_back(static_cast<std::uint8_t>(i * 37 + i / 5));
  }
  return image;
}

std::span<const std::uint8_t> Bytes(const std::string& data) {
  return {reinterpret_cast<const std::uint8_t*>(data.data()), data.size()};
}

TEST(ColorPacking, RawAndPngKeepEveryPixel) {
  const RgbImage image = PatternImage(7, 5);
  v1::Image raw;
  ASSERT_TRUE(ColorToProto(image, {}, &raw).ok());
  EXPECT_EQ(raw.compression(), v1::IMAGE_COMPRESSION_NONE);
  EXPECT_EQ(raw.encoding(), v1::PIXEL_ENCODING_RGB8);
  EXPECT_EQ(raw.row_stride_bytes(), 0);
  EXPECT_EQ(std::vector<std::uint8_t>(raw.data().begin(), raw.data().end()), image.pixels);

  v1::Image png;
  ASSERT_TRUE(ColorToProto(image, {.color = ColorPacking::kPng}, &png).ok());
  const auto decoded = Must(DecodePngRgb(Bytes(png.data())));
  EXPECT_EQ(decoded.pixels, image.pixels);
}

TEST(ColorPacking, JpegSaysItsSizeAndRefusesOddQuality) {
  const RgbImage image = PatternImage(16, 8);
  v1::Image jpeg;
  ASSERT_TRUE(ColorToProto(image, {.color = ColorPacking::kJpeg}, &jpeg).ok());
  EXPECT_EQ(jpeg.compression(), v1::IMAGE_COMPRESSION_JPEG);
  EXPECT_EQ(ReadJpegSize(Bytes(jpeg.data()))->width_px, 16);
  const Status refused =
      ColorToProto(image, {.color = ColorPacking::kJpeg, .jpeg_quality = 101}, &jpeg);
  EXPECT_EQ(refused.reason(), reason::ARGUMENT_INVALID);
}

TEST(ColorPacking, JpegHasSidesOfWhatTheFormatTakes) {
  v1::Image out;
  const ImagePacking packing{.color = ColorPacking::kJpeg};
  EXPECT_TRUE(ColorToProto(PatternImage(kMaxJpegSidePx, 1), packing, &out).ok());
  for (const RgbImage& image :
       {PatternImage(kMaxJpegSidePx + 1, 1), PatternImage(1, kMaxJpegSidePx + 1)}) {
    const Status status = ColorToProto(image, packing, &out);
    EXPECT_EQ(status.reason(), reason::LIMIT_IMAGE_SIDE);
    EXPECT_EQ(status.metadata().at("limit"), std::to_string(kMaxJpegSidePx));
    EXPECT_TRUE(ColorToProto(image, {.color = ColorPacking::kPng}, &out).ok());
  }
}

TEST(ColorPacking, RefusesPixelsThatDoNotFitTheSize) {
  RgbImage image = PatternImage(4, 4);
  image.pixels.pop_back();
  v1::Image out;
  const Status status = ColorToProto(image, {}, &out);
  EXPECT_EQ(status.reason(), reason::IMAGE_DATA_LENGTH);
  EXPECT_EQ(status.metadata().at("got"), "47");
}

TEST(DepthPacking, FloatsTravelBitForBit) {
  const DepthImage image{2, 2, {0.731f, kNan, -1.f, 1e-20f}};
  v1::Image out;
  ASSERT_TRUE(DepthToProto(image, {}, &out).ok());
  EXPECT_EQ(out.encoding(), v1::PIXEL_ENCODING_DEPTH_F32);
  EXPECT_EQ(out.depth_unit_m(), 0);
  ASSERT_EQ(out.data().size(), 16u);
  EXPECT_EQ(std::memcmp(out.data().data(), image.pixels_m.data(), 16), 0);
}

TEST(DepthPacking, PngInTheSourceUnitIsExact) {
  constexpr double kUnitM = 0.0001;
  DepthImage16 source{5, 1, kUnitM, {0, 1, 12345, 65535, 9}};
  const DepthImage meters = DepthToMeters(source);
  v1::Image out;
  ASSERT_TRUE(DepthToProto(meters, {.png_depth_unit_m = kUnitM}, &out).ok());
  EXPECT_EQ(out.depth_unit_m(), kUnitM);
  const auto decoded = Must(DecodePngDepth(Bytes(out.data()), kUnitM));
  EXPECT_EQ(decoded.pixels, source.pixels);
}

TEST(DepthPacking, RefusesWhatSixteenBitsCannotHold) {
  v1::Image out;
  const Status status = DepthToProto({1, 1, {7.f}}, {.png_depth_unit_m = 0.0001}, &out);
  EXPECT_EQ(status.code(), StatusCode::kOutOfRange);
  const Status unit = DepthToProto({1, 1, {1.f}}, {.png_depth_unit_m = -1}, &out);
  EXPECT_EQ(unit.reason(), reason::ARGUMENT_INVALID);
}

TEST(SceneToProto, NamesTheViewThatIsWrong) {
  SceneInput input;
  input.observations.resize(2);
  for (Observation& observation : input.observations) {
    RgbdView view;
    view.camera_name = "left";
    view.color = PatternImage(4, 4);
    view.depth = {4, 4, std::vector<float>(16, 1.f)};
    observation.views.push_back(view);
  }
  input.observations[1].views[0].depth.pixels_m.resize(3);
  v1::SceneInput out;
  const Status status = ToProto(input, {}, &out);
  EXPECT_EQ(status.field(), "observations[1].views[0].depth.data");
}

TEST(SceneToProto, CarriesTheSceneOverrides) {
  SceneInput input;
  input.seed = 42;
  input.workspace = Box{{-1, -2, -3}, {1, 2, 3}};
  input.near_m = 0.3;
  v1::SceneInput out;
  ASSERT_TRUE(ToProto(input, {}, &out).ok());
  EXPECT_EQ(out.seed(), 42);
  EXPECT_EQ(FromProto(out.workspace()), *input.workspace);
  EXPECT_EQ(out.near_m(), 0.3);
  EXPECT_FALSE(out.has_far_m());
  EXPECT_FALSE(out.has_history_actions());
}

TEST(ActionsToProto, RowMajorBlockAndShapeCheck) {
  ActionSequence actions{ActionKind::kJointPositions, 2, 3, {1, 2, 3, 4, 5, 6}};
  v1::ActionSequence out;
  ASSERT_TRUE(ToProto(actions, &out).ok());
  ASSERT_TRUE(out.has_joint_positions());
  EXPECT_EQ(out.joint_positions().row_count(), 2);
  EXPECT_EQ(out.joint_positions().values_f32le().size(), 24u);
  actions.values.pop_back();
  EXPECT_EQ(ToProto(actions, &out).reason(), reason::ACTION_SHAPE);
}

TEST(OutputToProto, SaysWhatIsDrawnAndWhatMoves) {
  v1::OutputOptions out;
  ToProto(OutputOptions{}, &out);
  EXPECT_EQ(out.render_mode(), v1::RENDER_MODE_OBSERVED);
  EXPECT_EQ(out.motion(), v1::MOTION_SOURCE_MODEL);
  OutputOptions options;
  options.render_mode = RenderMode::kField;
  options.motion = MotionSource::kRobotOnly;
  ToProto(options, &out);
  EXPECT_EQ(out.render_mode(), v1::RENDER_MODE_FIELD);
  EXPECT_EQ(out.motion(), v1::MOTION_SOURCE_ROBOT_ONLY);
}

TEST(Times, NanosecondsSurviveTheRoundTrip) {
  google::protobuf::Timestamp time;
  for (const std::int64_t ns : {0ll, 1ll, 999'999'999ll, 1'763'726'400'123'456'789ll}) {
    TimeToProto(ns, &time);
    EXPECT_EQ(TimeFromProto(time), ns);
  }
}

TEST(Times, WhatSixtyFourBitsOfNanosecondsDoNotHoldIsNoTime) {
  constexpr std::int64_t kMaxS = std::numeric_limits<std::int64_t>::max() / 1'000'000'000;
  google::protobuf::Timestamp time;
  for (const auto& [seconds, nanos] : {std::pair<std::int64_t, int>{kMaxS + 1, 0},
                                       {-kMaxS - 1, 0},
                                       {1ll << 62, 0},
                                       {0, -1},
                                       {0, 1'000'000'000}}) {
    time.set_seconds(seconds);
    time.set_nanos(nanos);
    EXPECT_EQ(TimeFromProto(time), std::nullopt) << seconds << " s and " << nanos << " ns";
  }
  v1::PredictedStep step;
  step.mutable_predict_time()->set_seconds(1ll << 62);
  EXPECT_EQ(FromProto(step, Box{}).status().field(), "predict_time");
}

v1::PredictedStep StepWithParticles(v1::PositionEncoding encoding, const std::string& positions) {
  v1::PredictedStep step;
  step.set_step(3);
  step.mutable_particles()->set_particle_count(1);
  step.mutable_particles()->set_position_encoding(encoding);
  step.mutable_particles()->set_positions(positions);
  return step;
}

TEST(StepFromProto, SixteenBitPositionsSpanTheWorkspace) {
  const std::uint16_t q[3] = {0, 65535, 32768};
  const auto step =
      FromProto(StepWithParticles(v1::POSITION_ENCODING_WORKSPACE_U16,
                                  std::string(reinterpret_cast<const char*>(q), sizeof q)),
                Box{{-1, 0, 10}, {1, 2, 12}});
  ASSERT_TRUE(step.ok());
  EXPECT_EQ(step->step, 3);
  EXPECT_EQ(step->positions_m[0], -1.f);
  EXPECT_EQ(step->positions_m[1], 2.f);
  EXPECT_NEAR(step->positions_m[2], 11.0, 2.0 / 65535);
}

TEST(StepFromProto, RefusesBlocksOfTheWrongLength) {
  const auto step =
      FromProto(StepWithParticles(v1::POSITION_ENCODING_FLOAT32, std::string(11, 'x')), Box{});
  EXPECT_EQ(step.status().code(), StatusCode::kInternal);
  EXPECT_EQ(step.status().field(), "particles.positions");

  v1::PredictedStep view;
  v1::Image* image = view.add_images()->mutable_image();
  image->set_width_px(1 << 30);
  image->set_height_px(1 << 30);
  image->set_encoding(v1::PIXEL_ENCODING_RGB8);
  image->set_compression(v1::IMAGE_COMPRESSION_NONE);
  image->set_data("abc");
  EXPECT_EQ(FromProto(view, Box{}).status().code(), StatusCode::kInternal);
}

TEST(StepFromProto, RefusesSizesThatAreNone) {
  v1::PredictedStep step;
  step.mutable_particles()->set_particle_count(-1);
  EXPECT_EQ(FromProto(step, Box{}).status().field(), "particles.particle_count");
  step.Clear();
  v1::Image* image = step.add_images()->mutable_image();
  image->set_compression(v1::IMAGE_COMPRESSION_NONE);
  constexpr int kMax = std::numeric_limits<int>::max();
  for (const auto& [width_px, height_px] : {std::pair(-2, -2), {0, 0}, {3, 0}, {kMax, kMax}}) {
    for (const auto encoding : {v1::PIXEL_ENCODING_RGB8, v1::PIXEL_ENCODING_DEPTH_F32}) {
      image->set_encoding(encoding);
      image->set_width_px(width_px);
      image->set_height_px(height_px);
      image->set_data(
          std::string(width_px == -2 ? (encoding == v1::PIXEL_ENCODING_RGB8 ? 12 : 16) : 0, 'x'));
      EXPECT_EQ(FromProto(step, Box{}).status().code(), StatusCode::kInternal)
          << width_px << "x" << height_px;
    }
  }
}

TEST(StepFromProto, RefusesNumbersThatNoPredictionHas) {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto bytes = [](float x) { return std::string(reinterpret_cast<const char*>(&x), 4); };
  v1::PredictedStep step =
      StepWithParticles(v1::POSITION_ENCODING_FLOAT32, bytes(1) + bytes(-2) + bytes(3));
  for (const float spread_m : {kNan, infinity, -0.001f}) {
    step.mutable_particles()->set_spread_f32le(bytes(spread_m));
    EXPECT_EQ(FromProto(step, Box{}).status().field(), "particles.spread_f32le") << spread_m;
  }
  step.mutable_particles()->set_spread_f32le(bytes(0));
  EXPECT_TRUE(FromProto(step, Box{}).ok());
  step.mutable_particles()->set_positions(bytes(1) + bytes(kNan) + bytes(3));
  const Status status = FromProto(step, Box{}).status();
  EXPECT_EQ(status.field(), "particles.positions");
  EXPECT_THAT(status.message(), HasSubstr("expected finite numbers, got nan"));
}

TEST(StepFromProto, PngViewMustHaveTheStatedSize) {
  v1::PredictedStep step;
  v1::Image* image = step.add_images()->mutable_image();
  const std::vector<std::uint8_t> png = EncodePng(PatternImage(6, 4));
  image->set_encoding(v1::PIXEL_ENCODING_RGB8);
  image->set_compression(v1::IMAGE_COMPRESSION_PNG);
  image->set_data(std::string(png.begin(), png.end()));
  image->set_width_px(6);
  image->set_height_px(4);
  const auto good = Must(FromProto(step, Box{}));
  EXPECT_EQ(good.views[0].color.pixels, PatternImage(6, 4).pixels);
  image->set_width_px(8);
  EXPECT_FALSE(FromProto(step, Box{}).ok());
  // The caller's request is not to blame for it.
  image->set_data("no picture");
  EXPECT_EQ(FromProto(step, Box{}).status().reason(), reason::INTERNAL_ERROR);
}

TEST(MetadataFromProto, HasCamerasThatPicturesCanBeMadeOf) {
  v1::GetModelMetadataResponse response;
  EXPECT_EQ(FromProto(response).status().field(), "cameras");
  v1::CameraSpec* camera = response.add_cameras();
  for (const auto& [width_px, height_px] : {std::pair(0, 3), {4, -3}, {4, 1 << 30}}) {
    camera->set_width_px(width_px);
    camera->set_height_px(height_px);
    EXPECT_EQ(FromProto(response).status().field(), "cameras") << width_px << "x" << height_px;
  }
  camera->set_height_px(3);
  EXPECT_EQ(Must(FromProto(response)).cameras[0].height_px, 3);
}

/// Steps 0 and 2 of two particles, with everything, and two views of which one has a camera.
class StepReaderTest : public ::testing::Test {
 protected:
  StepReaderTest() {
    output_.steps = {0, 2};
    output_.include_positions = output_.include_colors = output_.include_spread = true;
    RenderTarget left, free;
    left.name = left.scene_camera_name = "left";
    free.name = "free";
    free.encoding = ViewEncoding::kDepthF32;
    free.camera = Camera();
    free.camera->width_px = 2;
    free.camera->height_px = 1;
    output_.render_targets = {left, free};
  }

  static v1::PredictedStep Message(int step) {
    v1::PredictedStep message;
    message.set_step(step);
    v1::ParticleCloud* cloud = message.mutable_particles();
    cloud->set_particle_count(2);
    cloud->set_position_encoding(v1::POSITION_ENCODING_FLOAT32);
    cloud->set_positions(std::string(24, '\0'));
    cloud->set_colors_rgb8(std::string(6, '\0'));
    cloud->set_spread_f32le(std::string(8, '\0'));
    for (const auto& [name, encoding, bytes] :
         {std::tuple("left", v1::PIXEL_ENCODING_RGB8, 6),
          std::tuple("free", v1::PIXEL_ENCODING_DEPTH_F32, 8)}) {
      v1::RenderedImage* view = message.add_images();
      view->set_target_name(name);
      view->mutable_image()->set_width_px(2);
      view->mutable_image()->set_height_px(1);
      view->mutable_image()->set_encoding(encoding);
      view->mutable_image()->set_compression(v1::IMAGE_COMPRESSION_NONE);
      view->mutable_image()->set_data(std::string(static_cast<std::size_t>(bytes), '\0'));
    }
    return message;
  }

  /// The field of the second step that is refused after a change, or "".
  std::string Refused(const std::function<void(v1::PredictedStep*)>& change) const {
    StepReader reader(output_.steps, output_, workspace_);
    Must(reader.Read(Message(0)));
    v1::PredictedStep message = Message(2);
    change(&message);
    return reader.Read(message).status().field();
  }

  OutputOptions output_;
  const Box workspace_{};
};

TEST_F(StepReaderTest, StepsComeInOrderAndAllOfThem) {
  StepReader reader(output_.steps, output_, workspace_);
  EXPECT_EQ(reader.Read(Message(2)).status().field(), "step");
  EXPECT_EQ(Must(reader.Read(Message(0))).positions_m.size(), 6u);
  EXPECT_EQ(reader.Read(Message(0)).status().field(), "step");
  const Status cut = reader.CheckComplete();
  EXPECT_EQ(cut.reason(), reason::INTERNAL_ERROR);
  EXPECT_THAT(cut.message(), HasSubstr("step: expected 2, got none"));
  EXPECT_EQ(Must(reader.Read(Message(2))).views.size(), 2u);
  EXPECT_TRUE(reader.CheckComplete().ok());
  EXPECT_EQ(reader.Read(Message(3)).status().field(), "step");
}

TEST_F(StepReaderTest, ParticlesAreThoseOfTheFirstStepWithWhatWasAskedFor) {
  const auto fewer = [](v1::PredictedStep* step) {
    step->mutable_particles()->set_particle_count(1);
    step->mutable_particles()->set_positions(std::string(12, '\0'));
    step->mutable_particles()->set_colors_rgb8(std::string(3, '\0'));
    step->mutable_particles()->set_spread_f32le(std::string(4, '\0'));
  };
  const auto no_positions = [](v1::PredictedStep* step) {
    step->mutable_particles()->clear_positions();
  };
  const auto no_colors = [](v1::PredictedStep* step) {
    step->mutable_particles()->clear_colors_rgb8();
  };
  EXPECT_EQ(Refused(fewer), "particles.particle_count");
  EXPECT_EQ(Refused([](auto* step) { step->clear_particles(); }), "particles.particle_count");
  EXPECT_EQ(Refused(no_positions), "particles.positions");
  EXPECT_EQ(Refused(no_colors), "particles.colors_rgb8");
  EXPECT_EQ(Refused([](auto* step) {
              step->mutable_particles()->set_spread_f32le(std::string(4, '\0'));
            }),
            "particles.spread_f32le");
  // As of a server that does not know them.
  EXPECT_EQ(Refused([](auto* step) { step->mutable_particles()->clear_spread_f32le(); }), "");
  output_.include_positions = false;
  StepReader reader(output_.steps, output_, workspace_);
  EXPECT_EQ(reader.Read(Message(0)).status().field(), "particles.positions") << "nobody asked";
}

TEST_F(StepReaderTest, ARegionWithoutParticlesIsAnAnswer) {
  StepReader reader(output_.steps, output_, workspace_);
  for (const int step : output_.steps) {
    v1::PredictedStep message = Message(step);
    message.mutable_particles()->Clear();
    EXPECT_EQ(Must(reader.Read(message)).particle_count, 0);
  }
  EXPECT_TRUE(reader.CheckComplete().ok());
}

TEST_F(StepReaderTest, ViewsAreThoseAskedForAndKeepTheirSize) {
  EXPECT_EQ(Refused([](auto* step) { step->mutable_images()->RemoveLast(); }), "images");
  EXPECT_EQ(Refused([](auto* step) { *step->add_images() = step->images(0); }), "images");
  EXPECT_EQ(Refused([](auto* step) { step->mutable_images(1)->set_target_name("left"); }),
            "images[1].target_name");
  const auto transpose = [](v1::Image* image) {
    image->set_width_px(1);
    image->set_height_px(2);
  };
  EXPECT_EQ(Refused([&](auto* step) { transpose(step->mutable_images(0)->mutable_image()); }),
            "images[0].image");
  EXPECT_EQ(Refused([](auto* step) {
              v1::Image* image = step->mutable_images(0)->mutable_image();
              image->set_encoding(v1::PIXEL_ENCODING_DEPTH_F32);
              image->set_data(std::string(8, '\0'));
            }),
            "images[0].image.encoding");
  v1::PredictedStep first = Message(0);
  transpose(first.mutable_images(1)->mutable_image());
  StepReader reader(output_.steps, output_, workspace_);
  EXPECT_EQ(reader.Read(first).status().field(), "images[1].image") << "its camera is 2x1";
}

TEST_F(StepReaderTest, FilesAreReadUpToTheSideThatWasAskedFor) {
  const int width_px = ImageLimits().max_side_px + 1;
  RenderTarget& free = output_.render_targets[1];
  free.encoding = ViewEncoding::kRgb8;
  free.compression = ViewCompression::kPng;
  const std::vector<std::uint8_t> png = EncodePng(PatternImage(width_px, 1));
  v1::PredictedStep message = Message(0);
  v1::Image* image = message.mutable_images(1)->mutable_image();
  image->set_width_px(width_px);
  image->set_encoding(v1::PIXEL_ENCODING_RGB8);
  image->set_compression(v1::IMAGE_COMPRESSION_PNG);
  image->set_data(std::string(png.begin(), png.end()));
  StepReader narrow(output_.steps, output_, workspace_);
  EXPECT_EQ(narrow.Read(message).status().field(), "image.data") << "nobody asked";
  free.camera->width_px = width_px;
  StepReader wide(output_.steps, output_, workspace_);
  EXPECT_EQ(Must(wide.Read(message)).views[1].color.width_px, width_px);
}

TEST(ServerInfoFromProto, StatesAreWords) {
  v1::GetServerInfoResponse response;
  response.set_state(v1::SERVER_STATE_WARMING_UP);
  response.add_models()->set_state(v1::MODEL_STATE_READY);
  const ServerInfo info = FromProto(response);
  EXPECT_EQ(info.state, "warming_up");
  EXPECT_EQ(info.models[0].state, "ready");
}

}  // namespace
}  // namespace interlacer
