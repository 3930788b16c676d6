#pragma once

/// Rolls out a scene by recursion on predicted clouds: (t-2, t-1) <- (t-1, prediction).
///
/// Step s sees the kinematic points of times s-2, s-1 (history or earlier actions) and s (its own
/// action). With exact motion the particles of the robot follow its links instead of the network
/// (model/lifting/robot_steps.h), and a scene without a robot stays to the bit; then, and
/// where the robot moves alone, the network is not asked. With a contact_guess each step is told it
/// for where its recursion has come (model/lifting/robot_steps.h). The spread is that of four
/// rollouts whose network sees the scene from four sides (model/engine/turned_step.h); the first of
/// them is the prediction. Implements Rollout of model/predictor.h; same errors and threads.
/// Source: hd-vpd (recursion); grf-masking, App. C.3.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/engine/step_graph.h"
#include "model/lifting/lifted_scene.h"
#include "model/lifting/observed_scene.h"
#include "model/lifting/robot_steps.h"
#include "model/network/world_model.h"
#include "model/ops/device_render.h"
#include "model/predictor.h"
#include "render/rays.h"

namespace interlacer {

/// Where the motion of a rollout comes from.
struct RolloutMotion {
  RobotMotion robot = RobotMotion::kLearned;
  MotionSource source = MotionSource::kModel;
  /// Whether particles follow the links that they are attached to.
  bool is_exact() const {
    return robot == RobotMotion::kKinematic || source == MotionSource::kRobotOnly;
  }
  /// `history`: that of the scene, kNone without a robot.
  bool asks_network(ActionKind history) const {
    return source == MotionSource::kModel && (!is_exact() || history != ActionKind::kNone);
  }
};

class ModelRollout : public Rollout {
 public:
  /// `actions` continues the scene's history: row s-1 belongs to step s. `step_graph` belongs to
  /// the model and is shared by its rollouts. Exact motion takes the link poses of both.
  ModelRollout(std::shared_ptr<WorldModel> model, std::shared_ptr<StepGraph> step_graph,
               std::shared_ptr<const LiftedScene> scene, const KinematicRows& actions,
               const RolloutMotion& motion);

  int step() const override { return step_; }
  bool asks_network() const override { return asks_network_; }
  Status Step() override;
  Status MeasureSpread() override;
  std::int64_t particle_count() const override { return clouds_.newer.positions_m.size(0); }
  StatusOr<const Particles*> ReadParticles() const override;
  Status RenderRows(const Camera& camera, int row_begin, int row_end, RenderMode mode,
                    bool needs_depth, FloatImage* color, DepthImage* depth) const override;
  StatusOr<Camera> SceneCamera(const std::string& name) const override;

 private:
  /// The two newest clouds of one recursion, world frame.
  struct Clouds {
    CloudTensors older, newer;
    ContactRule::Touched touched;  ///< of the scene's objects, up to the newer cloud
  };

  Status Advance();
  /// The clouds that follow, predicted after `quarter_turns`.
  StatusOr<Clouds> NextOf(const Clouds& clouds, int quarter_turns) const;
  /// [n] on the host.
  torch::Tensor Spread() const;
  Status PrepareRenderer() const;
  /// Writes results into the memory of the pixels; distances are along the rays.
  Status RenderRays(const PixelRays& rays, const RayOutputs& out) const;
  void RenderRaysOnDevice(const PixelRays& rays, const RayOutputs& out) const;
  /// The field at some pixels: colour [k,3] and depth along z [k].
  struct FieldValues {
    std::vector<float> rgb, depth_m;
  };
  StatusOr<FieldValues> RenderField(const Camera& camera,
                                    std::span<const std::int64_t> pixels) const;
  /// world_from_link at a step; empty where nothing describes the robot.
  std::span<const Transform> LinksAt(int step) const;
  /// All observed pixels where they are in the view, computed once for a step and camera.
  StatusOr<const ObservedPicture*> CarryPixels(const Camera& camera) const;
  /// Those of the scene, made by the first rollout that draws them.
  StatusOr<const ObservedScene*> Observed() const;

  std::shared_ptr<WorldModel> model_;
  std::shared_ptr<StepGraph> step_graph_;
  std::shared_ptr<const LiftedScene> scene_;
  const bool asks_network_;
  Clouds clouds_;
  std::vector<Clouds> turned_;  ///< by quarter turns from one on; empty without a spread
  KinematicRows rows_;          ///< of the history, then of the actions
  RobotSteps robot_;
  int step_ = 0;
  mutable Particles particles_;
  mutable int particles_step_ = -1;  ///< step of `particles_`
  mutable std::unique_ptr<PointNerfRenderer> renderer_;
  mutable std::unique_ptr<DeviceCloud> device_cloud_;  ///< used instead on a device
  mutable int renderer_step_ = -1;                     ///< step whose particles the renderer holds
  mutable std::vector<float> observed_m_;              ///< observed pixels at observed_step_
  mutable int observed_step_ = -1;
  /// The last observed view of observed_step_.
  mutable std::optional<std::pair<Camera, ObservedPicture>> observed_view_;
};

}  // namespace interlacer
