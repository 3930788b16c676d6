#include "experiments/hdvpd/tables.h"

#include <optional>
#include <utility>
#include <vector>

#include "evaluation/html.h"
#include "evaluation/mean_table.h"
#include "evaluation/score_text.h"
#include "evaluation/view_scores.h"
#include "experiments/hdvpd/charts.h"
#include "experiments/hdvpd/plan.h"
#include "experiments/hdvpd/published.h"
#include "experiments/hdvpd/relations.h"

namespace interlacer {

std::string TasksHtml(const Study& study) {
  HtmlTable table;
  table.caption = "Mean over all steps: SSIM, and paired differences with 95 % interval";
  table.header = {"task", "episodes"};
  const std::vector<NamedSubject> subjects = FigureSubjects(study);
  const auto pairs = ComparedPairs(study);
  for (std::size_t i = 0; i < study.variants().size(); ++i) {
    table.header.push_back(subjects[i].name);
  }
  table.header.push_back(SubjectLabel(kCopyLast));
  for (const auto& [a, b] : pairs) table.header.push_back(a.name + " - " + b.name);
  for (const std::string& task : study.tasks()) {
    const std::size_t count =
        study.Values(subjects[0].subject, kSsim, kAllSteps, EpisodeGroup::kMoving, task).size();
    std::vector<std::string> row{task, std::to_string(count)};
    for (std::size_t i = 0; i <= study.variants().size(); ++i) {
      const auto mean =
          study.Mean(subjects[i].subject, kSsim, kAllSteps, EpisodeGroup::kMoving, task);
      row.push_back(mean ? ScoreText(mean->mean, kStudyDecimals) : ScoreText({}, kStudyDecimals));
    }
    for (const auto& [a, b] : pairs) {
      const auto gap =
          study.Difference(a.subject, b.subject, kSsim, kAllSteps, EpisodeGroup::kMoving, task);
      row.push_back(gap ? GapText(*gap, kStudyDecimals) : ScoreText({}, kStudyDecimals));
    }
    table.rows.push_back(std::move(row));
  }
  return table.rows.empty() ? "" : SectionHtml("By task", TableHtml(table));
}

std::string AblationsHtml(const Study& study) {
  HtmlTable table;
  const std::string variant = study.variants().front();
  table.caption = VariantLabel(variant) + ", mean over all steps with 95 % interval";
  table.header = {"", MetricLabel(kSsim), MetricLabel(kSsimMoving)};
  const auto add = [&](const std::string& name, Condition condition) {
    std::vector<std::string> row{name};
    bool has_value = false;
    for (const std::string_view metric : {kSsim, kSsimMoving}) {
      const auto mean = study.Mean({variant, std::string(kModelSubject), condition}, metric,
                                   kAllSteps, EpisodeGroup::kMoving);
      has_value = has_value || mean;
      row.push_back(MeanText(mean, kStudyDecimals));
    }
    if (has_value) table.rows.push_back(std::move(row));
  };
  add("as recorded", Condition::kRecorded);
  add("actions of another episode", Condition::kShuffledActions);
  add("half of the particles", Condition::kHalfParticles);
  add("a quarter of the particles", Condition::kQuarterParticles);
  add("true frames encoded and rendered", Condition::kTrueFrames);
  return table.rows.size() < 2 ? "" : SectionHtml("What the scores rest on", TableHtml(table));
}

namespace {

/// Updates a CPU second in the last stage.
std::string StepsPerSText(const TrainedRun& run) {
  return run.step_s > 0 ? ScoreText(1 / run.step_s, 3) : ScoreText({}, 3);
}

}  // namespace

HtmlTable RunsTable(const Study& study) {
  HtmlTable table;
  table.caption = "Runs; scores are means over steps and episodes";
  table.header = {"run", "parameters", "updates", "updates a CPU second", "last validation loss"};
  for (const std::string_view metric : kClaimMetrics) table.header.push_back(MetricHeading(metric));
  for (const TrainedRun& run : study.runs()) {
    std::vector<std::string> row{run.name() + (run.has_diverged ? " (diverged, left out)" : ""),
                                 std::to_string(study.facts(run).parameter_count),
                                 std::to_string(run.UpdateCount()), StepsPerSText(run),
                                 ScoreText(run.LastValidationLoss(), 5)};
    for (const std::string_view metric : kClaimMetrics) {
      row.push_back(
          ScoreText(study.RunMean(run, kModelSubject, metric, kAllSteps, EpisodeGroup::kMoving),
                    MetricDecimals(metric)));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string TrainingHtml(const Study& study) {
  HtmlTable speed;
  speed.caption =
      "Training steps a second: ours of CPU time, median of the seeds; published of wall time, "
      "batches of 16";
  speed.header = {"variant", "ours", "published"};
  for (const std::string& variant : study.variants()) {
    const PublishedVariant* const published = FindPublished(variant);
    const double steps_per_s = TrainingStepsPerS(study, variant);
    speed.rows.push_back(
        {VariantLabel(variant),
         ScoreText(steps_per_s > 0 ? std::optional<double>(steps_per_s) : std::nullopt, 3),
         ScoreText(
             published ? std::optional<double>(published->training_steps_per_s) : std::nullopt,
             3)});
  }
  return SectionHtml(
      "Training",
      LossCharts(study) + TableHtml(RunsTable(study)) + TableHtml(speed) +
          ParagraphHtml("Speeds are of the last stage, by the median CPU time of an update."));
}

std::string ScoreTablesHtml(const Study& study) {
  std::string tables;
  const std::vector<NamedSubject> subjects = FigureSubjects(study);
  std::vector<std::string> names;
  for (const NamedSubject& subject : subjects) names.push_back(subject.name);
  for (const std::string_view metric : kMetrics) {
    MeansByStep means;
    for (int step = 1; step <= study.step_count(); ++step) {
      for (const NamedSubject& subject : subjects) {
        means[step - 1].push_back(study.Mean(subject.subject, metric, step, EpisodeGroup::kMoving));
      }
    }
    const HtmlTable table = MeanTable(MetricHeading(metric), names, means, MetricDecimals(metric));
    if (!table.rows.empty()) tables += TableHtml(table);
  }
  return tables.empty() ? "" : SectionHtml("The numbers", tables);
}

}  // namespace interlacer
