#pragma once

/// An MCAP file of images, calibrations, transforms, joints and points in one of two forms of
/// messages: Foxglove's protobuf schemas, or those of ROS 2 in CDR with the profile "ros2".
///
/// Errors: those of data/mcap/mcap_writer.h. Threads: one at a time.
/// Source: foxglove-schemas; ros2-interfaces.

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/image_codec.h"
#include "common/status.h"
#include "data/bags/messages.h"
#include "data/exporters/mcap_export.h"
#include "data/mcap/mcap_writer.h"

namespace interlacer {

class RecordingFile {
 public:
  static StatusOr<RecordingFile> Create(const std::string& path, McapProfile profile);

  /// Before all messages.
  Status WriteMetadata(const FileMetadata& metadata) { return writer_->WriteMetadata(metadata); }
  Status WriteAttachment(const std::string& name, std::span<const std::uint8_t> data) {
    return writer_->WriteAttachment(name, "application/octet-stream", data);
  }
  Status WriteColor(const std::string& topic, const std::string& frame, std::int64_t time_ns,
                    const RgbImage& image);
  /// 16UC1 where its integers are millimetres, else 32FC1 in metres.
  Status WriteDepth(const std::string& topic, const std::string& frame, std::int64_t time_ns,
                    const DepthImage16& depth);
  Status WriteCalibration(const std::string& topic, const CameraInfoMessage& info);
  Status WriteTransforms(std::int64_t time_ns, const std::vector<TransformMessage>& transforms);
  Status WriteJoints(const std::string& topic, const JointsMessage& joints);
  /// positions_m [n,3] in `frame`, colors_rgb8 [n,3] or empty.
  Status WritePoints(const std::string& topic, const std::string& frame, std::int64_t time_ns,
                     std::span<const float> positions_m, std::span<const std::uint8_t> colors_rgb8);
  Status Finish() { return writer_->Finish(); }

 private:
  RecordingFile(std::unique_ptr<McapWriter> writer, McapProfile profile);
  bool is_ros() const { return profile_ == McapProfile::kRos2; }
  Status WriteImage(const std::string& topic, const std::string& frame, std::int64_t time_ns,
                    ImageSize size, const char* encoding, std::span<const std::uint8_t> data);
  Status WriteFoxglove(const std::string& topic, const char* schema, std::int64_t time_ns,
                       const std::string& message);
  Status WriteRos(const std::string& topic, const char* type, std::int64_t time_ns,
                  const std::vector<std::uint8_t>& message);

  std::unique_ptr<McapWriter> writer_;
  McapProfile profile_;
  std::vector<std::uint8_t> foxglove_schema_;
  std::map<std::string, std::uint16_t> channels_;
};

}  // namespace interlacer
