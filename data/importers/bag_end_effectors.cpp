#include "data/importers/bag_end_effectors.h"

#include <utility>

#include "data/importers/bag_world.h"

namespace interlacer {
namespace {

constexpr char kOption[] = "--inverse-kinematics";

/// The frame of the transforms that a source means.
StatusOr<std::string> FrameOf(const BagIndex& bag, const std::string& world,
                              const std::string& source) {
  const BagTopic* const topic = bag.Find(source);
  const bool is_topic = topic != nullptr && topic->kind == MessageKind::kPose;
  const std::string frame = is_topic ? PoseFrame(source) : source;
  if (frame == world) return frame;
  Status way = bag.frames().Has(frame) ? bag.frames().CheckWay(frame, world)
                                       : NotFound(reason::ARGUMENT_INVALID, "there is none");
  if (is_topic && topic->damaged_count == topic->message_count) way = topic->damage;
  if (way.ok()) return frame;
  std::string topics;
  for (const auto& [name, known] : bag.topics()) {
    if (known.kind == MessageKind::kPose) topics += (topics.empty() ? "" : ", ") + name;
  }
  std::string expected = "FRAME=LINK: a frame of the recording's transforms";
  if (!topics.empty()) expected += ", or a topic of poses: " + topics;
  if (is_topic) {
    expected = "poses in a frame that transforms lead to from " + world +
               " (header.frame_id); name that frame as --world-frame if it is the world";
  }
  return Mismatch(reason::ARGUMENT_INVALID, kOption, expected, source + ": " + way.message());
}

}  // namespace

StatusOr<BagEndEffectors> BagEndEffectors::Make(const BagIndex& bag, const BagOptions& options,
                                                const BagJoints& joints) {
  INTERLACER_ASSIGN_OR_RETURN(
      EndEffectorJoints solved,
      EndEffectorJoints::Make(joints.shared_robot(), options.end_effectors, joints.measured()));
  BagEndEffectors ends(bag, options.world_frame, std::move(solved));
  for (const EndEffector& end : ends.joints_.end_effectors()) {
    Frames& frames = ends.frames_.emplace_back();
    INTERLACER_ASSIGN_OR_RETURN(frames.position, FrameOf(bag, ends.world_, end.position_source));
    INTERLACER_ASSIGN_OR_RETURN(frames.rotation, FrameOf(bag, ends.world_, end.rotation_source));
  }
  return ends;
}

StatusOr<std::vector<Transform>> BagEndEffectors::GoalsAt(std::int64_t time_ns) const {
  std::vector<Transform> goals;
  for (const Frames& frames : frames_) {
    INTERLACER_ASSIGN_OR_RETURN(Transform goal,
                                bag_->frames().At(world_, frames.position, time_ns, kMaxBagGapNs));
    INTERLACER_ASSIGN_OR_RETURN(const Transform turned,
                                bag_->frames().At(world_, frames.rotation, time_ns, kMaxBagGapNs));
    goal.rotation_xyzw = turned.rotation_xyzw;
    goals.push_back(goal);
  }
  return goals;
}

}  // namespace interlacer
