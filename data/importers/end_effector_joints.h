#pragma once

/// Joints of a robot from recorded poses of its end effectors, by inverse kinematics, step by step.
///
/// An option says what of the recording is the pose of which link: POSITION=LINK,ROTATION=LINK, or
/// once for both; the links may differ, for recordings mix frames. Each end effector moves the
/// joints that it hangs on and that are not measured. The first pose is sought from the robot's
/// rest pose, then from the middle of the limits and from kMoreStarts drawn ones; every later one
/// from the step before, so that the arm does not jump. Deterministic. Errors: ARGUMENT_INVALID at
/// --inverse-kinematics; ACTION_SHAPE naming joints that neither a pose nor a measurement moves;
/// QUATERNION_NOT_UNIT; NOT_FINITE; ACTION_OUT_OF_RANGE with step, and how far off in metres and
/// radians, for poses not reached to kReachedM and kReachedRad. Threads: one at a time.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/geometry.h"
#include "common/status.h"
#include "robots/robot.h"

namespace interlacer {

/// Farther off the surface of the robot is beside what the cameras saw of it; float32 and five
/// decimals of a recording are nearer.
inline constexpr double kReachedM = 1e-3, kReachedRad = 5e-3;

struct EndEffector {
  std::string position_source, rotation_source;  ///< names in the recording
  int position_link = 0, rotation_link = 0;
};

class EndEffectorJoints {
 public:
  /// `measured`: [c] columns of the robot that the recording has.
  static StatusOr<EndEffectorJoints> Make(std::shared_ptr<const Robot> robot,
                                          const std::vector<std::string>& options,
                                          std::vector<bool> measured);

  const std::vector<EndEffector>& end_effectors() const { return end_effectors_; }

  /// The next row of columns. `measured_row` [c] has values in the measured columns; `poses`
  /// [end effectors] are world_from_link, of position_link and rotation_link.
  StatusOr<std::vector<double>> Next(std::int64_t step, std::vector<double> measured_row,
                                     std::span<const Transform> poses);

  /// For the episode: where the joints come from and how near they get.
  std::string Note() const;

 private:
  StatusOr<std::vector<double>> Reach(std::int64_t step, std::size_t end_effector,
                                      const Transform& pose, std::vector<double> start);

  std::shared_ptr<const Robot> robot_;
  std::vector<EndEffector> end_effectors_;
  std::vector<std::vector<bool>> held_;  ///< [end effectors][c]
  std::vector<bool> measured_;           ///< [c]
  std::vector<double> before_;           ///< empty before the first step
  double most_off_m_ = 0, most_off_rad_ = 0;
};

}  // namespace interlacer
