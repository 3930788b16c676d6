#include "data/importers/bag_index.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "common/sha256.h"
#include "data/bags/sqlite_bag.h"
#include "data/importers/frame_pairs.h"
#include "data/mcap/mcap_reader.h"

namespace interlacer {
namespace {

namespace fs = std::filesystem;

/// What makes a file of another kind readable.
std::string WayOut(const std::string& extension) {
  if (extension == ".zstd" || extension == ".zst") return "; unpack this one first: zstd -d";
  if (extension == ".bag") {
    return "; of ROS 1, convert it first: rosbags-convert (pip install rosbags)";
  }
  return "";
}

StatusOr<std::unique_ptr<MessageFile>> OpenFile(const std::string& path) {
  const std::string extension = fs::path(path).extension().string();
  if (extension == ".db3") return OpenSqliteBag(path);
  if (extension == ".mcap") {
    INTERLACER_ASSIGN_OR_RETURN(auto reader, McapReader::Open(path));
    return std::unique_ptr<MessageFile>(std::move(reader));
  }
  return Mismatch(reason::ARGUMENT_INVALID, "source",
                  "a .mcap or .db3 file, or a bag's folder with them" + WayOut(extension), path);
}

StatusOr<std::vector<std::string>> ListFiles(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::vector<std::string>{path};
  std::vector<std::string> files, packed;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    const std::string extension = entry.path().extension().string();
    if (entry.path().filename().string().starts_with('.')) continue;
    if (extension == ".mcap" || extension == ".db3") files.push_back(entry.path().string());
    if (extension == ".zstd" || extension == ".zst") packed.push_back(entry.path().string());
  }
  if (files.empty()) {
    return NotFound(reason::FILE_NOT_FOUND,
                    path + ": expected a bag's files (.mcap or .db3)" +
                        (packed.empty() ? "" : "; unpack first: zstd -d " + packed.front()))
        .WithField(path);
  }
  std::sort(files.begin(), files.end(), NaturalLess);
  return files;
}

template <typename Numbers>
bool AreSame(const Numbers& a, const Numbers& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

bool AreSame(const CameraInfoMessage& a, const CameraInfoMessage& b) {
  return AreSame(a.k, b.k) && AreSame(a.p, b.p) && a.width_px == b.width_px &&
         a.height_px == b.height_px &&
         AreSame(a.distortion_coefficients, b.distortion_coefficients) &&
         a.distortion_model == b.distortion_model && a.frame_id == b.frame_id &&
         a.binning == b.binning && a.region == b.region;
}

}  // namespace

StatusOr<BagIndex> BagIndex::Read(const std::string& path, const std::stop_token& stop) {
  BagIndex index;
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<std::string> paths, ListFiles(path));
  for (const std::string& file_path : paths) {
    INTERLACER_ASSIGN_OR_RETURN(auto file, OpenFile(file_path));
    const int number = static_cast<int>(index.files_.size());
    INTERLACER_RETURN_IF_ERROR(file->Scan([&](const FoundMessage& message) {
      if (stop.stop_requested()) return Cancelled("import stopped");
      const MessageTopic& topic = file->topics()[static_cast<std::size_t>(message.topic)];
      const auto [entry, is_new] = index.topics_.try_emplace(topic.name);
      if (is_new) {
        entry->second.topic = topic;
        entry->second.kind = KindOf(topic);
      }
      // Types of one topic may differ between files; the first holds.
      if (entry->second.topic.schema != topic.schema) return Status::Ok();
      ++entry->second.message_count;
      const Status status = index.Add(number, message, &entry->second);
      if (!status.ok() && ++entry->second.damaged_count == 1) entry->second.damage = status;
      return Status::Ok();
    }));
    const auto& findings = file->findings();
    index.findings_.insert(index.findings_.end(), findings.begin(), findings.end());
    INTERLACER_RETURN_IF_ERROR(index.AddExportedEpisode(*file));
    for (const FileAttachment& attachment : file->attachments()) {
      index.attachments_.emplace(attachment.name, std::pair(number, attachment.address));
    }
    index.files_.push_back(std::move(file));
  }
  index.Finish();
  return index;
}

Status BagIndex::AddExportedEpisode(const MessageFile& file) {
  for (const FileMetadata& metadata : file.metadata()) {
    if (metadata.name != kEpisodeRecordName) continue;
    if (!episode_record_.empty() && metadata.values != episode_record_) {
      return Mismatch(reason::ARGUMENT_INVALID, "source",
                      "files of one recording; import each export by itself",
                      "exports of several episodes, the second in " + file.path());
    }
    episode_record_ = metadata.values;
    auto record = ParseEpisodeRecord(metadata.values);
    if (record.ok()) {
      exported_episode_ = *std::move(record);
    } else {
      findings_.push_back(
          {"EPISODE_RECORD_INVALID",
           "what an export says of its episode was left out: " + record.status().ToString(),
           file.path()});
    }
  }
  return Status::Ok();
}

const BagTopic* BagIndex::Find(const std::string& topic) const {
  const auto found = topics_.find(topic);
  return found == topics_.end() ? nullptr : &found->second;
}

Status BagIndex::Add(int file, const FoundMessage& message, BagTopic* topic) {
  switch (topic->kind) {
    case MessageKind::kImage:
    case MessageKind::kCompressedImage:
      return AddImage(file, message, topic);
    case MessageKind::kCameraInfo: {
      INTERLACER_ASSIGN_OR_RETURN(CameraInfoMessage info,
                                  DecodeCameraInfo(topic->topic, message.data));
      if (topic->info && !AreSame(*topic->info, info)) topic->does_info_change = true;
      if (!topic->info) topic->info = std::move(info);
      return Status::Ok();
    }
    case MessageKind::kTransforms:
      return AddTransforms(message, *topic);
    case MessageKind::kPose: {
      INTERLACER_ASSIGN_OR_RETURN(const TransformMessage pose,
                                  DecodePose(topic->topic, message.data));
      return frames_.Add(pose);
    }
    case MessageKind::kJoints: {
      INTERLACER_ASSIGN_OR_RETURN(const JointsMessage joints,
                                  DecodeJoints(topic->topic, message.data));
      AddJoints(joints, &topic->joints);
      return Status::Ok();
    }
    case MessageKind::kOther:
      break;
  }
  return Status::Ok();
}

