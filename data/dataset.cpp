#include "data/dataset.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "common/json.h"
#include "common/sha256.h"
#include "data/manifest.h"
#include "data/system_files.h"

namespace interlacer {
namespace {

namespace fs = std::filesystem;

constexpr int kDatasetSchemaVersion = 1;
constexpr const char* kSplitNames[] = {"train", "val", "test"};

bool IsEpisode(const fs::path& folder) {
  std::error_code error;
  return fs::is_regular_file(folder / kManifestFile, error);
}

StatusOr<Dataset> ParseDataset(const nlohmann::json& document) {
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject object, JsonObject::Make(document));
  INTERLACER_ASSIGN_OR_RETURN(const std::string schema, object.Get<std::string>("schema"));
  if (schema != "interlacer.dataset") {
    return object.Invalid("schema", "interlacer.dataset", schema);
  }
  INTERLACER_ASSIGN_OR_RETURN(const int version, object.Get<int>("schema_version"));
  if (version < 1 || version > kDatasetSchemaVersion) {
    return Mismatch(reason::SCHEMA_VERSION_UNSUPPORTED, "schema_version", "1",
                    std::to_string(version));
  }
  Dataset dataset;
  INTERLACER_ASSIGN_OR_RETURN(dataset.name, object.Get<std::string>("name"));
  INTERLACER_ASSIGN_OR_RETURN(dataset.license, object.GetOr<std::string>("license", ""));
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject splits, object.GetObject("splits"));
  INTERLACER_RETURN_IF_ERROR(splits.AllowOnly({"train", "val", "test"}));
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject hashes, object.GetObject("manifest_sha256"));
  std::set<std::string> seen;
  for (const char* split : kSplitNames) {
    INTERLACER_ASSIGN_OR_RETURN(const auto ids, splits.GetOr<std::vector<std::string>>(split, {}));
    for (const std::string& id : ids) {
      if (!IsValidName(id)) return splits.Invalid(split, "names of episodes", id);
      if (!seen.insert(id).second) {
        return splits.Invalid(split, "episodes of no other split", id);
      }
      INTERLACER_ASSIGN_OR_RETURN(dataset.manifest_sha256[id], hashes.Get<std::string>(id));
    }
    dataset.splits[split] = ids;
  }
  return dataset;
}

Status CheckManifest(const std::string& path, const std::string& expected) {
  INTERLACER_ASSIGN_OR_RETURN(const std::string hash, Sha256OfFile(path));
  if (hash == expected) return Status::Ok();
  return Mismatch(reason::HASH_MISMATCH, path, expected, hash);
}

StatusOr<std::vector<std::string>> ListSplit(const std::string& dataset_dir, std::string_view split,
                                             std::map<std::string, Status>* damaged) {
  INTERLACER_ASSIGN_OR_RETURN(const Dataset dataset, ReadDataset(dataset_dir));
  if (!split.empty() && dataset.splits.count(std::string(split)) == 0) {
    return Mismatch(reason::ARGUMENT_INVALID, "split", "train, val or test", std::string(split));
  }
  std::vector<std::string> episodes;
  for (const char* name : kSplitNames) {
    if (!split.empty() && split != name) continue;
    for (const std::string& id : dataset.splits.at(name)) {
      const std::string folder = dataset_dir + "/" + id;
      const Status status =
          CheckManifest(folder + "/" + kManifestFile, dataset.manifest_sha256.at(id));
      if (!status.ok() && damaged == nullptr) return status;
      if (!status.ok()) damaged->emplace(folder, status);
      episodes.push_back(folder);
    }
  }
  return episodes;
}

}  // namespace

StatusOr<Dataset> ReadDataset(const std::string& dataset_dir) {
  const std::string path = dataset_dir + "/" + kDatasetFile;
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json document, ReadJsonFile(path));
  auto dataset = ParseDataset(document);
  if (!dataset.ok()) return std::move(dataset.status()).WithFieldPrefix(path + ":");
  return dataset;
}

Status WriteDataset(const std::string& dataset_dir, const Dataset& dataset) {
  nlohmann::ordered_json json = {
      {"schema", "interlacer.dataset"}, {"schema_version", kDatasetSchemaVersion},
      {"name", dataset.name},           {"license", dataset.license},
      {"splits", dataset.splits},       {"manifest_sha256", dataset.manifest_sha256}};
  return WriteJsonFile(dataset_dir + "/" + kDatasetFile, json);
}

StatusOr<std::string> DatasetSha256(const std::string& dataset_dir) {
  return Sha256OfFile(dataset_dir + "/" + kDatasetFile);
}

StatusOr<std::vector<std::string>> ListEpisodes(const std::string& path, std::string_view split,
                                                std::map<std::string, Status>* damaged) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    return NotFound(reason::FILE_NOT_FOUND, "no such folder: " + path).WithField(path);
  }
  if (IsEpisode(path)) return std::vector<std::string>{path};
  if (fs::exists(fs::path(path) / kDatasetFile, error)) return ListSplit(path, split, damaged);
  if (!split.empty()) {
    return Mismatch(
        reason::FILE_NOT_FOUND, path + "/" + kDatasetFile,
        "a file with the split " + std::string(split) + "; or name its episodes one by one",
        "no such file");
  }
  std::vector<std::string> episodes;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    if (!IsSystemFile(entry.path().filename().string()) && IsEpisode(entry.path())) {
      episodes.push_back(entry.path().string());
    }
  }
  std::sort(episodes.begin(), episodes.end());
  if (episodes.empty()) {
    return NotFound(reason::FILE_NOT_FOUND, "no episode in " + path).WithField(path);
  }
  return episodes;
}

}  // namespace interlacer
