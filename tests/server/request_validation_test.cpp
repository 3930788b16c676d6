/// Bad requests at the socket: the right code, reason and field path for each, and a server that
/// answers a good request right after.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "common/image_codec.h"
#include "server/convert/images.h"
#include "tests/server/rollout_call.h"

namespace interlacer::testing {
namespace {

using Request = v1::PredictRolloutRequest;

struct BadRequestCase {
  const char* name;
  std::function<void(Request*)> spoil;
  grpc::StatusCode code;
  const char* reason;
  const char* field;
};

std::ostream& operator<<(std::ostream& out, const BadRequestCase& c) { return out << c.name; }

v1::SceneInput* Scene(Request* r) { return r->mutable_source()->mutable_scene_input(); }
v1::RgbdView* View(Request* r) { return Scene(r)->mutable_observations(1)->mutable_views(0); }
v1::Image* Color(Request* r) { return View(r)->mutable_color(); }
v1::Image* Depth(Request* r) { return View(r)->mutable_depth(); }
v1::CameraCalibration* Calibration(Request* r) { return View(r)->mutable_calibration(); }
v1::FloatMatrix* Actions(Request* r) { return r->mutable_actions()->mutable_joint_positions(); }
v1::RenderTarget* Target(Request* r) { return AddView(r->mutable_output(), "view", "left"); }

RgbImage SmallRgb(int width_px, int height_px) {
  return {width_px, height_px, std::vector<std::uint8_t>(3 * width_px * height_px, 90)};
}

std::string Png(int width_px = kViewWidthPx, int height_px = kViewHeightPx) {
  const auto bytes = EncodePng(SmallRgb(width_px, height_px));
  return {bytes.begin(), bytes.end()};
}

std::string Jpeg() {
  const auto bytes = EncodeJpeg(SmallRgb(kViewWidthPx, kViewHeightPx), 90);
  return {bytes.begin(), bytes.end()};
}

std::string DepthPng() {
  const DepthImage16 depth{kViewWidthPx, kViewHeightPx, 0.001,
                           std::vector<std::uint16_t>(kViewWidthPx * kViewHeightPx, 1000)};
  const auto bytes = EncodePng(depth);
  return {bytes.begin(), bytes.end()};
}

/// A PNG that claims 65535 x 65535 pixels; the size stands at bytes 16 to 23 of the file.
std::string BombPng() {
  std::string png = Png();
  for (const int offset : {16, 20}) png.replace(offset, 4, std::string("\0\0\xff\xff", 4));
  return png;
}

void SetCompressed(v1::Image* image, v1::ImageCompression compression, std::string data) {
  image->set_compression(compression);
  image->set_data(std::move(data));
}

void SetFloatDepth(v1::Image* image, float depth_m) {
  image->set_encoding(v1::PIXEL_ENCODING_DEPTH_F32);
  image->set_depth_unit_m(0);
  image->set_data(BytesOf(std::vector<float>(kViewWidthPx * kViewHeightPx, depth_m)));
}

void SetAllFloatDepth(Request* r, float depth_m) {
  for (auto& observation : *Scene(r)->mutable_observations()) {
    for (auto& view : *observation.mutable_views()) SetFloatDepth(view.mutable_depth(), depth_m);
  }
}

void SetAction(Request* r, float value) {
  std::vector<float> values(2 * kJointCount, 0.0f);
  values[3] = value;
  Actions(r)->set_values_f32le(BytesOf(values));
}

constexpr auto kInvalid = grpc::StatusCode::INVALID_ARGUMENT;
constexpr auto kRange = grpc::StatusCode::OUT_OF_RANGE;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// A view from the camera of the newest frame, to be spoiled.
v1::CameraCalibration* FreeCamera(Request* r) {
  v1::RenderTarget* target = Target(r);
  *target->mutable_camera() = *Calibration(r);
  return target->mutable_camera();
}

void SetWorkspace(Request* r, double min_m, double max_m) {
  v1::Box* box = Scene(r)->mutable_workspace();
  for (const auto& [corner, value_m] :
       {std::pair{box->mutable_min_m(), min_m}, std::pair{box->mutable_max_m(), max_m}}) {
    corner->set_x(value_m);
    corner->set_y(value_m);
    corner->set_z(value_m);
  }
}

v1::FloatMatrix PointRows(int row_count, float value_m) {
  v1::FloatMatrix matrix;
  matrix.set_row_count(row_count);
  matrix.set_column_count(6);
  matrix.set_values_f32le(BytesOf(std::vector<float>(6 * row_count, value_m)));
  return matrix;
}

void SetPoints(Request* r, float history_m, float planned_m) {
  *Scene(r)->mutable_history_actions()->mutable_kinematic_points_m() = PointRows(2, history_m);
  *r->mutable_actions()->mutable_kinematic_points_m() = PointRows(2, planned_m);
}

// clang-format off
const BadRequestCase kCases[] = {
  // Request, model, source
  {"RequestIdCharacters", [](Request* r) { r->set_request_id("a\nb\x01"); }, kInvalid, "REQUEST_ID_INVALID", "request_id"},
  {"RequestIdLength", [](Request* r) { r->set_request_id(std::string(65, 'a')); }, kInvalid, "REQUEST_ID_INVALID", "request_id"},
  {"ModelUnknown", [](Request* r) { r->set_model_name("other"); }, grpc::StatusCode::NOT_FOUND, "MODEL_NOT_FOUND", "model_name"},
  {"SourceAbsent", [](Request* r) { r->clear_source(); }, kInvalid, "SOURCE_MISSING", "source"},
  {"SceneId", [](Request* r) { r->mutable_source()->set_scene_id("x"); }, grpc::StatusCode::NOT_FOUND, "SCENE_NOT_FOUND", "source.scene_id"},
  // Cameras, times
  {"CameraUnknown", [](Request* r) { View(r)->set_camera_name("top"); }, kInvalid, "CAMERA_UNKNOWN", "source.scene_input.observations[1].views[0].camera_name"},
  {"CameraTwice", [](Request* r) { View(r)->set_camera_name("right"); }, kInvalid, "CAMERA_DUPLICATE", "source.scene_input.observations[1].views[1].camera_name"},
  {"CameraMissing", [](Request* r) { Scene(r)->mutable_observations(0)->mutable_views()->RemoveLast(); }, kInvalid, "CAMERA_MISSING", "source.scene_input.observations[0].views"},
  {"TimeAbsent", [](Request* r) { View(r)->clear_capture_time(); }, kInvalid, "TIMESTAMP_INVALID", "source.scene_input.observations[1].views[0].capture_time"},
  {"TimeHuge", [](Request* r) { View(r)->mutable_capture_time()->set_seconds(1LL << 60); }, kInvalid, "TIMESTAMP_INVALID", "source.scene_input.observations[1].views[0].capture_time.seconds"},
  {"TimeNanos", [](Request* r) { View(r)->mutable_capture_time()->set_nanos(-1); }, kInvalid, "TIMESTAMP_INVALID", "source.scene_input.observations[1].views[0].capture_time.nanos"},
  {"CameraSkew", [](Request* r) { View(r)->mutable_capture_time()->set_nanos(900'000'000); }, kInvalid, "CAMERA_SKEW_TOO_LARGE", "source.scene_input.observations[1].views"},
  {"DepthSkew", [](Request* r) { View(r)->mutable_depth_capture_time()->set_seconds(99); }, kInvalid, "CAMERA_SKEW_TOO_LARGE", "source.scene_input.observations[1].views"},
  {"TimesEqual", [](Request* r) { *Scene(r)->mutable_observations(0) = Scene(r)->observations(1); }, kInvalid, "HISTORY_SPACING", "source.scene_input.observations[1]"},
  {"TimesBackward", [](Request* r) { Scene(r)->mutable_observations()->SwapElements(0, 1); }, kInvalid, "HISTORY_SPACING", "source.scene_input.observations[1]"},
  {"ObservationMissing", [](Request* r) { Scene(r)->mutable_observations()->RemoveLast(); }, kInvalid, "HISTORY_LENGTH", "source.scene_input.observations"},
  // Colour
  {"ColorAbsent", [](Request* r) { View(r)->clear_color(); }, kInvalid, "IMAGE_DATA_LENGTH", "source.scene_input.observations[1].views[0].color"},
  {"ColorEncodingUnset", [](Request* r) { Color(r)->clear_encoding(); }, kInvalid, "PIXEL_ENCODING_UNSUPPORTED", "source.scene_input.observations[1].views[0].color.encoding"},
  {"ColorCompressionUnset", [](Request* r) { Color(r)->clear_compression(); }, kInvalid, "COMPRESSION_UNSUPPORTED", "source.scene_input.observations[1].views[0].color.compression"},
  {"ColorTooShort", [](Request* r) { Color(r)->mutable_data()->pop_back(); }, kInvalid, "IMAGE_DATA_LENGTH", "source.scene_input.observations[1].views[0].color.data"},
  {"ColorTooLong", [](Request* r) { Color(r)->mutable_data()->push_back('x'); }, kInvalid, "IMAGE_DATA_LENGTH", "source.scene_input.observations[1].views[0].color.data"},
  {"ColorEmpty", [](Request* r) { Color(r)->clear_data(); }, kInvalid, "IMAGE_DATA_LENGTH", "source.scene_input.observations[1].views[0].color.data"},
  {"ColorStrideOne", [](Request* r) { Color(r)->set_row_stride_bytes(1); }, kInvalid, "IMAGE_STRIDE", "source.scene_input.observations[1].views[0].color.row_stride_bytes"},
  {"ColorStrideNegative", [](Request* r) { Color(r)->set_row_stride_bytes(-48); }, kInvalid, "IMAGE_STRIDE", "source.scene_input.observations[1].views[0].color.row_stride_bytes"},
  {"ColorStrideHuge", [](Request* r) { Color(r)->set_row_stride_bytes(2147483647); }, kInvalid, "IMAGE_DATA_LENGTH", "source.scene_input.observations[1].views[0].color.data"},
  {"ColorWidthNegative", [](Request* r) { Color(r)->set_width_px(-1); }, kInvalid, "IMAGE_SIZE_MISMATCH", "source.scene_input.observations[1].views[0].color.width_px"},
  {"ColorWidthHuge", [](Request* r) { Color(r)->set_width_px(2147483647); }, kRange, "LIMIT_IMAGE_SIDE", "source.scene_input.observations[1].views[0].color.width_px"},
  {"ColorPngTruncated", [](Request* r) { SetCompressed(Color(r), v1::IMAGE_COMPRESSION_PNG, Png().substr(0, 60)); }, kInvalid, "IMAGE_UNDECODABLE", "source.scene_input.observations[1].views[0].color.data"},
  {"ColorPngHeaderCut", [](Request* r) { SetCompressed(Color(r), v1::IMAGE_COMPRESSION_PNG, Png().substr(0, 20)); }, kInvalid, "IMAGE_UNDECODABLE", "source.scene_input.observations[1].views[0].color.data"},
  {"ColorPngBomb", [](Request* r) { SetCompressed(Color(r), v1::IMAGE_COMPRESSION_PNG, BombPng()); }, kRange, "LIMIT_IMAGE_SIDE", "source.scene_input.observations[1].views[0].color.data"},
  {"ColorPngOtherSize", [](Request* r) { SetCompressed(Color(r), v1::IMAGE_COMPRESSION_PNG, Png(8, 8)); }, kInvalid, "IMAGE_SIZE_MISMATCH", "source.scene_input.observations[1].views[0].color.data"},
  {"ColorPngIsJpeg", [](Request* r) { SetCompressed(Color(r), v1::IMAGE_COMPRESSION_PNG, Jpeg()); }, kInvalid, "IMAGE_UNDECODABLE", "source.scene_input.observations[1].views[0].color.data"},
  {"ColorJpegTruncated", [](Request* r) { SetCompressed(Color(r), v1::IMAGE_COMPRESSION_JPEG, Jpeg().substr(0, 80)); }, kInvalid, "IMAGE_UNDECODABLE", "source.scene_input.observations[1].views[0].color.data"},
  {"ColorWithUnit", [](Request* r) { Color(r)->set_depth_unit_m(0.001); }, kInvalid, "PIXEL_ENCODING_UNSUPPORTED", "source.scene_input.observations[1].views[0].color.depth_unit_m"},
  // Depth
  {"DepthUnitAbsent", [](Request* r) { Depth(r)->clear_depth_unit_m(); }, kInvalid, "DEPTH_UNIT_MISSING", "source.scene_input.observations[1].views[0].depth.depth_unit_m"},
  {"DepthUnitNan", [](Request* r) { Depth(r)->set_depth_unit_m(kNan); }, kInvalid, "DEPTH_UNIT_MISSING", "source.scene_input.observations[1].views[0].depth.depth_unit_m"},
  {"DepthUnitNegative", [](Request* r) { Depth(r)->set_depth_unit_m(-1); }, kInvalid, "DEPTH_UNIT_MISSING", "source.scene_input.observations[1].views[0].depth.depth_unit_m"},
  {"DepthEncodingColor", [](Request* r) { Depth(r)->set_encoding(v1::PIXEL_ENCODING_RGB8); }, kInvalid, "PIXEL_ENCODING_UNSUPPORTED", "source.scene_input.observations[1].views[0].depth.encoding"},
  {"DepthJpeg", [](Request* r) { SetCompressed(Depth(r), v1::IMAGE_COMPRESSION_JPEG, Jpeg()); }, kInvalid, "COMPRESSION_UNSUPPORTED", "source.scene_input.observations[1].views[0].depth.compression"},
  {"DepthTooShort", [](Request* r) { Depth(r)->mutable_data()->resize(10); }, kInvalid, "IMAGE_DATA_LENGTH", "source.scene_input.observations[1].views[0].depth.data"},
  {"DepthPngTruncated", [](Request* r) { SetCompressed(Depth(r), v1::IMAGE_COMPRESSION_PNG, DepthPng().substr(0, 50)); }, kInvalid, "IMAGE_UNDECODABLE", "source.scene_input.observations[1].views[0].depth.data"},
  {"DepthPngIsColor", [](Request* r) { SetCompressed(Depth(r), v1::IMAGE_COMPRESSION_PNG, Png()); }, kInvalid, "PIXEL_ENCODING_UNSUPPORTED", "source.scene_input.observations[1].views[0].depth.data"},
  {"DepthOtherSize", [](Request* r) { Depth(r)->set_height_px(6); Depth(r)->mutable_data()->resize(2 * 16 * 6); }, kInvalid, "IMAGE_SIZE_MISMATCH", "source.scene_input.observations[1].views[0].depth"},
  {"MillimetresAsMetres", [](Request* r) { SetFloatDepth(Depth(r), 1500); }, kInvalid, "DEPTH_IMPLAUSIBLE", "source.scene_input.observations[1].views[0].depth.data"},
  {"MetresAsMillimetres", [](Request* r) { Depth(r)->set_depth_unit_m(1e-6); }, kInvalid, "DEPTH_IMPLAUSIBLE", "source.scene_input.observations[1].views[0].depth.data"},
  {"DepthAllNan", [](Request* r) { SetAllFloatDepth(r, kNan); }, kInvalid, "TOO_FEW_VALID_POINTS", "source.scene_input.observations[1]"},
  {"DepthAllZero", [](Request* r) { SetAllFloatDepth(r, 0); }, kInvalid, "TOO_FEW_VALID_POINTS", "source.scene_input.observations[1]"},
  {"DepthAllNegative", [](Request* r) { SetAllFloatDepth(r, -1); }, kInvalid, "TOO_FEW_VALID_POINTS", "source.scene_input.observations[1]"},
  {"DepthAllInfinite", [](Request* r) { SetAllFloatDepth(r, std::numeric_limits<float>::infinity()); }, kInvalid, "TOO_FEW_VALID_POINTS", "source.scene_input.observations[1]"},
  // Calibration
  {"CalibrationAbsent", [](Request* r) { View(r)->clear_calibration(); }, kInvalid, "CALIBRATION_INVALID", "source.scene_input.observations[1].views[0].calibration"},
  {"CalibrationOtherSize", [](Request* r) { Calibration(r)->set_width_px(32); }, kInvalid, "CALIBRATION_SIZE_MISMATCH", "source.scene_input.observations[1].views[0].calibration"},
  {"FocalLengthZero", [](Request* r) { Calibration(r)->set_fx_px(0); }, kInvalid, "CALIBRATION_INVALID", "source.scene_input.observations[1].views[0].calibration.fx_px"},
  {"FocalLengthNegative", [](Request* r) { Calibration(r)->set_fy_px(-15); }, kInvalid, "CALIBRATION_INVALID", "source.scene_input.observations[1].views[0].calibration.fy_px"},
  {"PrincipalPointNan", [](Request* r) { Calibration(r)->set_cx_px(kNan); }, kInvalid, "CALIBRATION_INVALID", "source.scene_input.observations[1].views[0].calibration.cx_px"},
  {"PoseAbsent", [](Request* r) { Calibration(r)->clear_world_from_camera(); }, kInvalid, "CALIBRATION_INVALID", "source.scene_input.observations[1].views[0].calibration.world_from_camera"},
  {"TranslationNan", [](Request* r) { Calibration(r)->mutable_world_from_camera()->mutable_translation_m()->set_y(kNan); }, kInvalid, "CALIBRATION_INVALID", "source.scene_input.observations[1].views[0].calibration.world_from_camera.translation_m.y"},
  {"QuaternionNotUnit", [](Request* r) { Calibration(r)->mutable_world_from_camera()->mutable_rotation()->set_w(1.01); }, kInvalid, "QUATERNION_NOT_UNIT", "source.scene_input.observations[1].views[0].calibration.world_from_camera.rotation"},
  {"QuaternionZero", [](Request* r) { Calibration(r)->mutable_world_from_camera()->mutable_rotation()->Clear(); }, kInvalid, "QUATERNION_NOT_UNIT", "source.scene_input.observations[1].views[0].calibration.world_from_camera.rotation"},
  {"QuaternionNan", [](Request* r) { Calibration(r)->mutable_world_from_camera()->mutable_rotation()->set_x(kNan); }, kInvalid, "QUATERNION_NOT_UNIT", "source.scene_input.observations[1].views[0].calibration.world_from_camera.rotation"},
  {"DistortionUnset", [](Request* r) { Calibration(r)->clear_distortion_model(); }, kInvalid, "DISTORTION_INVALID", "source.scene_input.observations[1].views[0].calibration.distortion_model"},
  {"DistortionCount", [](Request* r) { Calibration(r)->set_distortion_model(v1::DISTORTION_MODEL_PLUMB_BOB); Calibration(r)->add_distortion_coefficients(0.1); }, kInvalid, "DISTORTION_INVALID", "source.scene_input.observations[1].views[0].calibration.distortion_coefficients"},
  // Overrides
  {"WorkspaceInverted", [](Request* r) { auto* box = Scene(r)->mutable_workspace(); for (auto* corner : {box->mutable_min_m(), box->mutable_max_m()}) { corner->set_x(1); corner->set_y(1); corner->set_z(1); } }, kInvalid, "WORKSPACE_INVALID", "source.scene_input.workspace"},
  {"WorkspaceOfAHundredMetres", [](Request* r) { SetWorkspace(r, -50, 50.5); }, kInvalid, "WORKSPACE_INVALID", "source.scene_input.workspace"},
  {"FarBeyondReason", [](Request* r) { Scene(r)->set_far_m(1e300); }, kInvalid, "DEPTH_RANGE_INVALID", "source.scene_input.far_m"},
  {"NearBeyondFar", [](Request* r) { Scene(r)->set_near_m(50); }, kInvalid, "DEPTH_RANGE_INVALID", "source.scene_input.near_m"},
  {"LensThatExplodes", [](Request* r) { Calibration(r)->set_distortion_model(v1::DISTORTION_MODEL_PLUMB_BOB); for (const double k : {1e300, 0., 0., 0., 0.}) Calibration(r)->add_distortion_coefficients(k); }, kInvalid, "DISTORTION_INVALID", "source.scene_input.observations[1].views[0].calibration.distortion_coefficients"},
  {"RangeOfOneFloat", [](Request* r) { Scene(r)->set_near_m(20 - 9e-7); Scene(r)->set_far_m(20 + 9e-7); }, kInvalid, "DEPTH_RANGE_INVALID", "source.scene_input.far_m"},
  {"NearNegative", [](Request* r) { Scene(r)->set_near_m(-1); }, kInvalid, "DEPTH_RANGE_INVALID", "source.scene_input.near_m"},
  {"FarBelowNear", [](Request* r) { Scene(r)->set_near_m(2); Scene(r)->set_far_m(1); }, kInvalid, "DEPTH_RANGE_INVALID", "source.scene_input.far_m"},
  // Actions
  {"HistoryRows", [](Request* r) { *Scene(r)->mutable_history_actions()->mutable_joint_positions() = MakeJoints(3, 0, 0); }, kInvalid, "HISTORY_LENGTH", "source.scene_input.history_actions"},
  {"HistoryAbsent", [](Request* r) { Scene(r)->clear_history_actions(); }, kInvalid, "ACTION_KIND", "actions"},
  {"ActionsAbsent", [](Request* r) { r->clear_actions(); r->mutable_output()->add_steps(1); }, kInvalid, "ACTION_KIND", "actions"},
  {"ActionsOfAnotherKind", [](Request* r) { auto* m = r->mutable_actions()->mutable_kinematic_points_m(); m->set_row_count(1); m->set_column_count(6); m->set_values_f32le(std::string(24, '\0')); }, kInvalid, "ACTION_KIND", "actions"},
  {"ActionColumns", [](Request* r) { Actions(r)->set_column_count(2); }, kInvalid, "ACTION_SHAPE", "actions.joint_positions.column_count"},
  {"ActionBytes", [](Request* r) { Actions(r)->mutable_values_f32le()->pop_back(); }, kInvalid, "ACTION_SHAPE", "actions.joint_positions.values_f32le"},
  {"ActionRowsNegative", [](Request* r) { Actions(r)->set_row_count(-1); r->mutable_output()->add_steps(0); }, kInvalid, "ACTION_SHAPE", "actions.joint_positions.row_count"},
  {"ActionNan", [](Request* r) { SetAction(r, kNan); }, kInvalid, "ACTION_NOT_FINITE", "actions.joint_positions.values_f32le"},
  {"DegreesForRadians", [](Request* r) { SetAction(r, 45); }, kInvalid, "ACTION_OUT_OF_RANGE", "actions.joint_positions.values_f32le"},
  {"ActionPastTheTolerance", [](Request* r) { SetAction(r, -3.13f); }, kInvalid, "ACTION_OUT_OF_RANGE", "actions.joint_positions.values_f32le"},
  {"PointsFarAway", [](Request* r) { SetPoints(r, 0, 1e30f); }, kInvalid, "ACTION_OUT_OF_RANGE", "actions.kinematic_points_m.values_f32le"},
  {"MeasuredPointsFarAway", [](Request* r) { SetPoints(r, -101, 0); }, kInvalid, "ACTION_OUT_OF_RANGE", "source.scene_input.history_actions.kinematic_points_m.values_f32le"},
  {"ActionJump", [](Request* r) { SetAction(r, 2); }, kInvalid, "ACTION_OUT_OF_RANGE", "actions.joint_positions.values_f32le"},
  // Output
  {"StepNegative", [](Request* r) { r->mutable_output()->add_steps(-1); }, kInvalid, "STEP_INVALID", "output.steps[0]"},
  {"StepsDescend", [](Request* r) { r->mutable_output()->add_steps(2); r->mutable_output()->add_steps(1); }, kInvalid, "STEP_INVALID", "output.steps[1]"},
  {"StepBeyondActions", [](Request* r) { r->mutable_output()->add_steps(3); }, kInvalid, "STEP_INVALID", "output.steps[0]"},
  {"StepLimit", [](Request* r) { r->mutable_output()->add_steps(129); }, kRange, "LIMIT_STEPS", "output.steps[0]"},
  {"RowLimit", [](Request* r) { *Actions(r) = MakeJoints(129, 0, 0); }, kRange, "LIMIT_STEPS", "actions.joint_positions.row_count"},
  {"StrideNegative", [](Request* r) { r->mutable_output()->mutable_particle_selection()->set_stride(-1); }, kInvalid, "SELECTION_INVALID", "output.particle_selection.stride"},
  {"RenderModeUnknown", [](Request* r) { r->mutable_output()->set_render_mode(static_cast<v1::RenderMode>(7)); }, kInvalid, "SELECTION_INVALID", "output.render_mode"},
  {"RenderModeNegative", [](Request* r) { r->mutable_output()->set_render_mode(static_cast<v1::RenderMode>(-1)); }, kInvalid, "SELECTION_INVALID", "output.render_mode"},
  {"MotionUnknown", [](Request* r) { r->mutable_output()->set_motion(static_cast<v1::MotionSource>(3)); }, kInvalid, "SELECTION_INVALID", "output.motion"},
  {"RegionEmpty", [](Request* r) { r->mutable_output()->mutable_particle_selection()->mutable_initial_region(); }, kInvalid, "SELECTION_INVALID", "output.particle_selection.initial_region"},
  {"TargetLimit", [](Request* r) { for (int i = 0; i < 9; ++i) Target(r)->set_target_name("v" + std::to_string(i)); }, kRange, "LIMIT_RENDER_TARGETS", "output.render_targets"},
  {"TargetNameTwice", [](Request* r) { Target(r); Target(r); }, kInvalid, "RENDER_TARGET_INVALID", "output.render_targets[1].target_name"},
  {"TargetWithoutView", [](Request* r) { Target(r)->clear_view(); }, kInvalid, "RENDER_TARGET_INVALID", "output.render_targets[0].camera"},
  {"TargetCameraUnknown", [](Request* r) { Target(r)->set_scene_camera_name("top"); }, kInvalid, "CAMERA_UNKNOWN", "output.render_targets[0].scene_camera_name"},
  {"TargetSide", [](Request* r) { *Target(r)->mutable_camera() = *Calibration(r); r->mutable_output()->mutable_render_targets(0)->mutable_camera()->set_width_px(4096); }, kRange, "LIMIT_RENDER_SIDE", "output.render_targets[0].camera.width_px"},
  {"TargetFocalTiny", [](Request* r) { FreeCamera(r)->set_fx_px(1e-300); }, kInvalid, "CALIBRATION_INVALID", "output.render_targets[0].camera.fx_px"},
  {"TargetFocalDenormal", [](Request* r) { FreeCamera(r)->set_fy_px(5e-324); }, kInvalid, "CALIBRATION_INVALID", "output.render_targets[0].camera.fy_px"},
  {"TargetFocalHuge", [](Request* r) { FreeCamera(r)->set_fx_px(1e300); }, kInvalid, "CALIBRATION_INVALID", "output.render_targets[0].camera.fx_px"},
  {"TargetCenterHuge", [](Request* r) { FreeCamera(r)->set_cy_px(-1e300); }, kInvalid, "CALIBRATION_INVALID", "output.render_targets[0].camera.cy_px"},
  {"TargetFarAway", [](Request* r) { FreeCamera(r)->mutable_world_from_camera()->mutable_translation_m()->set_z(1e30); }, kInvalid, "CALIBRATION_INVALID", "output.render_targets[0].camera.world_from_camera.translation_m"},
  {"TargetEncoding", [](Request* r) { Target(r)->set_encoding(v1::PIXEL_ENCODING_BGR8); }, kInvalid, "PIXEL_ENCODING_UNSUPPORTED", "output.render_targets[0].encoding"},
  {"TargetDepthPng", [](Request* r) { auto* t = Target(r); t->set_encoding(v1::PIXEL_ENCODING_DEPTH_F32); t->set_compression(v1::IMAGE_COMPRESSION_PNG); }, kInvalid, "COMPRESSION_UNSUPPORTED", "output.render_targets[0].compression"},
  {"TargetQuality", [](Request* r) { Target(r)->set_jpeg_quality(101); }, kInvalid, "RENDER_TARGET_INVALID", "output.render_targets[0].jpeg_quality"},
};
// clang-format on

class RequestValidationTest : public ::testing::TestWithParam<BadRequestCase> {
 protected:
  static void SetUpTestSuite() { fixture_ = ServingServer(); }
  static void TearDownTestSuite() { fixture_.reset(); }

