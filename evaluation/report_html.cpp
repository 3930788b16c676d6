#include "evaluation/report_html.h"

#include <cmath>
#include <set>
#include <utility>

#include "common/json.h"
#include "evaluation/html.h"
#include "evaluation/mean_table.h"
#include "evaluation/metric_definitions.h"
#include "evaluation/report_charts.h"
#include "evaluation/report_scene.h"
#include "evaluation/report_strips.h"
#include "evaluation/scene_view.h"
#include "evaluation/score_text.h"
#include "evaluation/spread_scores.h"
#include "evaluation/view_scores.h"

namespace interlacer {
namespace {

std::string CountText(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// The difference of a variant to the reference at a step, as the end of a sentence.
std::string VerdictPart(const ReportInput& in, std::size_t variant, int step) {
  const VariantScore score = CompareVariants(in.variants, kSsim, step)[variant];
  if (!score.difference) return "";
  const MeanEstimate& d = score.difference->difference;
  const std::string& name = in.variants[variant].name;
  if (score.difference->wins + score.difference->losses == 0) return "; equal to " + name;
  const bool is_few = d.n < kFewestToDecide;
  if (!is_few && d.interval->Contains(0)) {
    return "; no difference is shown to " + name + " (" + SignedText(d.mean, 4) + " " +
           IntervalText(d, 4) + ")";
  }
  if (ScoreText(std::abs(d.mean), 4) == ScoreText(0., 4)) return "; within 0.0001 of " + name;
  if (is_few) {
    return "; " + name + " differs by " + SignedText(d.mean, 4) +
           (d.interval ? " " + IntervalText(d, 4) : "");
  }
  const bool is_better = d.mean > 0;
  const Interval size = is_better ? *d.interval : Interval{-d.interval->high, -d.interval->low};
  return "; " + name + " is " + (is_better ? "better" : "worse") + " by " +
         ScoreText(std::abs(d.mean), 4) + " " + IntervalText(size, 4);
}

std::string Verdict(const ReportInput& in) {
  const std::vector<int> steps = StepsOf(in.reference());
  if (steps.empty()) return "There are no scores: no episode was evaluated.";
  const int step = steps.back();
  const auto own = CompareVariants(in.variants, kSsim, step)[0].mean;
  if (!own) return "There is no SSIM at step " + std::to_string(step) + ".";
  std::string text = "SSIM at step " + std::to_string(step) + ": " + in.variants[0].name + " " +
                     ScoreText(own->mean, 4) + (own->interval ? " " + IntervalText(*own, 4) : "");
  for (std::size_t i = 1; i < in.variants.size(); ++i) text += VerdictPart(in, i, step);
  return text + ". Means over " + CountText(static_cast<std::size_t>(own->n), "episode") +
         (own->interval ? ", 95 % intervals" : ", too few for intervals") +
         (own->interval && own->n < kFewestToDecide ? kFewEpisodesText : "") + ".";
}

std::string Headline(const ReportInput& in) {
  const Results& r = in.reference();
  std::vector<HeadlineFigure> figures;
  for (const auto& [step, label] : {std::pair{0, "SSIM, reconstruction"}, std::pair{1, ""}}) {
    const int shown = step == 0 ? 0 : (StepsOf(r).empty() ? 0 : StepsOf(r).back());
    if (step == 1 && shown == 0) continue;
    const auto mean = CompareVariants(in.variants, kSsim, shown)[0].mean;
    const std::string text =
        step == 0 ? label : "SSIM after " + CountText(static_cast<std::size_t>(shown), "step");
    if (mean) figures.push_back({ScoreText(mean->mean, 3), text, IntervalText(*mean, 3)});
  }
  const auto psnr = CompareVariants(in.variants, kPsnr, 0)[0].mean;
  if (psnr) {
    figures.push_back(
        {ScoreText(psnr->mean, 1) + " dB", "PSNR, reconstruction", IntervalText(*psnr, 1)});
  }
  figures.push_back(
      {std::to_string(r.episodes.size()), r.episodes.size() == 1 ? "episode" : "episodes",
       CountText(r.timings.size(), "rollout") + ", " + CountText(r.failures.size(), "failure")});
  return HeadlineHtml(figures);
}

/// One table for each model; empty where true motion was not scored.
std::string ShareTables(const ReportInput& in) {
  std::string tables;
  for (const Variant& variant : in.variants) {
    if (variant.subject != kModelSubject) continue;
    HtmlTable table;
    table.caption = variant.name +
                    ": share of what true motion of everything wins over kinematic, ratio of mean "
                    "differences and 95 % interval";
    table.header = {"step"};
    for (const std::string_view metric : kMotionMetrics) {
      table.header.push_back(MetricLabel(metric));
    }
    for (const int step : ChosenSteps(in)) {
      std::vector<std::string> row{std::to_string(step)};
      bool has_value = false;
      for (const std::string_view metric : kMotionMetrics) {
        const std::optional<RatioEstimate> share = ShareOfMotion(variant, metric, step);
        has_value = has_value || share;
        row.push_back(RatioText(share));
      }
      if (has_value) table.rows.push_back(std::move(row));
    }
    if (!table.rows.empty()) tables += TableHtml(table);
  }
  return tables;
}

std::string ScoreTables(const ReportInput& in) {
  std::vector<std::string> names;
  for (const Variant& variant : in.variants) names.push_back(variant.name);
  std::string tables;
  for (const std::string& metric : MetricsOf(in.reference())) {
    // They have a table of their own.
    if (metric.starts_with(kSpreadMetricPrefix)) continue;
    MeansByStep means;
    for (const int step : ChosenSteps(in)) {
      for (const VariantScore& score : CompareVariants(in.variants, metric, step)) {
        means[step].push_back(score.mean);
      }
    }
    const HtmlTable table = MeanTable(MetricHeading(metric), names, means, MetricDecimals(metric));
    if (!table.rows.empty()) tables += TableHtml(table);
  }
  tables += ShareTables(in);
  return tables.empty() ? "" : SectionHtml("The numbers", tables);
}

std::string Cost(const ReportInput& in) {
  HtmlTable table;
  table.caption = "Seconds: median, 90th and 99th percentile over rollouts";
  table.header = {"", "lift", "step", "view", "device"};
  for (const Variant& variant : in.variants) {
    if (variant.subject != kModelSubject) continue;
    const auto cell = [&](double ResultTiming::*stage) {
      std::vector<double> seconds;
      for (const ResultTiming& t : variant.results->timings) seconds.push_back(t.*stage);
      std::string text;
      for (const double p : {0.5, 0.9, 0.99}) {
        text += (text.empty() ? "" : " / ") + ScoreText(Percentile(seconds, p), 3);
      }
      return text;
    };
    table.rows.push_back({variant.name, cell(&ResultTiming::lift_s), cell(&ResultTiming::step_s),
                          cell(&ResultTiming::view_s), variant.results->device});
  }
  return table.rows.empty() ? "" : SectionHtml("Cost", TableHtml(table));
}

std::string Troubles(const ReportInput& in) {
  HtmlTable table{"", {"where", "what"}, {}, false};
  std::set<const Results*> seen;
  for (const Variant& variant : in.variants) {
    if (!seen.insert(variant.results).second) continue;
    for (const ResultFailure& failure : variant.results->failures) {
      table.rows.push_back({failure.episode, failure.reason + ": " + failure.message});
    }
    for (const auto& [finding, count] : variant.results->warnings) {
      table.rows.push_back({variant.name, finding + ", " + std::to_string(count) + " times"});
    }
  }
  return table.rows.empty() ? "" : SectionHtml("Failures and findings", TableHtml(table));
}

std::string Provenance(const ReportInput& in) {
  const Results& r = in.reference();
  HtmlTable table{"", {}, {}, false};
  table.rows = {{"data set", r.dataset_name + (r.split.empty() ? "" : ", split " + r.split)},
                {"data set hash", r.dataset_sha256.empty() ? "none" : r.dataset_sha256},
                {"true frames", r.target_background},
                {"image size", std::to_string(r.image_width_px) + " x " +
                                   std::to_string(r.image_height_px) + " pixels"},
                {"seed", std::to_string(r.seed)}};
  std::set<const Results*> seen;
  for (const Variant& variant : in.variants) {
    if (!seen.insert(variant.results).second) continue;
    const Results& v = *variant.results;
    table.rows.push_back({variant.name, v.model.value("name", "") + ", " +
                                            v.model.value("variant", "") + ", weights " +
                                            v.model.value("weights_sha256", "")});
    table.rows.push_back({variant.name + ": made", v.created_time + ", interlacer " +
                                                       v.tool_version + ", " + v.location + " on " +
                                                       v.device});
    table.rows.push_back({variant.name + ": command", v.command});
  }
  table.rows.push_back({"this page", in.created_time});
  table.rows.push_back({"command of this page", in.command});
  const std::string how =
      "Views, starts and cameras of one episode are averaged first; intervals are percentile "
      "bootstrap over episodes, 2000 draws, seed 0.";
  const Results& first = in.reference();
  return SectionHtml("How it was computed",
                     ParagraphHtml(how) + TableHtml(table) +
                         MetricDefinitionsHtml(MetricsOf(first), first.metrics));
}

}  // namespace

std::string ReportHtml(const ReportInput& in) {
  std::string body;
  for (const std::string& warning : in.warnings) {
    body += "<p class=\"warning\">" + EscapeHtml(warning) + "</p>\n";
  }
  const std::string scene = ReportSceneHtml(in);
  const std::string script(scene.empty() ? "" : SceneViewScript());
  body += Headline(in) + GeometryHtml(in) + ScoreChartsHtml(in) + SpreadHtml(in) + scene;
  const std::string rest = DifferencesHtml(in) + DistributionsHtml(in) + ScoreTables(in) +
                           Cost(in) + Troubles(in) + Provenance(in);
  const std::int64_t text_bytes = std::ssize(body) + std::ssize(rest) + std::ssize(script);
  const std::string strips = StripsHtml(in, kMaxPageBytes - text_bytes);
  return PageHtml(in.title, Verdict(in), body + strips + rest, script);
}

}  // namespace interlacer
