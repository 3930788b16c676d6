#include "data/importers/bag_joints.h"

#include <algorithm>
#include <limits>

namespace interlacer {
namespace {

const RobotJoint& JointOf(const Robot& robot, std::size_t column) {
  return robot.links[static_cast<std::size_t>(robot.columns[column])].joint;
}

std::string Joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

/// Tracks of the robot's columns in the topics; `missing` gets the joints without one.
std::vector<const JointTrack*> TracksIn(const std::vector<const BagTopic*>& topics,
                                        const Robot& robot, std::vector<std::string>* missing) {
  std::vector<const JointTrack*> tracks;
  for (std::size_t column = 0; column < robot.columns.size(); ++column) {
    const std::string& name = JointOf(robot, column).name;
    const JointTrack* found = nullptr;
    for (const BagTopic* topic : topics) {
      const auto track = topic->joints.find(name);
      if (track != topic->joints.end() && !track->second.empty()) found = &track->second;
    }
    if (found == nullptr) missing->push_back(name);
    tracks.push_back(found);
  }
  return tracks;
}

std::vector<const BagTopic*> TopicsOf(const BagIndex& bag, MessageKind kind) {
  std::vector<const BagTopic*> topics;
  for (const auto& [name, topic] : bag.topics()) {
    if (topic.kind == kind) topics.push_back(&topic);
  }
  return topics;
}

std::vector<const BagTopic*> JointTopics(const BagIndex& bag) {
  return TopicsOf(bag, MessageKind::kJoints);
}

std::string TopicList(const std::vector<const BagTopic*>& topics) {
  std::vector<std::string> names;
  for (const BagTopic* topic : topics) names.push_back(topic->topic.name);
  return Joined(names);
}

StatusOr<const BagTopic*> JointTopic(const BagIndex& bag, const std::string& name,
                                     const char* option) {
  const BagTopic* const topic = bag.Find(name);
  if (topic != nullptr && topic->kind == MessageKind::kJoints) return topic;
  return Mismatch(reason::ARGUMENT_INVALID, option,
                  "a topic of joint states: " + TopicList(JointTopics(bag)), name);
}

Status MissingJoints(const std::vector<const BagTopic*>& topics, const Robot& robot,
                     const std::vector<std::string>& missing, const char* option) {
  std::vector<std::string> names, wanted;
  for (const BagTopic* topic : topics) {
    for (const auto& [name, track] : topic->joints) names.push_back(name);
  }
  for (std::size_t c = 0; c < robot.columns.size(); ++c) wanted.push_back(JointOf(robot, c).name);
  return Mismatch(
      reason::ACTION_SHAPE, option,
      "positions of the joints of --robot (" + Joined(wanted) + ") in " + TopicList(topics),
      Joined(names) + "; without " + Joined(missing));
}

}  // namespace

StatusOr<BagJoints> BagJoints::Find(const BagIndex& bag, const BagOptions& options,
                                    std::shared_ptr<const Robot> robot) {
  BagJoints joints;
  joints.robot_ = std::move(robot);
  std::vector<const BagTopic*> topics;
  for (const std::string& name : options.joints) {
    INTERLACER_ASSIGN_OR_RETURN(const BagTopic* const topic, JointTopic(bag, name, "--joints"));
    topics.push_back(topic);
  }
  const bool may_lack = !options.end_effectors.empty();
  if (topics.empty() && !may_lack) {
    for (const BagTopic* topic : JointTopics(bag)) {
      std::vector<std::string> missing;
      TracksIn({topic}, *joints.robot_, &missing);
      if (missing.empty() && topic->topic.name != options.commands) topics.push_back(topic);
    }
    if (topics.size() > 1) {
      return Mismatch(reason::ARGUMENT_INVALID, "--joints",
                      "--joints TOPIC, where several have the robot's joints", TopicList(topics));
    }
    // None has them all: the error names what is missing in all together.
    if (topics.empty()) topics = JointTopics(bag);
    if (topics.empty()) {
      const std::string poses = TopicList(TopicsOf(bag, MessageKind::kPose));
      return Mismatch(reason::ARGUMENT_INVALID, "--robot",
                      "a recording with joint states (sensor_msgs/msg/JointState, "
                      "foxglove.JointStates); poses of the end effector alone leave open how the "
                      "arm stands: find joints that reach them by inverse kinematics "
                      "(--inverse-kinematics TOPIC=LINK, or FRAME=LINK of the transforms), or "
                      "record joints",
                      "none; topics of poses: " + poses);
    }
  }
  std::vector<std::string> missing;
  joints.states_ = TracksIn(topics, *joints.robot_, &missing);
  // Several topics are joined only by option: one of them may hold commands.
  if (missing.empty() && options.joints.empty() && topics.size() > 1) {
    return Mismatch(reason::ARGUMENT_INVALID, "--joints",
                    "--joints TOPIC for each topic that measures joints of the robot",
                    TopicList(topics));
  }
  if (!missing.empty() && !may_lack) {
    return MissingJoints(topics, *joints.robot_, missing, "--joints");
  }
  missing.clear();
  if (!topics.empty()) joints.choices_.push_back("joints: " + TopicList(topics));
  if (options.commands.empty()) return joints;
  INTERLACER_ASSIGN_OR_RETURN(const BagTopic* const commands,
                              JointTopic(bag, options.commands, "--commands"));
  joints.commands_ = TracksIn({commands}, *joints.robot_, &missing);
  if (!missing.empty()) return MissingJoints({commands}, *joints.robot_, missing, "--commands");
  return joints;
}

std::vector<bool> BagJoints::measured() const {
  std::vector<bool> measured;
  for (const JointTrack* track : states_) measured.push_back(track != nullptr);
  return measured;
}

std::int64_t BagJoints::first_ns() const {
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::min();
  for (const auto* tracks : {&states_, &commands_}) {
    for (const JointTrack* track : *tracks) {
      if (track != nullptr) first_ns = std::max(first_ns, track->first_ns());
    }
  }
  return first_ns;
}

std::int64_t BagJoints::last_ns() const {
  std::int64_t last_ns = std::numeric_limits<std::int64_t>::max();
  for (const JointTrack* track : states_) {
    if (track != nullptr) last_ns = std::min(last_ns, track->last_ns());
  }
  return last_ns;
}

std::optional<std::vector<double>> BagJoints::StateAt(std::int64_t time_ns,
                                                      std::int64_t max_gap_ns) const {
  std::vector<double> row;
  for (std::size_t column = 0; column < states_.size(); ++column) {
    if (states_[column] == nullptr) {
      row.push_back(0);
      continue;
    }
    const bool wraps = JointOf(*robot_, column).type == JointType::kContinuous;
    const auto value = states_[column]->At(time_ns, max_gap_ns, wraps);
    if (!value) return std::nullopt;
    row.push_back(*value);
  }
  return row;
}

std::optional<std::vector<double>> BagJoints::CommandAt(std::int64_t time_ns) const {
  std::vector<double> row;
  for (const JointTrack* track : commands_) {
    const auto value = track->Held(time_ns);
    if (!value) return std::nullopt;
    row.push_back(*value);
  }
  return row;
}

}  // namespace interlacer
