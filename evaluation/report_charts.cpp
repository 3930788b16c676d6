#include "evaluation/report_charts.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <set>
#include <utility>

#include "evaluation/html.h"
#include "evaluation/score_chart.h"
#include "evaluation/score_text.h"
#include "evaluation/spread_scores.h"
#include "evaluation/svg.h"
#include "evaluation/view_scores.h"

namespace interlacer {
namespace {

constexpr int kChosenSteps[] = {0, 1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128};
constexpr std::size_t kMaxTableSteps = 10;

/// A baseline looks as its subject does on every page; models take what baselines leave.
std::vector<std::size_t> StylesOf(const std::vector<Variant>& variants) {
  std::set<std::size_t> taken;
  for (const Variant& variant : variants) {
    if (variant.subject != kModelSubject) taken.insert(StyleOf(variant.subject));
  }
  std::vector<std::size_t> styles;
  std::size_t next = StyleOf(kModelSubject);
  for (const Variant& variant : variants) {
    if (variant.subject != kModelSubject) {
      styles.push_back(StyleOf(variant.subject));
      continue;
    }
    while (taken.contains(next)) ++next;
    styles.push_back(next++);
  }
  return styles;
}

/// A curve of each variant, of what `estimate` takes from its score at every step.
template <typename Estimate>
std::vector<ChartSeries> CurvesOf(const ReportInput& in, std::string_view metric,
                                  Estimate estimate) {
  std::vector<ChartSeries> curves;
  const std::vector<std::size_t> styles = StylesOf(in.variants);
  for (std::size_t i = 0; i < in.variants.size(); ++i) {
    curves.push_back({in.variants[i].name, {}, {}, {}, {}, styles[i]});
  }
  for (const int step : StepsOf(in.reference())) {
    const std::vector<VariantScore> scores = CompareVariants(in.variants, metric, step);
    for (std::size_t i = 0; i < curves.size(); ++i) AddPoint(step, estimate(scores[i]), &curves[i]);
  }
  std::erase_if(curves, [](const ChartSeries& curve) { return !HasValues(curve); });
  return curves;
}

const MeanEstimate* MeanOf(const VariantScore& score) {
  return score.mean ? &*score.mean : nullptr;
}

const MeanEstimate* DifferenceOf(const VariantScore& score) {
  return score.difference ? &score.difference->difference : nullptr;
}

std::string StepLabel(const Results& r) {
  char text[64];
  std::snprintf(text, sizeof text, "rollout step (%.3g s each)", r.step_duration_s);
  return text;
}

void MarkTraining(const ReportInput& in, ChartSpec* spec) {
  const int trained = in.reference().model.value("trained_step_count", 0);
  if (trained <= 0) return;
  spec->marker_x = trained;
  spec->marker_label = "trained up to here";
}

/// Charts of the metrics that occur and are wanted.
template <typename Wanted>
std::string Charts(const ReportInput& in, Wanted is_wanted) {
  std::string charts;
  for (const std::string& metric : MetricsOf(in.reference())) {
    if (!is_wanted(metric)) continue;
    ChartSpec spec;
    spec.title = MetricLabel(metric);
    spec.x_label = StepLabel(in.reference());
    spec.y_label = MetricUnit(metric);
    spec.alt_text = spec.title + " against rollout step with 95 % bands";
    spec.series = CurvesOf(in, metric, MeanOf);
    if (spec.series.empty()) continue;
    MarkTraining(in, &spec);
    charts += FigureHtml(LineChartSvg(spec));
  }
  return ChartsHtml(charts);
}

/// Steps that the section on spreads shows.
constexpr int kSpreadSteps[] = {1, 2, 4, 8, 24};
constexpr double kMillimeters = 1000;

/// In the middle of a bin, millimetres; the last bin has none and is drawn half a bin further.
double SpreadMm(std::size_t bin) {
  constexpr std::size_t kCount = std::size(kSpreadEdgesM);
  const double low = kSpreadEdgesM[bin];
  const double high = bin + 1 < kCount ? kSpreadEdgesM[bin + 1] : 2 * low;
  return kMillimeters * 0.5 * (low + high);
}

/// "2 to 5 mm".
std::string SpreadText(std::size_t bin) {
  const std::string low = ScoreText(kMillimeters * kSpreadEdgesM[bin], 0);
  if (bin + 1 == std::size(kSpreadEdgesM)) return low + " mm and more";
  return low + " to " + ScoreText(kMillimeters * kSpreadEdgesM[bin + 1], 0) + " mm";
}

std::vector<int> SpreadSteps(const ReportInput& in) {
  const std::vector<int> all = StepsOf(in.reference());
  std::vector<int> steps;
  for (const int step : kSpreadSteps) {
    if (std::find(all.begin(), all.end(), step) != all.end()) steps.push_back(step);
  }
  return steps;
}

/// A curve of each step: mean error by bin.
std::vector<ChartSeries> SpreadCurves(const ReportInput& in) {
  std::vector<ChartSeries> curves;
  for (const int step : SpreadSteps(in)) {
    ChartSeries curve{"step " + std::to_string(step), {}, {}, {}, {}, curves.size()};
    for (std::size_t bin = 0; bin < std::size(kSpreadEdgesM); ++bin) {
      const VariantScore score = CompareVariants(in.variants, SpreadMetric(bin), step)[0];
      AddPoint(SpreadMm(bin), MeanOf(score), &curve);
    }
    if (HasValues(curve)) curves.push_back(std::move(curve));
  }
  return curves;
}

/// "6.8 [5.7, 8.0], 19" in millimetres.
std::string SpreadCell(const std::optional<MeanEstimate>& mean) {
  if (!mean) return ScoreText({}, 1);
  MeanEstimate in_mm = *mean;
  in_mm.mean *= kMillimeters;
  if (in_mm.interval) {
    in_mm.interval->low *= kMillimeters;
    in_mm.interval->high *= kMillimeters;
  }
  return MeanText(in_mm, 1) + (mean->interval ? ", " + std::to_string(mean->n) : "");
}

HtmlTable SpreadTable(const ReportInput& in) {
  HtmlTable table;
  table.caption =
      "Mean distance to the truth in millimetres, 95 % interval over episodes, how many have such "
      "particles";
  table.header = {"spread"};
  for (const int step : SpreadSteps(in)) table.header.push_back("step " + std::to_string(step));
  for (std::size_t bin = 0; bin < std::size(kSpreadEdgesM); ++bin) {
    std::vector<std::string> row{SpreadText(bin)};
    for (const int step : SpreadSteps(in)) {
      row.push_back(SpreadCell(CompareVariants(in.variants, SpreadMetric(bin), step)[0].mean));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// Empty where nothing was scored at step 0.
std::string SamplingText(const ReportInput& in) {
  const auto floor = CompareVariants(in.variants, kChamferHalf, 0)[0].mean;
  if (!floor) return "";
  return " At step 0, before anything moves, that of " + in.variants[0].name + " is " +
         ScoreText(floor->mean, MetricDecimals(kChamferHalf)) +
         " m: what the sampling of particles leaves, and no prediction is rid of.";
}

/// What stands behind "95 % intervals".
std::string FewText(const ReportInput& in) {
  return in.reference().episodes.size() < kFewestToDecide ? kFewEpisodesText : "";
}

bool IsOfPictures(std::string_view metric) {
  return std::find(kPictureMetrics.begin(), kPictureMetrics.end(), metric) != kPictureMetrics.end();
}

}  // namespace

std::vector<int> ChosenSteps(const ReportInput& in) {
  const std::vector<int> all = StepsOf(in.reference());
  if (all.size() <= kMaxTableSteps) return all;
  std::vector<int> chosen;
  for (const int step : kChosenSteps) {
    if (std::find(all.begin(), all.end(), step) != all.end()) chosen.push_back(step);
  }
  return chosen;
}

std::string ScoreChartsHtml(const ReportInput& in) {
  const std::string charts = Charts(in, IsOfPictures);
  if (charts.empty()) return "";
  return SectionHtml("Scores by step",
                     charts + ParagraphHtml("Lines are means over episodes, bands are 95 % "
                                            "bootstrap intervals" +
                                            FewText(in) + "."));
}

std::string GeometryHtml(const ReportInput& in) {
  const std::string charts = Charts(in, [](std::string_view metric) {
    return !IsOfPictures(metric) && !metric.starts_with(kSpreadMetricPrefix);
  });
  if (charts.empty()) return "";
  const std::string how =
      "In metres, smaller is better. Objects that move are those that truly are 1 cm or more from "
      "their start at some step of the rollout, counted at every step. Depth: mean error of the "
      "drawn depth inside the workspace. Chamfer distance: between the particles that a camera "
      "sees and the true points of its depth image. Where fewer episodes have a score at some "
      "step, "
      "as before and in contact, lines join means of different ones; the tables say of how many.";
  return SectionHtml("Particles and geometry", charts + ParagraphHtml(how + SamplingText(in)));
}

std::string DifferencesHtml(const ReportInput& in) {
  if (in.variants.size() < 2) return "";
  ChartSpec spec;
  spec.title = "SSIM difference to " + in.variants[0].name;
  spec.x_label = StepLabel(in.reference());
  spec.y_label = "difference";
  spec.alt_text = "Paired difference in SSIM to " + in.variants[0].name + " by step";
  spec.reference_y = 0;
  spec.series = CurvesOf(in, kSsim, DifferenceOf);
  if (spec.series.empty()) return "";
  HtmlTable table;
  table.caption = "Paired difference in SSIM to " + in.variants[0].name +
                  ": mean, 95 % interval, episodes above and below" + FewText(in);
  table.header = {"step"};
  for (std::size_t i = 1; i < in.variants.size(); ++i) table.header.push_back(in.variants[i].name);
  for (const int step : ChosenSteps(in)) {
    std::vector<std::string> row{std::to_string(step)};
    const std::vector<VariantScore> scores = CompareVariants(in.variants, kSsim, step);
    for (std::size_t i = 1; i < scores.size(); ++i) {
      const auto& d = scores[i].difference;
      row.push_back(d ? SignedText(d->difference.mean, 4) + " " + IntervalText(d->difference, 4) +
                            ", " + std::to_string(d->wins) + " : " + std::to_string(d->losses)
                      : ScoreText({}, 4));
    }
    table.rows.push_back(std::move(row));
  }
  return SectionHtml("Paired differences",
                     ChartsHtml(FigureHtml(LineChartSvg(spec))) + TableHtml(table));
}

std::string SpreadHtml(const ReportInput& in) {
  ChartSpec spec;
  spec.title = "Distance to the truth by predicted spread, " + in.variants[0].name;
  spec.x_label = "predicted spread (mm)";
  spec.y_label = "m";
  spec.alt_text = "Mean error of particles by their predicted spread, a line for each step";
  spec.series = SpreadCurves(in);
  if (spec.series.empty()) return "";
  ChartSeries equal{"as large as the spread", {}, {}, {}, {}, spec.series.size()};
  for (std::size_t bin = 0; bin < std::size(kSpreadEdgesM); ++bin) {
    equal.x.push_back(SpreadMm(bin));
    equal.y.push_back(SpreadMm(bin) / 1000);
  }
  spec.series.push_back(std::move(equal));
  return SectionHtml(
      "How sure the model is",
      ChartsHtml(FigureHtml(LineChartSvg(spec))) + TableHtml(SpreadTable(in)) +
          ParagraphHtml("The spread of a particle is the root mean square distance of four "
                        "predictions, of the scene seen from four sides, from their mean. A spread "
                        "that means something rises with the error. Particles of arms are left "
                        "out."));
}

std::string DistributionsHtml(const ReportInput& in) {
  DistributionSpec episodes;
  episodes.title = "SSIM by episode, mean over the rollout";
  episodes.value_label = "SSIM";
  episodes.alt_text = "One dot an episode, a line at the mean";
  const std::vector<std::size_t> styles = StylesOf(in.variants);
  for (std::size_t i = 0; i < in.variants.size(); ++i) {
    const Variant& variant = in.variants[i];
    DistributionGroup group{variant.name, {}, styles[i]};
    const ValueFilter filter{variant.subject, kSsim, -1, "", {}};
    for (const auto& [id, mean] : EpisodeMeans(*variant.results, filter)) {
      group.values.push_back(mean);
    }
    if (!group.values.empty()) episodes.groups.push_back(std::move(group));
  }
  DistributionSpec cameras = episodes;
  cameras.title = "SSIM of " + in.variants[0].name + " by camera";
  cameras.groups.clear();
  for (const std::string& camera : CamerasOf(in.reference())) {
    DistributionGroup group{camera, {}, styles.front()};
    const ValueFilter filter{in.variants[0].subject, kSsim, -1, camera, {}};
    for (const auto& [id, mean] : EpisodeMeans(in.reference(), filter))
      group.values.push_back(mean);
    if (!group.values.empty()) cameras.groups.push_back(std::move(group));
  }
  if (episodes.groups.empty()) return "";
  return SectionHtml("Distribution", ChartsHtml(FigureHtml(DistributionSvg(episodes)) +
                                                FigureHtml(DistributionSvg(cameras))));
}

}  // namespace interlacer
