#include "data/episode_record.h"

#include <algorithm>

#include "common/json.h"
#include "data/manifest.h"

namespace interlacer {
namespace {

constexpr char kManifestKey[] = "manifest", kFilesKey[] = "files";

}  // namespace

bool IsAttachedFile(std::string_view path) {
  if (!path.starts_with("truth/") && !path.starts_with("robot/")) return false;
  // By hand: Clang 14, which builds the fuzz targets, does not take std::views::split.
  while (true) {
    const std::size_t slash = path.find('/');
    if (!IsValidName(path.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

std::map<std::string, std::string> MakeEpisodeRecord(const EpisodeRecord& record) {
  return {{kManifestKey, JsonText(ManifestToJson(record.manifest), -1)},
          {kFilesKey, JsonText(record.files, -1)}};
}

StatusOr<EpisodeRecord> ParseEpisodeRecord(const std::map<std::string, std::string>& values) {
  const auto manifest = values.find(kManifestKey), files = values.find(kFilesKey);
  if (manifest == values.end()) {
    return Mismatch(reason::SCHEMA_INVALID, kEpisodeRecordName,
                    std::string("a value with the name ") + kManifestKey, "none");
  }
  EpisodeRecord record;
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json document,
                              ParseJson(manifest->second, kEpisodeRecordName));
  INTERLACER_ASSIGN_OR_RETURN(record.manifest, ParseManifest(document));
  if (files == values.end()) return record;
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json listed,
                              ParseJson(files->second, kEpisodeRecordName));
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject hashes, JsonObject::Make(listed));
  for (const auto& [path, hash] : listed.items()) {
    if (!IsAttachedFile(path)) {
      return Mismatch(reason::SCHEMA_INVALID, kEpisodeRecordName, "files of robot/ and truth/",
                      path);
    }
    INTERLACER_ASSIGN_OR_RETURN(record.files[path], hashes.Get<std::string>(path));
  }
  for (const auto& [path, hash] : record.files) {
    const auto below = record.files.upper_bound(path + "/");
    if (below == record.files.end() || !below->first.starts_with(path + "/")) continue;
    return Mismatch(reason::SCHEMA_INVALID, kEpisodeRecordName, "no file below " + path,
                    below->first);
  }
  return record;
}

std::string OpticalFrameOf(const std::string& camera_name) {
  return camera_name + "_optical_frame";
}

std::string WorldFrameOf(const EpisodeManifest& manifest) {
  std::string name = manifest.world_frame_name;
  name.erase(0, name.starts_with('/') ? 1 : 0);
  const bool is_of_camera =
      std::any_of(manifest.cameras.begin(), manifest.cameras.end(),
                  [&](const EpisodeCamera& camera) { return OpticalFrameOf(camera.name) == name; });
  return name.empty() || is_of_camera ? "world" : name;
}

}  // namespace interlacer
