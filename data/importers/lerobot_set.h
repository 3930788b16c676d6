#pragma once

/// What a LeRobot data set (v3.0, v2.1) says of itself: its features, and where an episode lies.
///
///   v3.0  meta/info.json, meta/episodes/*/*.parquet; several episodes in a table and in a video
///   v2.1  meta/info.json, meta/episodes.jsonl; a table and videos for each episode
/// Paths come from templates of info.json and must stay inside the set.
/// Errors: SCHEMA_VERSION_UNSUPPORTED, SCHEMA_INVALID at the field, ARGUMENT_INVALID (--episode),
/// FILE_NOT_FOUND, those of data/parquet/parquet_table.h. Thread-safe.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/json.h"
#include "common/status.h"

namespace interlacer {

/// How depths became codes of 12 bits, in metres.
struct DepthCoding {
  double min_m = 0, max_m = 0, shift_m = 0;
  bool is_log = false;
};

struct LerobotFeature {
  std::string dtype;               ///< float32, video, image, ...
  std::vector<std::string> names;  ///< of the columns; may be empty
  bool is_depth = false;
  std::string depth_unit;             ///< mm, m, or empty
  std::optional<DepthCoding> coding;  ///< of depth videos

  bool is_picture() const { return dtype == "video" || dtype == "image"; }
};

struct LerobotVideo {
  std::string path;
  double first_s = 0;  ///< of the episode in the file
};

struct LerobotEpisode {
  std::int64_t index = 0;
  std::int64_t length = 0;  ///< frames
  std::string task;
  std::string table_path;
  std::map<std::string, LerobotVideo> videos;  ///< by feature
};

class LerobotSet {
 public:
  static StatusOr<LerobotSet> Open(const std::string& folder);

  std::int64_t episode_count() const { return episode_count_; }
  double fps() const { return fps_; }
  const std::string& version() const { return version_; }
  const std::map<std::string, LerobotFeature>& features() const { return features_; }
  /// The one that is wanted; where the set has a single one, that.
  StatusOr<LerobotEpisode> FindEpisode(std::optional<std::int64_t> wanted) const;

 private:
  bool is_v3() const { return version_ == "v3.0"; }
  StatusOr<LerobotEpisode> FindV2(std::int64_t index) const;
  StatusOr<LerobotEpisode> FindV3(std::int64_t index) const;
  /// A file of the set by a template such as "data/chunk-{chunk_index:03d}/x.parquet".
  StatusOr<std::string> PathOf(const std::string& path_template,
                               const std::map<std::string, std::string>& values) const;

  std::string folder_, version_, data_path_, video_path_;
  double fps_ = 0;
  std::int64_t episode_count_ = 0, chunk_size_ = 0;
  std::map<std::string, LerobotFeature> features_;
};

}  // namespace interlacer
