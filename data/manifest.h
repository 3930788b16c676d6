#pragma once

/// Reads, checks and writes manifest.json of an episode.
///
/// The version read is 1; a higher one is refused. Every rule of the schema is checked here: names,
/// counts, calibration, box, patterns that stay inside the folder, explicit units.
/// Errors: INVALID_ARGUMENT SCHEMA_INVALID, SCHEMA_VERSION_UNSUPPORTED, CALIBRATION_INVALID,
/// DISTORTION_INVALID, QUATERNION_NOT_UNIT, WORKSPACE_INVALID, DEPTH_UNIT_MISSING,
/// CAMERA_DUPLICATE; the field is a path such as "cameras[1].fx_px". Pure functions, thread-safe.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "common/status.h"
#include "data/episode.h"

namespace interlacer {

inline constexpr char kManifestFile[] = "manifest.json";
inline constexpr int kEpisodeSchemaVersion = 1;

std::string_view EpisodeKindName(EpisodeKind kind);
std::string_view ActionKindName(ActionKind kind);

/// Of an episode.
inline constexpr int kMaxStepCount = 1000000;

StatusOr<EpisodeManifest> ParseManifest(const nlohmann::json& document);
StatusOr<EpisodeManifest> ReadManifest(const std::string& episode_dir);
nlohmann::ordered_json ManifestToJson(const EpisodeManifest& manifest);

/// The rules that hold for manifests from files and from programs alike.
Status ValidateManifest(const EpisodeManifest& manifest);

/// "color/left/%06d.png" with step 7 is "color/left/000007.png".
std::string FramePath(const std::string& pattern, int step);
/// 1 to 64 of A-Z a-z 0-9 . _ - and no leading dot.
bool IsValidName(std::string_view name);
/// Now, as RFC 3339 in UTC with seconds.
std::string CurrentTimeRfc3339();

}  // namespace interlacer
