#pragma once

/// Scores predicted particles against their true positions; simulated episodes only.
///
///   mde_m_v1         mean distance, metres, of the particles to the true places of the points that
///                    they were lifted from
///   mde_m_v1@moving  the same over the particles that truly are 1 cm or more from where they began
/// A particle of a view is one that was lifted from a pixel of that view at step 0: it projects
/// onto the pixel's centre at the pixel's depth. The mask says what the pixel shows; particles of
/// an object are carried by its true rigid motion, those of the room and the table stay, those of
/// the arms are left out (one label spans many links). Subjects: the model, and `copy_last`, whose
/// particles stay where they are. Too few particles give a null with a reason.
/// Errors: those of data/simulation_truth.h. Const methods may run together.

#include <span>
#include <vector>

#include "common/status.h"
#include "data/simulation_truth.h"
#include "evaluation/prediction_task.h"
#include "evaluation/view_scores.h"

namespace interlacer {

/// A displacement that counts as moved, and how many particles make a mean.
inline constexpr double kMovedM = 0.01;
inline constexpr int kMinTrackedParticles = 5;

/// Mean displacement since step 0 of the particles of one object.
struct ObjectMove {
  int particle_count = 0;
  Vec3d predicted_m{};
  Vec3d true_m{};
};

class TrackedParticles {
 public:
  /// particles_m [n,3] of step 0, world frame; `newest` is the view's true frame at step 0, whose
  /// camera and size the model was given. `truth` must outlive the result.
  static StatusOr<TrackedParticles> Start(const SimulationTruth& truth, const TargetView& target,
                                          const TrueFrame& newest, int start_step,
                                          std::span<const float> particles_m);

  /// Scores of the same particles at a later step of the episode.
  std::vector<ViewScore> Score(std::span<const float> particles_m, int episode_step) const;

  /// Displacement of the particles of an object, predicted and by its true motion; zero particles
  /// where the view does not show it.
  ObjectMove MoveOf(int object, std::span<const float> particles_m, int episode_step) const;

  std::size_t count() const { return points_.size(); }

 private:
  /// From the object's pose at step 0 to its pose at a later step.
  Transform MotionOf(int object, int episode_step) const;

  struct Point {
    std::size_t particle;
    int object;  // below 0: stands still
    Vec3d start_m;
  };

  const SimulationTruth* truth_ = nullptr;
  int start_step_ = 0;
  std::vector<Point> points_;
};

}  // namespace interlacer
