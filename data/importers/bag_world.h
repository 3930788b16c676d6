#pragma once

/// What of a bag is where: the world frame, cameras that the calibration file places, the robot's
/// base. Pure functions.

#include <cstdint>
#include <string>

#include "common/status.h"
#include "data/importers/bag_cameras.h"
#include "data/importers/bag_index.h"
#include "robots/robot.h"

namespace interlacer {

/// Between transforms and between joint readings; longer ones are gaps.
inline constexpr std::int64_t kMaxBagGapNs = 250'000'000;

/// Whether the calibration file says where the camera is.
bool IsPlaced(const BagCamera& camera);

/// ARGUMENT_INVALID unless every camera can be reached from the world frame.
Status CheckWorldFrame(const BagIndex& bag, const BagCameras& found, const std::string& world);

/// CALIBRATION_INVALID unless the robot of the folder stands where the recording's transforms say,
/// if they know its root.
Status CheckBase(const BagIndex& bag, const Robot& robot, const std::string& world,
                 std::int64_t time_ns);

}  // namespace interlacer
