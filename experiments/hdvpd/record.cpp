#include "experiments/hdvpd/record.h"

#include <array>
#include <cstdio>
#include <optional>

#include "common/json.h"
#include "evaluation/html.h"
#include "evaluation/score_text.h"
#include "evaluation/view_scores.h"
#include "experiments/hdvpd/plan.h"
#include "experiments/hdvpd/published.h"
#include "experiments/hdvpd/tables.h"

namespace interlacer {
namespace {

using Json = nlohmann::ordered_json;

struct NamedGroup {
  const char* name;
  EpisodeGroup group;
};
constexpr NamedGroup kGroups[] = {{"moving", EpisodeGroup::kMoving},
                                  {"still", EpisodeGroup::kStill}};

/// All steps of the rollout, then their mean.
std::vector<int> StepsWithMean(const Study& study) {
  std::vector<int> steps;
  for (int step = 1; step <= study.step_count(); ++step) steps.push_back(step);
  steps.push_back(kAllSteps);
  return steps;
}

/// Steps of the figure: 0 is the first predicted frame.
Json StepJson(int step) { return step == kAllSteps ? Json("mean") : Json(step - 1); }

Json RunJson(const Study& study, const TrainedRun& run) {
  const RunFacts& facts = study.facts(run);
  Json out = {{"name", run.name()},
              {"variant", run.variant},
              {"seed", run.seed},
              {"weights_sha256", run.weights_sha256},
              {"attention", facts.attention_variant},
              {"parameter_count", facts.parameter_count},
              {"particle_count", facts.particle_count},
              {"training_steps", run.UpdateCount()},
              {"training_step_cpu_s", run.step_s},
              {"flat", run.is_flat},
              {"diverged", run.has_diverged}};
  for (const CellState& stage : run.earlier_stages) {
    out["earlier_stages"].push_back(
        {{"training_steps", stage.steps},
         {"training_step_cpu_s", stage.step_s},
         {"flat", stage.is_flat},
         {"last_validation_loss",
          stage.validations.empty() ? Json() : Json(stage.validations.back().loss)}});
  }
  const auto loss = run.LastValidationLoss();
  out["last_validation_loss"] = loss ? Json(*loss) : Json();
  const auto ssim = study.RunMean(run, kModelSubject, kSsim, kAllSteps, EpisodeGroup::kMoving);
  out["ssim"] = ssim ? Json(*ssim) : Json();
  return out;
}

Json Curves(const Study& study) {
  Json curves = Json::array();
  for (const NamedGroup& group : kGroups) {
    for (const NamedSubject& subject : FigureSubjects(study)) {
      for (const std::string_view metric : kMetrics) {
        for (const int step : StepsWithMean(study)) {
          const auto mean = study.Mean(subject.subject, metric, step, group.group);
          if (!mean) continue;
          Json entry = {{"episodes", group.name},
                        {"subject", subject.name},
                        {"variant", subject.subject.variant},
                        {"metric", metric},
                        {"step", StepJson(step)}};
          entry.update(ToJson(*mean));
          curves.push_back(std::move(entry));
        }
      }
    }
  }
  return curves;
}

Json Differences(const Study& study) {
  Json differences = Json::array();
  for (const auto& [a, b] : ComparedPairs(study)) {
    for (const std::string_view metric : kMetrics) {
      for (const int step : StepsWithMean(study)) {
        const auto gap =
            study.Difference(a.subject, b.subject, metric, step, EpisodeGroup::kMoving);
        if (!gap) continue;
        Json entry = {{"a", a.subject.variant},
                      {"b", b.subject.variant},
                      {"metric", metric},
                      {"step", StepJson(step)}};
        entry.update(ToJson(gap->difference));
        entry["wins"] = gap->wins;
        entry["losses"] = gap->losses;
        entry["runs"] = gap->run_count;
        entry["runs_above"] = gap->runs_above;
        entry["runs_below"] = gap->runs_below;
        const auto published = PublishedGap(a.subject.variant, b.subject.variant, step - 1);
        if (metric == kSsim && published) entry["published"] = *published;
        differences.push_back(std::move(entry));
      }
    }
  }
  return differences;
}

std::string CellText(const std::optional<MeanEstimate>& mean, int decimals) {
  return ScoreText(mean ? std::optional<double>(mean->mean) : std::nullopt, decimals);
}

std::string MarkdownRow(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) row += " " + cell + " |";
  return row + "\n";
}

std::string StepHeader(const Study& study, const std::string& first) {
  std::vector<std::string> cells{first}, rule{"---"};
  for (const int step : StepsWithMean(study)) {
    cells.push_back(step == kAllSteps ? "mean" : std::to_string(step - 1));
    rule.push_back("---");
  }
  return MarkdownRow(cells) + MarkdownRow(rule);
}

std::string MetricTable(const Study& study, std::string_view metric) {
  std::string rows;
  const int decimals = MetricDecimals(metric);
  for (const NamedSubject& subject : FigureSubjects(study)) {
    std::vector<std::string> cells{subject.name};
    bool has_value = false;
    for (const int step : StepsWithMean(study)) {
      const auto mean = study.Mean(subject.subject, metric, step, EpisodeGroup::kMoving);
      has_value = has_value || mean;
      cells.push_back(CellText(mean, decimals));
    }
    if (has_value) rows += MarkdownRow(cells);
  }
  if (rows.empty()) return "";
  return "\n**" + MetricHeading(metric) + "**\n\n" + StepHeader(study, "step") + rows;
}

std::string GapTable(const Study& study) {
  std::string rows;
  for (const auto& [a, b] : ComparedPairs(study)) {
    std::vector<std::string> ours{a.name + " - " + b.name},
        published{"published " + a.name + " - " + b.name};
    bool has_published = false;
    for (const int step : StepsWithMean(study)) {
      const auto gap = study.Difference(a.subject, b.subject, kSsim, step, EpisodeGroup::kMoving);
      ours.push_back(gap ? SignedText(gap->difference.mean, kScoreDecimals) + " " +
                               IntervalText(gap->difference, kScoreDecimals)
                         : ScoreText({}, kScoreDecimals));
      const auto known = PublishedGap(a.subject.variant, b.subject.variant, step - 1);
      has_published = has_published || known;
      published.push_back(known ? SignedText(*known, 3) : ScoreText({}, 3));
    }
    rows += MarkdownRow(ours);
    if (has_published) rows += MarkdownRow(published);
  }
  if (rows.empty()) return "";
  return "\n**Paired differences in SSIM, 95 % intervals over runs and episodes**\n\n" +
         StepHeader(study, "step") + rows;
}

Json Claims(const std::vector<Claim>& claims) {
  Json list = Json::array();
  for (const Claim& claim : claims) {
    Json entry = {{"a", claim.a.subject.variant},
                  {"b", claim.b.subject.variant},
                  {"metric", claim.metric},
                  {"primary", claim.is_primary}};
    if (claim.difference) {
      entry.update(ToJson(claim.difference->difference));
      entry["run_means"] = claim.difference->run_means;
    }
    entry["over_runs"] =
        claim.over_runs ? Json{claim.over_runs->low, claim.over_runs->high} : Json();
    entry["share"] = claim.share ? Json(*claim.share) : Json();
    entry["verdict"] = VerdictText(claim.verdict);
    if (!claim.note.empty()) entry["note"] = claim.note;
    list.push_back(std::move(entry));
  }
  return list;
}

std::string ClaimTable(const std::vector<Claim>& claims) {
  if (claims.empty()) return "";
  std::string out =
      "\n**Claims: means over steps; intervals over seeds and episodes, and over seeds**\n\n" +
      MarkdownRow({"better than", "metric", "difference", "n", "over seeds", "verdict"}) +
      MarkdownRow({"---", "---", "---", "---", "---", "---"});
  for (const Claim& claim : claims) {
    const int decimals = MetricDecimals(claim.metric);
    const auto& seeds = claim.over_runs;
    out += MarkdownRow({claim.a.name + ", " + claim.b.name + (claim.is_primary ? " (primary)" : ""),
                        MetricHeading(claim.metric), DifferenceText(claim), CountText(claim),
                        seeds ? IntervalText(*seeds, decimals) : "–", ClaimVerdictText(claim)});
  }
  return out;
}

std::string RunTable(const Study& study) {
  const HtmlTable table = RunsTable(study);
  std::string out = "\n**" + table.caption + "**\n\n" + MarkdownRow(table.header) +
                    MarkdownRow(std::vector<std::string>(table.header.size(), "---"));
  for (const std::vector<std::string>& row : table.rows) out += MarkdownRow(row);
  return out;
}

}  // namespace

