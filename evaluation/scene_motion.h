#pragma once

/// How the things in a scene move over a rollout, as rigid bodies: what carries both the pixels and
/// the particles of predictions that need no learning.
///
/// Bodies are the links of the robot, then the objects of a simulated episode. A point belongs to
/// one body or stands still; carried points that belong to none keep their bits.
///   positions_m  [n,3] float32, world frame, at the newest observation
///   bodies       [n] index of a body, kStandsStill or kUnknownMotion (which stands still too)
/// Errors of the two motions: INVALID_ARGUMENT ACTION_KIND where there is a robot but no robot
/// folder, those of robots/joint_values.h for rows that do not fit it.
/// Determinism: equal bits for any thread count. Thread-safety: pure functions.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/geometry.h"
#include "common/status.h"
#include "data/episode_reader.h"
#include "data/simulation_truth.h"
#include "evaluation/prediction_task.h"

namespace interlacer {

inline constexpr std::int32_t kStandsStill = -1;
inline constexpr std::int32_t kUnknownMotion = -2;

struct BodyMotion {
  std::shared_ptr<const Robot> robot;  ///< null: no links
  std::vector<Transform> start;        ///< [bodies] world_from_body at the newest observation
  std::vector<std::vector<Transform>> later;  ///< [steps][bodies] from step 1 on
  std::size_t link_count = 0;
  /// [1 + steps][columns] of CommandedMotion: the joints from the newest observation on; else
  /// empty.
  std::vector<std::vector<double>> joints;
};

/// The particles of step 0 as a motion carries them.
struct CarriedParticles {
  std::string name;
  BodyMotion motion;
  std::vector<std::int32_t> bodies;  ///< [n]
};

/// The links by the measured joints of the newest observation and the commanded ones of each step;
/// no bodies in a scene without a robot, where nothing moves.
StatusOr<BodyMotion> CommandedMotion(const EpisodeReader& episode, const PredictionTask& task);

/// The links by the measured joints of every step, the objects by their true poses; as many steps
/// as were recorded. An episode whose robot has no folder has objects alone.
StatusOr<BodyMotion> TrueMotion(const EpisodeReader& episode, const PredictionTask& task,
                                const SimulationTruth& truth);

/// Points on the robot's surface belong to their link (robots/attachment.h), the others stand
/// still.
std::vector<std::int32_t> BodiesOfRobot(const BodyMotion& motion,
                                        std::span<const float> positions_m);

/// By what is shown where a point was seen; points of an arm belong to its nearest link, or move in
/// an unknown way where none is near.
std::vector<std::int32_t> TrueBodies(const BodyMotion& motion,
                                     std::span<const SimulationTruth::PixelTruth> shown,
                                     std::span<const float> positions_m);

/// Where the points are at a step; step 0 is where they were seen.
std::vector<float> PositionsAt(const BodyMotion& motion, int step,
                               std::span<const std::int32_t> bodies,
                               std::span<const float> positions_m);

/// [k] origins of the robot's grippers and fingers at a step, from 1 on; none without a robot.
std::vector<Vec3d> ToolPlaces(const BodyMotion& motion, int step);

}  // namespace interlacer
