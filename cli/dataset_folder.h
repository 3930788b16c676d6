#pragma once

/// Folders of episodes that a verb makes one by one: going on after a stop, and their dataset.json.
///
/// Pure functions over files; different episodes from different threads. Errors:
/// FAILED_PRECONDITION OUTPUT_EXISTS; ARGUMENT_INVALID for an episode that another command has
/// made; those of data/dataset.h.

#include <filesystem>
#include <string>
#include <vector>

#include "common/status.h"
#include "data/dataset.h"

namespace interlacer::cli {

struct MadeEpisode {
  std::string id;
  std::string manifest_sha256;
  bool was_there = false;  ///< taken over, not made
};

/// An output with files is there only for a verb that resumes or replaces.
Status CheckDatasetFolder(const std::string& output, bool resume, bool force);

bool IsEpisodeFolder(const std::filesystem::path& dir);
Status CheckMadeBy(const std::string& made_by, const std::filesystem::path& dir,
                   const std::string& command);
StatusOr<MadeEpisode> DescribeEpisode(const std::filesystem::path& dir, const std::string& id);

/// The finished episode, for a run that resumes; one that does not name its command is taken as
/// made by this one.
StatusOr<MadeEpisode> KeepEpisode(const std::filesystem::path& dir, const std::string& id,
                                  const std::string& command);

/// Adds the episodes to their split of dataset.json, which may hold earlier ones; `fresh` is what a
/// new one begins as.
Status AddToDataset(const std::string& output, const std::string& split, Dataset fresh,
                    const std::vector<MadeEpisode>& made);

}  // namespace interlacer::cli
