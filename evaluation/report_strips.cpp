#include "evaluation/report_strips.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "common/image_codec.h"
#include "evaluation/episode_run.h"
#include "evaluation/frame_strip.h"
#include "evaluation/report_charts.h"
#include "evaluation/score_text.h"
#include "evaluation/view_scores.h"

namespace interlacer {
namespace {

namespace fs = std::filesystem;

std::optional<RgbImage> ReadFrame(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  StatusOr<RgbImage> image = ReadRgbFile(path.string());
  if (!image.ok()) return std::nullopt;
  return *std::move(image);
}

/// The picture of a subject; those that repeat step 0 are written there alone.
std::optional<RgbImage> ReadSubjectFrame(const Variant& variant, const ResultValue& view,
                                         int step) {
  std::string subject = variant.subject;
  if (subject == kCopyLast || subject == kReconstruction) {
    step = 0;
    subject = subject == kCopyLast ? "truth" : kModelSubject;
  }
  return ReadFrame(
      FramePath(variant.frames_dir, view.episode, view.start_step, view.camera, step, subject));
}

/// First rollout of an episode, first camera with pictures; without rows where it has none.
FrameStrip EpisodeStrip(const ReportInput& in, const std::string& episode) {
  const ResultValue* first = nullptr;
  for (const ResultValue& value : in.reference().values) {
    if (value.episode == episode && value.subject == in.variants[0].subject) {
      first = &value;
      break;
    }
  }
  FrameStrip strip;
  if (first == nullptr) return strip;
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
      rows[i].frames.push_back({ssim ? ReadSubjectFrame(variant, *first, step) : std::nullopt,
                                ssim ? ScoreText(ssim, 3) : ""});
    }
  }
  if (!has_frames) return strip;
  strip.rows.push_back(std::move(truth));
  for (StripRow& row : rows) {
    const bool has_image = std::any_of(row.frames.begin(), row.frames.end(),
                                       [](const StripFrame& f) { return f.image.has_value(); });
    if (has_image) strip.rows.push_back(std::move(row));
  }
  return strip;
}

}  // namespace

std::vector<RankedEpisode> ChosenEpisodes(const ReportInput& in) {
  const ValueFilter filter{in.variants[0].subject, kSsim, -1, "", {}};
  std::vector<std::pair<double, std::string>> ranked;
  for (const auto& [episode, mean] : EpisodeMeans(in.reference(), filter)) {
    ranked.emplace_back(mean, episode);
  }
  if (ranked.empty()) return {};
  std::sort(ranked.begin(), ranked.end());
  const std::pair<const char*, std::size_t> chosen[] = {
      {"best", ranked.size() - 1}, {"median", ranked.size() / 2}, {"worst", 0}};
  std::vector<RankedEpisode> episodes;
  std::set<std::size_t> taken;
  for (const auto& [rank, index] : chosen) {
    if (!taken.insert(index).second) continue;
    episodes.push_back({rank, ranked[index].second, ranked[index].first});
  }
  return episodes;
}

std::string StripsHtml(const ReportInput& in, std::int64_t budget_bytes) {
  std::vector<std::pair<std::string, FrameStrip>> strips;
  for (const RankedEpisode& episode : ChosenEpisodes(in)) {
    FrameStrip strip = EpisodeStrip(in, episode.id);
    if (strip.rows.empty()) continue;
    strips.emplace_back("<h3>" + EscapeHtml(episode.id) + ": " + episode.rank + ", mean SSIM " +
                            ScoreText(episode.mean_ssim, 4) + "</h3>\n",
                        std::move(strip));
  }
  if (strips.empty()) return "";
  return FittedStripsHtml(budget_bytes, [&](int width_px, ImageEmbedder* images) {
    std::string body;
    for (const auto& [heading, strip] : strips) {
      body += heading + FrameStripHtml(strip, width_px, images);
    }
    return SectionHtml("Frames", body);
  });
}

}  // namespace interlacer
