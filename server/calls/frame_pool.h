#pragma once

/// Memory of decoded frames, used again from call to call: fresh memory would be cleared by the
/// system page by page, which costs more than decoding into it. Keeps a few scenes of moderate
/// size, the last one given is taken first. What a scene holds when it is taken means nothing.
/// Thread-safe.

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "common/scene.h"

namespace interlacer {

class FramePool {
 public:
  /// Keeps at most this many scenes of at most so many bytes each.
  FramePool(int max_scenes, std::int64_t max_scene_bytes)
      : max_scenes_(max_scenes), max_scene_bytes_(max_scene_bytes) {}

  SceneInput Take();
  void Give(SceneInput scene);

 private:
  const int max_scenes_;
  const std::int64_t max_scene_bytes_;
  std::mutex mutex_;
  std::vector<SceneInput> scenes_;
};

}  // namespace interlacer
