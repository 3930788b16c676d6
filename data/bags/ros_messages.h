#pragma once

/// ROS 2 messages in CDR as data/bags/messages.h reads them, with the definitions that a file holds
/// for readers without ROS.
///
/// Pure; thread-safe. Source: dds-xtypes; ros2-interfaces.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/bags/messages.h"

namespace interlacer {

/// sensor_msgs/msg/Image; `data` has rows without padding.
std::vector<std::uint8_t> EncodeRosImage(std::int64_t stamp_ns, const std::string& frame,
                                         int width_px, int height_px, const std::string& encoding,
                                         std::span<const std::uint8_t> data);
/// sensor_msgs/msg/CameraInfo.
std::vector<std::uint8_t> EncodeRosCameraInfo(const CameraInfoMessage& info);
/// tf2_msgs/msg/TFMessage.
std::vector<std::uint8_t> EncodeRosTransforms(const std::vector<TransformMessage>& transforms);
/// sensor_msgs/msg/JointState.
std::vector<std::uint8_t> EncodeRosJoints(const JointsMessage& joints);
/// sensor_msgs/msg/PointCloud2: positions_m [n,3] in `frame`, colors_rgb8 [n,3] or empty.
std::vector<std::uint8_t> EncodeRosPoints(std::int64_t stamp_ns, const std::string& frame,
                                          std::span<const float> positions_m,
                                          std::span<const std::uint8_t> colors_rgb8);

/// The "ros2msg" text of one of these types and of those in it; empty for others.
std::string RosDefinition(std::string_view type);

}  // namespace interlacer
