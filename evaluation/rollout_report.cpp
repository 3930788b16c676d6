#include "evaluation/rollout_report.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <utility>

#include "common/json.h"
#include "data/manifest.h"
#include "evaluation/frame_strip.h"
#include "evaluation/html.h"
#include "evaluation/metric_definitions.h"
#include "evaluation/results.h"
#include "evaluation/score_chart.h"
#include "evaluation/score_text.h"
#include "evaluation/svg.h"

namespace interlacer {
namespace {

/// Fewer steps make no curve.
constexpr int kMinChartSteps = 2;

std::string Seconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g s", seconds);
  return text;
}

std::string StepHeading(const RolloutReportInput& in, int step) {
  if (step == 0) return "step 0 (now)";
  return "step " + std::to_string(step) + " (+" + Seconds(step * in.metadata->step_duration_s) +
         ")";
}

ChartSeries Series(const RolloutReportInput& in, std::string_view subject,
                   std::string_view metric) {
  ChartSeries series;
  series.name = SubjectLabel(subject);
  series.style = StyleOf(subject);
  for (int step = 0; step <= in.task->step_count; ++step) {
    series.x.push_back(step);
    series.y.push_back(MeanScore(*in.evaluation, subject, metric, step)
                           .value_or(std::numeric_limits<double>::quiet_NaN()));
  }
  return series;
}

std::string ChartOf(const RolloutReportInput& in, std::string_view metric) {
  ChartSpec spec;
  spec.title = MetricLabel(metric);
  spec.x_label = "rollout step (" + Seconds(in.metadata->step_duration_s) + " each)";
  spec.y_label = MetricUnit(metric);
  spec.alt_text = spec.title + " against rollout step, the model beside its baselines";
  for (const std::string_view subject : kSubjects) {
    ChartSeries series = Series(in, subject, metric);
    if (HasValues(series)) spec.series.push_back(std::move(series));
  }
  if (spec.series.empty()) return "";
  if (in.metadata->trained_step_count > 0) {
    spec.marker_x = in.metadata->trained_step_count;
    spec.marker_label = "trained up to here";
  }
  return "<figure>" + LineChartSvg(spec) + "</figure>";
}

std::string ScoreTable(const RolloutReportInput& in, std::string_view metric, int decimals) {
  HtmlTable table;
  table.caption = MetricHeading(metric) + ", mean over the views";
  table.header.push_back("");
  for (int step = 0; step <= in.task->step_count; ++step) {
    table.header.push_back("step " + std::to_string(step));
  }
  for (const std::string_view subject : kSubjects) {
    if (!HasValues(Series(in, subject, metric))) continue;
    std::vector<std::string> row{SubjectLabel(subject)};
    for (int step = 0; step <= in.task->step_count; ++step) {
      row.push_back(ScoreText(MeanScore(*in.evaluation, subject, metric, step), decimals));
    }
    table.rows.push_back(std::move(row));
  }
  return table.rows.empty() ? "" : TableHtml(table);
}

std::string Strip(const RolloutReportInput& in, const TargetView& target, int width_px,
                  ImageEmbedder* images) {
  FrameStrip strip;
  strip.caption = target.is_input ? "Under each prediction: SSIM with the true frame."
                                  : "The model never saw this camera. Under each prediction: SSIM "
                                    "with the true frame.";
  StripRow truth{"truth", {}}, difference{"difference", {}};
  std::map<std::string, StripRow, std::less<>> subjects;
  for (int step = 0; step <= in.task->step_count; ++step) {
    strip.columns.push_back(StepHeading(in, step));
    const EvaluatedView* view = in.evaluation->Find(target.name, step);
    if (view == nullptr) continue;
    truth.frames.push_back({view->truth, view->truth ? "" : "not recorded"});
    for (const std::string_view subject : kSubjects) {
      StripRow& row = subjects.try_emplace(std::string(subject)).first->second;
      const RgbImage* picture = view->Picture(subject);
      const auto ssim = ScoreOf(*view, subject, kSsim);
      row.frames.push_back({picture ? std::optional(*picture) : std::nullopt,
                            picture && ssim ? ScoreText(ssim, 3) : ""});
    }
    const RgbImage* predicted = view->Picture(kModelSubject);
    difference.frames.push_back({predicted != nullptr && view->truth
                                     ? DifferenceImage(*predicted, *view->truth)
                                     : std::nullopt,
                                 ""});
  }
  const auto has_image = [](const StripRow& row) {
    return std::any_of(row.frames.begin(), row.frames.end(),
                       [](const StripFrame& f) { return f.image.has_value(); });
  };
  const auto add = [&](StripRow row) {
    if (has_image(row)) strip.rows.push_back(std::move(row));
  };
  if (has_image(difference)) {
    strip.caption += " Difference to the truth: " + DifferenceScaleText() + ".";
  }
  strip.rows.push_back(std::move(truth));
  for (const std::string_view subject : kSubjects) {
    StripRow& row = subjects[std::string(subject)];
    row.label = subject == kModelSubject ? "predicted" : SubjectLabel(subject);
    add(std::move(row));
    if (subject == kModelSubject) add(std::move(difference));
  }
  return FrameStripHtml(strip, width_px, images);
}

std::string Strips(const RolloutReportInput& in, int width_px, ImageEmbedder* images) {
  std::string html;
  for (const TargetView& target : in.task->targets) {
    const std::string role = target.is_input ? "" : " (held out)";
    html += SectionHtml("Camera " + target.name + role, Strip(in, target, width_px, images));
  }
  return html;
}

std::string Verdict(const RolloutReportInput& in) {
  const int last = in.task->step_count;
  const auto now = MeanScore(*in.evaluation, kModelSubject, kSsim, 0);
  if (!now) return "No true frames to compare with: the views are shown as predicted.";
  const auto splat = MeanScore(*in.evaluation, kSplat, kSsim, 0);
  std::string text = "The reconstruction of the newest observation has SSIM " + ScoreText(now, 3);
  if (splat) text += " (a plain splat of the same particles " + ScoreText(splat, 3) + ")";
  const auto then = MeanScore(*in.evaluation, kModelSubject, kSsim, last);
  const auto copy = MeanScore(*in.evaluation, kCopyLast, kSsim, last);
  if (last > 0 && then) {
    text += "; " + std::to_string(last) + (last == 1 ? " step" : " steps") +
            " later the prediction has " + ScoreText(then, 3);
    if (copy) text += ", copying the last frame " + ScoreText(copy, 3);
    const auto kinematic = MeanScore(*in.evaluation, kKinematicSubject, kSsim, last);
    if (kinematic) text += ", moving the robot alone " + ScoreText(kinematic, 3);
  }
  return text + ".";
}

std::string Headline(const RolloutReportInput& in) {
  const StageDurations& d = in.evaluation->summary.durations;
  const int steps = std::max(1, in.evaluation->summary.computed_step_count);
  const auto views = std::max<std::size_t>(1, in.evaluation->views.size());
  std::vector<HeadlineFigure> figures;
  figures.push_back({std::to_string(in.task->step_count),
                     in.task->step_count == 1 ? "predicted step" : "predicted steps",
                     Seconds(in.metadata->step_duration_s) + " each"});
  figures.push_back({std::to_string(in.evaluation->summary.selected_particle_count), "particles",
                     "an observation"});
  if (d.dynamics_s > 0) figures.push_back({Seconds(d.dynamics_s / steps), "a step", in.device});
  figures.push_back({Seconds(d.render_s / static_cast<double>(views)), "a view",
                     std::to_string(in.task->targets[0].width_px) + " x " +
                         std::to_string(in.task->targets[0].height_px) + " pixels"});
  return HeadlineHtml(figures);
}

std::string Findings(const RolloutReportInput& in) {
  std::vector<Finding> findings = in.evaluation->summary.findings;
  if (in.evaluation->summary.scene_report) {
    const std::vector<Finding>& scene = in.evaluation->summary.scene_report->findings;
    findings.insert(findings.end(), scene.begin(), scene.end());
  }
  if (findings.empty()) return "";
  HtmlTable table{"", {"finding", "what was seen"}, {}, false};
  for (const Finding& finding : findings) table.rows.push_back({finding.reason, finding.message});
  return SectionHtml("Worth a look", TableHtml(table));
}

std::string Provenance(const RolloutReportInput& in) {
  const EpisodeManifest& manifest = *in.manifest;
  std::string inputs;
  for (const TargetView& target : in.task->targets) {
    if (target.is_input) inputs += (inputs.empty() ? "" : ", ") + target.name;
  }
  HtmlTable table{"", {}, {}, false};
  table.rows = {
      {"episode", manifest.episode_id + ", " + std::string(EpisodeKindName(manifest.kind))},
      {"task", manifest.task_text.empty() ? manifest.task_name : manifest.task_text},
      {"start step", std::to_string(in.task->start_step)},
      {"cameras seen by the model", inputs},
      {"model", in.metadata->model_name + ", " + in.metadata->attention_variant},
      {"weights", in.metadata->weights_sha256},
      {"computed", in.location + " on " + in.device},
      {"true frames", in.task->paint_outside_white
                          ? "white outside the workspace and the depth range"
                          : "as recorded"},
      {"source of the episode", manifest.source.kind + " by " + manifest.source.tool},
      {"licence of the episode", manifest.source.license},
      {"made", in.created_time + " by interlacer " + in.tool_version},
      {"command", in.command}};
  return SectionHtml("How it was made", TableHtml(table));
}

}  // namespace

