#pragma once

/// Joints of a robot from recorded poses of its end effectors, by inverse kinematics, step by step.
///
/// An option says what of the recording is the pose of which link: POSITION=LINK,ROTATION=LINK, or
/// once for both; the links may differ, for recordings mix frames. Each end effector moves the
/// joints that it hangs on and that are not measured. The first pose is sought from the robot's
/// rest pose, every later one from the step before, so that the arm does not jump. An arm that
/// cannot follow so to the last step begins anew from the middle of its limits, then from drawn
/// postures. Deterministic.
///
/// Errors: ARGUMENT_INVALID at --inverse-kinematics; ACTION_SHAPE naming joints that neither a pose
/// nor a measurement moves; QUATERNION_NOT_UNIT; ACTION_OUT_OF_RANGE with step, and how far off in
/// metres and radians, for poses not reached to kReachedM and kReachedRad. Threads: one at a time.

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
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

  /// Rows of columns for the steps, in order. `measured_rows` [steps][c] have values in the
  /// measured columns; `poses` [steps][end effectors] are world_from_link, of position_link and
  /// rotation_link; `step_numbers` [steps] are for errors.
  /// CANCELLED once a stop is requested.
  StatusOr<std::vector<std::vector<double>>> Solve(std::span<const std::int64_t> step_numbers,
                                                   std::vector<std::vector<double>> measured_rows,
                                                   std::span<const std::vector<Transform>> poses,
                                                   const std::stop_token& stop);

  /// For the episode: where the joints come from and how near they get.
  std::string Note() const;

 private:
  /// How far an arm follows its poses from one posture.
  struct Track {
    std::vector<std::vector<double>> rows{};  ///< [steps reached][c]
    double most_off_m = 0, most_off_rad = 0;
    double missed_by_m = 0, missed_by_rad = 0;  ///< at the first step not reached
  };
  Track Follow(std::size_t end_effector, std::vector<double> start,
               const std::vector<std::vector<double>>& rows,
               std::span<const std::vector<Transform>> poses, const std::stop_token& stop) const;
  /// The posture that an attempt begins with.
  std::vector<double> StartOf(int attempt) const;
  Status Missed(std::size_t end_effector, std::int64_t step, const Track& track,
                const Transform& pose) const;

  std::shared_ptr<const Robot> robot_;
  std::vector<EndEffector> end_effectors_;
  std::vector<std::vector<bool>> held_;  ///< [end effectors][c]
  double most_off_m_ = 0, most_off_rad_ = 0;
};

}  // namespace interlacer
