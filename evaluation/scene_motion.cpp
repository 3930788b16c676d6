#include "evaluation/scene_motion.h"

#include <algorithm>
#include <string>
#include <utility>

#include "data/episode_joints.h"
#include "robots/attachment.h"
#include "robots/forward_kinematics.h"
#include "robots/joint_values.h"

namespace interlacer {
namespace {

static_assert(kStandsStill == kNotAttached);

/// What a mask calls an arm lies this near to its surface points, which are centimetres apart.
constexpr AttachOptions kTrueArm{0.05, 0.05};

std::string RowField(const char* table, std::int64_t row) {
  return std::string(table) + "[" + std::to_string(row) + "]";
}

StatusOr<std::vector<Transform>> PosesOf(const Robot& robot, const std::vector<double>& values,
                                         const std::string& field) {
  INTERLACER_RETURN_IF_ERROR(CheckJointValues(robot, values, field));
  return LinkPoses(robot, values);
}

/// Links at a step of the episode; `columns` are those of its states in the robot's order.
StatusOr<std::vector<Transform>> MeasuredPoses(const EpisodeReader& episode, const Robot& robot,
                                               const std::vector<int>& columns, int step) {
  return PosesOf(robot, RowInOrder(episode.states(), step, columns), RowField("states", step));
}

bool HasJoints(const std::optional<MotionTable>& table) {
  return table && table->kind == ActionKind::kJointPositions;
}

}  // namespace

StatusOr<BodyMotion> CommandedMotion(const EpisodeReader& episode, const PredictionTask& task) {
  BodyMotion motion;
  const EpisodeManifest& manifest = episode.manifest();
  if (task.actions.kind == ActionKind::kNone || !manifest.states) {
    motion.later.resize(static_cast<std::size_t>(task.step_count));
    return motion;
  }
  const bool has_joints = (task.has_own_actions || HasJoints(manifest.actions)) &&
                          task.actions.kind == ActionKind::kJointPositions &&
                          HasJoints(manifest.states);
  if (!has_joints || task.input.robot == nullptr) {
    return Mismatch(reason::ACTION_KIND, "robot",
                    "joint positions and the folder of the robot (in the episode, or --robot)",
                    has_joints ? "no folder" : "kinematic points");
  }
  motion.robot = task.input.robot;
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<int> measured,
                              ColumnsInOrder(*manifest.states, motion.robot.get()));
  INTERLACER_ASSIGN_OR_RETURN(motion.start,
                              MeasuredPoses(episode, *motion.robot, measured, task.start_step));
  motion.link_count = motion.start.size();
  motion.joints.push_back(RowInOrder(episode.states(), task.start_step, measured));
  for (std::int64_t row = 0; row < task.actions.row_count; ++row) {
    const auto first = task.actions.values.begin() + row * task.actions.column_count;
    motion.joints.emplace_back(first, first + task.actions.column_count);
    INTERLACER_ASSIGN_OR_RETURN(
        std::vector<Transform> poses,
        PosesOf(*motion.robot, motion.joints.back(), RowField("actions", row)));
    motion.later.push_back(std::move(poses));
  }
  return motion;
}

StatusOr<BodyMotion> TrueMotion(const EpisodeReader& episode, const PredictionTask& task,
                                const SimulationTruth& truth) {
  BodyMotion motion;
  std::vector<int> measured;
  if (task.input.robot != nullptr && HasJoints(episode.manifest().states)) {
    motion.robot = task.input.robot;
    INTERLACER_ASSIGN_OR_RETURN(measured,
                                ColumnsInOrder(*episode.manifest().states, motion.robot.get()));
    motion.link_count = motion.robot->links.size();
  }
  const auto poses_at = [&](int step) -> StatusOr<std::vector<Transform>> {
    std::vector<Transform> poses;
    if (motion.robot != nullptr) {
      INTERLACER_ASSIGN_OR_RETURN(poses, MeasuredPoses(episode, *motion.robot, measured, step));
    }
    for (int k = 0; k < static_cast<int>(truth.object_names().size()); ++k) {
      poses.push_back(truth.WorldFromObject(step, k));
    }
    return poses;
  };
  INTERLACER_ASSIGN_OR_RETURN(motion.start, poses_at(task.start_step));
  for (int step = 1; step <= task.step_count; ++step) {
    if (task.EpisodeStep(step) >= episode.step_count()) break;
    INTERLACER_ASSIGN_OR_RETURN(std::vector<Transform> poses, poses_at(task.EpisodeStep(step)));
    motion.later.push_back(std::move(poses));
  }
  return motion;
}

std::vector<std::int32_t> BodiesOfRobot(const BodyMotion& motion,
                                        std::span<const float> positions_m) {
  if (motion.robot == nullptr) {
    return std::vector<std::int32_t>(positions_m.size() / 3, kStandsStill);
  }
  return AttachPoints(*motion.robot, std::span(motion.start).first(motion.link_count), positions_m);
}

std::vector<std::int32_t> TrueBodies(const BodyMotion& motion,
                                     std::span<const SimulationTruth::PixelTruth> shown,
                                     std::span<const float> positions_m) {
  std::vector<std::int32_t> bodies(shown.size(), kStandsStill);
  std::vector<std::size_t> arm_points;
  std::vector<float> arm_positions_m;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (shown[i].kind == SimulationTruth::PixelKind::kObject) {
      bodies[i] = static_cast<std::int32_t>(motion.link_count) + shown[i].object;
    } else if (shown[i].kind == SimulationTruth::PixelKind::kArm) {
      bodies[i] = kUnknownMotion;
      arm_points.push_back(i);
      const float* p = positions_m.data() + 3 * i;
      arm_positions_m.insert(arm_positions_m.end(), p, p + 3);
    }
  }
  if (motion.robot == nullptr) return bodies;
  const std::vector<std::int32_t> links = AttachPoints(
      *motion.robot, std::span(motion.start).first(motion.link_count), arm_positions_m, kTrueArm);
  for (std::size_t i = 0; i < arm_points.size(); ++i) {
    if (links[i] != kNotAttached) bodies[arm_points[i]] = links[i];
  }
  return bodies;
}

std::vector<float> PositionsAt(const BodyMotion& motion, int step,
                               std::span<const std::int32_t> bodies,
                               std::span<const float> positions_m) {
  std::vector<float> carried_m(positions_m.begin(), positions_m.end());
  if (step == 0 || motion.start.empty()) return carried_m;
  std::vector<std::int32_t> links(bodies.begin(), bodies.end());
  std::replace(links.begin(), links.end(), kUnknownMotion, kNotAttached);
  CarryPoints(links, motion.start, motion.later[static_cast<std::size_t>(step - 1)], positions_m,
              carried_m);
  return carried_m;
}

std::vector<Vec3d> ToolPlaces(const BodyMotion& motion, int step) {
  std::vector<Vec3d> places_m;
  for (std::size_t link = 0; motion.robot != nullptr && link < motion.link_count; ++link) {
    if (motion.robot->links[link].part == LinkPart::kBody) continue;
    places_m.push_back(motion.later[static_cast<std::size_t>(step - 1)][link].translation_m);
  }
  return places_m;
}

}  // namespace interlacer
