#include "data/attachment_check.h"

#include <vector>

#include "data/episode_joints.h"
#include "data/unproject.h"
#include "robots/forward_kinematics.h"

namespace interlacer {
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
  if (!truth.object_names().empty() && !truth.PhaseAt(step, 0)) {
    return NotFound(reason::FILE_NOT_FOUND, "the episode holds no contacts of its objects")
        .WithField("truth/contacts.npy");
  }
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
      const bool is_of_held =
          shown.kind == SimulationTruth::PixelKind::kObject &&
          truth.PhaseAt(step, shown.object) == SimulationTruth::ContactPhase::kTouched;
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