Status BagIndex::AddImage(int file, const FoundMessage& message, BagTopic* topic) {
  INTERLACER_ASSIGN_OR_RETURN(const ImageMessage image, DecodeImage(topic->topic, message.data));
  if (topic->images.empty()) {
    INTERLACER_ASSIGN_OR_RETURN(topic->pixels, KindOfPixels(image));
    INTERLACER_ASSIGN_OR_RETURN(topic->size, SizeOfImage(image));
    topic->frame_id = image.frame_id;
    topic->encoding = image.encoding;
  }
  if (image.frame_id != topic->frame_id || image.encoding != topic->encoding) {
    return Mismatch(
        reason::SCHEMA_INVALID, topic->topic.name,
        "images of one frame and encoding (" + topic->frame_id + ", " + topic->encoding + ")",
        image.frame_id + ", " + image.encoding);
  }
  if (topic->pixels == PixelKind::kDepthMeters) {
    INTERLACER_ASSIGN_OR_RETURN(const MetreDepths depths, SurveyDepths(image));
    topic->metres.Add(depths);
  }
  if (!topic->images.empty()) {
    const std::int64_t before_ns = topic->images.back().stamp_ns;
    topic->equal_stamp_count += image.stamp_ns == before_ns;
    topic->earlier_stamp_count += image.stamp_ns < before_ns;
  }
  topic->images.push_back({image.stamp_ns, file, message.address});
  return Status::Ok();
}

Status BagIndex::AddTransforms(const FoundMessage& message, const BagTopic& topic) {
  INTERLACER_ASSIGN_OR_RETURN(const auto transforms, DecodeTransforms(topic.topic, message.data));
  for (const TransformMessage& transform : transforms) {
    const Status status = frames_.Add(transform);
    if (!status.ok() && ++transforms_left_out_ == 1) first_transform_left_out_ = status.message();
  }
  return Status::Ok();
}

void BagIndex::Finish() {
  frames_.Finish();
  for (auto& [name, topic] : topics_) {
    for (auto& [joint, track] : topic.joints) track.Finish();
    std::stable_sort(topic.images.begin(), topic.images.end(),
                     [](const BagImage& a, const BagImage& b) { return a.stamp_ns < b.stamp_ns; });
    AddStampFindings(topic);
    if (topic.damaged_count > 0) {
      findings_.push_back({"MESSAGE_DAMAGED",
                           std::to_string(topic.damaged_count) + " of " +
                               std::to_string(topic.message_count) +
                               " messages were left out, the first: " + topic.damage.message(),
                           name});
    }
  }
  if (transforms_left_out_ > 0) {
    findings_.push_back({"TRANSFORM_INVALID",
                         std::to_string(transforms_left_out_) +
                             " transforms were left out, the first: " + first_transform_left_out_,
                         "tf"});
  }
}

void BagIndex::AddStampFindings(const BagTopic& topic) {
  const std::string of_all = " of " + std::to_string(topic.images.size()) + " images ";
  if (topic.equal_stamp_count > 0) {
    findings_.push_back({"TIMESTAMP_DUPLICATE",
                         std::to_string(topic.equal_stamp_count) + of_all +
                             "have the stamp of the image before; the first of each is kept",
                         topic.topic.name});
  }
  if (topic.earlier_stamp_count > 0) {
    findings_.push_back({"TIMESTAMP_ORDER",
                         std::to_string(topic.earlier_stamp_count) + of_all +
                             "are stamped earlier than the image before; they were sorted: was the "
                             "clock set while recording?",
                         topic.topic.name});
  }
}

StatusOr<std::vector<std::uint8_t>> BagIndex::LoadAttached(const std::string& path,
                                                           std::uint64_t most_bytes) const {
  Status status = NotFound(reason::FILE_NOT_FOUND, path + " is not in the recording");
  // Copies of a recording may have it several times, and others may have files of that name.
  const auto [begin, end] = attachments_.equal_range(path);
  for (auto named = begin; named != end; ++named) {
    const auto& [file, address] = named->second;
    if (address.size > most_bytes) {
      status = InvalidArgument(reason::FILE_UNREADABLE,
                               path + " has more than " + std::to_string(most_bytes) + " bytes");
      continue;
    }
    INTERLACER_ASSIGN_OR_RETURN(const MessageBytes bytes,
                                files_[static_cast<std::size_t>(file)]->Read(address));
    if (Sha256Hex(bytes.data) == exported_episode_->files.at(path)) {
      return std::vector<std::uint8_t>(bytes.data.begin(), bytes.data.end());
    }
    status = InvalidArgument(reason::HASH_MISMATCH, path + " is damaged or of another episode");
  }
  return status;
}

StatusOr<BagIndex::LoadedImage> BagIndex::Load(const BagTopic& topic, const BagImage& image) const {
  LoadedImage loaded;
  INTERLACER_ASSIGN_OR_RETURN(loaded.bytes,
                              files_[static_cast<std::size_t>(image.file)]->Read(image.address));
  INTERLACER_ASSIGN_OR_RETURN(loaded.image, DecodeImage(topic.topic, loaded.bytes.data));
  return loaded;
}

}  // namespace interlacer
