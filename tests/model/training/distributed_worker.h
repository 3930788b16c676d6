#pragma once

/// What one rank does in the tests of data-parallel training: the test program started again.

#include <string>

namespace interlacer::testing {

/// The first argument of a worker.
inline constexpr char kWorkerFlag[] = "--rank-worker";
/// Steps of a run, and after how many of them a rank stops, dies or falls silent.
inline constexpr int kRunSteps = 4;
inline constexpr int kTroubleAfter = 2;

/// Folder with the episode `plane` and the runs.
struct WorkerTask {
  /// train | resume | stop | die | silent: a run, with trouble on the last rank alone.
  /// other_data | other_seed: a run whose last rank has another.
  /// validate N: a run that validates with N samples of the data set `data` at its end.
  /// differ | gradients: single exchanges of distributed_training.h.
  std::string what;
  std::string folder;
  std::string run;
  int batch_size = 2;
};

/// 0 when all went well; the error's text goes to standard error with the exit code 1.
int RunWorker(const WorkerTask& task);

}  // namespace interlacer::testing