std::vector<std::string> MetricsOf(const EpisodeEvaluation& evaluation) {
  Results results;
  for (const EvaluatedView& view : evaluation.views) {
    for (const ViewScore& score : view.scores) {
      results.values.emplace_back().metric = score.metric;
    }
  }
  return MetricsOf(results);
}

std::optional<double> ScoreOf(const EvaluatedView& view, std::string_view subject,
                              std::string_view metric) {
  for (const ViewScore& score : view.scores) {
    if (score.subject == subject && score.metric == metric) return score.value;
  }
  return std::nullopt;
}

std::optional<double> MeanScore(const EpisodeEvaluation& evaluation, std::string_view subject,
                                std::string_view metric, int step) {
  double sum = 0;
  int count = 0;
  for (const EvaluatedView& view : evaluation.views) {
    if (view.step != step) continue;
    if (const auto score = ScoreOf(view, subject, metric)) {
      sum += *score;
      ++count;
    }
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

std::string RolloutReportHtml(const RolloutReportInput& in) {
  const std::string scene = in.scene == nullptr ? "" : SceneViewHtml(*in.scene);
  const std::string script(scene.empty() ? "" : SceneViewScript());
  std::string rest;
  std::string charts, tables;
  for (const std::string& metric : MetricsOf(*in.evaluation)) {
    if (in.task->step_count >= kMinChartSteps) charts += ChartOf(in, metric);
    tables += ScoreTable(in, metric, MetricDecimals(metric));
  }
  if (!charts.empty()) {
    rest += SectionHtml("Scores by step", "<div class=\"charts\">" + charts + "</div>");
  }
  if (!tables.empty()) rest += SectionHtml("The numbers", tables);
  rest += Findings(in) + Provenance(in);
  rest += MetricDefinitionsHtml(MetricsOf(*in.evaluation), MetricDefinitions());
  rest += "<footer>Full pictures and numbers lie beside this page.</footer>\n";
  const std::string body = Headline(in) + scene;
  const std::int64_t text_bytes = std::ssize(body) + std::ssize(rest) + std::ssize(script);
  const std::string strips = FittedStripsHtml(
      kMaxPageBytes - text_bytes,
      [&](int width_px, ImageEmbedder* images) { return Strips(in, width_px, images); });
  return PageHtml("Rollout of " + in.manifest->episode_id, Verdict(in), body + strips + rest,
                  script);
}

}  // namespace interlacer
