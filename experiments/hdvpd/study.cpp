#include "experiments/hdvpd/study.h"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <utility>

#include "common/model_metadata.h"
#include "evaluation/score_text.h"
#include "evaluation/view_scores.h"
#include "experiments/hdvpd/published.h"

namespace interlacer {
namespace {

std::string KeyOf(const StudySubject& subject) {
  return subject.variant + "|" + subject.subject + "|" +
         std::string(ConditionName(subject.condition));
}

std::string KeyOf(std::string_view metric, int step, EpisodeGroup group, std::string_view task) {
  std::string key = "|" + std::string(metric) + "|" + std::to_string(step);
  key += group == EpisodeGroup::kMoving ? "|moving|" : "|still|";
  return key.append(task);
}

using SeedValues = std::map<std::int64_t, EpisodeValues>;

/// The values of each subject on the episodes that every run of every subject has.
std::vector<RunValues> CommonEpisodes(std::initializer_list<const SeedValues*> subjects) {
  std::vector<EpisodeValues> tables;
  for (const SeedValues* subject : subjects) {
    for (const auto& [seed, values] : *subject) tables.push_back(values);
  }
  const EpisodeValues common = MeanOverTables(tables);
  std::vector<RunValues> chosen;
  for (const SeedValues* subject : subjects) {
    RunValues& runs = chosen.emplace_back();
    for (const auto& [seed, values] : *subject) {
      std::vector<double>& run = runs.emplace_back();
      for (const auto& [episode, mean] : common) run.push_back(values.at(episode));
    }
  }
  return chosen;
}

Status NotEvaluated(const StudySetup& setup, const Piece& piece) {
  return NotFound(reason::FILE_NOT_FOUND, "run " + piece.run->name() + " was not evaluated on " +
                                              piece.episode->id + " (" +
                                              std::string(ConditionName(piece.condition)) + ")")
      .WithField(setup.output_dir);
}

}  // namespace

StatusOr<Study> Study::Read(const StudySetup& setup, const std::vector<TrainedRun>& runs,
                            const StudyEpisodes& episodes) {
  Study study;
  study.setup_ = &setup;
  study.failures_ = episodes.unreadable;
  std::map<const TrainedRun*, std::set<const StudyEpisode*>> failed;  // as recorded
  for (const Piece& piece : ListPieces(setup, runs, episodes.readable)) {
    const std::optional<Results> results = FindPiece(setup, piece);
    const std::string run_name = piece.run->name();
    const bool is_plain = piece.condition == Condition::kRecorded;
    if (!results) {
      const auto failure = FindFailure(setup, piece);
      if (!failure) return NotEvaluated(setup, piece);
      study.failures_.push_back(*failure);
      if (is_plain) failed[piece.run].insert(piece.episode);
      continue;
    }
    study.tables_[run_name][piece.condition].Add(*results);
    if (!is_plain) continue;
    study.facts_[run_name] = {run_name, results->model.value("parameter_count", std::int64_t{0}),
                              results->model.value("particle_count", std::int64_t{0}),
                              results->model.value("variant", ""), results->device};
    study.step_duration_s_ = results->step_duration_s;
    study.image_width_px_ = results->image_width_px;
    study.image_height_px_ = results->image_height_px;
  }
  std::set<const StudyEpisode*> left_out;
  for (const TrainedRun& run : runs) {
    if (!study.facts_.contains(run.name())) continue;
    study.runs_.push_back(run);
    if (!run.has_diverged) left_out.merge(failed[&run]);
  }
  for (const StudyEpisode& episode : episodes.readable) {
    if (!left_out.contains(&episode)) study.episodes_.push_back(episode);
  }
  if (!study.runs_.empty() && !study.episodes_.empty()) return study;
  const std::vector<std::string> failures = FailureLines(study.failures_);
  const std::string why = failures.empty() ? "none is left to take part" : failures.back();
  const std::string missing =
      study.runs_.empty() ? "no run could be evaluated: " : "every episode failed for some run: ";
  return NotFound(reason::FILE_NOT_FOUND, missing + why).WithField(setup.output_dir);
}

std::vector<std::string> Study::variants() const {
  std::vector<std::string> variants;
  for (const TrainedRun& run : runs_) {
    if (variants.empty() || variants.back() != run.variant) variants.push_back(run.variant);
  }
  return variants;
}

int Study::EpisodeCount(EpisodeGroup group) const {
  return static_cast<int>(
      std::count_if(episodes_.begin(), episodes_.end(), [&](const StudyEpisode& episode) {
        return episode.is_still == (group == EpisodeGroup::kStill);
      }));
}

std::vector<std::string> Study::tasks() const {
  std::vector<std::string> tasks;
  for (const StudyEpisode& episode : episodes_) {
    const bool is_known = std::find(tasks.begin(), tasks.end(), episode.task) != tasks.end();
    if (!episode.is_still && !is_known) tasks.push_back(episode.task);
  }
  return tasks;
}

EpisodeValues Study::InGroup(EpisodeValues values, EpisodeGroup group,
                             std::string_view task) const {
  EpisodeValues chosen;
  for (const StudyEpisode& episode : episodes_) {
    const auto it = values.find(episode.id);
    const bool is_wanted = episode.is_still == (group == EpisodeGroup::kStill) &&
                           (task.empty() || episode.task == task);
    if (it != values.end() && is_wanted) chosen.insert(*it);
  }
  return chosen;
}

std::map<std::int64_t, EpisodeValues> Study::BySeed(const StudySubject& subject,
                                                    std::string_view metric, int step,
                                                    EpisodeGroup group,
                                                    std::string_view task) const {
  std::map<std::int64_t, EpisodeValues> by_seed;
  for (const TrainedRun& run : runs_) {
    if (run.variant != subject.variant || run.has_diverged) continue;
    const auto& tables = tables_.at(run.name());
    const auto table = tables.find(subject.condition);
    if (table == tables.end()) continue;
    by_seed[run.seed] = InGroup(table->second.Values(subject.subject, metric, step), group, task);
  }
  return by_seed;
}

EpisodeValues Study::Values(const StudySubject& subject, std::string_view metric, int step,
                            EpisodeGroup group, std::string_view task) const {
  std::vector<EpisodeValues> tables;
  for (const auto& [seed, values] : BySeed(subject, metric, step, group, task)) {
    tables.push_back(values);
  }
  return MeanOverTables(tables);
}

std::optional<MeanEstimate> Study::Mean(const StudySubject& subject, std::string_view metric,
                                        int step, EpisodeGroup group, std::string_view task) const {
  const auto [it, is_new] = means_.try_emplace(KeyOf(subject) + KeyOf(metric, step, group, task));
  if (!is_new) return it->second;
  const auto by_seed = BySeed(subject, metric, step, group, task);
  return it->second = EstimateRunMean(CommonEpisodes({&by_seed})[0], kStudyBootstrap);
}

std::optional<PairedDifference> Study::Difference(const StudySubject& a, const StudySubject& b,
                                                  std::string_view metric, int step,
                                                  EpisodeGroup group, std::string_view task) const {
  const auto [it, is_new] =
      differences_.try_emplace(KeyOf(a) + "-" + KeyOf(b) + KeyOf(metric, step, group, task));
  if (!is_new) return it->second;
  auto ours = BySeed(a, metric, step, group, task), theirs = BySeed(b, metric, step, group, task);
  std::erase_if(ours, [&](const auto& run) { return !theirs.contains(run.first); });
  std::erase_if(theirs, [&](const auto& run) { return !ours.contains(run.first); });
  const std::vector<RunValues> runs = CommonEpisodes({&ours, &theirs});
  if (const auto paired = ComparePairedRuns(runs[0], runs[1], kStudyBootstrap); paired.ok()) {
    it->second = *paired;
  }
  return it->second;
}

EpisodeValues Study::ValuesOfRun(const TrainedRun& run, std::string_view subject,
                                 std::string_view metric, int step, EpisodeGroup group) const {
  const auto& table = tables_.at(run.name()).at(Condition::kRecorded);
  return InGroup(table.Values(subject, metric, step), group, "");
}

std::optional<double> Study::RunMean(const TrainedRun& run, std::string_view subject,
                                     std::string_view metric, int step, EpisodeGroup group) const {
  const EpisodeValues values = ValuesOfRun(run, subject, metric, step, group);
  if (values.empty()) return std::nullopt;
  double sum = 0;
  for (const auto& [episode, value] : values) sum += value;
  return sum / static_cast<double>(values.size());
}

std::string VariantLabel(std::string_view variant) {
  if (variant == kGrfVariant) return "GRF";
  if (variant == kOnesVariant) return "lists without a mask";
  if (variant == kMessageVariant) return "message passing";
  if (variant == kUnmaskedVariant) return "unmasked";
  if (variant == kNoLocalVariant) return "no local layer";
  return std::string(variant);
}

std::vector<NamedSubject> FigureSubjects(const Study& study) {
  std::vector<NamedSubject> subjects;
  const std::vector<std::string> variants = study.variants();
  const auto add = [&](const std::string& name, const StudySubject& subject) {
    subjects.push_back({name, subject, subjects.size()});
  };
  for (const std::string& variant : variants) {
    add(VariantLabel(variant), {variant, std::string(kModelSubject)});
  }
  const std::string first = VariantLabel(variants.front());
  add(SubjectLabel(kCopyLast), {variants.front(), std::string(kCopyLast)});
  add(first + ", step 0 for ever", {variants.front(), std::string(kReconstruction)});
  for (const std::string_view subject : {kKinematicSubject, kOracleMotion}) {
    const StudySubject baseline{variants.front(), std::string(subject)};
    if (study.Values(baseline, kSsim, kAllSteps, EpisodeGroup::kMoving).empty()) continue;
    add(SubjectLabel(subject), baseline);
  }
  const StudySubject oracle{variants.front(), std::string(kModelSubject), Condition::kTrueFrames};
  if (!study.Values(oracle, kSsim, kAllSteps, EpisodeGroup::kMoving).empty()) {
    add(first + ", true frames rendered", oracle);
  }
  return subjects;
}

std::vector<std::pair<NamedSubject, NamedSubject>> ComparedPairs(const Study& study) {
  std::vector<std::pair<NamedSubject, NamedSubject>> pairs;
  const std::vector<NamedSubject> subjects = FigureSubjects(study);
  for (std::size_t a = 0; a < study.variants().size(); ++a) {
    for (std::size_t b = a + 1; b < study.variants().size(); ++b) {
      pairs.emplace_back(subjects[a], subjects[b]);
    }
  }
  return pairs;
}

}  // namespace interlacer
