#include "cli/dataset_folder.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "common/folder_lock.h"
#include "common/sha256.h"
#include "data/manifest.h"

namespace interlacer::cli {

namespace fs = std::filesystem;

Status CheckDatasetFolder(const std::string& output, bool resume, bool force) {
  std::error_code error;
  if (resume || force || !fs::exists(output, error) || fs::is_empty(output, error)) {
    return Status::Ok();
  }
  return FailedPrecondition(reason::OUTPUT_EXISTS,
                            output + " exists; --resume adds what is missing, --force makes anew")
      .WithField(output);
}

bool IsEpisodeFolder(const fs::path& dir) {
  std::error_code error;
  return fs::exists(dir / kManifestFile, error);
}

Status CheckMadeBy(const std::string& made_by, const fs::path& dir, const std::string& command) {
  if (made_by == command) return Status::Ok();
  return Mismatch(reason::ARGUMENT_INVALID, dir.string(), "an episode of '" + command + "'",
                  "'" + made_by + "'");
}

StatusOr<MadeEpisode> DescribeEpisode(const fs::path& dir, const std::string& id) {
  INTERLACER_ASSIGN_OR_RETURN(const std::string sha256,
                              Sha256OfFile((dir / kManifestFile).string()));
  return MadeEpisode{id, sha256, false};
}

StatusOr<MadeEpisode> KeepEpisode(const fs::path& dir, const std::string& id,
                                  const std::string& command) {
  INTERLACER_ASSIGN_OR_RETURN(const EpisodeManifest manifest, ReadManifest(dir.string()));
  const std::string& made_by = manifest.source.command;
  if (!made_by.empty()) INTERLACER_RETURN_IF_ERROR(CheckMadeBy(made_by, dir, command));
  INTERLACER_ASSIGN_OR_RETURN(MadeEpisode episode, DescribeEpisode(dir, id));
  episode.was_there = true;
  return episode;
}

Status AddToDataset(const std::string& output, const std::string& split, Dataset fresh,
                    const std::vector<MadeEpisode>& made) {
  // Two commands at once may each have made a part.
  INTERLACER_ASSIGN_OR_RETURN(const FolderLock lock, FolderLock::Wait(output));
  Dataset dataset = std::move(fresh);
  std::error_code error;
  const bool was_there = fs::exists(fs::path(output) / kDatasetFile, error);
  if (was_there) {
    INTERLACER_ASSIGN_OR_RETURN(dataset, ReadDataset(output));
  }
  const Dataset before = dataset;
  for (const MadeEpisode& episode : made) {
    for (auto& [name, ids] : dataset.splits) std::erase(ids, episode.id);
    dataset.splits[split].push_back(episode.id);
    dataset.manifest_sha256[episode.id] = episode.manifest_sha256;
  }
  for (auto& [name, ids] : dataset.splits) std::sort(ids.begin(), ids.end());
  // A file that says the same keeps its bytes: its hash stands in scores.
  return was_there && dataset == before ? Status::Ok() : WriteDataset(output, dataset);
}

}  // namespace interlacer::cli
