#pragma once

/// Calibration beside a recording that has none, or a wrong one: one JSON file for all importers.
///
///   {"schema": "interlacer.calibration", "schema_version": 1, "cameras": [
///     {"name": "left", "width_px": 640, "height_px": 480,
///      "fx_px": 525, "fy_px": 525, "cx_px": 320, "cy_px": 240,
///      "distortion": {"model": "plumb_bob", "coefficients": [0.1, 0, 0, 0, 0]},
///      "world_from_camera": {"translation_m": [0, 0, 1], "rotation_xyzw": [1, 0, 0, 0]}}]}
///
/// Axes are optical: x right, y down, z forward. `distortion` may be absent (none). A camera that a
/// link of the robot carries has "link" and "link_from_camera" in place of world_from_camera; one
/// whose poses the recording holds has none of them.
/// Errors: CALIBRATION_INVALID, SCHEMA_INVALID at the field; those of common/json.h. Thread-safe.

#include <optional>
#include <string>
#include <vector>

#include "common/camera.h"
#include "common/status.h"

namespace interlacer {

class JsonObject;  // common/json.h

struct CameraCalibration {
  std::string name;
  Camera camera;  ///< its pose only where `has_pose`
  bool has_pose = false;
  std::string link;  ///< of the robot; empty: none carries it
  Transform link_from_camera;
};

/// At least one camera, of different names.
StatusOr<std::vector<CameraCalibration>> ReadCalibrationFile(const std::string& path);
StatusOr<std::vector<CameraCalibration>> ParseCalibration(const JsonObject& document);

/// The camera of that name; CAMERA_UNKNOWN names those of the file.
StatusOr<CameraCalibration> FindCalibration(const std::vector<CameraCalibration>& cameras,
                                            const std::string& name);

}  // namespace interlacer
