#pragma once

/// An evaluation of many episodes that saves after each, so that it can go on where it was stopped.
/// One run, one thread. Errors: those of data/ and of the backend; CANCELLED by the context's stop.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/backend_options.h"
#include "cli/shard.h"
#include "cli/verb.h"
#include "common/status.h"
#include "data/episode_reader.h"
#include "evaluation/episode_run.h"
#include "evaluation/results.h"

namespace interlacer::cli {

struct EvaluateOptions {
  std::string dataset;
  std::string output;
  BackendOptions backend;
  PlanOptions plan;
  std::string split;
  std::string background = "white_outside_workspace";
  std::vector<std::string> subjects;  ///< empty: SubjectsOfReports
  std::string robot_dir;              ///< empty: the episodes' own
  std::int64_t episode_limit = 0;
  Shard shard;
  std::vector<std::string> parts;  ///< folders that shards have written, to be merged
  bool no_frames = false;
  bool resume = false;
  bool force = false;
};

/// The results so far with --resume, else none under a head that says what is about to run; without
/// a backend the first of the episodes says how large pictures are.
StatusOr<Results> StartResults(const EvaluateOptions& options, const RolloutBackend* backend,
                               const std::vector<std::string>& episode_dirs,
                               const VerbContext& context);

/// results.json and per_step.csv.
Status WriteScores(const std::filesystem::path& folder, const Results& results,
                   Aggregation aggregation = Aggregation::kAll);

/// HASH_MISMATCH where an episode that was evaluated is no longer the recording it was.
Status CheckSameRecording(const ResultEpisode& done, const EpisodeReader& recording,
                          const std::string& dir);

/// The entry of an episode; null where it was not evaluated.
const ResultEpisode* FindEpisode(const Results& results, const std::string& id);

class EvaluationRun {
 public:
  /// All but `results` must outlive the run.
  EvaluationRun(const EvaluateOptions& options, RolloutBackend* backend, Results results,
                const VerbContext& context);

  const Results& results() const { return results_; }

  /// CANCELLED keeps what was finished; other errors of one episode are recorded and counted.
  Status Run(const std::vector<std::string>& episode_dirs);

 private:
  /// `id` becomes the episode's, where it can be read.
  Status RunEpisodeAt(const std::string& dir, std::string* id);
  void RecordOutcome(const std::string& name, const std::string& id, const Status& status);
  Status Save(Aggregation aggregation = Aggregation::kNone);
  std::string NoteText() const;

  const EvaluateOptions& options_;
  RolloutBackend* const backend_;  ///< null: subjects that need no model
  Results results_;
  const VerbContext& context_;
  const double earlier_duration_s_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace interlacer::cli
