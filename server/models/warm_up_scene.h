#pragma once

/// The known scene of a warm-up, and what the model made of it when it was recorded.
///
///   warmup/episode/       an episode of four or more steps (data/episode.h)
///   warmup/expected.json  {"schema": "interlacer.warmup", "schema_version": 1, "newest_step",
///                          "tolerance_m", "max_outlier_count",
///                          "samples": [{"step", "particle", "position_m"}],
///                          "color_tolerance", "pixels": [{"pixel", "rgb"}]}
/// `newest_step` is the newest observed step of the episode, 1 where it is absent. `pixels` are of
/// the rows that the warm-up renders with the radiance field after the last step, row-major, rgb
/// from 0 to 1; files without them compare positions alone.
///
/// Errors: FAILED_PRECONDITION CHECKPOINT_INVALID with the field; those of data/episode_reader.h,
/// data/scene_input.h and common/file_io.h. Threads: free functions, safe on distinct folders.

#include <cstdint>
#include <string>
#include <vector>

#include "common/geometry.h"
#include "common/model_metadata.h"
#include "common/scene.h"
#include "common/status.h"

namespace interlacer {

inline constexpr int kWarmUpStepCount = 2;

struct WarmUpSample {
  int step = 0;
  std::int64_t particle = 0;
  Vec3f position_m{};
};

struct WarmUpPixel {
  std::int64_t pixel = 0;
  Vec3f rgb{};
};

struct WarmUpScene {
  SceneInput input;
  ActionSequence actions;
  int newest_step = 1;
  /// Empty when no values are stored.
  std::vector<WarmUpSample> expected;
  double tolerance_m = 0;
  /// Empty when no colours are stored.
  std::vector<WarmUpPixel> pixels;
  double color_tolerance = 0;
  /// Number of samples, and of pixels, that may exceed their tolerance: ties between neighbours
  /// differ by processor.
  int max_outlier_count = 0;
};

/// With the stored values; of a checkpoint without warmup/ a synthetic plane with the robot at
/// rest.
StatusOr<WarmUpScene> ReadWarmUpScene(const std::string& checkpoint_dir,
                                      const ModelMetadata& metadata);
/// The last steps of warmup/episode, without stored values.
StatusOr<WarmUpScene> ReadSceneToRecord(const std::string& checkpoint_dir,
                                        const ModelMetadata& metadata);
/// Stores the values of a scene as warmup/expected.json.
Status WriteExpected(const std::string& checkpoint_dir, const WarmUpScene& scene);

}  // namespace interlacer
