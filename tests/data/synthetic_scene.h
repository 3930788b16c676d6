#pragma once

/// A table with a block on it, seen by any pinhole camera: depth and colour by exact ray casting,
/// and a small episode of two cameras with actions.

#include <string>
#include <vector>

#include "common/scene.h"
#include "data/episode.h"

namespace interlacer {

inline constexpr double kSyntheticDepthUnitM = 0.0001;
inline constexpr int kSyntheticStepCount = 4;
inline constexpr Box kSyntheticWorkspace = {{-0.75, -0.75, -0.05}, {0.75, 0.75, 0.95}};

/// Left or right of the table, looking at its middle.
Camera SyntheticCamera(bool left, int width_px = 80, int height_px = 60);

/// What the camera sees: table z = 0, block 0.2 m wide and 0.15 m high at (x_m, 0).
RgbdView SyntheticView(const Camera& camera, double block_x_m = 0);

/// Integers of kSyntheticDepthUnitM.
DepthImage16 ToIntegers(const DepthImage& depth);

EpisodeManifest SyntheticManifest();
/// Writes the episode: the block moves 2 cm a step.
void WriteSyntheticEpisode(const std::string& episode_dir);

}  // namespace interlacer
