#include "model/training/true_tracks.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/image.h"
#include "common/transforms.h"
#include "robots/attachment.h"

namespace interlacer {
namespace {

std::vector<Transform> WorldFromObjects(const SimulationTruth& truth, int step) {
  std::vector<Transform> poses;
  for (int k = 0; k < static_cast<int>(truth.object_names().size()); ++k) {
    poses.push_back(truth.WorldFromObject(step, k));
  }
  return poses;
}

/// What the pixels show from which the points were lifted.
StatusOr<std::vector<SimulationTruth::PixelTruth>> ShownBy(const SimulationTruth& truth,
                                                           const EpisodeManifest& manifest,
                                                           const TrainingWindow& window,
                                                           const LiftedTime& points) {
  std::vector<float> labels;  // of the pixels of all views, as source_index counts them
  for (std::size_t v = 0; v < window.input_cameras.size(); ++v) {
    const EpisodeCamera& camera =
        manifest.cameras[static_cast<std::size_t>(window.input_cameras[v])];
    INTERLACER_ASSIGN_OR_RETURN(const DepthImage mask,
                                truth.ReadLabels(window.newest_step, camera.name));
    const RgbImage& image = points.images[v];
    const DepthImage resized = ResizeNearest(mask, image.width_px, image.height_px);
    labels.insert(labels.end(), resized.pixels_m.begin(), resized.pixels_m.end());
  }
  std::vector<SimulationTruth::PixelTruth> shown;
  for (const std::int64_t pixel : points.source_index) {
    shown.push_back(truth.Classify(labels[static_cast<std::size_t>(pixel)]));
  }
  return shown;
}

}  // namespace

bool AnObjectMoves(const SimulationTruth& truth, const TrainingWindow& window) {
  const auto start = WorldFromObjects(truth, window.newest_step);
  for (const int step : window.target_steps) {
    for (std::size_t k = 0; k < start.size(); ++k) {
      const Vec3d& from_m = start[k].translation_m;
      const Vec3d& now_m = truth.WorldFromObject(step, static_cast<int>(k)).translation_m;
      if (DistanceM(now_m, from_m) >= SimulationTruth::kMovedM) return true;
    }
  }
  return false;
}

StatusOr<TrueTracks> ReadTrueTracks(const EpisodeReader& episode, const TrainingWindow& window,
                                    const LiftedTime& newer) {
  TrueTracks tracks;
  INTERLACER_ASSIGN_OR_RETURN(const auto truth, SimulationTruth::Open(episode));
  if (!truth) return tracks;
  INTERLACER_ASSIGN_OR_RETURN(const auto shown, ShownBy(*truth, episode.manifest(), window, newer));
  std::vector<std::int32_t> bodies;  // objects carry their points as links do
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const bool follows_link = !newer.links.empty() && newer.links[i] != kNotAttached;
    const bool is_known = !follows_link && shown[i].kind != SimulationTruth::PixelKind::kArm;
    tracks.is_known.push_back(is_known ? 1 : 0);
    const bool is_object = shown[i].kind == SimulationTruth::PixelKind::kObject;
    bodies.push_back(is_object ? shown[i].object : kNotAttached);
  }
  const auto from = WorldFromObjects(*truth, window.newest_step);
  for (std::size_t step = 1; step < window.target_steps.size(); ++step) {
    std::vector<float> at_m(newer.positions_m.size());
    CarryPoints(bodies, from, WorldFromObjects(*truth, window.target_steps[step]),
                newer.positions_m, at_m);
    tracks.positions_m.push_back(std::move(at_m));
  }
  return tracks;
}

}  // namespace interlacer
