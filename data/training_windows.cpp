#include "data/training_windows.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace interlacer {
namespace {

/// One window for each ordered pair of views with a common neighbour; the target takes
/// turns, so that all views come up.
std::vector<TrainingWindow> ListStaticWindows(const EpisodeManifest& manifest,
                                              const WindowOptions& options) {
  const int count = static_cast<int>(manifest.cameras.size());
  const double far_m = manifest.cameras.front().far_m;
  std::vector<std::vector<bool>> overlap(count, std::vector<bool>(count, false));
  for (int a = 0; a < count; ++a) {
    for (int b = 0; b < a; ++b) {
      overlap[a][b] = overlap[b][a] = ViewsOverlap(
          manifest.cameras[a].camera, manifest.cameras[b].camera, far_m, options.overlap);
    }
  }
  std::vector<TrainingWindow> windows;
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < count; ++j) {
      if (!overlap[i][j]) continue;
      std::vector<int> thirds;
      for (int k = 0; k < count; ++k) {
        if (overlap[i][k] && overlap[j][k]) thirds.push_back(k);
      }
      if (thirds.empty()) continue;
      const int target = thirds[windows.size() % thirds.size()];
      TrainingWindow window{0, 0, {i, j}, {i, j, target}, {}};
      window.target_steps.assign(static_cast<std::size_t>(options.rollout_step_count) + 1, 0);
      windows.push_back(std::move(window));
    }
  }
  return windows;
}

std::optional<int> FindCamera(const EpisodeManifest& manifest, const std::string& name) {
  for (std::size_t i = 0; i < manifest.cameras.size(); ++i) {
    if (manifest.cameras[i].name == name) return static_cast<int>(i);
  }
  return std::nullopt;
}

/// The cameras with the model's names; a moving camera may have any name.
StatusOr<std::vector<int>> InputCameras(const EpisodeManifest& manifest,
                                        const WindowOptions& options) {
  std::vector<int> cameras;
  for (const std::string& name : options.camera_names) {
    if (const auto camera = FindCamera(manifest, name)) {
      cameras.push_back(*camera);
    } else if (manifest.kind == EpisodeKind::kManipulation) {
      return Mismatch(reason::CAMERA_UNKNOWN, "cameras", "a camera named " + name, "none");
    }
  }
  if (cameras.empty()) cameras.push_back(0);
  return cameras;
}

}  // namespace

StatusOr<std::vector<TrainingWindow>> ListTrainingWindows(const EpisodeManifest& manifest,
                                                          const WindowOptions& options) {
  if (options.rollout_step_count < 0 || options.stride < 1) {
    return Mismatch(
        reason::ARGUMENT_INVALID, "rollout_step_count, stride", "at least 0, at least 1",
        std::to_string(options.rollout_step_count) + ", " + std::to_string(options.stride));
  }
  if (manifest.kind == EpisodeKind::kStaticViews) return ListStaticWindows(manifest, options);
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<int> cameras, InputCameras(manifest, options));
  std::vector<TrainingWindow> windows;
  const int last_newest = manifest.step_count - 1 - options.rollout_step_count * options.stride;
  for (int newest = options.stride; newest <= last_newest; ++newest) {
    TrainingWindow window{newest - options.stride, newest, cameras, cameras, {}};
    for (int s = 0; s <= options.rollout_step_count; ++s) {
      window.target_steps.push_back(newest + s * options.stride);
    }
    windows.push_back(std::move(window));
  }
  return windows;
}

StatusOr<int> WindowStride(const EpisodeManifest& manifest, double step_duration_s,
                           double tolerance_s) {
  if (manifest.kind == EpisodeKind::kStaticViews) return 1;
  const double ratio = step_duration_s / manifest.step_duration_s;
  const int stride = std::max(1, static_cast<int>(std::lround(std::min(ratio, 1e6))));
  const double duration_s = stride * manifest.step_duration_s;
  if (std::abs(duration_s - step_duration_s) > tolerance_s) {
    return Mismatch(reason::HISTORY_SPACING, "step_duration_s",
                    "a divisor of " + std::to_string(step_duration_s) + " s",
                    std::to_string(manifest.step_duration_s) + " s");
  }
  return stride;
}

}  // namespace interlacer
