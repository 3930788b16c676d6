#include "experiments/hdvpd/charts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "common/json.h"
#include "evaluation/score_chart.h"
#include "evaluation/score_text.h"
#include "evaluation/view_scores.h"
#include "experiments/hdvpd/published.h"

namespace interlacer {
namespace {

double FigureStep(int step) { return step - 1; }

std::string StepLabel(const Study& study) {
  char text[96];
  std::snprintf(text, sizeof text, "rollout step (%.3g s each; 0 is the first predicted frame)",
                study.step_duration_s());
  return text;
}

void MarkTraining(const Study& study, ChartSpec* spec) {
  const auto& schedule =
      study.runs().front().training.value("rollout_steps", nlohmann::json::array());
  if (schedule.empty()) return;
  spec->marker_x = FigureStep(schedule.back().value("value", 0));
  spec->marker_label = "trained up to here";
}

/// Of stage `stage`; the last one comes after the `earlier` ones.
std::string LossChart(const Study& study, std::size_t stage, std::size_t earlier) {
  ChartSpec spec;
  spec.title = "Validation loss";
  if (earlier > 0) spec.title += ", stage " + std::to_string(stage + 1);
  spec.x_label = "update";
  spec.y_label = "what training minimises";
  spec.alt_text = spec.title + " of every run against update";
  const std::vector<std::string> variants = study.variants();
  std::set<std::string> named;
  for (const TrainedRun& run : study.runs()) {
    const auto style = std::find(variants.begin(), variants.end(), run.variant);
    ChartSeries series{"", {}, {}, {}, {}, static_cast<std::size_t>(style - variants.begin())};
    for (const LoggedLoss& loss :
         stage < earlier ? run.earlier_stages[stage].validations : run.validations) {
      if (!std::isfinite(loss.loss)) continue;
      series.x.push_back(static_cast<double>(loss.step));
      series.y.push_back(loss.loss);
    }
    if (!HasValues(series)) continue;
    if (named.insert(run.variant).second) series.name = VariantLabel(run.variant);
    spec.series.push_back(std::move(series));
  }
  return spec.series.empty() ? "" : FigureHtml(LineChartSvg(spec));
}

}  // namespace

std::string MetricChart(const Study& study, std::string_view metric, EpisodeGroup group) {
  ChartSpec spec;
  spec.title = MetricLabel(metric);
  spec.x_label = StepLabel(study);
  spec.y_label = MetricUnit(metric);
  spec.alt_text = spec.title + " against rollout step with 95 % bands";
  for (const NamedSubject& subject : FigureSubjects(study)) {
    ChartSeries series{subject.name, {}, {}, {}, {}, subject.style};
    for (int step = 1; step <= study.step_count(); ++step) {
      const auto mean = study.Mean(subject.subject, metric, step, group);
      AddPoint(FigureStep(step), mean ? &*mean : nullptr, &series);
    }
    if (HasValues(series)) spec.series.push_back(std::move(series));
  }
  if (spec.series.empty()) return "";
  MarkTraining(study, &spec);
  return FigureHtml(LineChartSvg(spec));
}

std::string MetricCharts(const Study& study, std::span<const std::string_view> metrics,
                         EpisodeGroup group) {
  std::string figures;
  for (const std::string_view metric : metrics) figures += MetricChart(study, metric, group);
  return ChartsHtml(figures);
}

std::string GapChart(const Study& study, std::string_view metric) {
  ChartSpec spec;
  spec.title = MetricLabel(metric) + ": paired differences";
  spec.x_label = StepLabel(study);
  spec.y_label = "difference in " + MetricUnit(metric);
  spec.alt_text = spec.title + " against rollout step with 95 % bands";
  spec.reference_y = 0;
  for (const auto& [a, b] : ComparedPairs(study)) {
    if (a.subject.variant != study.variants().front()) continue;
    ChartSeries ours{a.name + " - " + b.name, {}, {}, {}, {}, b.style};
    ChartSeries published{"published", {}, {}, {}, {}, b.style + study.variants().size() - 1};
    for (int step = 1; step <= study.step_count(); ++step) {
      const auto gap = study.Difference(a.subject, b.subject, metric, step, EpisodeGroup::kMoving);
      AddPoint(FigureStep(step), gap ? &gap->difference : nullptr, &ours);
      const auto known = PublishedGap(a.subject.variant, b.subject.variant, step - 1);
      if (metric != kSsim || !known) continue;
      published.x.push_back(FigureStep(step));
      published.y.push_back(*known);
    }
    if (HasValues(ours)) spec.series.push_back(std::move(ours));
    published.name += " " + a.name + " - " + b.name;
    if (HasValues(published)) spec.series.push_back(std::move(published));
  }
  return spec.series.empty() ? "" : FigureHtml(LineChartSvg(spec));
}

std::string PublishedChart() {
  ChartSpec spec;
  spec.title = "SSIM, published (other data)";
  spec.x_label = "rollout step";
  spec.y_label = "SSIM";
  spec.alt_text = "Published SSIM of the three variants against rollout step";
  for (std::size_t i = 0; i < kPublished.size(); ++i) {
    ChartSeries series{VariantLabel(kPublished[i].variant), {}, {}, {}, {}, i};
    for (int step = 0; step < kPublishedSteps; ++step) {
      series.x.push_back(step);
      series.y.push_back(kPublished[i].ssim[static_cast<std::size_t>(step)]);
    }
    spec.series.push_back(std::move(series));
  }
  return FigureHtml(LineChartSvg(spec));
}

std::string LossCharts(const Study& study) {
  const std::size_t earlier = study.runs().front().earlier_stages.size();
  std::string charts;
  for (std::size_t stage = 0; stage <= earlier; ++stage) charts += LossChart(study, stage, earlier);
  return ChartsHtml(charts);
}

}  // namespace interlacer