Json StudyToJson(const Study& study, const std::vector<Relation>& relations,
                 const std::vector<Claim>& claims) {
  Json runs = Json::array(), checks = Json::array(), published = Json::array(),
       episodes = Json::array();
  for (const TrainedRun& run : study.runs()) runs.push_back(RunJson(study, run));
  for (const Relation& r : relations) {
    checks.push_back({{"id", r.id},
                      {"relation", r.text},
                      {"outcome", OutcomeText(r.outcome)},
                      {"numbers", r.numbers}});
  }
  for (const PublishedVariant& p : kPublished) {
    published.push_back({{"variant", p.variant},
                         {"ssim", p.ssim},
                         {"training_steps_per_s", p.training_steps_per_s}});
  }
  for (const StudyEpisode& episode : study.episodes()) {
    episodes.push_back({{"id", episode.id},
                        {"manifest_sha256", episode.manifest_sha256},
                        {"task", episode.task},
                        {"still", episode.is_still}});
  }
  const StudySetup& setup = study.setup();
  return {{"schema", "interlacer.hdvpd"},
          {"schema_version", 2},
          {"dataset",
           {{"name", setup.dataset_name},
            {"dataset_sha256", setup.dataset_sha256},
            {"split", setup.split},
            {"episodes", episodes}}},
          {"setup",
           {{"steps", setup.plan.step_count},
            {"step_duration_s", study.step_duration_s()},
            {"windows", setup.plan.window_count},
            {"start_step", setup.plan.start_step},
            {"image_width_px", study.image_width_px()},
            {"image_height_px", study.image_height_px()},
            {"target_background", setup.target_background},
            {"seed", setup.plan.seed}}},
          {"runs", runs},
          {"failures", FailuresToJson(study.failures())},
          {"claims", Claims(claims)},
          {"relations", checks},
          {"differences", Differences(study)},
          {"curves", Curves(study)},
          {"published", published}};
}

