#include "tests/fuzz/bag_targets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <stop_token>
#include <string>

#include "common/image_codec.h"
#include "common/sha256.h"
#include "data/bags/foxglove_messages.h"
#include "data/bags/image_pixels.h"
#include "data/episode_record.h"
#include "data/importers/bag_index.h"
#include "data/importers/exported_episode.h"
#include "data/mcap/mcap_records.h"
#include "tests/data/bag_writer.h"
#include "tests/data/synthetic_scene.h"
#include "tests/support/temp_folder.h"

namespace interlacer::testing {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr int kWidthPx = 4, kHeightPx = 3;

/// In the order of the first byte of an input.
const std::vector<MessageTopic>& Topics() {
  static const std::vector<MessageTopic> topics = [] {
    std::vector<MessageTopic> made;
    for (const char* type : {"sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage",
                             "sensor_msgs/msg/CameraInfo", "tf2_msgs/msg/TFMessage",
                             "sensor_msgs/msg/JointState", "geometry_msgs/msg/PoseStamped"}) {
      made.push_back({"/topic", type, "cdr"});
    }
    for (const char* type : {"RawImage", "CompressedImage", "CameraCalibration", "FrameTransforms",
                             "JointStates", "PoseInFrame"}) {
      made.push_back({"/topic", std::string("foxglove.") + type, "protobuf"});
    }
    return made;
  }();
  return topics;
}

Status CheckImage(const MessageTopic& topic, std::span<const std::uint8_t> data) {
  INTERLACER_ASSIGN_OR_RETURN(const ImageMessage image, DecodeImage(topic, data));
  INTERLACER_ASSIGN_OR_RETURN(const PixelKind kind, KindOfPixels(image));
  INTERLACER_ASSIGN_OR_RETURN(const ImageSize size, SizeOfImage(image));
  if (std::max(size.width_px, size.height_px) > kMaxSidePx) return Status::Ok();
  const std::size_t pixels = static_cast<std::size_t>(size.width_px) * size.height_px;
  if (kind == PixelKind::kColor) {
    INTERLACER_ASSIGN_OR_RETURN(const RgbImage color, ColorOf(image));
    EXPECT_EQ(color.pixels.size(), 3 * pixels);
    return Status::Ok();
  }
  if (kind == PixelKind::kDepthMeters) {
    INTERLACER_RETURN_IF_ERROR(SurveyDepths(image).status());
  }
  INTERLACER_ASSIGN_OR_RETURN(const DepthImage16 depth, DepthOf(image, 0.001));
  EXPECT_EQ(depth.pixels.size(), pixels);
  return Status::Ok();
}

Status CheckMessageOf(const MessageTopic& topic, std::span<const std::uint8_t> data) {
  switch (KindOf(topic)) {
    case MessageKind::kImage:
    case MessageKind::kCompressedImage:
      return CheckImage(topic, data);
    case MessageKind::kCameraInfo:
      return DecodeCameraInfo(topic, data).status();
    case MessageKind::kTransforms:
      return DecodeTransforms(topic, data).status();
    case MessageKind::kPose:
      return DecodePose(topic, data).status();
    case MessageKind::kJoints: {
      INTERLACER_ASSIGN_OR_RETURN(const JointsMessage joints, DecodeJoints(topic, data));
      EXPECT_EQ(joints.names.size(), joints.positions.size());
      return Status::Ok();
    }
    case MessageKind::kOther:
      break;
  }
  ADD_FAILURE() << topic.schema << " is not known";
  return Status::Ok();
}

bool CheckMessage(const std::string& bytes) {
  if (bytes.empty()) return false;
  const std::span data(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  const Status status = CheckMessageOf(Topics()[data[0] % Topics().size()], data.subspan(1));
  ExpectExplained(status);
  return status.ok();
}

/// The scan, then every image again.
bool CheckBag(const std::string& bytes, const char* name) {
  static const TempFolder folder;
  const std::string path = folder.File(name);
  std::filesystem::remove(path);  // a file that is cut and written again is flushed to the disk
  std::ofstream(path, std::ios::binary) << bytes;
  const auto bag = BagIndex::Read(path, std::stop_token());
  ExpectExplained(bag.status());
  if (!bag.ok()) return false;
  // What an import makes of it without options, up to its cameras.
  ImportOptions options;
  std::vector<std::string> choices;
  const auto exported = TakeExportedEpisode(*bag, &options, &choices);
  auto cameras = FindCameras(*bag, options);
  ExpectExplained(cameras.status());
  if (exported && cameras.ok()) {
    FitCameras(exported->manifest, &*cameras);
    IsStepPlausible(exported->manifest, *cameras);
  }
  for (const Finding& finding : bag->findings()) EXPECT_FALSE(finding.message.empty());
  for (const auto& [topic_name, topic] : bag->topics()) {
    for (const BagImage& image : topic.images) {
      const auto loaded = bag->Load(topic, image);
      ExpectExplained(loaded.status());
    }
  }
  return bag->findings().empty() && !bag->topics().empty();
}

bool CheckMcap(const std::string& bytes) { return CheckBag(bytes, "bag.mcap"); }
bool CheckSqlite(const std::string& bytes) { return CheckBag(bytes, "bag.db3"); }

/// One message of every kind that a bag may have.
std::vector<BagMessage> BagMessages() {
  const Bytes rgb(3 * kWidthPx * kHeightPx, 90), depth(2 * kWidthPx * kHeightPx, 3);
  const RgbImage color{kWidthPx, kHeightPx, rgb};
  return {
      {"/a/color", "Image", 5, ImageCdr(5, "a", kWidthPx, kHeightPx, "rgb8", 3 * kWidthPx, rgb)},
      {"/a/depth", "Image", 5, ImageCdr(5, "a", kWidthPx, kHeightPx, "16UC1", 2 * kWidthPx, depth)},
      {"/b/color", "CompressedImage", 6, CompressedCdr(6, "b", "png", EncodePng(color))},
      {"/a/info", "CameraInfo", 5,
       CameraInfoCdr(5, "a", kWidthPx, kHeightPx, 4, 1.5, 1, {0.1, 0, 0, 0, 0})},
      {"/tf", "tf2_msgs/msg/TFMessage", 5, TransformCdr(5, "world", "a", {0, 0, 1, 0, 0, 0, 1})},
      {"/joints", "JointState", 5, JointsCdr(5, {"x", "y"}, {1, 2})},
      {"/pose", "geometry_msgs/msg/PoseStamped", 5, PoseCdr(5, "world", {0, 0, 1, 0, 0, 0, 1})}};
}

/// Of the episode whose export the messages are.
EpisodeManifest ExportedManifest() {
  EpisodeManifest manifest = SyntheticManifest();
  manifest.kind = EpisodeKind::kMovingCamera;
  manifest.actions = manifest.states = std::nullopt;
  manifest.cameras.resize(1);
  manifest.cameras[0].name = "a";
  manifest.cameras[0].color_pattern = "color/a/%06d.png";
  manifest.cameras[0].depth_pattern = "depth/a/%06d.png";
  manifest.files_sha256 = std::string(64, '0');
  return manifest;
}

std::vector<std::string> MessageSeeds() {
  std::vector<std::string> seeds;
  const auto add = [&](const std::string& schema, const auto& bytes) {
    for (std::size_t i = 0; i < Topics().size(); ++i) {
      if (Topics()[i].schema != schema) continue;
      seeds.push_back(static_cast<char>(i) + std::string(bytes.begin(), bytes.end()));
    }
  };
  for (const BagMessage& message : BagMessages()) add(message.schema(), message.data);
  const Bytes depth(2 * kWidthPx * kHeightPx, 3);
  add("foxglove.RawImage", EncodeFoxgloveImage(5, "a", kWidthPx, kHeightPx, "16UC1", depth));
  CameraInfoMessage info;
  info.width_px = kWidthPx;
  info.height_px = kHeightPx;
  info.distortion_coefficients = {0.1, 0, 0, 0, 0};
  add("foxglove.CameraCalibration", EncodeFoxgloveCalibration(info));
  add("foxglove.FrameTransforms", EncodeFoxgloveTransforms({{5, "world", "a", Transform()}}));
  add("foxglove.JointStates", EncodeFoxgloveJoints({5, {"x", "y"}, {1, 2}}));
  return seeds;
}

std::string ReadBack(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// As a recorder writes it, and with an uncompressed chunk without CRC, whose bytes may change.
std::vector<std::string> McapSeeds() {
  const TempFolder folder;
  const std::string path = folder.File("seed.mcap");
  WriteMcapBag(path, BagMessages());
  mcap::ByteWriter records, chunk, plain;
  const auto record = [](mcap::Opcode opcode, const Bytes& content, mcap::ByteWriter* out) {
    out->Number(static_cast<std::uint8_t>(opcode));
    out->Number<std::uint64_t>(content.size());
    out->Bytes(content);
  };
  std::uint16_t id = 0;
  for (const BagMessage& message : BagMessages()) {
    mcap::ByteWriter schema, channel, data;
    schema.Number(++id);
    schema.Text(message.schema());
    schema.Text("ros2msg");
    schema.Number<std::uint32_t>(0);
    channel.Number(id);
    channel.Number(id);
    channel.Text(message.topic);
    channel.Text("cdr");
    channel.Number<std::uint32_t>(0);
    data.Number(id);
    data.Number<std::uint32_t>(0);
    data.Number<std::uint64_t>(5);
    data.Number<std::uint64_t>(5);
    data.Bytes(message.data);
    record(mcap::Opcode::kSchema, schema.data(), &records);
    record(mcap::Opcode::kChannel, channel.data(), &records);
    record(mcap::Opcode::kMessage, data.data(), &records);
  }
  chunk.Number<std::uint64_t>(5);
  chunk.Number<std::uint64_t>(5);
  chunk.Number<std::uint64_t>(records.data().size());
  chunk.Number<std::uint32_t>(0);
  chunk.Text("");
  chunk.Number<std::uint64_t>(records.data().size());
  chunk.Bytes(records.data());
  mcap::ByteWriter values, metadata;
  for (const auto& [key, value] :
       MakeEpisodeRecord({ExportedManifest(), {{"truth/a", Sha256Hex(Bytes(3))}}})) {
    values.Text(key);
    values.Text(value);
  }
  metadata.Text(kEpisodeRecordName);
  metadata.Number(static_cast<std::uint32_t>(values.data().size()));
  metadata.Bytes(values.data());
  mcap::ByteWriter attachment;
  attachment.Bytes(Bytes(16));
  attachment.Text("truth/a");
  attachment.Text("");
  attachment.Number<std::uint64_t>(3);
  attachment.Bytes(Bytes(3 + 4));  // the data, and no CRC
  plain.Bytes(mcap::kMagic);
  record(mcap::Opcode::kHeader, Bytes(8), &plain);
  record(mcap::Opcode::kMetadata, metadata.data(), &plain);
  record(mcap::Opcode::kAttachment, attachment.data(), &plain);
  record(mcap::Opcode::kChunk, chunk.data(), &plain);
  record(mcap::Opcode::kDataEnd, Bytes(4), &plain);
  record(mcap::Opcode::kFooter, Bytes(20), &plain);
  plain.Bytes(mcap::kMagic);
  return {ReadBack(path), {plain.data().begin(), plain.data().end()}};
}

std::vector<std::string> SqliteSeeds() {
  const TempFolder folder;
  WriteSqliteBag(folder.File("seed.db3"), BagMessages());
  return {ReadBack(folder.File("seed.db3"))};
}

}  // namespace

std::vector<FuzzTarget> BagTargets() {
  return {{"messages", CheckMessage, MessageSeeds()},
          {"mcap", CheckMcap, McapSeeds()},
          {"sqlite", CheckSqlite, SqliteSeeds()}};
}

}  // namespace interlacer::testing
