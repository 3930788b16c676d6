#pragma once

/// The folder of a training run, whatever is trained: run.json, metrics.jsonl, checkpoint/.
///
/// A checkpoint is written to checkpoint.partial and renamed over the old one, so a run that is
/// killed while writing keeps the last complete one. Errors: FAILED_PRECONDITION OUTPUT_EXISTS,
/// FILE_UNWRITABLE; CONFIG_INVALID naming the first key that differs. One writer.

#include <functional>
#include <string>

#include "common/status.h"

namespace interlacer {

struct RunPaths {
  std::string dir;
  std::string config() const { return dir + "/run.json"; }
  std::string inputs() const { return dir + "/inputs.json"; }
  std::string log() const { return dir + "/metrics.jsonl"; }
  std::string checkpoint() const { return dir + "/checkpoint"; }
};

/// What is done where a run is there already.
enum class EarlierRun { kRefuse, kResume, kOverwrite };

/// Makes the folder of a new run, with what `write_inputs` writes and then run.json holding the
/// JSON text `config`; or, to resume, checks that run.json holds the same. Returns whether there is
/// a run to resume.
StatusOr<bool> OpenRunFolder(const RunPaths& paths, const std::string& config, EarlierRun earlier,
                             const std::function<Status()>& write_inputs);

/// `write` fills the folder that it is given, which is made; it then is the checkpoint.
Status ReplaceCheckpoint(const RunPaths& paths,
                         const std::function<Status(const std::string& folder)>& write);

/// Whether there is a complete checkpoint; one that a killed run was renaming is put in place.
StatusOr<bool> FindCheckpoint(const RunPaths& paths);

}  // namespace interlacer