std::string StudyToCsv(const Study& study) {
  std::string out = "episodes,subject,variant,metric,step,mean,low,high,n\n";
  for (const NamedGroup& group : kGroups) {
    for (const NamedSubject& subject : FigureSubjects(study)) {
      for (const std::string_view metric : kMetrics) {
        for (int step = 1; step <= study.step_count(); ++step) {
          const auto mean = study.Mean(subject.subject, metric, step, group.group);
          if (!mean) continue;
          char numbers[128] = "";
          std::snprintf(numbers, sizeof numbers, "%d,%.9g,", step - 1, mean->mean);
          out += std::string(group.name) + ",\"" + subject.name + "\"," + subject.subject.variant +
                 "," + std::string(metric) + "," + numbers;
          if (mean->interval) {
            std::snprintf(numbers, sizeof numbers, "%.9g,%.9g,", mean->interval->low,
                          mean->interval->high);
            out += numbers;
          } else {
            out += ",,";
          }
          out += std::to_string(mean->n) + "\n";
        }
      }
    }
  }
  return out;
}

std::string RunsToCsv(const Study& study) {
  std::string out = "run,variant,seed,episode,task";
  for (const std::string_view metric : kClaimMetrics) out += "," + std::string(metric);
  out += "\n";
  for (const TrainedRun& run : study.runs()) {
    if (run.has_diverged) continue;
    std::array<EpisodeValues, kClaimMetrics.size()> values;
    for (std::size_t m = 0; m < kClaimMetrics.size(); ++m) {
      values[m] =
          study.ValuesOfRun(run, kModelSubject, kClaimMetrics[m], kAllSteps, EpisodeGroup::kMoving);
    }
    for (const StudyEpisode& episode : study.episodes()) {
      if (episode.is_still) continue;
      out += run.name() + "," + run.variant + "," + std::to_string(run.seed) + "," + episode.id +
             "," + episode.task;
      for (const EpisodeValues& metric : values) {
        const auto value = metric.find(episode.id);
        char text[32] = "";
        if (value != metric.end()) std::snprintf(text, sizeof text, "%.9g", value->second);
        out += std::string(",") + text;
      }
      out += "\n";
    }
  }
  return out;
}

std::string StudyToMarkdown(const Study& study, const std::vector<Relation>& relations,
                            const std::vector<Claim>& claims) {
  std::string out = "Data set " + study.setup().dataset_name + ", split " + study.setup().split +
                    ": " + std::to_string(study.EpisodeCount(EpisodeGroup::kMoving)) +
                    " episodes in which the arms move, " +
                    std::to_string(study.EpisodeCount(EpisodeGroup::kStill)) +
                    " with still arms; step 0 is the first predicted frame; means over seeds and "
                    "episodes in which the arms move.\n";
  for (const std::string& line : FailureLines(study.failures())) {
    out += "\nFailed and left out: " + line + "\n";
  }
  for (const std::string_view metric : kMetrics) out += MetricTable(study, metric);
  out += GapTable(study) + ClaimTable(claims) + RunTable(study);
  if (relations.empty()) return out;
  out += "\n**Relations**\n\n" + MarkdownRow({"", "relation", "outcome", "numbers"}) +
         MarkdownRow({"---", "---", "---", "---"});
  for (const Relation& r : relations) {
    out += MarkdownRow({r.id, r.text, std::string(OutcomeText(r.outcome)), r.numbers});
  }
  return out;
}

}  // namespace interlacer