  static grpc::Status Predict(const Request& request) {
    return Call(fixture_.get(), request, 10).Finish();
  }

  static inline std::unique_ptr<ServingInProcessServer> fixture_;
};

// fm-2 fm-3 fm-4 fm-5 fm-6 fm-9 fm-11 fm-12
TEST_P(RequestValidationTest, IsRefusedWithReasonAndField) {
  Request request = MakeRolloutRequest(2);
  GetParam().spoil(&request);
  const grpc::Status status = Predict(request);
  const ErrorDetails details = ReadDetails(status);
  EXPECT_EQ(status.error_code(), GetParam().code) << status.error_message();
  EXPECT_EQ(details.info.domain(), "interlacer");
  EXPECT_EQ(details.info.reason(), GetParam().reason) << status.error_message();
  EXPECT_EQ(details.field(), GetParam().field) << status.error_message();
  EXPECT_FALSE(status.error_message().empty());
  EXPECT_LE(status.error_details().size(), 2048u);

  EXPECT_TRUE(Predict(MakeRolloutRequest(1)).ok()) << "the next good request must work";
}

INSTANTIATE_TEST_SUITE_P(All, RequestValidationTest, ::testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.name); });

class ValidRequestTest : public RequestValidationTest {};

TEST_F(ValidRequestTest, MeasuredJointsMayPassTheirLimitsByALittle) {
  Request request = MakeRolloutRequest(1);
  // The first joint's range is -3 to 3, of which 2 % are allowed beyond either end.
  const auto set_joints = [&](float first) {
    *Scene(&request)->mutable_history_actions()->mutable_joint_positions() =
        MakeJoints(2, first, 0);
    *Actions(&request) = MakeJoints(1, 3, 0);
  };
  set_joints(3.1f);
  EXPECT_TRUE(Predict(request).ok());
  set_joints(3.13f);
  EXPECT_EQ(ReadDetails(Predict(request)).field(),
            "source.scene_input.history_actions.joint_positions.values_f32le");
}

