#pragma once

/// What lies in a ROS 2 bag or MCAP file: topics, where each image is, transforms, joints.
///
/// One scan of all files; images are told by stamp and address and read again when they are needed,
/// from any thread. Messages that do not decode and transforms that cannot be are left out and
/// become findings. Memory: a few dozen bytes an image, transforms and joint readings whole.
/// Errors: those of data/mcap/message_file.h; FILE_NOT_FOUND (no bag in a folder); CANCELLED.
/// Threads: Read alone, const methods together.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "data/bags/frame_tree.h"
#include "data/bags/image_pixels.h"
#include "data/episode_record.h"
#include "data/importers/joint_track.h"

namespace interlacer {

struct BagImage {
  std::int64_t stamp_ns = 0;
  int file = 0;
  MessageAddress address;
};

struct BagTopic {
  MessageTopic topic;
  MessageKind kind = MessageKind::kOther;
  std::int64_t message_count = 0;
  std::int64_t damaged_count = 0;
  Status damage;  ///< of the first that did not decode
  // Of images, in the order of their stamps:
  std::vector<BagImage> images;
  /// Next to each other as recorded: the same stamp, or an earlier one.
  std::int64_t equal_stamp_count = 0, earlier_stamp_count = 0;
  std::string frame_id;
  ImageSize size;
  std::string encoding;
  PixelKind pixels = PixelKind::kColor;
  MetreDepths metres;  ///< of PixelKind::kDepthMeters
  /// Of calibrations: the first, and whether another one differs.
  std::optional<CameraInfoMessage> info;
  bool does_info_change = false;
  JointTracks joints;

  bool is_color() const { return !images.empty() && pixels == PixelKind::kColor; }
  bool is_depth() const { return !images.empty() && pixels != PixelKind::kColor; }
};

class BagIndex {
 public:
  /// `path`: a .mcap or .db3 file, or a folder of them, which are read in natural order.
  static StatusOr<BagIndex> Read(const std::string& path, const std::stop_token& stop);

  const std::map<std::string, BagTopic>& topics() const { return topics_; }
  const BagTopic* Find(const std::string& topic) const;
  const FrameTree& frames() const { return frames_; }
  const std::vector<Finding>& findings() const { return findings_; }
  /// Of the episode that was exported into these files, if they are such.
  const std::optional<EpisodeRecord>& exported_episode() const { return exported_episode_; }
  /// One of its files: FILE_NOT_FOUND, or HASH_MISMATCH where none of that name is the one. Larger
  /// ones than `most_bytes` are not read.
  StatusOr<std::vector<std::uint8_t>> LoadAttached(const std::string& path,
                                                   std::uint64_t most_bytes) const;

  /// The message and what keeps its bytes alive.
  struct LoadedImage {
    MessageBytes bytes;
    ImageMessage image;
  };
  StatusOr<LoadedImage> Load(const BagTopic& topic, const BagImage& image) const;

 private:
  Status Add(int file, const FoundMessage& message, BagTopic* topic);
  Status AddImage(int file, const FoundMessage& message, BagTopic* topic);
  Status AddTransforms(const FoundMessage& message, const BagTopic& topic);
  Status AddExportedEpisode(const MessageFile& file);
  void AddStampFindings(const BagTopic& topic);
  void Finish();

  std::vector<std::unique_ptr<MessageFile>> files_;
  std::map<std::string, BagTopic> topics_;
  FrameTree frames_;
  std::int64_t transforms_left_out_ = 0;
  std::string first_transform_left_out_;
  std::map<std::string, std::string> episode_record_;
  std::optional<EpisodeRecord> exported_episode_;
  std::multimap<std::string, std::pair<int, MessageAddress>> attachments_;  ///< by name; the file
  std::vector<Finding> findings_;
};

}  // namespace interlacer
