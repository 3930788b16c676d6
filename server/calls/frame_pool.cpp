#include "server/calls/frame_pool.h"

namespace interlacer {
namespace {

std::int64_t PixelBytes(const SceneInput& scene) {
  std::int64_t bytes = 0;
  for (const Observation& observation : scene.observations) {
    for (const RgbdView& view : observation.views) {
      bytes += static_cast<std::int64_t>(view.color.pixels.capacity() +
                                         view.depth.pixels_m.capacity() * sizeof(float));
    }
  }
  return bytes;
}

}  // namespace

SceneInput FramePool::Take() {
  std::lock_guard lock(mutex_);
  if (scenes_.empty()) return {};
  SceneInput scene = std::move(scenes_.back());
  scenes_.pop_back();
  return scene;
}

void FramePool::Give(SceneInput scene) {
  if (scene.observations.empty() || PixelBytes(scene) > max_scene_bytes_) return;
  std::lock_guard lock(mutex_);
  if (static_cast<int>(scenes_.size()) < max_scenes_) scenes_.push_back(std::move(scene));
}

}  // namespace interlacer
