#pragma once

/// Options and results of a prediction: plain structs with the content of the wire's OutputOptions,
/// PredictedStep and CallSummary. Step 0 is the reconstruction of the newest observation, step 1
/// the first prediction. Value types.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/camera.h"
#include "common/image.h"
#include "common/scene.h"

namespace interlacer {

/// kField: the point-based NeRF of all particles. kObserved: pixels of the newest frames, carried
/// by the motion of their particles; the field fills what none of them shows.
enum class RenderMode { kField, kObserved };
/// What moves in a rollout: all that the model predicts, or the robot alone, by its commanded
/// joints.
enum class MotionSource { kModel, kRobotOnly };

/// "field" or "observed".
constexpr std::string_view NameOf(RenderMode mode) {
  return mode == RenderMode::kField ? "field" : "observed";
}

enum class ViewEncoding { kRgb8, kDepthF32 };
enum class ViewCompression { kNone, kPng, kJpeg };
enum class PositionEncoding { kFloat32, kWorkspaceU16 };

/// Model steps that a step with a spread costs.
inline constexpr int kSpreadStepCount = 4;

/// One view to render in every step sent.
struct RenderTarget {
  std::string name;
  /// A free rectified camera, or absent: `scene_camera_name` with its newest calibration.
  std::optional<Camera> camera;
  std::string scene_camera_name;
  ViewEncoding encoding = ViewEncoding::kRgb8;
  ViewCompression compression = ViewCompression::kNone;
  int jpeg_quality = 90;
};

struct OutputOptions {
  std::vector<int> steps;  ///< ascending; empty means all from 1
  bool include_positions = false;
  PositionEncoding position_encoding = PositionEncoding::kFloat32;
  bool include_colors = false;
  bool include_spread = false;
  std::optional<Box> initial_region;  ///< only particles in this box at step 0
  int stride = 1;                     ///< every n-th of the selected particles
  std::vector<RenderTarget> render_targets;
  RenderMode render_mode = RenderMode::kObserved;
  MotionSource motion = MotionSource::kModel;
};

/// A rendered view: colour (kRgb8) or expected depth along z in metres (kDepthF32).
struct RenderedView {
  std::string name;
  RgbImage color;
  DepthImage depth;
};

struct PredictedStep {
  int step = 0;
  std::int64_t predict_time_ns = 0;
  std::int64_t particle_count = 0;
  std::vector<float> positions_m;         ///< [n,3] when asked for
  std::vector<std::uint8_t> colors_rgb8;  ///< [n,3] when asked for
  std::vector<float> spread_m;            ///< [n] when asked for (common/particles.h)
  std::vector<std::uint32_t> indices;     ///< first step of a call with a region
  std::vector<RenderedView> views;
};

/// Seconds spent by stage; a step's particles reach the host in encode_s.
struct StageDurations {
  double queue_s = 0, decode_s = 0, lift_s = 0, dynamics_s = 0, render_s = 0, encode_s = 0,
         blocked_s = 0;
};

struct RolloutSummary {
  std::string model_name;
  std::string weights_sha256;
  int computed_step_count = 0;
  std::int64_t selected_particle_count = 0;
  StageDurations durations;
  std::optional<SceneReport> scene_report;
  std::vector<Finding> findings;
};

}  // namespace interlacer
