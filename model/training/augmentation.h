#pragma once

/// Turns a training sequence in space, so that a model sees motions in every direction.
///
/// All that lies in the world turns alike: particles, tracks, the robot's links and points, target
/// cameras. The workspace box stays where it is. Pure function over a value.

#include "model/training/sample.h"

namespace interlacer {

/// By `yaw_rad` around the vertical line through the middle of the workspace.
void TurnSample(double yaw_rad, TrainingSample* sample);

}  // namespace interlacer
