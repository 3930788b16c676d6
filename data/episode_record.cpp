#include "data/episode_record.h"

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

std::string WorldFrameOf(const EpisodeManifest& manifest) {
  return manifest.world_frame_name.empty() ? "world" : manifest.world_frame_name;
}

}  // namespace interlacer
