#pragma once

/// Foxglove's protobuf messages, read into data/bags/messages.h and written; with
/// foxglove_messages.cpp the only door to their generated code.
///
/// Source: foxglove-schemas.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/bags/messages.h"

namespace interlacer {

StatusOr<ImageMessage> DecodeFoxgloveImage(const MessageTopic& topic,
                                           std::span<const std::uint8_t> data);
StatusOr<CameraInfoMessage> DecodeFoxgloveCalibration(const MessageTopic& topic,
                                                      std::span<const std::uint8_t> data);
StatusOr<std::vector<TransformMessage>> DecodeFoxgloveTransforms(
    const MessageTopic& topic, std::span<const std::uint8_t> data);
/// Without a child frame.
StatusOr<TransformMessage> DecodeFoxglovePose(const MessageTopic& topic,
                                              std::span<const std::uint8_t> data);
StatusOr<JointsMessage> DecodeFoxgloveJoints(const MessageTopic& topic,
                                             std::span<const std::uint8_t> data);

/// `data` has rows without padding.
std::string EncodeFoxgloveImage(std::int64_t stamp_ns, const std::string& frame, int width_px,
                                int height_px, const std::string& encoding,
                                std::span<const std::uint8_t> data);
std::string EncodeFoxgloveCalibration(const CameraInfoMessage& info);
std::string EncodeFoxgloveTransforms(const std::vector<TransformMessage>& transforms);
std::string EncodeFoxgloveJoints(const JointsMessage& joints);
/// positions_m [n,3] in `frame`, colors_rgb8 [n,3] or empty.
std::string EncodeFoxglovePoints(std::int64_t stamp_ns, const std::string& frame,
                                 std::span<const float> positions_m,
                                 std::span<const std::uint8_t> colors_rgb8);

/// A FileDescriptorSet that describes "foxglove.RawImage", "foxglove.PointCloud", ...
std::vector<std::uint8_t> FoxgloveSchema();

}  // namespace interlacer
