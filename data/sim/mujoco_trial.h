#pragma once

/// What trials of all tasks share: a MuJoCo world that stands at the end of what was executed
/// whenever nothing is under way. Units, errors, threads: data/sim/trial.h.

#include <memory>
#include <optional>
#include <vector>

#include "data/sim/offscreen.h"
#include "data/sim/scene_draw.h"
#include "data/sim/tasks.h"
#include "data/sim/tool_path.h"
#include "data/sim/trial.h"
#include "data/sim/world.h"

namespace interlacer::sim {

/// Distance from a box's or a cylinder's middle to its edges.
double RadiusOf(const SceneObject& object);

/// All that a trial is made of but what its task adds.
struct TrialParts {
  SimulateOptions options;
  SceneDraw draw;
  Robot robot;
  World world;
};

/// The first scene of the seed whose first pose can be reached.
StatusOr<TrialParts> DrawTrial(const SimulateOptions& options);

class MujocoTrial : public Trial {
 public:
  Vec3d ObjectM() const override { return ObjectPose().translation_m; }
  double ObjectRadiusM() const override { return RadiusOf(object()); }
  TrialMotion Stay(int step_count) const override;
  SceneInput Observe() const override;
  Vec3d Try(const TrialMotion& motion) override;
  void Execute(const TrialMotion& motion) override;
  bool ArmCollided() const override { return has_collided_; }

 protected:
  MujocoTrial(TrialParts parts, ToolTargets tools);

  /// Lets things come to rest and looks twice.
  Status Begin();
  const RobotSetup& setup() const { return options_.robot; }
  const SceneObject& object() const { return draw_.scene.objects.front(); }
  const std::vector<SceneCamera>& cameras() const { return draw_.scene.cameras; }
  /// Of the object at the newest step, and what the cameras then show.
  const Transform& ObjectPose() const { return seen_.back().world_from_object.front(); }
  const SimulatedStep& newest() const { return seen_.back(); }
  const ToolTargets& tools() const { return tools_; }

  /// The motion of a script from where the arms are; `next_tools` is asked once a step.
  template <typename NextTools>
  StatusOr<TrialMotion> MotionOf(int step_count, NextTools next_tools) const {
    TrialMotion motion;
    ArmStates at = seen_.back().commanded;
    for (int step = 0; step < step_count; ++step) {
      motion.tools = next_tools();
      INTERLACER_ASSIGN_OR_RETURN(at, SolveState(options_.robot, motion.tools, at));
      motion.rows.push_back(at);
    }
    return motion;
  }
  /// One arm along a path, the others still; it waits where the path ends.
  StatusOr<TrialMotion> MotionOf(int step_count, int arm, ToolPath path) const;
  /// Motions that `draw`, called with the sequences of one draw after another, can make.
  template <typename Draw>
  std::vector<TrialMotion> DrawMotions(int count, std::uint64_t seed, Draw draw) const {
    std::vector<TrialMotion> motions;
    const int most = kTriesAMotion * count;
    for (int number = 0; number < most && static_cast<int>(motions.size()) < count; ++number) {
      StatusOr<TrialMotion> motion = draw(RandomSequence(
          seed, RandomStream::kDataGeneration, static_cast<std::uint32_t>(number), kMotionDraws));
      if (motion.ok()) motions.push_back(*std::move(motion));
    }
    return motions;
  }

 private:
  static constexpr int kTriesAMotion = 8;

  SimulatedStep Look();
  void Return() { world_.Resume(present_, seen_.back().commanded); }

  SimulateOptions options_;
  SceneDraw draw_;
  std::shared_ptr<const Robot> robot_;
  World world_;
  std::optional<OffscreenRenderer> renderer_;  // points to world_
  WorldSnapshot present_;
  ToolTargets tools_;
  std::vector<SimulatedStep> seen_;  ///< the last two
  bool has_collided_ = false;
};

StatusOr<std::unique_ptr<Trial>> MakePushTrial(const SimulateOptions& options);
StatusOr<std::unique_ptr<Trial>> MakeLiftTrial(const SimulateOptions& options);

}  // namespace interlacer::sim
