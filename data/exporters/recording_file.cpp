#include "data/exporters/recording_file.h"

#include <algorithm>
#include <utility>

#include "common/duration.h"
#include "data/bags/foxglove_messages.h"
#include "data/bags/ros_messages.h"

namespace interlacer {
namespace {

constexpr double kMillimeterM = 0.001;

// Times before the epoch have no number in the container; the message's stamp keeps them.
std::int64_t LogTimeNs(std::int64_t time_ns) { return std::max<std::int64_t>(time_ns, 0); }

template <typename T>
std::span<const std::uint8_t> BytesOf(const T& values) {
  return {reinterpret_cast<const std::uint8_t*>(values.data()),
          values.size() * sizeof(*values.data())};
}

}  // namespace

RecordingFile::RecordingFile(std::unique_ptr<McapWriter> writer, McapProfile profile)
    : writer_(std::move(writer)), profile_(profile) {
  if (!is_ros()) foxglove_schema_ = FoxgloveSchema();
}

StatusOr<RecordingFile> RecordingFile::Create(const std::string& path, McapProfile profile) {
  INTERLACER_ASSIGN_OR_RETURN(
      auto writer, McapWriter::Create(path, profile == McapProfile::kRos2 ? "ros2" : ""));
  return RecordingFile(std::move(writer), profile);
}

Status RecordingFile::WriteFoxglove(const std::string& topic, const char* schema,
                                    std::int64_t time_ns, const std::string& message) {
  auto channel = channels_.find(topic);
  if (channel == channels_.end()) {
    const std::uint16_t id = writer_->AddChannel(
        topic, "protobuf", std::string("foxglove.") + schema, "protobuf", foxglove_schema_);
    channel = channels_.emplace(topic, id).first;
  }
  return writer_->Write(channel->second, LogTimeNs(time_ns), BytesOf(message));
}

Status RecordingFile::WriteRos(const std::string& topic, const char* type, std::int64_t time_ns,
                               const std::vector<std::uint8_t>& message) {
  constexpr std::int64_t kEndNs = (std::int64_t{1} << 31) * kNanosecondsPerSecond;
  if (time_ns < -kEndNs || time_ns >= kEndNs) {
    return Mismatch(reason::TIMESTAMP_INVALID, topic,
                    "seconds that 32 bits hold, as messages of ROS 2 have them; without a profile "
                    "times may be later",
                    std::to_string(time_ns / kNanosecondsPerSecond) + " s");
  }
  auto channel = channels_.find(topic);
  if (channel == channels_.end()) {
    const std::string definition = RosDefinition(type);
    const std::uint16_t id =
        writer_->AddChannel(topic, "cdr", type, "ros2msg", BytesOf(definition));
    channel = channels_.emplace(topic, id).first;
  }
  return writer_->Write(channel->second, LogTimeNs(time_ns), message);
}

Status RecordingFile::WriteImage(const std::string& topic, const std::string& frame,
                                 std::int64_t time_ns, ImageSize size, const char* encoding,
                                 std::span<const std::uint8_t> data) {
  if (is_ros()) {
    return WriteRos(topic, "sensor_msgs/msg/Image", time_ns,
                    EncodeRosImage(time_ns, frame, size.width_px, size.height_px, encoding, data));
  }
  return WriteFoxglove(
      topic, "RawImage", time_ns,
      EncodeFoxgloveImage(time_ns, frame, size.width_px, size.height_px, encoding, data));
}

Status RecordingFile::WriteColor(const std::string& topic, const std::string& frame,
                                 std::int64_t time_ns, const RgbImage& image) {
  return WriteImage(topic, frame, time_ns, {image.width_px, image.height_px}, "rgb8", image.pixels);
}

Status RecordingFile::WriteDepth(const std::string& topic, const std::string& frame,
                                 std::int64_t time_ns, const DepthImage16& depth) {
  const ImageSize size = {depth.width_px, depth.height_px};
  if (depth.unit_m == kMillimeterM) {
    return WriteImage(topic, frame, time_ns, size, "16UC1", BytesOf(depth.pixels));
  }
  const DepthImage metres = DepthToMeters(depth);
  return WriteImage(topic, frame, time_ns, size, "32FC1", BytesOf(metres.pixels_m));
}

Status RecordingFile::WriteCalibration(const std::string& topic, const CameraInfoMessage& info) {
  if (is_ros()) {
    return WriteRos(topic, "sensor_msgs/msg/CameraInfo", info.stamp_ns, EncodeRosCameraInfo(info));
  }
  return WriteFoxglove(topic, "CameraCalibration", info.stamp_ns, EncodeFoxgloveCalibration(info));
}

Status RecordingFile::WriteTransforms(std::int64_t time_ns,
                                      const std::vector<TransformMessage>& transforms) {
  if (is_ros()) {
    return WriteRos("/tf", "tf2_msgs/msg/TFMessage", time_ns, EncodeRosTransforms(transforms));
  }
  return WriteFoxglove("/tf", "FrameTransforms", time_ns, EncodeFoxgloveTransforms(transforms));
}

Status RecordingFile::WriteJoints(const std::string& topic, const JointsMessage& joints) {
  if (is_ros()) {
    return WriteRos(topic, "sensor_msgs/msg/JointState", joints.stamp_ns, EncodeRosJoints(joints));
  }
  return WriteFoxglove(topic, "JointStates", joints.stamp_ns, EncodeFoxgloveJoints(joints));
}

Status RecordingFile::WritePoints(const std::string& topic, const std::string& frame,
                                  std::int64_t time_ns, std::span<const float> positions_m,
                                  std::span<const std::uint8_t> colors_rgb8) {
  if (is_ros()) {
    return WriteRos(topic, "sensor_msgs/msg/PointCloud2", time_ns,
                    EncodeRosPoints(time_ns, frame, positions_m, colors_rgb8));
  }
  return WriteFoxglove(topic, "PointCloud", time_ns,
                       EncodeFoxglovePoints(time_ns, frame, positions_m, colors_rgb8));
}

}  // namespace interlacer
