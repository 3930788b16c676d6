#pragma once

/// The checkpoints that come with the program, and which of them predicts an episode when no other
/// is named.
///
///   small     episodes with a robot, whichever it is
///   paper     recordings without one: their pictures are of observed pixels, and its particles are
///             as many as there are pixels
/// They lie in share/interlacer/checkpoints of an installation, in checkpoints/ of a source tree.
/// Errors: NOT_FOUND FILE_NOT_FOUND, which names the option that would help. Thread-safe.

#include <string>

#include "cli/backend_options.h"
#include "cli/verb.h"
#include "common/status.h"
#include "data/episode.h"

namespace interlacer::cli {

/// "small" or "paper".
std::string ShippedModelFor(const EpisodeManifest& manifest);

/// Folder of a shipped checkpoint, looked for from the program's own folder upward.
StatusOr<std::string> FindShippedModel(const std::string& name);

/// Where neither a checkpoint nor a server is named: the shipped one that fits the episode, said on
/// stderr and by its name in records.
StatusOr<BackendOptions> WithShippedModel(BackendOptions options, const std::string& episode_dir,
                                          const VerbContext& context);

}  // namespace interlacer::cli
