#pragma once

/// The rollouts of a comparison of variants, evaluated piece by piece.
///
/// A piece is one run on one episode under one condition; its scores are written to
/// OUTPUT/evaluations/<run>/<condition>/<episode>.json in the form of results.h as soon as it is
/// done. Existing scores of the same weights, configuration, episode and settings are reused: an
/// interrupted evaluation resumes where it stopped, and shards on several machines that share or
/// later merge the folder make the same scores (and so the same hdvpd.json and tables; pieces also
/// say how long they took). A piece that fails leaves its error in place of scores, for the other
/// shards to see; it is evaluated again by the next run. Errors: those of evaluation and of data
/// sets; CANCELLED. One call at a time.

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "client/rollout_backend.h"
#include "evaluation/evaluation_plan.h"
#include "evaluation/results.h"
#include "experiments/hdvpd/episodes.h"
#include "experiments/hdvpd/failures.h"
#include "experiments/hdvpd/runs.h"

namespace interlacer {

/// How a rollout differs from the plain one.
enum class Condition {
  kRecorded,          ///< the recorded actions
  kShuffledActions,   ///< the planned rows of another episode
  kQuarterParticles,  ///< a quarter of the particles the model makes of the episode's scene
  kHalfParticles,     ///< half of them
  kTrueFrames,        ///< true later frames, encoded and rendered: no dynamics
};
inline constexpr std::array kAblations{Condition::kShuffledActions, Condition::kQuarterParticles,
                                       Condition::kHalfParticles, Condition::kTrueFrames};
/// "recorded", "shuffled_actions", ...
std::string_view ConditionName(Condition condition);

struct Piece {
  const TrainedRun* run = nullptr;
  Condition condition = Condition::kRecorded;
  const StudyEpisode* episode = nullptr;
  /// Whose actions a shuffled rollout takes.
  const StudyEpisode* action_source = nullptr;
  bool writes_frames = false;
};

/// A loaded checkpoint with its metadata as written into results.
struct LoadedModel {
  std::unique_ptr<RolloutBackend> backend;
  nlohmann::ordered_json metadata;
};

struct StudySetup {
  std::string dataset_name;
  std::string dataset_sha256;
  std::string split;
  std::string target_background;
  PlanOptions plan;
  std::string output_dir;
  /// Further conditions, for the runs of the first variant.
  std::vector<Condition> ablations{kAblations.begin(), kAblations.end()};
  /// Episodes whose pictures are kept for the page.
  int strip_count = 4;
  std::function<StatusOr<LoadedModel>(const std::string& checkpoint_dir)> load;
};

/// Every run on every episode; the setup's ablations for the runs of the first variant on the
/// episodes in which the arms move. Pictures are kept for the first seed of each variant, on
/// `strip_count` episodes spread over those. The arguments must outlive the pieces.
std::vector<Piece> ListPieces(const StudySetup& setup, const std::vector<TrainedRun>& runs,
                              const std::vector<StudyEpisode>& episodes);

/// Where the scores of a piece lie.
std::string PiecePath(const StudySetup& setup, const Piece& piece);
/// The settings under which earlier scores stay valid; stored as "study" beside the model's
/// metadata.
nlohmann::json PieceKey(const StudySetup& setup, const Piece& piece);
std::string FramesDirOf(const StudySetup& setup, const TrainedRun& run);

/// Stored results of a piece if they are complete and still valid; nothing otherwise.
std::optional<Results> FindPiece(const StudySetup& setup, const Piece& piece);

PieceFailure FailureOf(const Piece& piece, const Status& why);
/// Stores the failure of a piece in place of its scores.
Status WriteFailure(const StudySetup& setup, const Piece& piece, const Status& why);
/// The error that the latest attempt left; nothing where it left scores, or there was none.
std::optional<PieceFailure> FindFailure(const StudySetup& setup, const Piece& piece);

class StudyEvaluator {
 public:
  explicit StudyEvaluator(const StudySetup& setup) : setup_(setup) {}

  /// Computes and writes one piece. Models are loaded when the checkpoint changes; one that failed
  /// to load is not tried again for the pieces that follow.
  Status Evaluate(const Piece& piece, const std::stop_token& stop);

 private:
  Status Load(const std::string& checkpoint_dir);
  Status LoadFor(const Piece& piece, const EpisodeReader& episode, const std::stop_token& stop);
  Status RunOracle(const EpisodeReader& episode, RolloutBackend* backend, Results* results,
                   const std::stop_token& stop) const;

  const StudySetup& setup_;
  std::string loaded_;  ///< folder of the checkpoint in model_
  Status load_status_;
  LoadedModel model_;
  std::map<std::string, std::int64_t> particle_counts_;  ///< of episodes, by id
};

}  // namespace interlacer
