#pragma once

/// Recycles the memory of decoded frames between calls, because the system clears fresh memory page
/// by page, which costs more than decoding into it. Keeps a few scenes of moderate size; the last
/// one returned is taken first. The contents of a taken scene are unspecified. Thread-safe.

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "common/scene.h"

namespace interlacer {

class FramePool {
 public:
  /// Keeps at most `max_scenes` scenes of at most `max_scene_bytes` each.
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
