#include "client/cli/evaluation/report_html.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include "client/cli/evaluation/episode_run.h"
#include "client/cli/evaluation/frame_strip.h"
#include "client/cli/evaluation/html.h"
#include "client/cli/evaluation/score_text.h"
#include "client/cli/evaluation/svg.h"
#include "client/cli/evaluation/view_scores.h"
#include "common/image_codec.h"

namespace interlacer {
namespace {

namespace fs = std::filesystem;

constexpr int kThumbnailWidthPx = 240;
/// Longer rollouts show these steps in tables and strips.
constexpr int kChosenSteps[] = {0, 1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128};
constexpr std::size_t kMaxTableSteps = 10;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

const Results& Reference(const ReportInput& in) { return *in.variants[0].results; }

std::vector<int> ChosenSteps(const ReportInput& in) {
  const std::vector<int> all = StepsOf(Reference(in));
  if (all.size() <= kMaxTableSteps) return all;
  std::vector<int> chosen;
  for (const int step : kChosenSteps) {
    if (std::find(all.begin(), all.end(), step) != all.end()) chosen.push_back(step);
  }
  return chosen;
}

std::string CountText(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// How a variant stands to the reference at a step, as the end of a sentence.
std::string VerdictPart(const ReportInput& in, std::size_t variant, int step) {
  const VariantScore score = CompareVariants(in.variants, kSsim, step)[variant];
  if (!score.difference) return "";
  const MeanEstimate& d = score.difference->difference;
  const std::string& name = in.variants[variant].name;
  if (d.interval && d.interval->Contains(0)) {
    return "; no difference is shown to " + name + " (" + SignedText(d.mean, 4) + " " +
           IntervalText(d, 4) + ")";
  }
  MeanEstimate size = d;
  if (d.mean < 0 && d.interval) size.interval = Interval{-d.interval->high, -d.interval->low};
  const std::string interval = d.interval ? " " + IntervalText(size, 4) : "";
  return "; " + name + " is " + (d.mean > 0 ? "better" : "worse") + " by " +
         ScoreText(std::abs(d.mean), 4) + interval;
}

std::string Verdict(const ReportInput& in) {
  const std::vector<int> steps = StepsOf(Reference(in));
  if (steps.empty()) return "There are no scores: no episode was evaluated.";
  const int step = steps.back();
  const auto own = CompareVariants(in.variants, kSsim, step)[0].mean;
  if (!own) return "There is no SSIM at step " + std::to_string(step) + ".";
  std::string text = "SSIM at step " + std::to_string(step) + ": " + in.variants[0].name + " " +
                     ScoreText(own->mean, 4) + (own->interval ? " " + IntervalText(*own, 4) : "");
  for (std::size_t i = 1; i < in.variants.size(); ++i) text += VerdictPart(in, i, step);
  return text + ". Means over " + CountText(static_cast<std::size_t>(own->n), "episode") +
         (own->interval ? ", 95 % intervals." : ", too few for intervals.");
}

std::string Headline(const ReportInput& in) {
  const Results& r = Reference(in);
  std::vector<HeadlineFigure> figures;
  for (const auto& [step, label] : {std::pair{0, "SSIM, reconstruction"}, std::pair{1, ""}}) {
    const int shown = step == 0 ? 0 : (StepsOf(r).empty() ? 0 : StepsOf(r).back());
    if (step == 1 && shown == 0) continue;
    const auto mean = CompareVariants(in.variants, kSsim, shown)[0].mean;
    const std::string text = step == 0 ? label : "SSIM after " + std::to_string(shown) + " steps";
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

ChartSeries CurveOf(const ReportInput& in, std::size_t variant, std::string_view metric) {
  ChartSeries series;
  series.name = in.variants[variant].name;
  series.style = variant;
  for (const int step : StepsOf(Reference(in))) {
    const auto mean = CompareVariants(in.variants, metric, step)[variant].mean;
    series.x.push_back(step);
    series.y.push_back(mean ? mean->mean : kNan);
    series.low.push_back(mean && mean->interval ? mean->interval->low : kNan);
    series.high.push_back(mean && mean->interval ? mean->interval->high : kNan);
  }
  return series;
}

ChartSeries DifferenceCurve(const ReportInput& in, std::size_t variant, std::string_view metric) {
  ChartSeries series;
  series.name = in.variants[variant].name;
  series.style = variant;
  for (const int step : StepsOf(Reference(in))) {
    const auto d = CompareVariants(in.variants, metric, step)[variant].difference;
    series.x.push_back(step);
    series.y.push_back(d ? d->difference.mean : kNan);
    series.low.push_back(d && d->difference.interval ? d->difference.interval->low : kNan);
    series.high.push_back(d && d->difference.interval ? d->difference.interval->high : kNan);
  }
  return series;
}

bool HasValues(const ChartSeries& series) {
  return std::any_of(series.y.begin(), series.y.end(), [](double y) { return std::isfinite(y); });
}

std::string StepLabel(const Results& r) {
  char text[64];
  std::snprintf(text, sizeof text, "rollout step (%.3g s each)", r.step_duration_s);
  return text;
}

void MarkTraining(const ReportInput& in, ChartSpec* spec) {
  const int trained = Reference(in).model.value("trained_step_count", 0);
  if (trained <= 0) return;
  spec->marker_x = trained;
  spec->marker_label = "trained up to here";
}

std::string Charts(const ReportInput& in, std::span<const std::string_view> metrics) {
  std::string charts;
  for (const std::string_view metric : metrics) {
    ChartSpec spec;
    spec.title = MetricLabel(metric);
    spec.x_label = StepLabel(Reference(in));
    spec.y_label = MetricUnit(metric);
    spec.alt_text = spec.title + " against rollout step with 95 % bands";
    for (std::size_t i = 0; i < in.variants.size(); ++i) {
      ChartSeries series = CurveOf(in, i, metric);
      if (HasValues(series)) spec.series.push_back(std::move(series));
    }
    if (spec.series.empty()) continue;
    MarkTraining(in, &spec);
    charts += "<figure>" + LineChartSvg(spec) + "</figure>";
  }
  return charts.empty() ? "" : "<div class=\"charts\">" + charts + "</div>";
}

std::string ScoreCharts(const ReportInput& in) {
  const std::string charts = Charts(in, kPictureMetrics);
  if (charts.empty()) return "";
  return SectionHtml("Scores by step",
                     charts + ParagraphHtml("Lines are means over episodes, bands are 95 % "
                                            "bootstrap intervals."));
}

std::string Geometry(const ReportInput& in) {
  const std::string charts = Charts(in, kGeometryMetrics);
  if (charts.empty()) return "";
  return SectionHtml(
      "Geometry",
      charts +
          ParagraphHtml("In metres, smaller is better. Depth: mean error of the rendered "
                        "expected depth inside the workspace. Chamfer distance: between the "
                        "particles that a camera sees and the true points of its depth image."));
}

std::string ScoreTables(const ReportInput& in) {
  std::string tables;
  for (const std::string_view metric : kMetrics) {
    HtmlTable table;
    table.caption = MetricLabel(metric) + ": mean and 95 % interval";
    table.header = {"step"};
    for (const Variant& variant : in.variants) table.header.push_back(variant.name);
    for (const int step : ChosenSteps(in)) {
      std::vector<std::string> row{std::to_string(step)};
      bool has_value = false;
      for (const VariantScore& score : CompareVariants(in.variants, metric, step)) {
        const int decimals = MetricDecimals(metric);
        has_value = has_value || score.mean;
        row.push_back(score.mean ? ScoreText(score.mean->mean, decimals) + " " +
                                       IntervalText(*score.mean, decimals)
                                 : ScoreText({}, decimals));
      }
      if (has_value) table.rows.push_back(std::move(row));
    }
    if (!table.rows.empty()) tables += TableHtml(table);
  }
  return tables.empty() ? "" : SectionHtml("The numbers", tables);
}

std::string Differences(const ReportInput& in) {
  if (in.variants.size() < 2) return "";
  ChartSpec spec;
  spec.title = "SSIM difference to " + in.variants[0].name;
  spec.x_label = StepLabel(Reference(in));
  spec.y_label = "difference";
  spec.alt_text = "Paired difference in SSIM to " + in.variants[0].name + " by step";
  spec.reference_y = 0;
  for (std::size_t i = 1; i < in.variants.size(); ++i) {
    ChartSeries series = DifferenceCurve(in, i, kSsim);
    if (HasValues(series)) spec.series.push_back(std::move(series));
  }
  if (spec.series.empty()) return "";
  HtmlTable table;
  table.caption = "Paired difference in SSIM to " + in.variants[0].name +
                  ": mean, 95 % interval, episodes above and below";
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
  return SectionHtml("Paired differences", "<div class=\"charts\"><figure>" + LineChartSvg(spec) +
                                               "</figure></div>" + TableHtml(table));
}

std::string Distributions(const ReportInput& in) {
  DistributionSpec episodes;
  episodes.title = "SSIM by episode, mean over the rollout";
  episodes.value_label = "SSIM";
  episodes.alt_text = "One dot an episode, a line at the mean";
  for (const Variant& variant : in.variants) {
    DistributionGroup group{variant.name, {}};
    const ValueFilter filter{variant.subject, kSsim, -1, "", {}};
    for (const auto& [id, mean] : EpisodeMeans(*variant.results, filter)) {
      group.values.push_back(mean);
    }
    if (!group.values.empty()) episodes.groups.push_back(std::move(group));
  }
  DistributionSpec cameras = episodes;
  cameras.title = "SSIM of " + in.variants[0].name + " by camera";
  cameras.groups.clear();
  for (const std::string& camera : CamerasOf(Reference(in))) {
    DistributionGroup group{camera, {}};
    const ValueFilter filter{in.variants[0].subject, kSsim, -1, camera, {}};
    for (const auto& [id, mean] : EpisodeMeans(Reference(in), filter)) group.values.push_back(mean);
    if (!group.values.empty()) cameras.groups.push_back(std::move(group));
  }
  if (episodes.groups.empty()) return "";
  return SectionHtml("Distribution", "<div class=\"charts\"><figure>" + DistributionSvg(episodes) +
                                         "</figure><figure>" + DistributionSvg(cameras) +
                                         "</figure></div>");
}

std::optional<RgbImage> ReadFrame(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  StatusOr<RgbImage> image = ReadRgbFile(path.string());
  if (!image.ok()) return std::nullopt;
  return *std::move(image);
}

/// First rollout of an episode, first camera with pictures.
std::string EpisodeStrip(const ReportInput& in, const std::string& episode, ImageEmbedder* images) {
  const ResultValue* first = nullptr;
  for (const ResultValue& value : Reference(in).values) {
    if (value.episode == episode && value.subject == in.variants[0].subject) {
      first = &value;
      break;
    }
  }
  if (first == nullptr) return "";
  FrameStrip strip;
  strip.caption = "camera " + first->camera + ", start step " + std::to_string(first->start_step) +
                  "; under each picture its SSIM";
  StripRow truth{"truth", {}};
  std::vector<StripRow> rows;
  for (const Variant& variant : in.variants) rows.push_back({variant.name, {}});
  bool has_frames = false;
  for (const int step : ChosenSteps(in)) {
    strip.columns.push_back("step " + std::to_string(step));
    truth.frames.push_back({ReadFrame(FramePath(in.variants[0].frames_dir, episode,
                                                first->start_step, first->camera, step, "truth")),
                            ""});
    has_frames = has_frames || truth.frames.back().image;
    for (std::size_t i = 0; i < in.variants.size(); ++i) {
      const Variant& variant = in.variants[i];
      std::optional<double> ssim;
      for (const ResultValue& v : variant.results->values) {
        if (v.episode == episode && v.subject == variant.subject && v.metric == kSsim &&
            v.step == step && v.camera == first->camera && v.start_step == first->start_step) {
          ssim = v.value;
        }
      }
      rows[i].frames.push_back({ReadFrame(FramePath(variant.frames_dir, episode, first->start_step,
                                                    first->camera, step, variant.subject)),
                                ssim ? ScoreText(ssim, 3) : ""});
    }
  }
  if (!has_frames) return "";
  strip.rows.push_back(std::move(truth));
  for (StripRow& row : rows) {
    const bool has_image = std::any_of(row.frames.begin(), row.frames.end(),
                                       [](const StripFrame& f) { return f.image.has_value(); });
    if (has_image) strip.rows.push_back(std::move(row));
  }
  return FrameStripHtml(strip, kThumbnailWidthPx, images);
}

std::string Strips(const ReportInput& in, ImageEmbedder* images) {
  const ValueFilter filter{in.variants[0].subject, kSsim, -1, "", {}};
  std::vector<std::pair<double, std::string>> ranked;
  for (const auto& [episode, mean] : EpisodeMeans(Reference(in), filter)) {
    ranked.emplace_back(mean, episode);
  }
  if (ranked.empty()) return "";
  std::sort(ranked.begin(), ranked.end());
  const std::pair<const char*, std::size_t> chosen[] = {
      {"best", ranked.size() - 1}, {"median", ranked.size() / 2}, {"worst", 0}};
  std::string body;
  std::set<std::size_t> shown;
  for (const auto& [label, index] : chosen) {
    if (!shown.insert(index).second) continue;
    const std::string& episode = ranked[index].second;
    const std::string strip = EpisodeStrip(in, episode, images);
    if (strip.empty()) continue;
    body += "<h3>" + EscapeHtml(episode) + ": " + label + ", mean SSIM " +
            ScoreText(ranked[index].first, 4) + "</h3>\n" + strip;
  }
  return body.empty() ? "" : SectionHtml("Frames", body);
}

std::string Cost(const ReportInput& in) {
  HtmlTable table;
  table.caption = "Seconds: median, 90th and 99th percentile over rollouts";
  table.header = {"", "lift", "step", "view", "device"};
  for (const Variant& variant : in.variants) {
    if (variant.subject != kModel) continue;
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
  const Results& r = Reference(in);
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
      "SSIM is ssim_wang_rgb_v1: Gaussian window of 11 px, sigma 1.5, 8-bit RGB, population "
      "covariances, windows inside the image only; where something moves: pixels that differ from "
      "the newest observed frame by 16 or more, grown by 5 px. PSNR is psnr_rgb8_v1. Views, starts "
      "and cameras of one episode are averaged first; intervals are percentile bootstrap over "
      "episodes, 2000 draws, seed 0.";
  return SectionHtml("How it was computed", ParagraphHtml(how) + TableHtml(table));
}

}  // namespace

std::string ReportHtml(const ReportInput& in) {
  ImageEmbedder images;
  std::string body;
  for (const std::string& warning : in.warnings) {
    body += "<p class=\"warning\">" + EscapeHtml(warning) + "</p>\n";
  }
  body += Headline(in) + ScoreCharts(in) + Strips(in, &images) + Differences(in) +
          Distributions(in) + Geometry(in) + ScoreTables(in) + Cost(in) + Troubles(in) +
          Provenance(in);
  return PageHtml(in.title, Verdict(in), body);
}

}  // namespace interlacer
