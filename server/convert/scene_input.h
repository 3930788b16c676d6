#pragma once

/// Checks and decodes the SceneInput of a request.
///
/// Check covers everything that is known without decoding pixels: cameras, sizes, headers,
/// calibrations, times, history and overrides. Decode expects a checked message and overwrites
/// `plain` with the views in the order of the model's cameras, reusing its memory; it stops before
/// the next view once `is_over`. Errors: the reasons of images.h, calibration.h and actions.h,
/// CAMERA_*, HISTORY_*, DEPTH_RANGE_INVALID; CANCELLED; field paths relative to the message.
/// Thread-safe.

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "common/model_metadata.h"
#include "common/scene.h"
#include "common/status.h"
#include "server/convert/pixel_payloads.h"
#include "server/convert/wire.h"
#include "server/limits.h"

namespace interlacer {

/// Results of Check for admission and for the outputs.
struct CheckedScene {
  ActionSequence history_actions;
  /// Workspace of the scene: the request's or the model's.
  Box workspace;
  /// Newest capture time of the newest observation.
  std::int64_t newest_capture_time_ns = 0;
  /// Largest difference between exposure times of one observation, depth included, and that
  /// observation.
  double camera_skew_s = 0;
  int skewed_observation = 0;
  /// Host memory of the decoded frames in bytes.
  std::int64_t decoded_bytes = 0;
  /// Pixels of the newest observation.
  std::int64_t newest_pixel_count = 0;
  /// True if no image is compressed.
  bool is_raw = false;
  /// Index of the view in the request, by observation and camera of the model.
  std::vector<std::vector<int>> view_indices;
};

StatusOr<CheckedScene> CheckSceneInput(const wire::SceneInput& input, const PixelPayloads& payloads,
                                       const ModelMetadata& metadata, const Limits& limits);

/// Checks the observation that follows those of `before`, with the measured row of the robot; `row`
/// is of the kind of that history, or of none. The result is that of the window that both make;
/// view_indices of the new observation stand last. Field paths `observation` and `history_action`.
StatusOr<CheckedScene> CheckNextObservation(const wire::Observation& observation,
                                            const wire::ActionSequence& row,
                                            const PixelPayloads& payloads,
                                            const ModelMetadata& metadata, const Limits& limits,
                                            const CheckedScene& before);

Status DecodeSceneInput(const wire::SceneInput& input, const PixelPayloads& payloads,
                        const ModelMetadata& metadata, const std::atomic<bool>& is_over,
                        SceneInput* plain);

/// Maps a field path of the decoded scene, such as "observations[1].views[0].depth", to that of the
/// request, whose views may be in another order. Other paths stay unchanged.
std::string FieldInRequest(const CheckedScene& scene, const std::string& field);

}  // namespace interlacer
