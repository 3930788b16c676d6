#include "data/importers/lerobot_set.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "common/file_io.h"
#include "data/parquet/parquet_table.h"
#include "data/system_files.h"

namespace interlacer {
namespace {

/// A list of names, or an object that groups one: {"motors": [...]}.
std::vector<std::string> NamesOf(const nlohmann::json& value) {
  const nlohmann::json* list = &value;
  if (value.is_object() && value.size() == 1) list = &value.begin().value();
  std::vector<std::string> names;
  if (!list->is_array()) return names;
  for (const nlohmann::json& name : *list) {
    if (!name.is_string()) return {};
    names.push_back(name.get<std::string>());
  }
  return names;
}

/// Of a depth video; nothing where the format's keys are absent.
StatusOr<std::optional<DepthCoding>> CodingOf(const JsonObject& info) {
  if (!info.Has("video.depth_min")) return std::optional<DepthCoding>();
  DepthCoding coding;
  INTERLACER_ASSIGN_OR_RETURN(coding.min_m, info.Get<double>("video.depth_min"));
  INTERLACER_ASSIGN_OR_RETURN(coding.max_m, info.Get<double>("video.depth_max"));
  INTERLACER_ASSIGN_OR_RETURN(coding.is_log, info.Get<bool>("video.use_log"));
  if (coding.is_log) {
    INTERLACER_ASSIGN_OR_RETURN(coding.shift_m, info.Get<double>("video.shift"));
  }
  if (coding.min_m >= 0 && coding.max_m > coding.min_m && coding.min_m + coding.shift_m >= 0 &&
      (!coding.is_log || coding.min_m + coding.shift_m > 0)) {
    return std::optional<DepthCoding>(coding);
  }
  return info.Invalid("video.depth_min",
                      "0 <= depth_min < depth_max in metres, and depth_min + shift > 0",
                      std::to_string(coding.min_m) + ", depth_max " + std::to_string(coding.max_m) +
                          ", shift " + std::to_string(coding.shift_m));
}

StatusOr<LerobotFeature> ParseFeature(const JsonObject& object) {
  LerobotFeature feature;
  INTERLACER_ASSIGN_OR_RETURN(feature.dtype, object.Get<std::string>("dtype"));
  if (object.Has("names")) {
    INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json* const names, object.Find("names"));
    feature.names = NamesOf(*names);
  }
  if (!feature.is_picture() || !object.Has("info")) return feature;
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json* const value, object.Find("info"));
  if (value->is_null()) return feature;
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject info, object.GetObject("info"));
  for (const char* const key : {"is_depth_map", "video.is_depth_map"}) {
    INTERLACER_ASSIGN_OR_RETURN(const bool is_depth, info.GetOr<bool>(key, false));
    feature.is_depth = feature.is_depth || is_depth;
  }
  if (!feature.is_depth) return feature;
  INTERLACER_ASSIGN_OR_RETURN(feature.depth_unit, info.GetOr<std::string>("depth_unit", ""));
  INTERLACER_ASSIGN_OR_RETURN(feature.coding, CodingOf(info));
  return feature;
}

std::string JoinedTasks(const std::vector<std::string>& tasks) {
  std::string text;
  for (const std::string& task : tasks) text += (text.empty() ? "" : "; ") + task;
  return text;
}

/// A number with leading zeros as {name:03d} asks.
std::string Padded(std::string value, std::string_view form) {
  std::size_t width = 0;
  for (const char c : form) {
    if (c >= '0' && c <= '9') width = std::min<std::size_t>(10 * width + (c - '0'), 20);
  }
  return value.size() < width ? std::string(width - value.size(), '0') + value : value;
}

/// A whole number of a table, not negative.
StatusOr<std::int64_t> WholeAt(const ParquetTable& table, const std::string& column,
                               std::int64_t row) {
  INTERLACER_ASSIGN_OR_RETURN(const NumberRows rows, table.ReadRows(column, row, 1));
  const double value = rows.values.front();
  if (value >= 0 && value <= 1e15 && value == std::floor(value)) {
    return static_cast<std::int64_t>(value);
  }
  return Mismatch(reason::SCHEMA_INVALID, table.path(), "whole numbers from 0 on in " + column,
                  std::to_string(value));
}

}  // namespace

