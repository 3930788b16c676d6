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

/// Name of the frame of an episode's poses among transforms: that of the manifest, else "world".
std::string WorldFrameOf(const EpisodeManifest& manifest);

}  // namespace interlacer
