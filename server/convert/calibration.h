#pragma once

/// Converts calibrations, boxes and times of a request.
///
/// Every field that is a number must be finite. Errors: INVALID_ARGUMENT CALIBRATION_INVALID,
/// DISTORTION_INVALID, QUATERNION_NOT_UNIT, WORKSPACE_INVALID, TIMESTAMP_INVALID, with field paths
/// relative to the message. Thread-safe.

#include <cstdint>

#include "common/camera.h"
#include "common/geometry.h"
#include "common/status.h"
#include "server/convert/wire.h"

namespace interlacer {

StatusOr<Camera> ToCamera(const wire::CameraCalibration& calibration);
StatusOr<Box> ToBox(const wire::Box& box);
/// Nanoseconds since 1970; times outside of int64 are refused.
StatusOr<std::int64_t> ToNanoseconds(const google::protobuf::Timestamp& time);

}  // namespace interlacer