TEST_F(ValidRequestTest, ExpectedAndGotAreInTheMetadata) {
  Request request = MakeRolloutRequest(1);
  Color(&request)->mutable_data()->pop_back();
  const ErrorDetails details = ReadDetails(Predict(request));
  EXPECT_EQ(details.info.metadata().at("expected"), "576 bytes");
  EXPECT_EQ(details.info.metadata().at("got"), "575 bytes");
}

TEST_F(ValidRequestTest, ActionsOfAnotherKindAreNamed) {
  Request request = MakeRolloutRequest(1);
  request.clear_actions();
  request.mutable_output()->add_steps(1);
  auto metadata = ReadDetails(Predict(request)).info.metadata();
  EXPECT_EQ(metadata.at("expected"), "joint_positions, as in the history");
  EXPECT_EQ(metadata.at("got"), "none");
  request = MakeRolloutRequest(1);
  Scene(&request)->clear_history_actions();
  metadata = ReadDetails(Predict(request)).info.metadata();
  EXPECT_EQ(metadata.at("expected"), "none, as in the history");
  EXPECT_EQ(metadata.at("got"), "joint_positions");
}

TEST_F(ValidRequestTest, UndecodableImagesUnknownModelsAndBoxesTellThemToo) {
  const std::function<void(Request*)> spoilers[] = {
      [](Request* r) { r->set_model_name("other"); },
      [](Request* r) { SetCompressed(Color(r), v1::IMAGE_COMPRESSION_PNG, Png().substr(0, 60)); },
      [](Request* r) {
        r->mutable_output()->mutable_particle_selection()->mutable_initial_region();
      }};
  for (const auto& spoil : spoilers) {
    Request request = MakeRolloutRequest(1);
    spoil(&request);
    const ErrorDetails details = ReadDetails(Predict(request));
    EXPECT_EQ(details.info.metadata().count("expected"), 1u) << details.info.reason();
    EXPECT_EQ(details.info.metadata().count("got"), 1u) << details.info.reason();
  }
}

