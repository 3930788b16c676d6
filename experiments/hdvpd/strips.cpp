#include "experiments/hdvpd/strips.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "common/image_codec.h"
#include "data/system_files.h"
#include "evaluation/episode_run.h"
#include "evaluation/frame_strip.h"

namespace interlacer {
namespace {

namespace fs = std::filesystem;

constexpr int kThumbnailWidthPx = 160;

/// A rollout whose pictures were saved: the first start and camera by name.
struct KeptRollout {
  int start_step = 0;
  std::string camera;
};

std::optional<fs::path> FirstFolder(const fs::path& parent) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(parent, error)) {
    if (!entry.is_directory(error) || IsSystemFile(entry.path().filename().string())) continue;
    folders.push_back(entry.path());
  }
  if (folders.empty()) return std::nullopt;
  return *std::min_element(folders.begin(), folders.end());
}

std::optional<KeptRollout> FindRollout(const std::string& frames_dir, const std::string& episode) {
  const auto start = FirstFolder(fs::path(frames_dir) / episode);
  if (!start) return std::nullopt;
  const auto camera = FirstFolder(*start);
  if (!camera) return std::nullopt;
  const std::string name = start->filename().string();
  const std::string digits = name.substr(name.find('_') + 1);
  return KeptRollout{std::atoi(digits.c_str()), camera->filename().string()};
}

std::optional<RgbImage> ReadFrame(const fs::path& path) {
  StatusOr<RgbImage> image = ReadRgbFile(path.string());
  if (!image.ok()) return std::nullopt;
  return *std::move(image);
}

std::string EpisodeStrip(const Study& study, const std::vector<const TrainedRun*>& runs,
                         const StudyEpisode& episode, ImageEmbedder* images) {
  const auto rollout = FindRollout(FramesDirOf(study.setup(), *runs.front()), episode.id);
  if (!rollout) return "";
  FrameStrip strip;
  strip.caption = "Camera " + rollout->camera + ", seed " + std::to_string(runs.front()->seed) +
                  "; difference to the truth " + DifferenceScaleText() + ".";
  std::vector<StripRow> rows{{"truth", {}}};
  for (const TrainedRun* run : runs) {
    rows.push_back({VariantLabel(run->variant), {}});
    rows.push_back({VariantLabel(run->variant) + ", difference", {}});
  }
  for (int step = 1; step <= study.step_count(); ++step) {
    strip.columns.push_back("step " + std::to_string(step - 1));
    const auto frame = [&](const TrainedRun& run, const char* subject) {
      return ReadFrame(FramePath(FramesDirOf(study.setup(), run), episode.id, rollout->start_step,
                                 rollout->camera, step, subject));
    };
    const std::optional<RgbImage> truth = frame(*runs.front(), "truth");
    rows[0].frames.push_back({truth, ""});
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const std::optional<RgbImage> predicted = frame(*runs[i], "model");
      rows[2 * i + 1].frames.push_back({predicted, ""});
      rows[2 * i + 2].frames.push_back(
          {truth && predicted ? DifferenceImage(*predicted, *truth) : std::nullopt, ""});
    }
  }
  strip.rows = std::move(rows);
  return "<h3>" + EscapeHtml(episode.id + ": " + episode.task) + "</h3>\n" +
         FrameStripHtml(strip, kThumbnailWidthPx, images);
}

}  // namespace

std::string StudyStripsHtml(const Study& study, ImageEmbedder* images) {
  std::vector<const TrainedRun*> runs;
  for (const TrainedRun& run : study.runs()) {
    if (run.seed == study.runs().front().seed) runs.push_back(&run);
  }
  std::string out;
  for (const StudyEpisode& episode : study.episodes()) {
    out += EpisodeStrip(study, runs, episode, images);
  }
  return out;
}

}  // namespace interlacer
