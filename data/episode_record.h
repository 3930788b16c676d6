#pragma once

/// What an episode has beside its frames, as names and values, for containers that hold its frames
/// as messages and its robot and truth as attachments.
///
/// Errors: those of data/manifest.h, and SCHEMA_INVALID at the record's name. Pure functions,
/// thread-safe.

#include <map>
#include <string>
#include <string_view>

#include "common/status.h"
#include "data/episode.h"

namespace interlacer {

inline constexpr char kEpisodeRecordName[] = "interlacer.episode";

/// Whether a file of the episode lies beside its messages, as an attachment by its path in the
/// episode: those of robot/ and truth/. False for paths that leave the folder.
bool IsAttachedFile(std::string_view path);

struct EpisodeRecord {
  EpisodeManifest manifest;
  /// Attached files and their SHA-256; none lies below another.
  std::map<std::string, std::string> files{};
};

std::map<std::string, std::string> MakeEpisodeRecord(const EpisodeRecord& record);
StatusOr<EpisodeRecord> ParseEpisodeRecord(const std::map<std::string, std::string>& values);

/// Name of a camera's frame among transforms.
std::string OpticalFrameOf(const std::string& camera_name);
/// Name of the frame of an episode's poses among transforms: that of the manifest without a leading
/// slash, or "world" where it is empty or that of a camera.
std::string WorldFrameOf(const EpisodeManifest& manifest);

}  // namespace interlacer
