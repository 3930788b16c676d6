#include "data/attachment_check.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "common/npy.h"
#include "data/episode_joints.h"
#include "data/unproject.h"
#include "robots/forward_kinematics.h"

namespace interlacer {
namespace {

constexpr char kContactsFile[] = "truth/contacts.npy";

/// [objects] whether an arm touches it at a step.
StatusOr<std::vector<bool>> TouchedObjects(const EpisodeReader& episode, std::size_t object_count,
                                           int step) {
  INTERLACER_ASSIGN_OR_RETURN(const auto bytes, episode.ReadFile(kContactsFile));
  INTERLACER_ASSIGN_OR_RETURN(const NpyArray contacts, ParseNpy(bytes));
  const bool fits = contacts.type == NpyType::kUint8 && contacts.shape.size() == 3 &&
                    contacts.shape[0] == episode.step_count() &&
                    contacts.shape[2] == static_cast<std::int64_t>(object_count);
  if (!fits) {
    return Mismatch(reason::SHAPE_MISMATCH, kContactsFile, "[steps,arms,objects] uint8",
                    "another array");
  }
  const auto arm_count = static_cast<std::size_t>(contacts.shape[1]);
  std::vector<bool> touched(object_count, false);
  for (std::size_t arm = 0; arm < arm_count; ++arm) {
    for (std::size_t object = 0; object < object_count; ++object) {
      const std::size_t row = static_cast<std::size_t>(step) * arm_count + arm;
      if (contacts.data[row * object_count + object] != 0) touched[object] = true;
    }
  }
  return touched;
}

}  // namespace

AttachmentScore& AttachmentScore::operator+=(const AttachmentScore& other) {
  robot_pixels += other.robot_pixels;
  attached_pixels += other.attached_pixels;
  attached_robot_pixels += other.attached_robot_pixels;
  held_pixels += other.held_pixels;
  attached_held_pixels += other.attached_held_pixels;
  return *this;
}

StatusOr<AttachmentScore> ScoreAttachment(const EpisodeReader& episode,
                                          const SimulationTruth& truth, int step,
                                          const AttachOptions& options) {
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<double> joints, MeasuredJoints(episode, step));
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<bool> is_held,
                              TouchedObjects(episode, truth.object_names().size(), step));
  const Robot& robot = *episode.robot();
  const std::vector<Transform> poses = LinkPoses(robot, joints);
  AttachmentScore score;
  for (int camera = 0; camera < episode.camera_count(); ++camera) {
    const EpisodeCamera& item = episode.manifest().cameras[camera];
    INTERLACER_ASSIGN_OR_RETURN(const RgbdView view, episode.ReadView(step, camera));
    INTERLACER_ASSIGN_OR_RETURN(const DepthImage labels, truth.ReadLabels(step, item.name));
    const LiftedPoints points =
        UnprojectViews({&view, 1}, {episode.manifest().workspace, item.near_m, item.far_m});
    const std::vector<std::int32_t> links = AttachPoints(robot, poses, points.positions_m, options);
    for (std::size_t i = 0; i < links.size(); ++i) {
      const auto shown =
          truth.Classify(labels.pixels_m[static_cast<std::size_t>(points.source_index[i])]);
      const bool is_attached = links[i] != kNotAttached;
      const bool is_robot = shown.kind == SimulationTruth::PixelKind::kArm;
      const bool is_of_held = shown.kind == SimulationTruth::PixelKind::kObject &&
                              is_held[static_cast<std::size_t>(shown.object)];
      score.robot_pixels += is_robot;
      score.attached_pixels += is_attached;
      score.attached_robot_pixels += is_attached && is_robot;
      score.held_pixels += is_of_held;
      score.attached_held_pixels += is_attached && is_of_held;
    }
  }
  return score;
}

}  // namespace interlacer
