#pragma once

/// Messages of robots' recordings as plain structs: those of ROS 2 (CDR) and of Foxglove
/// (protobuf) alike.
///
/// Times are the messages' own stamps, nanoseconds. Frames are named without a leading slash.
/// Every length is checked before anything is allocated.
/// Errors: INVALID_ARGUMENT SCHEMA_INVALID naming the topic and what did not fit. Pure functions.
/// Source: dds-xtypes, 7.4; ros2-interfaces; foxglove-schemas.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/camera.h"
#include "common/geometry.h"
#include "common/status.h"
#include "data/mcap/message_file.h"

namespace interlacer {

enum class MessageKind {
  kOther,
  kImage,
  kCompressedImage,
  kCameraInfo,
  kTransforms,
  kJoints,
  kPose
};

struct ImageMessage {
  std::int64_t stamp_ns = 0;
  std::string frame_id;
  int width_px = 0;  ///< 0 of a compressed one
  int height_px = 0;
  /// "rgb8", "16UC1", ...; of a compressed one "jpeg", "16UC1; compressedDepth png", ...
  std::string encoding;
  bool is_compressed = false;
  bool is_big_endian = false;
  std::uint64_t row_bytes = 0;
  std::span<const std::uint8_t> data;
  std::shared_ptr<const void> owner;  ///< of the data, where it is not the message
};

struct CameraInfoMessage {
  std::int64_t stamp_ns = 0;
  std::string frame_id;
  int width_px = 0;
  int height_px = 0;
  std::string distortion_model;
  std::vector<double> distortion_coefficients;
  std::array<double, 9> k{};
  std::array<double, 12> p{};
  /// Pixels read as one, across and down; 0 and 1 are none. Foxglove's have no field for it.
  std::array<std::uint32_t, 2> binning{};
  /// The part of the calibrated image that is sent: x, y, height, width; zeros are all of it.
  std::array<std::uint32_t, 4> region{};
};

/// What a camera's images say with them.
CameraInfoMessage CameraInfoOf(std::int64_t stamp_ns, const std::string& frame,
                               const Camera& camera);

struct TransformMessage {
  std::int64_t stamp_ns = 0;
  std::string parent_frame;
  std::string child_frame;
  Transform parent_from_child;  ///< the quaternion as it came
};

struct JointsMessage {
  std::int64_t stamp_ns = 0;
  std::vector<std::string> names;
  std::vector<double> positions;  ///< as many as names, NaN where the message has none
};

MessageKind KindOf(const MessageTopic& topic);

StatusOr<ImageMessage> DecodeImage(const MessageTopic& topic, std::span<const std::uint8_t> data);
StatusOr<CameraInfoMessage> DecodeCameraInfo(const MessageTopic& topic,
                                             std::span<const std::uint8_t> data);
StatusOr<std::vector<TransformMessage>> DecodeTransforms(const MessageTopic& topic,
                                                         std::span<const std::uint8_t> data);
/// Of a topic of poses: child_frame is its PoseFrame.
StatusOr<TransformMessage> DecodePose(const MessageTopic& topic,
                                      std::span<const std::uint8_t> data);
StatusOr<JointsMessage> DecodeJoints(const MessageTopic& topic, std::span<const std::uint8_t> data);

/// Without the slash that older tools put in front.
std::string FrameName(std::string_view name);

/// What the poses of a topic are among the frames: its name with a slash in front, which no frame
/// has.
std::string PoseFrame(std::string_view topic);

/// SCHEMA_INVALID: a message that is not what its topic says.
Status Undecodable(const MessageTopic& topic, const std::string& what);

}  // namespace interlacer