TEST_F(ValidRequestTest, AnglesOfAnotherTurnAreSaidToBe) {
  const auto message_of = [](float angle_rad) {
    Request request = MakeRolloutRequest(2);
    SetAction(&request, angle_rad);
    return Predict(request).error_message();
  };
  EXPECT_THAT(message_of(4), ::testing::HasSubstr("wrapped to one turn?"));
  EXPECT_THAT(message_of(45), ::testing::Not(::testing::HasSubstr("wrapped")));
}

TEST_F(ValidRequestTest, PaddedRowsPngAndJpegAreRead) {
  Request request = MakeRolloutRequest(1);
  SetCompressed(Color(&request), v1::IMAGE_COMPRESSION_JPEG, Jpeg());
  SetCompressed(Depth(&request), v1::IMAGE_COMPRESSION_PNG, DepthPng());
  auto* right = Scene(&request)->mutable_observations(1)->mutable_views(1)->mutable_color();
  const int stride = 3 * kViewWidthPx + 5;
  right->set_row_stride_bytes(stride);
  right->set_data(std::string(stride * kViewHeightPx, '\x10'));
  EXPECT_TRUE(Predict(request).ok());
}

TEST(WideImageTest, FilesAreReadUpToTheSideThatTheServerGrants) {
  constexpr int kWidthPx = ImageLimits().max_side_px + 1, kHeightPx = 2;
  v1::SceneInput input;
  const auto add = [&](v1::PixelEncoding encoding, v1::ImageCompression compression,
                       const std::vector<std::uint8_t>& file) {
    v1::Image* image = input.add_observations()->add_views()->mutable_color();
    image->set_width_px(kWidthPx);
    image->set_height_px(kHeightPx);
    image->set_encoding(encoding);
    SetCompressed(image, compression, std::string(file.begin(), file.end()));
    return image;
  };
  const RgbImage color = SmallRgb(kWidthPx, kHeightPx);
  const DepthImage16 depth{kWidthPx, kHeightPx, 0.001,
                           std::vector<std::uint16_t>(kWidthPx * kHeightPx, 1000)};
  const v1::Image* colors[] = {
      add(v1::PIXEL_ENCODING_RGB8, v1::IMAGE_COMPRESSION_PNG, EncodePng(color)),
      add(v1::PIXEL_ENCODING_RGB8, v1::IMAGE_COMPRESSION_JPEG, EncodeJpeg(color, 90))};
  v1::Image* depths =
      add(v1::PIXEL_ENCODING_DEPTH_U16, v1::IMAGE_COMPRESSION_PNG, EncodePng(depth));
  depths->set_depth_unit_m(depth.unit_m);
  const PixelPayloads payloads(&input);
  for (const v1::Image* image : colors) {
    EXPECT_EQ(CheckColorImage(*image, payloads.Of(*image), kWidthPx - 1).reason(),
              "LIMIT_IMAGE_SIDE");
    const Status checked = CheckColorImage(*image, payloads.Of(*image), kWidthPx);
    ASSERT_TRUE(checked.ok()) << checked.ToString();
    RgbImage decoded;
    const Status status = DecodeColorImage(*image, payloads.Of(*image), &decoded);
    EXPECT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(decoded.width_px, kWidthPx);
  }
  ASSERT_TRUE(CheckDepthImage(*depths, payloads.Of(*depths), kWidthPx).ok());
  DepthImage decoded;
  const Status status = DecodeDepthImage(*depths, payloads.Of(*depths), &decoded);
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(decoded.width_px, kWidthPx);
}

