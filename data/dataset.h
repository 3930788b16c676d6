#pragma once

/// A data set: a folder of episodes with dataset.json, split by episode.
///
/// dataset.json: schema "interlacer.dataset", schema_version 1, name, license, splits {train, val,
/// test: episode ids}, manifest_sha256 {episode id: hash}. Names that start with a dot are no
/// episodes (unfinished writes).
/// Errors: those of common/json.h; HASH_MISMATCH; SCHEMA_INVALID for an episode in two splits.
/// Pure functions over files, thread-safe.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace interlacer {

inline constexpr char kDatasetFile[] = "dataset.json";

struct Dataset {
  std::string name;
  std::string license;
  std::map<std::string, std::vector<std::string>> splits;  ///< "train", "val", "test"
  std::map<std::string, std::string> manifest_sha256;      ///< by episode id
  bool operator==(const Dataset&) const = default;
};

StatusOr<Dataset> ReadDataset(const std::string& dataset_dir);
Status WriteDataset(const std::string& dataset_dir, const Dataset& dataset);
/// Hash of dataset.json.
StatusOr<std::string> DatasetSha256(const std::string& dataset_dir);

/// Folders of episodes at `path`: the folder itself if it is an episode, else those of the split in
/// dataset.json (manifest hashes are checked), else, without dataset.json and with an empty split,
/// every episode inside, by name. An empty split means all splits. With `damaged` an episode whose
/// manifest is missing or another one is listed too, and its error put there by its folder.
StatusOr<std::vector<std::string>> ListEpisodes(const std::string& path,
                                                std::string_view split = "",
                                                std::map<std::string, Status>* damaged = nullptr);

}  // namespace interlacer
