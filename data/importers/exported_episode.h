#pragma once

/// What an export says of its episode (data/episode_record.h), for its import: it holds where the
/// options say nothing else and the messages do not contradict it.
///
/// Pure functions, thread-safe.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/importers/bag_cameras.h"
#include "data/importers/write_episode.h"

namespace interlacer {

struct ExportedEpisode {
  EpisodeManifest manifest;
  std::vector<EpisodeFile> files{};      ///< beside the messages
  std::shared_ptr<const Robot> robot{};  ///< of those files; null where another one is asked for
  bool is_whole = true;                  ///< nothing of it is left out
};

/// The episode that `bag` is an export of; nothing where it is none, or where other poses were
/// asked for. Fills in the world frame, the depth units and the topics of joints, and says so in
/// `choices`, as what is damaged and left out.
std::optional<ExportedEpisode> TakeExportedEpisode(const BagIndex& bag, ImportOptions* options,
                                                   std::vector<std::string>* choices);

/// Puts the cameras in the episode's order; what contradicts it is a finding. Whether the images of
/// every camera are the episode's steps.
bool FitCameras(const EpisodeManifest& exported, BagCameras* found);

/// Whether steps can last as long as the record says, by the stamps of the images.
bool IsStepPlausible(const EpisodeManifest& exported, const BagCameras& found);

/// Gives the episode back what the messages do not hold. `is_changed`: the import did more than to
/// read what was exported; then its notes are kept too, and what is true of the recorded steps
/// alone (truth/) is left out.
void Restore(ExportedEpisode exported, const ImportOptions& options, bool is_changed,
             RecordedEpisode* episode, std::vector<std::string>* choices);

}  // namespace interlacer
