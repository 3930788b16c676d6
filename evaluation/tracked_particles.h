#pragma once

/// Scores particles against their true positions; simulated episodes only.
///
///   l2_moved_m        mean distance, metres, to the true places of the points that the particles
///                     were lifted from, over objects that move: those of which some particle truly
///                     is 1 cm or more from its start at some step of the rollout. They count from
///                     the first step on, before they move too; arms are left out
///   l2_moved_m@PHASE  the same over the objects that no arm has touched yet (before_contact), that
///                     one touches (in_contact), that all have let go (after_contact) at that step
///   l2_m@object:NAME  the same over the particles of one object, whether it moves or not
///   l2_static_m       the same over all other particles but arms: table, room, objects at rest
///   l2_still_objects_m  the same over the objects that do not move alone, which are few particles
///                     among those of the table
///   l2_robot_m        the same over particles of the arms, whose links move by measured joints
/// A particle of a view is one that was lifted from a pixel of that view at step 0: it projects
/// onto the pixel's centre at the pixel's depth. The mask says what the pixel shows. Steps from 1;
/// too few particles give a null with a reason.
/// Errors: those of data/simulation_truth.h. Const methods may run together.
/// Source: pointworld (moved and static particles).

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "data/simulation_truth.h"
#include "evaluation/prediction_task.h"
#include "evaluation/scene_motion.h"
#include "evaluation/view_scores.h"

namespace interlacer {

/// How many particles make a mean.
inline constexpr int kMinTrackedParticles = 5;

/// A mean distance and how many particles it is made of.
struct MeanDistance {
  double sum_m = 0;
  int count = 0;
  void Add(double distance_m) {
    sum_m += distance_m;
    ++count;
  }
  /// Null with a reason below kMinTrackedParticles.
  ViewScore Score(std::string_view subject, const std::string& metric) const;
};

/// Mean displacement since step 0 of the particles of one object.
struct ObjectMove {
  int particle_count = 0;
  Vec3d predicted_m{};
  Vec3d true_m{};
};

/// What a particle counts as in a view.
enum class ParticleKind : std::uint8_t { kUntracked, kStatic, kMoved, kRobot };

class TrackedParticles {
 public:
  /// particles_m [n,3] of step 0, world frame; `newest` is the true frame at step 0 of `target`,
  /// whose camera and size are what the model was given. `truth` and `motion` (TrueMotion) must
  /// outlive the result.
  static StatusOr<TrackedParticles> Start(const SimulationTruth& truth, const BodyMotion& motion,
                                          const PredictionTask& task, const TargetView& target,
                                          const TrueFrame& newest,
                                          std::span<const float> particles_m);

  bool HasTruth(int step) const { return static_cast<std::size_t>(step) <= motion_->later.size(); }

  /// Objects of which this view's particles move.
  std::set<int> MovedObjects() const;

  /// Scores of where a subject sees the same particles at a step; `moved` are the objects that any
  /// view shows to move.
  std::vector<ViewScore> Score(std::string_view subject, std::span<const float> particles_m,
                               int step, const std::set<int>& moved) const;

  /// [n] distances to the true places at a step that HasTruth; NaN for particles that are not
  /// tracked and for those of arms.
  std::vector<double> ErrorsOf(std::span<const float> particles_m, int step) const;

  /// Displacement of the particles of an object, predicted and by its true motion; zero particles
  /// where the view does not show it.
  ObjectMove MoveOf(int object, std::span<const float> particles_m, int step) const;

  /// [n] of all particles.
  std::vector<ParticleKind> KindsOf(const std::set<int>& moved) const;
  /// [n] bodies of all particles, kUnknownMotion where not tracked.
  const std::vector<std::int32_t>& bodies() const { return bodies_; }

 private:
  static constexpr int kNoObject = -1;
  int ObjectOf(std::int32_t body) const;
  const SimulationTruth* truth_ = nullptr;
  const BodyMotion* motion_ = nullptr;
  const PredictionTask* task_ = nullptr;
  std::vector<float> start_m_;
  std::vector<std::int32_t> bodies_;
};

}  // namespace interlacer
