#pragma once

/// Joints of a robot in one demonstration of an HDF5 file of robomimic or robosuite.
///
/// --joints DATASET=NAME,NAME,... says which joints the columns of an array below the demonstration
/// are, in radians and metres. --inverse-kinematics POSITION=LINK,ROTATION=LINK finds the joints
/// that are not measured from poses in the world, [steps,3] metres and [steps,4] quaternions
/// x, y, z, w (data/importers/end_effector_joints.h). Every column of the robot must come from one.
/// Errors: ACTION_SHAPE, NOT_FINITE, and those of end_effector_joints.h. Thread-safe.

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "data/episode.h"
#include "data/hdf5/hdf5_file.h"
#include "data/importers/import_options.h"
#include "robots/robot.h"

namespace interlacer {

/// "a, b, c", at most twelve.
std::string ListOfNames(const std::vector<std::string>& names);

struct Hdf5Joints {
  NumberTable states;                ///< [steps,columns] of the robot
  std::vector<std::string> notes{};  ///< where they come from
};

/// `demo`: path of its group; `steps`: rows to read of `step_count`.
StatusOr<Hdf5Joints> ReadHdf5Joints(const Hdf5File& file, const std::string& demo,
                                    std::shared_ptr<const Robot> robot, const BagOptions& options,
                                    const std::vector<std::int64_t>& steps, std::int64_t step_count,
                                    const std::stop_token& stop);

}  // namespace interlacer
