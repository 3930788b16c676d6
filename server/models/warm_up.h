#pragma once

/// The first run of a model: lifts a known scene, runs two steps and renders part of a view,
/// measures the time, and compares the result with values stored in the checkpoint.
///
///   warmup/episode/       an episode of four or more steps (data/episode.h)
///   warmup/expected.json  {"schema": "interlacer.warmup", "schema_version": 1, "tolerance_m",
///                          "max_outlier_count", "samples": [{"step", "particle", "position_m"}]}
///
/// A checkpoint without warmup/ is warmed up on a synthetic plane with the robot at rest: costs are
/// measured, nothing is compared. Errors: FAILED_PRECONDITION MODEL_LOAD_FAILED on a mismatch;
/// CANCELLED when stopped; those of the readers and the predictor. One thread.

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "common/model_metadata.h"
#include "common/scene.h"
#include "common/status.h"
#include "model/predictor.h"
#include "server/models/model_registry.h"

namespace interlacer {

struct WarmUpSample {
  int step = 0;
  std::int64_t particle = 0;
  Vec3f position_m{};
};

struct WarmUpScene {
  SceneInput input;
  ActionSequence actions;
  /// Empty when no values are stored.
  std::vector<WarmUpSample> expected;
  double tolerance_m = 0;
  /// Number of samples that may exceed the tolerance: ties between neighbours differ by processor.
  int max_outlier_count = 0;
};

struct WarmUpResult {
  double ingest_cost_s = 0;
  /// 0 where the steps ask no network.
  double step_cost_s = 0;
  double render_cost_s = 0;
  double carry_cost_s = 0;
  /// Absent where the predictor does not tell. The views of a call may take more than the rows that
  /// are drawn here.
  std::optional<ModelMemory> memory;
  /// Positions after each of the two steps.
  std::vector<Particles> steps;
};

StatusOr<WarmUpScene> ReadWarmUpScene(const std::string& checkpoint_dir,
                                      const ModelMetadata& metadata);
StatusOr<WarmUpResult> RunWarmUp(const WarmUpScene& scene, std::stop_token stop,
                                 Predictor* predictor);
Status CheckWarmUp(const WarmUpScene& scene, const WarmUpResult& result);

/// The complete warm-up: the WarmUpFunction of a checkpoint.
Status WarmUp(const std::string& checkpoint_dir, std::stop_token stop, ServedModel* model);

/// Runs the scene of warmup/episode and stores the result as warmup/expected.json.
Status RecordWarmUp(const std::string& checkpoint_dir, Predictor* predictor);

}  // namespace interlacer