// fm-36
TEST_F(ValidRequestTest, ClocksMayStartAnywhere) {
  for (const std::int64_t shift_s : {-100LL, -5'000'000'000LL, 9'000'000'000LL}) {
    Request request = MakeRolloutRequest(1);
    for (auto& observation : *Scene(&request)->mutable_observations()) {
      for (auto& view : *observation.mutable_views()) {
        view.mutable_capture_time()->set_seconds(view.capture_time().seconds() + shift_s);
      }
    }
    EXPECT_TRUE(Predict(request).ok()) << shift_s;
  }
}

// fm-7
TEST_F(ValidRequestTest, PointsWithoutDepthAreLeftOut) {
  auto request = MakeSceneRequest<v1::ValidateSceneRequest>();
  auto* depth =
      request.mutable_scene_input()->mutable_observations(1)->mutable_views(0)->mutable_depth();
  const int pixels = kViewWidthPx * kViewHeightPx;
  std::fill_n(depth->mutable_data()->begin(), 2 * (pixels / 2), '\0');
  grpc::ClientContext context;
  v1::ValidateSceneResponse response;
  const grpc::Status status = fixture_->stub->ValidateScene(&context, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_DOUBLE_EQ(response.report().cameras(0).valid_depth_ratio(), 0.5);
  EXPECT_EQ(response.report().candidate_point_count(), pixels + pixels / 2);
}

TEST_F(ValidRequestTest, ValidateSceneNamesItsOwnFieldPath) {
  auto request = MakeSceneRequest<v1::ValidateSceneRequest>();
  request.mutable_scene_input()->mutable_observations(0)->mutable_views(1)->clear_calibration();
  grpc::ClientContext context;
  v1::ValidateSceneResponse response;
  const grpc::Status status = fixture_->stub->ValidateScene(&context, request, &response);
  EXPECT_EQ(ReadDetails(status).field(), "scene_input.observations[0].views[1].calibration");
}

}  // namespace
}  // namespace interlacer::testing