StatusOr<LerobotSet> LerobotSet::Open(const std::string& folder) {
  const std::string path = folder + "/meta/info.json";
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json document, ReadJsonFile(path));
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject info, JsonObject::Make(document, path));
  LerobotSet set;
  set.folder_ = folder;
  INTERLACER_ASSIGN_OR_RETURN(set.version_, info.Get<std::string>("codebase_version"));
  if (set.version_ != "v3.0" && set.version_ != "v2.1") {
    return Mismatch(reason::SCHEMA_VERSION_UNSUPPORTED, info.PathOf("codebase_version"),
                    "v3.0 or v2.1; LeRobot's scripts convert older sets", set.version_);
  }
  INTERLACER_ASSIGN_OR_RETURN(set.fps_, info.Get<double>("fps"));
  if (!(set.fps_ > 0 && set.fps_ <= 10000)) {
    return info.Invalid("fps", "frames a second, above 0", std::to_string(set.fps_));
  }
  INTERLACER_ASSIGN_OR_RETURN(set.episode_count_, info.Get<std::int64_t>("total_episodes"));
  INTERLACER_ASSIGN_OR_RETURN(set.chunk_size_, info.GetOr<std::int64_t>("chunks_size", 1000));
  if (set.chunk_size_ < 1) {
    return info.Invalid("chunks_size", "at least 1", std::to_string(set.chunk_size_));
  }
  INTERLACER_ASSIGN_OR_RETURN(set.data_path_, info.Get<std::string>("data_path"));
  if (info.Has("video_path")) {
    INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json* const video_path, info.Find("video_path"));
    if (video_path->is_string()) set.video_path_ = video_path->get<std::string>();
  }
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject features, info.GetObject("features"));
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json* const list, info.Find("features"));
  for (const auto& [name, ignored] : list->items()) {
    INTERLACER_ASSIGN_OR_RETURN(const JsonObject object, features.GetObject(name));
    INTERLACER_ASSIGN_OR_RETURN(set.features_[name], ParseFeature(object));
  }
  return set;
}

StatusOr<LerobotEpisode> LerobotSet::FindEpisode(std::optional<std::int64_t> wanted) const {
  if (!wanted && episode_count_ == 1) wanted = 0;
  if (!wanted || *wanted < 0 || *wanted >= episode_count_) {
    return Mismatch(
        reason::ARGUMENT_INVALID, "--episode",
        episode_count_ < 1 ? "a set with episodes" : "0 to " + std::to_string(episode_count_ - 1),
        wanted ? std::to_string(*wanted) : "none");
  }
  return is_v3() ? FindV3(*wanted) : FindV2(*wanted);
}

StatusOr<LerobotEpisode> LerobotSet::FindV2(std::int64_t index) const {
  LerobotEpisode episode;
  episode.index = index;
  const std::string path = folder_ + "/meta/episodes.jsonl";
  INTERLACER_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMaxJsonBytes));
  std::istringstream lines(text);
  bool is_found = false;
  for (std::string line; !is_found && std::getline(lines, line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json document, ParseJson(line, path));
    INTERLACER_ASSIGN_OR_RETURN(const JsonObject object, JsonObject::Make(document, path));
    INTERLACER_ASSIGN_OR_RETURN(const auto found, object.Get<std::int64_t>("episode_index"));
    if (found != index) continue;
    is_found = true;
    INTERLACER_ASSIGN_OR_RETURN(episode.length, object.Get<std::int64_t>("length"));
    INTERLACER_ASSIGN_OR_RETURN(const auto tasks,
                                object.GetOr<std::vector<std::string>>("tasks", {}));
    episode.task = JoinedTasks(tasks);
  }
  if (!is_found) {
    return Mismatch(reason::SCHEMA_INVALID, path, "a line of episode " + std::to_string(index),
                    "none");
  }
  std::map<std::string, std::string> values = {
      {"episode_chunk", std::to_string(index / chunk_size_)},
      {"episode_index", std::to_string(index)}};
  INTERLACER_ASSIGN_OR_RETURN(episode.table_path, PathOf(data_path_, values));
  for (const auto& [name, feature] : features_) {
    if (feature.dtype != "video") continue;
    values["video_key"] = name;
    INTERLACER_ASSIGN_OR_RETURN(episode.videos[name].path, PathOf(video_path_, values));
  }
  return episode;
}

