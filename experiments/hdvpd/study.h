#pragma once

/// All scores of a comparison of variants, and the statistics over seeds and episodes.
///
/// Cameras and windows of an episode are averaged first; what is left is one number a run and an
/// episode. Intervals are percentile bootstrap over runs and episodes, 10,000 draws, seed 0; with
/// one run over episodes alone. Runs that diverged take no part. Differences are paired over seeds
/// and episodes. Where pieces failed, every figure is over the same episodes all the same: a run
/// that failed on all of them takes no part, nor does an episode on which another one failed; an
/// ablation lacks the episodes that failed under it. Not thread-safe: estimates are cached.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "evaluation/statistics.h"
#include "experiments/hdvpd/evaluation.h"
#include "experiments/score_table.h"

namespace interlacer {

/// One line of a figure.
struct StudySubject {
  std::string variant;
  std::string subject;  ///< of view_scores.h
  Condition condition = Condition::kRecorded;
  bool operator==(const StudySubject&) const = default;
};

enum class EpisodeGroup { kMoving, kStill };

/// Facts that the pieces of one run have in common.
struct RunFacts {
  std::string run_name;
  std::int64_t parameter_count = 0;
  std::int64_t particle_count = 0;
  std::string attention_variant;
  std::string device;
};

class Study {
 public:
  /// Reads the pieces, which must all be there or have failed (NOT_FOUND otherwise, and where no
  /// run takes part). The setup must outlive the study.
  static StatusOr<Study> Read(const StudySetup& setup, const std::vector<TrainedRun>& runs,
                              const StudyEpisodes& episodes);

  const StudySetup& setup() const { return *setup_; }
  /// The runs that take part, and diverged ones.
  const std::vector<TrainedRun>& runs() const { return runs_; }
  const std::vector<StudyEpisode>& episodes() const { return episodes_; }
  const std::vector<PieceFailure>& failures() const { return failures_; }
  std::vector<std::string> variants() const;
  const RunFacts& facts(const TrainedRun& run) const { return facts_.at(run.name()); }
  double step_duration_s() const { return step_duration_s_; }
  int image_width_px() const { return image_width_px_; }
  int image_height_px() const { return image_height_px_; }
  int step_count() const { return setup_->plan.step_count; }

  int EpisodeCount(EpisodeGroup group) const;
  /// Tasks of the episodes in which the arms move, in order of appearance.
  std::vector<std::string> tasks() const;

  /// One number an episode, averaged over seeds; `task` narrows it down unless empty.
  EpisodeValues Values(const StudySubject& subject, std::string_view metric, int step,
                       EpisodeGroup group, std::string_view task = "") const;
  std::optional<MeanEstimate> Mean(const StudySubject& subject, std::string_view metric, int step,
                                   EpisodeGroup group, std::string_view task = "") const;
  /// a - b over the seeds and the episodes that both have.
  std::optional<PairedDifference> Difference(const StudySubject& a, const StudySubject& b,
                                             std::string_view metric, int step, EpisodeGroup group,
                                             std::string_view task = "") const;
  /// One number an episode of one run, and their mean.
  EpisodeValues ValuesOfRun(const TrainedRun& run, std::string_view subject,
                            std::string_view metric, int step, EpisodeGroup group) const;
  std::optional<double> RunMean(const TrainedRun& run, std::string_view subject,
                                std::string_view metric, int step, EpisodeGroup group) const;

 private:
  Study() = default;
  /// The episodes of every run that takes part, by seed.
  std::map<std::int64_t, EpisodeValues> BySeed(const StudySubject& subject, std::string_view metric,
                                               int step, EpisodeGroup group,
                                               std::string_view task) const;
  EpisodeValues InGroup(EpisodeValues values, EpisodeGroup group, std::string_view task) const;

  const StudySetup* setup_ = nullptr;
  std::vector<TrainedRun> runs_;
  std::vector<StudyEpisode> episodes_;
  std::vector<PieceFailure> failures_;
  double step_duration_s_ = 0;
  int image_width_px_ = 0, image_height_px_ = 0;
  std::map<std::string, RunFacts> facts_;
  std::map<std::string, std::map<Condition, ScoreTable>> tables_;  // by run name
  mutable std::map<std::string, std::optional<MeanEstimate>> means_;
  mutable std::map<std::string, std::optional<PairedDifference>> differences_;
};

/// A subject with its name in figures and tables, and its colour.
struct NamedSubject {
  std::string name;
  StudySubject subject;
  std::size_t style = 0;
};
/// "GRF" for grf_exact, and so on.
std::string VariantLabel(std::string_view variant);
/// The variants, copy last frame, and of the first variant its reconstruction and, where it was
/// evaluated, the oracle.
std::vector<NamedSubject> FigureSubjects(const Study& study);
/// Pairs whose difference is reported: each variant against each one after it.
std::vector<std::pair<NamedSubject, NamedSubject>> ComparedPairs(const Study& study);

}  // namespace interlacer
