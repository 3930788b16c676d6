#pragma once

/// The manifest of an episode as names and values, for containers that hold its frames as messages.
///
/// Errors: those of data/manifest.h, and SCHEMA_INVALID at the record's name. Pure functions,
/// thread-safe.

#include <map>
#include <string>

#include "common/status.h"
#include "data/episode.h"

namespace interlacer {

inline constexpr char kEpisodeRecordName[] = "interlacer.episode";

std::map<std::string, std::string> MakeEpisodeRecord(const EpisodeManifest& manifest);
StatusOr<EpisodeManifest> ParseEpisodeRecord(const std::map<std::string, std::string>& record);

/// Name of a camera's frame among transforms.
std::string OpticalFrameOf(const std::string& camera_name);
/// Name of the frame of an episode's poses among transforms: that of the manifest without a leading
/// slash, or "world" where it is empty or that of a camera.
std::string WorldFrameOf(const EpisodeManifest& manifest);

}  // namespace interlacer
