#include "data/bags/foxglove_messages.h"

#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "common/duration.h"
#include "foxglove/messages.pb.h"

namespace interlacer {
namespace {

template <typename Message>
StatusOr<std::shared_ptr<Message>> Parse(const MessageTopic& topic,
                                         std::span<const std::uint8_t> data) {
  auto message = std::make_shared<Message>();
  const bool fits = data.size() <= std::size_t{std::numeric_limits<int>::max()};
  if (!fits || !message->ParseFromArray(data.data(), static_cast<int>(data.size()))) {
    return Undecodable(topic, "a " + topic.schema + " in protobuf");
  }
  return message;
}

template <typename Message>
std::int64_t StampOf(const Message& message) {
  // Farther ones become the farthest, so that an int64 holds the difference of any two.
  constexpr std::int64_t kMostSeconds =
      std::numeric_limits<std::int64_t>::max() / kNanosecondsPerSecond / 2 - 1;
  return std::clamp<std::int64_t>(message.timestamp().seconds(), -kMostSeconds, kMostSeconds) *
             kNanosecondsPerSecond +
         message.timestamp().nanos();
}

template <typename Message>
void SetStamp(std::int64_t stamp_ns, Message* message) {
  std::int64_t seconds = stamp_ns / kNanosecondsPerSecond;
  std::int64_t nanos = stamp_ns % kNanosecondsPerSecond;
  if (nanos < 0) {
    --seconds;
    nanos += kNanosecondsPerSecond;
  }
  message->mutable_timestamp()->set_seconds(seconds);
  message->mutable_timestamp()->set_nanos(static_cast<std::int32_t>(nanos));
}

int Pixels(std::uint32_t side_px) {
  constexpr std::uint32_t kMost = std::numeric_limits<int>::max();
  return side_px > kMost ? -1 : static_cast<int>(side_px);
}

std::span<const std::uint8_t> BytesOf(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

TransformMessage FromFoxglove(const foxglove::FrameTransform& message) {
  TransformMessage transform;
  transform.stamp_ns = StampOf(message);
  transform.parent_frame = FrameName(message.parent_frame_id());
  transform.child_frame = FrameName(message.child_frame_id());
  const auto& t = message.translation();
  const auto& q = message.rotation();
  transform.parent_from_child = {{t.x(), t.y(), t.z()}, {q.x(), q.y(), q.z(), q.w()}};
  return transform;
}

}  // namespace

StatusOr<ImageMessage> DecodeFoxgloveImage(const MessageTopic& topic,
                                           std::span<const std::uint8_t> data) {
  ImageMessage image;
  image.is_compressed = KindOf(topic) == MessageKind::kCompressedImage;
  if (image.is_compressed) {
    INTERLACER_ASSIGN_OR_RETURN(const auto message, Parse<foxglove::CompressedImage>(topic, data));
    image.stamp_ns = StampOf(*message);
    image.frame_id = FrameName(message->frame_id());
    image.encoding = message->format();
    image.data = BytesOf(message->data());
    image.owner = message;
    return image;
  }
  INTERLACER_ASSIGN_OR_RETURN(const auto message, Parse<foxglove::RawImage>(topic, data));
  image.stamp_ns = StampOf(*message);
  image.frame_id = FrameName(message->frame_id());
  image.width_px = Pixels(message->width());
  image.height_px = Pixels(message->height());
  image.encoding = message->encoding();
  image.row_bytes = message->step();
  image.data = BytesOf(message->data());
  image.owner = message;
  return image;
}

StatusOr<CameraInfoMessage> DecodeFoxgloveCalibration(const MessageTopic& topic,
                                                      std::span<const std::uint8_t> data) {
  INTERLACER_ASSIGN_OR_RETURN(const auto message, Parse<foxglove::CameraCalibration>(topic, data));
  CameraInfoMessage info;
  info.stamp_ns = StampOf(*message);
  info.frame_id = FrameName(message->frame_id());
  info.width_px = Pixels(message->width());
  info.height_px = Pixels(message->height());
  info.distortion_model = message->distortion_model();
  info.distortion_coefficients.assign(message->d().begin(), message->d().end());
  if (message->k_size() != static_cast<int>(info.k.size())) {
    return Mismatch(reason::SCHEMA_INVALID, topic.name, "9 numbers in K",
                    std::to_string(message->k_size()));
  }
  std::copy(message->k().begin(), message->k().end(), info.k.begin());
  if (message->p_size() == static_cast<int>(info.p.size())) {
    std::copy(message->p().begin(), message->p().end(), info.p.begin());
  }
  return info;
}

StatusOr<std::vector<TransformMessage>> DecodeFoxgloveTransforms(
    const MessageTopic& topic, std::span<const std::uint8_t> data) {
  std::vector<TransformMessage> transforms;
  if (topic.schema == "foxglove.FrameTransform") {
    INTERLACER_ASSIGN_OR_RETURN(const auto message, Parse<foxglove::FrameTransform>(topic, data));
    transforms.push_back(FromFoxglove(*message));
    return transforms;
  }
  INTERLACER_ASSIGN_OR_RETURN(const auto message, Parse<foxglove::FrameTransforms>(topic, data));
  for (const auto& transform : message->transforms()) transforms.push_back(FromFoxglove(transform));
  return transforms;
}

StatusOr<TransformMessage> DecodeFoxglovePose(const MessageTopic& topic,
                                              std::span<const std::uint8_t> data) {
  INTERLACER_ASSIGN_OR_RETURN(const auto message, Parse<foxglove::PoseInFrame>(topic, data));
  TransformMessage pose;
  pose.stamp_ns = StampOf(*message);
  pose.parent_frame = FrameName(message->frame_id());
  const auto& t = message->pose().position();
  const auto& q = message->pose().orientation();
  pose.parent_from_child = {{t.x(), t.y(), t.z()}, {q.x(), q.y(), q.z(), q.w()}};
  return pose;
}

StatusOr<JointsMessage> DecodeFoxgloveJoints(const MessageTopic& topic,
                                             std::span<const std::uint8_t> data) {
  INTERLACER_ASSIGN_OR_RETURN(const auto message, Parse<foxglove::JointStates>(topic, data));
  JointsMessage joints;
  joints.stamp_ns = StampOf(*message);
  for (const auto& joint : message->joints()) {
    joints.names.push_back(joint.name());
    joints.positions.push_back(joint.has_position() ? joint.position()
                                                    : std::numeric_limits<double>::quiet_NaN());
  }
  return joints;
}

std::string EncodeFoxgloveImage(std::int64_t stamp_ns, const std::string& frame, int width_px,
                                int height_px, const std::string& encoding,
                                std::span<const std::uint8_t> data) {
  foxglove::RawImage message;
  SetStamp(stamp_ns, &message);
  message.set_frame_id(frame);
  message.set_width(static_cast<std::uint32_t>(width_px));
  message.set_height(static_cast<std::uint32_t>(height_px));
  message.set_encoding(encoding);
  message.set_step(static_cast<std::uint32_t>(data.size() / static_cast<std::size_t>(height_px)));
  message.set_data(data.data(), data.size());
  return message.SerializeAsString();
}

std::string EncodeFoxgloveCalibration(const CameraInfoMessage& info) {
  foxglove::CameraCalibration message;
  SetStamp(info.stamp_ns, &message);
  message.set_frame_id(info.frame_id);
  message.set_width(static_cast<std::uint32_t>(info.width_px));
  message.set_height(static_cast<std::uint32_t>(info.height_px));
  message.set_distortion_model(info.distortion_model);
  for (const double value : info.distortion_coefficients) message.add_d(value);
  for (const double value : info.k) message.add_k(value);
  for (const double value : {1, 0, 0, 0, 1, 0, 0, 0, 1}) message.add_r(value);
  for (const double value : info.p) message.add_p(value);
  return message.SerializeAsString();
}

std::string EncodeFoxgloveTransforms(const std::vector<TransformMessage>& transforms) {
  foxglove::FrameTransforms message;
  for (const TransformMessage& transform : transforms) {
    auto* const added = message.add_transforms();
    SetStamp(transform.stamp_ns, added);
    added->set_parent_frame_id(transform.parent_frame);
    added->set_child_frame_id(transform.child_frame);
    const auto& [t, q] = transform.parent_from_child;
    added->mutable_translation()->set_x(t[0]);
    added->mutable_translation()->set_y(t[1]);
    added->mutable_translation()->set_z(t[2]);
    added->mutable_rotation()->set_x(q[0]);
    added->mutable_rotation()->set_y(q[1]);
    added->mutable_rotation()->set_z(q[2]);
    added->mutable_rotation()->set_w(q[3]);
  }
  return message.SerializeAsString();
}

std::string EncodeFoxgloveJoints(const JointsMessage& joints) {
  foxglove::JointStates message;
  SetStamp(joints.stamp_ns, &message);
  for (std::size_t i = 0; i < joints.names.size(); ++i) {
    auto* const joint = message.add_joints();
    joint->set_name(joints.names[i]);
    joint->set_position(joints.positions[i]);
  }
  return message.SerializeAsString();
}

std::string EncodeFoxglovePoints(std::int64_t stamp_ns, const std::string& frame,
                                 std::span<const float> positions_m,
                                 std::span<const std::uint8_t> colors_rgb8) {
  constexpr std::size_t kPositionBytes = 3 * sizeof(float);
  const bool has_colors = !colors_rgb8.empty();
  const std::size_t stride = kPositionBytes + (has_colors ? 4 : 0);
  const std::size_t count = positions_m.size() / 3;
  foxglove::PointCloud message;
  SetStamp(stamp_ns, &message);
  message.set_frame_id(frame);
  message.mutable_pose()->mutable_position();
  message.mutable_pose()->mutable_orientation()->set_w(1);
  message.set_point_stride(static_cast<std::uint32_t>(stride));
  const auto add_field = [&](const char* name, std::size_t offset, auto type) {
    auto* const field = message.add_fields();
    field->set_name(name);
    field->set_offset(static_cast<std::uint32_t>(offset));
    field->set_type(type);
  };
  std::size_t offset = 0;
  for (const char* name : {"x", "y", "z"}) {
    add_field(name, offset, foxglove::PackedElementField::FLOAT32);
    offset += sizeof(float);
  }
  if (has_colors) {
    for (const char* name : {"red", "green", "blue", "alpha"}) {
      add_field(name, offset++, foxglove::PackedElementField::UINT8);
    }
  }
  std::string data(count * stride, '\xff');
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(data.data() + i * stride, &positions_m[3 * i], kPositionBytes);
    if (has_colors) std::memcpy(data.data() + i * stride + kPositionBytes, &colors_rgb8[3 * i], 3);
  }
  message.set_data(std::move(data));
  return message.SerializeAsString();
}

std::vector<std::uint8_t> FoxgloveSchema() {
  google::protobuf::FileDescriptorSet set;
  const auto* const file = foxglove::RawImage::descriptor()->file();
  for (int i = 0; i < file->dependency_count(); ++i) file->dependency(i)->CopyTo(set.add_file());
  file->CopyTo(set.add_file());
  const std::string bytes = set.SerializeAsString();
  return {bytes.begin(), bytes.end()};
}

}  // namespace interlacer
