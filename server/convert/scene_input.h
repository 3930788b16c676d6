#pragma once

/// SceneInput of a request: checked as it came, then decoded.
///
/// Check covers everything that can be known without decoding pixels: cameras, sizes, headers,
/// calibrations, times, history and overrides. Decode assumes a checked message and fills `plain`,
/// whatever it held, with the views in the order of the model's cameras; memory that it has is used
/// again. Errors: the reasons of images.h, calibration.h and
/// actions.h, CAMERA_*, HISTORY_*, DEPTH_RANGE_INVALID; field paths relative to the message.
/// Thread-safe.

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

/// What Check learned; needed for admission and for the outputs.
struct CheckedScene {
  ActionSequence history_actions;
  /// Workspace of the scene: the request's or the model's.
  Box workspace;
  /// Newest capture time of the newest observation.
  std::int64_t newest_capture_time_ns = 0;
  /// Largest distance between exposures of one observation, depth included, and which one's.
  double camera_skew_s = 0;
  int skewed_observation = 0;
  /// Host memory that the decoded frames will take.
  std::int64_t decoded_bytes = 0;
  /// No image is compressed.
  bool is_raw = false;
  /// By observation and camera of the model: where its view stands in the request.
  std::vector<std::vector<int>> view_indices;
};

StatusOr<CheckedScene> CheckSceneInput(const wire::SceneInput& input, const PixelPayloads& payloads,
                                       const ModelMetadata& metadata, const Limits& limits);

Status DecodeSceneInput(const wire::SceneInput& input, const PixelPayloads& payloads,
                        const ModelMetadata& metadata, SceneInput* plain);

/// A field path of the plain scene, "observations[1].views[0].depth", as the request has it: there
/// the views may stand in any order. Other paths stay as they are.
std::string FieldInRequest(const CheckedScene& scene, const std::string& field);

}  // namespace interlacer
