#include "data/bags/messages.h"

#include <array>
#include <limits>
#include <utility>

#include "common/duration.h"
#include "data/bags/cdr.h"
#include "data/bags/foxglove_messages.h"

namespace interlacer {
namespace {

constexpr std::pair<std::string_view, MessageKind> kRosKinds[] = {
    {"sensor_msgs/msg/Image", MessageKind::kImage},
    {"sensor_msgs/msg/CompressedImage", MessageKind::kCompressedImage},
    {"sensor_msgs/msg/CameraInfo", MessageKind::kCameraInfo},
    {"tf2_msgs/msg/TFMessage", MessageKind::kTransforms},
    {"sensor_msgs/msg/JointState", MessageKind::kJoints},
    {"geometry_msgs/msg/PoseStamped", MessageKind::kPose},
    {"geometry_msgs/msg/PoseWithCovarianceStamped", MessageKind::kPose},
};

constexpr std::pair<std::string_view, MessageKind> kFoxgloveKinds[] = {
    {"foxglove.RawImage", MessageKind::kImage},
    {"foxglove.CompressedImage", MessageKind::kCompressedImage},
    {"foxglove.CameraCalibration", MessageKind::kCameraInfo},
    {"foxglove.FrameTransform", MessageKind::kTransforms},
    {"foxglove.FrameTransforms", MessageKind::kTransforms},
    {"foxglove.JointStates", MessageKind::kJoints},
    {"foxglove.PoseInFrame", MessageKind::kPose},
};

/// Sides that an int holds; what is larger is no image.
int Side(std::uint32_t side_px) {
  return side_px > static_cast<std::uint32_t>(std::numeric_limits<int>::max())
             ? -1
             : static_cast<int>(side_px);
}

std::int64_t ReadStamp(CdrReader* reader) {
  const auto seconds = reader->Number<std::int32_t>();
  return seconds * kNanosecondsPerSecond + reader->Number<std::uint32_t>();
}

bool IsProtobuf(const MessageTopic& topic) { return topic.encoding == "protobuf"; }

Status NotCdr(const MessageTopic& topic) {
  return Undecodable(topic, "a " + topic.schema + " in CDR (XCDR version 1)");
}

}  // namespace

CameraInfoMessage CameraInfoOf(std::int64_t stamp_ns, const std::string& frame,
                               const Camera& camera) {
  CameraInfoMessage info;
  info.stamp_ns = stamp_ns;
  info.frame_id = frame;
  info.width_px = camera.width_px;
  info.height_px = camera.height_px;
  info.distortion_model = camera.distortion_model == DistortionModel::kRationalPolynomial
                              ? "rational_polynomial"
                              : "plumb_bob";
  info.distortion_coefficients.assign(camera.distortion_coefficients.begin(),
                                      camera.distortion_coefficients.end());
  info.k = {camera.fx_px, 0, camera.cx_px, 0, camera.fy_px, camera.cy_px, 0, 0, 1};
  info.p = {camera.fx_px, 0, camera.cx_px, 0, 0, camera.fy_px, camera.cy_px, 0, 0, 0, 1, 0};
  return info;
}

Status Undecodable(const MessageTopic& topic, const std::string& what) {
  return Mismatch(reason::SCHEMA_INVALID, topic.name, what,
                  "a message that is cut or of another type");
}

std::string FrameName(std::string_view name) {
  return std::string(name.substr(name.starts_with('/') ? 1 : 0));
}

std::string PoseFrame(std::string_view topic) { return "/" + FrameName(topic); }

MessageKind KindOf(const MessageTopic& topic) {
  const auto find = [&](const auto& kinds) {
    for (const auto& [schema, kind] : kinds) {
      if (topic.schema == schema) return kind;
    }
    return MessageKind::kOther;
  };
  if (topic.encoding == "cdr") return find(kRosKinds);
  return IsProtobuf(topic) ? find(kFoxgloveKinds) : MessageKind::kOther;
}

StatusOr<ImageMessage> DecodeImage(const MessageTopic& topic, std::span<const std::uint8_t> data) {
  if (IsProtobuf(topic)) return DecodeFoxgloveImage(topic, data);
  CdrReader reader(data);
  ImageMessage image;
  image.stamp_ns = ReadStamp(&reader);
  image.frame_id = FrameName(reader.Text());
  image.is_compressed = KindOf(topic) == MessageKind::kCompressedImage;
  if (!image.is_compressed) {
    image.height_px = Side(reader.Number<std::uint32_t>());
    image.width_px = Side(reader.Number<std::uint32_t>());
  }
  image.encoding = reader.Text();
  if (!image.is_compressed) {
    image.is_big_endian = reader.Number<std::uint8_t>() != 0;
    image.row_bytes = reader.Number<std::uint32_t>();
  }
  image.data = reader.ByteSequence();
  if (!reader.ok()) return NotCdr(topic);
  return image;
}

StatusOr<CameraInfoMessage> DecodeCameraInfo(const MessageTopic& topic,
                                             std::span<const std::uint8_t> data) {
  if (IsProtobuf(topic)) return DecodeFoxgloveCalibration(topic, data);
  CdrReader reader(data);
  CameraInfoMessage info;
  info.stamp_ns = ReadStamp(&reader);
  info.frame_id = FrameName(reader.Text());
  info.height_px = Side(reader.Number<std::uint32_t>());
  info.width_px = Side(reader.Number<std::uint32_t>());
  info.distortion_model = reader.Text();
  info.distortion_coefficients = reader.Doubles();
  reader.Doubles(&info.k);
  std::array<double, 9> rectification{};
  reader.Doubles(&rectification);
  reader.Doubles(&info.p);
  for (std::uint32_t& side : info.binning) side = reader.Number<std::uint32_t>();
  for (std::uint32_t& side : info.region) side = reader.Number<std::uint32_t>();
  if (!reader.ok()) return NotCdr(topic);
  return info;
}

StatusOr<std::vector<TransformMessage>> DecodeTransforms(const MessageTopic& topic,
                                                         std::span<const std::uint8_t> data) {
  if (IsProtobuf(topic)) return DecodeFoxgloveTransforms(topic, data);
  // Stamp, two names and seven numbers.
  constexpr std::size_t kLeastBytes = 8 + 2 * 4 + 7 * 8;
  CdrReader reader(data);
  std::vector<TransformMessage> transforms(reader.Count(kLeastBytes));
  for (TransformMessage& transform : transforms) {
    transform.stamp_ns = ReadStamp(&reader);
    transform.parent_frame = FrameName(reader.Text());
    transform.child_frame = FrameName(reader.Text());
    reader.Doubles(&transform.parent_from_child.translation_m);
    reader.Doubles(&transform.parent_from_child.rotation_xyzw);
  }
  if (!reader.ok()) return NotCdr(topic);
  return transforms;
}

StatusOr<TransformMessage> DecodePose(const MessageTopic& topic,
                                      std::span<const std::uint8_t> data) {
  TransformMessage pose;
  if (IsProtobuf(topic)) {
    INTERLACER_ASSIGN_OR_RETURN(pose, DecodeFoxglovePose(topic, data));
  } else {
    // A covariance may follow.
    CdrReader reader(data);
    pose.stamp_ns = ReadStamp(&reader);
    pose.parent_frame = FrameName(reader.Text());
    reader.Doubles(&pose.parent_from_child.translation_m);
    reader.Doubles(&pose.parent_from_child.rotation_xyzw);
    if (!reader.ok()) return NotCdr(topic);
  }
  pose.child_frame = PoseFrame(topic.name);
  if (!pose.parent_frame.empty()) return pose;
  return Mismatch(reason::SCHEMA_INVALID, topic.name,
                  "poses in a frame: header.frame_id, as the driver's parameters set it", "none");
}

StatusOr<JointsMessage> DecodeJoints(const MessageTopic& topic,
                                     std::span<const std::uint8_t> data) {
  if (IsProtobuf(topic)) return DecodeFoxgloveJoints(topic, data);
  CdrReader reader(data);
  JointsMessage joints;
  joints.stamp_ns = ReadStamp(&reader);
  reader.Text();  // frame
  joints.names.resize(reader.Count(sizeof(std::uint32_t)));
  for (std::string& name : joints.names) name = reader.Text();
  joints.positions = reader.Doubles();
  if (!reader.ok()) return NotCdr(topic);
  // Messages of velocities or efforts alone have no positions.
  if (joints.positions.empty()) {
    joints.positions.assign(joints.names.size(), std::numeric_limits<double>::quiet_NaN());
  }
  if (joints.positions.size() != joints.names.size()) {
    return Mismatch(reason::SCHEMA_INVALID, topic.name,
                    std::to_string(joints.names.size()) + " positions, one for each name",
                    std::to_string(joints.positions.size()));
  }
  return joints;
}

}  // namespace interlacer
