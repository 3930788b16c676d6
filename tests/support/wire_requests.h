#pragma once

/// Small valid requests for the fake model, which tests invalidate, and readers of error details.

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <string>
#include <vector>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "interlacer/v1/interlacer_service.pb.h"

namespace interlacer::testing {

inline constexpr int kViewWidthPx = 16;
inline constexpr int kViewHeightPx = 12;
inline constexpr int kJointCount = 3;

template <typename T>
std::string BytesOf(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

inline v1::RgbdView MakeView(const std::string& camera_name, double capture_time_s) {
  v1::RgbdView view;
  view.set_camera_name(camera_name);
  view.mutable_capture_time()->set_seconds(static_cast<std::int64_t>(capture_time_s));
  view.mutable_capture_time()->set_nanos(
      static_cast<int>((capture_time_s - static_cast<std::int64_t>(capture_time_s)) * 1e9));
  const int pixels = kViewWidthPx * kViewHeightPx;
  v1::Image* color = view.mutable_color();
  color->set_width_px(kViewWidthPx);
  color->set_height_px(kViewHeightPx);
  color->set_encoding(v1::PIXEL_ENCODING_RGB8);
  color->set_compression(v1::IMAGE_COMPRESSION_NONE);
  std::vector<std::uint8_t> rgb(3 * pixels);
  for (std::size_t i = 0; i < rgb.size(); ++i) rgb[i] = static_cast<std::uint8_t>(i * 7);
  color->set_data(BytesOf(rgb));
  v1::Image* depth = view.mutable_depth();
  depth->set_width_px(kViewWidthPx);
  depth->set_height_px(kViewHeightPx);
  depth->set_encoding(v1::PIXEL_ENCODING_DEPTH_U16);
  depth->set_compression(v1::IMAGE_COMPRESSION_NONE);
  depth->set_depth_unit_m(0.001);
  std::vector<std::uint16_t> millimetres(pixels);
  for (int i = 0; i < pixels; ++i) millimetres[i] = static_cast<std::uint16_t>(1000 + i);
  depth->set_data(BytesOf(millimetres));
  v1::CameraCalibration* calibration = view.mutable_calibration();
  calibration->set_width_px(kViewWidthPx);
  calibration->set_height_px(kViewHeightPx);
  calibration->set_fx_px(15);
  calibration->set_fy_px(15);
  calibration->set_cx_px(7.5);
  calibration->set_cy_px(5.5);
  calibration->set_distortion_model(v1::DISTORTION_MODEL_NONE);
  calibration->mutable_world_from_camera()->mutable_translation_m();
  calibration->mutable_world_from_camera()->mutable_rotation()->set_w(1);
  return view;
}

/// Makes a view `factor` times as wide.
inline void Widen(v1::RgbdView* view, int factor) {
  for (v1::Image* image : {view->mutable_color(), view->mutable_depth()}) {
    const std::string data = image->data();
    for (int i = 1; i < factor; ++i) *image->mutable_data() += data;
    image->set_width_px(factor * image->width_px());
  }
  view->mutable_calibration()->set_width_px(factor * view->calibration().width_px());
}

/// Rows whose first joint is `first + row * slope`.
inline v1::FloatMatrix MakeJoints(int row_count, float first, float slope) {
  std::vector<float> values;
  for (int row = 0; row < row_count; ++row) {
    values.insert(values.end(), {first + static_cast<float>(row) * slope, 0.5f, 0.01f});
  }
  v1::FloatMatrix matrix;
  matrix.set_row_count(row_count);
  matrix.set_column_count(kJointCount);
  matrix.set_values_f32le(BytesOf(values));
  return matrix;
}

inline v1::SceneInput MakeSceneInput() {
  v1::SceneInput input;
  for (const double time_s : {100.0, 100.5}) {
    v1::Observation* observation = input.add_observations();
    *observation->add_views() = MakeView("left", time_s);
    *observation->add_views() = MakeView("right", time_s);
  }
  *input.mutable_history_actions()->mutable_joint_positions() = MakeJoints(2, 0.0f, 0.0f);
  input.set_seed(7);
  return input;
}

/// A request of this type about the scene of MakeSceneInput.
template <typename Request>
Request MakeSceneRequest() {
  Request request;
  *request.mutable_scene_input() = MakeSceneInput();
  return request;
}

/// `step_count` steps that each move the first joint by 0.1, or by less if it would leave its
/// range.
inline v1::PredictRolloutRequest MakeRolloutRequest(int step_count) {
  const float slope = std::min(0.1f, 2.5f / static_cast<float>(step_count));
  v1::PredictRolloutRequest request;
  request.set_request_id("test-1");
  *request.mutable_source()->mutable_scene_input() = MakeSceneInput();
  *request.mutable_actions()->mutable_joint_positions() = MakeJoints(step_count, 0.1f, slope);
  request.mutable_output()->set_include_positions(true);
  return request;
}

/// A view of a camera of the scene.
inline v1::RenderTarget* AddView(v1::OutputOptions* output, const std::string& name,
                                 const std::string& camera_name) {
  v1::RenderTarget* target = output->add_render_targets();
  target->set_target_name(name);
  target->set_scene_camera_name(camera_name);
  return target;
}

struct ErrorDetails {
  google::rpc::ErrorInfo info;
  google::rpc::BadRequest bad_request;
  google::rpc::RetryInfo retry;

  std::string field() const {
    return bad_request.field_violations_size() == 0 ? "" : bad_request.field_violations(0).field();
  }
};

inline ErrorDetails ReadDetails(const grpc::Status& status) {
  google::rpc::Status message;
  message.ParseFromString(status.error_details());
  ErrorDetails details;
  for (const auto& any : message.details()) {
    any.UnpackTo(&details.info);
    any.UnpackTo(&details.bad_request);
    any.UnpackTo(&details.retry);
  }
  return details;
}

}  // namespace interlacer::testing
