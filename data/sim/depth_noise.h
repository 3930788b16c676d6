#pragma once

/// Adds the errors of a real depth camera to simulated depth.
///
/// Each pixel gets normal noise whose standard deviation grows with the square of depth, as for
/// structured light and stereo; pixels at a depth step may lose their measurement (become 0).
/// Draws: stream kDataGeneration, apart from those of the scenes; equal seed (which the simulator
/// draws for each split and motion), step and camera give equal bits. Thread-safety: pure function.
/// Source: kinect-depth.

#include <cstdint>

#include "common/image.h"

namespace interlacer::sim {

/// `deviation_at_1m_m` is the standard deviation at a depth of 1 m; 0 leaves the image as it is.
void AddDepthNoise(std::uint64_t seed, int step, int camera, double deviation_at_1m_m,
                   DepthImage16& depth);

}  // namespace interlacer::sim
