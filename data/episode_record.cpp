#include "data/episode_record.h"

#include <algorithm>
#include <ranges>

#include "common/json.h"
#include "data/manifest.h"

namespace interlacer {
namespace {

constexpr char kManifestKey[] = "manifest";

}  // namespace

std::map<std::string, std::string> MakeEpisodeRecord(const EpisodeManifest& manifest) {
  return {{kManifestKey, JsonText(ManifestToJson(manifest), -1)}};
}

StatusOr<EpisodeManifest> ParseEpisodeRecord(const std::map<std::string, std::string>& record) {
  const auto found = record.find(kManifestKey);
  if (found == record.end()) {
    return Mismatch(reason::SCHEMA_INVALID, kEpisodeRecordName,
                    std::string("a value with the name ") + kManifestKey, "none");
  }
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json document,
                              ParseJson(found->second, kEpisodeRecordName));
  return ParseManifest(document);
}

bool IsAttachedFile(std::string_view path) {
  if (!path.starts_with("truth/") && !path.starts_with("robot/")) return false;
  for (const auto part : std::views::split(path, '/')) {
    const std::string_view name(part.begin(), part.end());
    if (!IsValidName(name) || name.starts_with('.')) return false;
  }
  return true;
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
