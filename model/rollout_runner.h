#pragma once

/// Runs a rollout one unit of work at a time and passes on its results. The server's calls and the
/// local backend both use it and so agree by construction.
///
/// Units after the lift: one dynamics step; for a view of a step that is sent, with kObserved the
/// carrying of all observed pixels, then tiles of rows, as many as take about kTileS by what was
/// measured (model/tile_size.h). Between two units the owner may turn to other work or stop for
/// good. Consecutive targets that show the same view share one rendering. Time is counted in
/// exactly one stage of `durations`: Begin in lift_s, steps in dynamics_s, tiles in render_s,
/// reading, checking and adding of results in encode_s, FinishStep in none. Free of LibTorch.
/// Threads: those of model/predictor.h. Errors: those of Predictor::Begin, Rollout and the writer;
/// DATA_LOSS PREDICTION_NOT_FINITE with metadata `step` when a position, colour or depth is not
/// finite, which is then not passed on.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/prediction.h"
#include "common/status.h"
#include "model/predictor.h"
#include "model/tile_size.h"

namespace interlacer {

/// Receives the results of a rollout, step by step.
class RolloutWriter {
 public:
  virtual ~RolloutWriter() = default;
  /// A dynamics step has been computed, with or without the network.
  virtual void NoteStep(double /*seconds*/, bool /*asked_network*/) {}
  /// A view has been drawn: the time of carrying, 0 of the field, and that of its rows.
  virtual void NoteView(std::int64_t /*pixel_count*/, double /*carry_s*/, double /*rows_s*/) {}
  /// One rendering of the current step: colour in [0,1] and depth in metres, for each of the
  /// targets to take what it requests.
  virtual Status AddViews(std::span<const RenderTarget> targets, const FloatImage& color,
                          const DepthImage& depth) = 0;
  /// Called when positions, colours or spreads were requested. Where a region selected the indices
  /// `selected`, the receiver must be sent them once.
  virtual Status AddParticles(const Particles& particles,
                              const std::vector<std::uint32_t>& selected, bool needs_indices) = 0;
  /// All results of the step have been added.
  virtual Status FinishStep(int step, std::int64_t predict_time_ns) = 0;
};

class RolloutRunner {
 public:
  /// `output.steps` as SelectSteps returns them. All pointers must outlive the runner.
  RolloutRunner(Predictor* predictor, ActionSequence actions, OutputOptions output,
                StageDurations* durations, RolloutWriter* writer);

  using Selection = std::shared_ptr<const std::vector<std::uint32_t>>;

  /// Must run in a unit of its own or in that which lifted the scene; step 0 is at
  /// `newest_capture_time_ns`. `selected` is the selection of another rollout of this scene with
  /// the same output, or null.
  Status Begin(std::shared_ptr<const Scene> scene, std::int64_t newest_capture_time_ns,
               Selection selected = nullptr);
  /// Runs one unit; must not be called when the rollout is done. After DEVICE_OUT_OF_MEMORY Begin
  /// and RunUnit may be called again and go on from there, after other errors not.
  Status RunUnit();
  /// True once all steps are finished.
  bool is_done() const { return is_done_; }
  /// Frees the rollout's device memory; no other call may follow.
  void Free() { rollout_.reset(); }

  int last_step() const { return output_.steps.back(); }
  /// Indices of the particles that are sent; null before Begin.
  const Selection& selected() const { return selected_; }
  /// Summary so far, without the scene's report.
  RolloutSummary Summary() const;

 private:
  bool IsSent(int step) const;
  Status Select();
  Status Step();
  /// The target at view_index_ and those after it that share its rendering.
  std::span<const RenderTarget> TargetsOfView() const;
  Status StartView();
  /// The next unit of the view.
  Status Render();
  Status RenderTile();
  Status AddViews();
  Status AddParticles();
  Status FinishIfComplete();

  Predictor* const predictor_;
  const ActionSequence actions_;
  const OutputOptions output_;
  StageDurations* const durations_;
  RolloutWriter* const writer_;

  std::unique_ptr<Rollout> rollout_;
  std::int64_t start_time_ns_ = 0;
  Selection selected_;
  bool is_done_ = false;
  /// The unit that Step or RenderTile did is not finished yet.
  bool is_unfinished_ = false;

  TileSize tile_size_;

  /// The view being rendered: index, camera, the rows so far and their time.
  std::size_t view_index_ = 0;
  bool is_view_started_ = false;
  int next_row_ = 0;
  double carry_s_ = 0;
  double rows_s_ = 0;
  Camera view_camera_;
  bool view_needs_depth_ = false;
  FloatImage view_color_;
  DepthImage view_depth_;
};

}  // namespace interlacer
