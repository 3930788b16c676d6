#pragma once

/// The one list of reason words that accompany an error Status.
///
/// A reason is a short fixed word for programs; it travels as google.rpc.ErrorInfo.reason and as a
/// metrics label.

namespace interlacer::reason {

// clang-format off
#define INTERLACER_REASONS(X)                                                            \
  /* images and depth */                                                                 \
  X(IMAGE_SIZE_MISMATCH) X(IMAGE_DATA_LENGTH) X(IMAGE_UNDECODABLE) X(IMAGE_STRIDE)       \
  X(PIXEL_ENCODING_UNSUPPORTED) X(COMPRESSION_UNSUPPORTED) X(DEPTH_UNIT_MISSING)         \
  X(DEPTH_IMPLAUSIBLE) X(TOO_FEW_VALID_POINTS) X(NO_DEPTH)                               \
  /* cameras and time */                                                                 \
  X(CALIBRATION_INVALID) X(CALIBRATION_SIZE_MISMATCH) X(DISTORTION_INVALID)              \
  X(QUATERNION_NOT_UNIT) X(CAMERA_UNKNOWN) X(CAMERA_MISSING) X(CAMERA_DUPLICATE)         \
  X(CAMERA_SKEW_TOO_LARGE) X(TIMESTAMP_INVALID) X(HISTORY_LENGTH) X(HISTORY_SPACING)     \
  X(NO_CALIBRATION) X(NOT_REGISTERED)                                                    \
  /* the rest of a request */                                                            \
  X(ACTION_SHAPE) X(ACTION_KIND) X(ACTION_NOT_FINITE) X(ACTION_OUT_OF_RANGE)             \
  X(STEP_INVALID) X(RENDER_TARGET_INVALID) X(SELECTION_INVALID) X(REQUEST_ID_INVALID)    \
  X(SOURCE_MISSING) X(WORKSPACE_INVALID) X(DEPTH_RANGE_INVALID)                          \
  /* limits */                                                                           \
  X(LIMIT_RESPONSE_BYTES) X(LIMIT_IMAGE_SIDE) X(LIMIT_STEPS) X(LIMIT_CANDIDATES)         \
  X(LIMIT_CANDIDATE_STEPS) X(LIMIT_RENDER_TARGETS) X(LIMIT_RENDER_SIDE)                  \
  /* the server's state */                                                               \
  X(MODEL_NOT_FOUND) X(SCENE_NOT_FOUND) X(SCENE_MODEL_MISMATCH) X(MODEL_LOAD_FAILED)     \
  X(QUEUE_FULL) X(SCENE_LIMIT) X(HOST_MEMORY) X(DEVICE_OUT_OF_MEMORY) X(MODEL_LOADING)   \
  X(DRAINING) X(DEADLINE_TOO_SHORT) X(DEADLINE_PASSED) X(CALL_TOO_LONG) X(SLOW_READER)                      \
  X(PREDICTION_NOT_FINITE) X(DEVICE_LOST) X(DEVICE_ABSENT) X(INTERNAL_ERROR)             \
  X(CLIENT_NOT_ALLOWED) X(FEATURE_NOT_BUILT) X(CANCELLED_BY_CALLER)                      \
  /* files and arguments */                                                              \
  X(FILE_NOT_FOUND) X(FILE_UNREADABLE) X(FILE_UNWRITABLE) X(OUTPUT_EXISTS)               \
  X(SCHEMA_INVALID) X(SCHEMA_VERSION_UNSUPPORTED) X(HASH_MISMATCH) X(CHECKPOINT_INVALID) \
  X(CONFIG_INVALID) X(SHAPE_MISMATCH) X(NOT_FINITE) X(ARGUMENT_INVALID)
// clang-format on

#define INTERLACER_DEFINE_REASON(name) inline constexpr char name[] = #name;
INTERLACER_REASONS(INTERLACER_DEFINE_REASON)
#undef INTERLACER_DEFINE_REASON

}  // namespace interlacer::reason