StatusOr<LerobotEpisode> LerobotSet::FindV3(std::int64_t index) const {
  const std::string folder = folder_ + "/meta/episodes";
  std::vector<std::string> paths;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator file(folder, error), end; file != end;
       file.increment(error)) {
    const std::filesystem::path& path = file->path();
    if (path.extension() == ".parquet" && file->is_regular_file(error) &&
        !IsInSystemFiles(path.lexically_relative(folder))) {
      paths.push_back(path.string());
    }
  }
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    INTERLACER_ASSIGN_OR_RETURN(const ParquetTable table, ParquetTable::Open(path));
    INTERLACER_ASSIGN_OR_RETURN(const auto indices, table.ReadNumbers("episode_index"));
    const auto found = std::find(indices.begin(), indices.end(), static_cast<double>(index));
    if (found == indices.end()) continue;
    const std::int64_t row = found - indices.begin();
    LerobotEpisode episode;
    episode.index = index;
    INTERLACER_ASSIGN_OR_RETURN(episode.length, WholeAt(table, "length", row));
    if (table.Has("tasks")) {
      INTERLACER_ASSIGN_OR_RETURN(const auto tasks, table.ReadTexts("tasks", row));
      episode.task = JoinedTasks(tasks);
    }
    const auto path_at = [&](const std::string& prefix, const std::string& path_template,
                             const std::string& key) -> StatusOr<std::string> {
      INTERLACER_ASSIGN_OR_RETURN(const auto chunk, WholeAt(table, prefix + "chunk_index", row));
      INTERLACER_ASSIGN_OR_RETURN(const auto file, WholeAt(table, prefix + "file_index", row));
      return PathOf(path_template, {{"chunk_index", std::to_string(chunk)},
                                    {"file_index", std::to_string(file)},
                                    {"video_key", key}});
    };
    INTERLACER_ASSIGN_OR_RETURN(episode.table_path, path_at("data/", data_path_, ""));
    for (const auto& [name, feature] : features_) {
      if (feature.dtype != "video") continue;
      LerobotVideo& video = episode.videos[name];
      const std::string prefix = "videos/" + name + "/";
      INTERLACER_ASSIGN_OR_RETURN(video.path, path_at(prefix, video_path_, name));
      INTERLACER_ASSIGN_OR_RETURN(const NumberRows first,
                                  table.ReadRows(prefix + "from_timestamp", row, 1));
      video.first_s = first.values.front();
      if (!(video.first_s >= 0 && video.first_s <= 1e9)) {
        return Mismatch(reason::TIMESTAMP_INVALID, path, "seconds in " + prefix + "from_timestamp",
                        std::to_string(video.first_s));
      }
    }
    return episode;
  }
  return Mismatch(reason::SCHEMA_INVALID, folder, "a row of episode " + std::to_string(index),
                  "none in " + std::to_string(paths.size()) + " tables");
}

StatusOr<std::string> LerobotSet::PathOf(const std::string& path_template,
                                         const std::map<std::string, std::string>& values) const {
  const std::string field = folder_ + "/meta/info.json";
  std::string path;
  for (std::size_t at = 0; at < path_template.size();) {
    const std::size_t open = path_template.find('{', at);
    path += path_template.substr(at, open == std::string::npos ? open : open - at);
    if (open == std::string::npos) break;
    const std::size_t close = path_template.find('}', open);
    const std::string inner = path_template.substr(open + 1, close - open - 1);
    const std::size_t colon = inner.find(':');
    const auto value = values.find(inner.substr(0, colon));
    if (close == std::string::npos || value == values.end()) {
      return Mismatch(reason::SCHEMA_INVALID, field, "paths of known parts", path_template);
    }
    path += Padded(value->second, colon == std::string::npos ? "" : inner.substr(colon));
    at = close + 1;
  }
  const std::filesystem::path relative = std::filesystem::path(path).lexically_normal();
  if (path.empty() || relative.is_absolute() || *relative.begin() == "..") {
    return Mismatch(reason::SCHEMA_INVALID, field, "paths inside the set", path);
  }
  return folder_ + "/" + relative.string();
}

}  // namespace interlacer
