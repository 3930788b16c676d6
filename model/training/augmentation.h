#pragma once

/// Changes training sequences, so that a model sees motions in every direction and things of every
/// colour. Pure functions over a value.

#include "common/random.h"
#include "model/training/sample.h"

namespace interlacer {

/// By `yaw_rad` around the vertical line through the middle of the workspace. All that lies in the
/// world turns alike: particles, seen points, tracks, the place where the robot stands, its links
/// and points, target cameras. The workspace box stays where it is.
void TurnSample(double yaw_rad, TrainingSample* sample);

/// Shuffles the channels of the images of both times and multiplies each by a factor of its own
/// between kMinChannelFactor and kMaxChannelFactor, all images alike. Frames to predict stay as
/// they are.
inline constexpr double kMinChannelFactor = 0.6, kMaxChannelFactor = 1.4;
void RecolorSample(RandomSequence random, TrainingSample* sample);

}  // namespace interlacer
