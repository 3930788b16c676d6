#pragma once

/// The first run of a model: lifts a known scene (server/models/warm_up_scene.h), runs two steps
/// and renders part of a view, measures the time, and compares the result with values stored in the
/// checkpoint.
///
/// A checkpoint without a scene is warmed up on a synthetic one: costs are measured, nothing is
/// compared. Errors: FAILED_PRECONDITION MODEL_LOAD_FAILED on a mismatch; CANCELLED when stopped;
/// those of the readers and the predictor. One thread.

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "common/particles.h"
#include "common/status.h"
#include "model/predictor.h"
#include "server/models/model_registry.h"
#include "server/models/warm_up_scene.h"

namespace interlacer {

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
  /// [rows,width,3] of the field after the last one.
  std::vector<float> colors;
};

StatusOr<WarmUpResult> RunWarmUp(const WarmUpScene& scene, std::stop_token stop,
                                 Predictor* predictor);
Status CheckWarmUp(const WarmUpScene& scene, const WarmUpResult& result);

/// The complete warm-up: the WarmUpFunction of a checkpoint.
Status WarmUp(const std::string& checkpoint_dir, std::stop_token stop, ServedModel* model);

struct RecordedWarmUp {
  int sample_count = 0;
  /// Samples that are well away from where they would be without the network.
  int moved_count = 0;
};

/// So few that other weights might pass as the model's.
inline bool GuardsLittle(const RecordedWarmUp& recorded) {
  return 4 * recorded.moved_count < recorded.sample_count;
}

/// Runs the last steps of warmup/episode and stores the result as warmup/expected.json. Half of the
/// samples are particles that the network moves, as far as there are so many.
StatusOr<RecordedWarmUp> RecordWarmUp(const std::string& checkpoint_dir, Predictor* predictor);

}  // namespace interlacer
