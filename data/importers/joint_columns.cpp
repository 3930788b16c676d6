#include "data/importers/joint_columns.h"

#include <span>
#include <string>

#include "common/transforms.h"
#include "robots/forward_kinematics.h"
#include "robots/joint_values.h"

namespace interlacer {
namespace {

/// Stands for the limits of joints that have none.
constexpr double kNoLimit = 1000;

}  // namespace

MotionTable JointColumns(const Robot& robot) {
  MotionTable table;
  const std::vector<std::string> names = ColumnNames(robot);
  for (std::size_t column = 0; column < names.size(); ++column) {
    const RobotJoint& joint = robot.links[static_cast<std::size_t>(robot.columns[column])].joint;
    const JointLimits limits = joint.limits.value_or(JointLimits{-kNoLimit, kNoLimit});
    table.columns.push_back(
        {names[column], std::string(UnitOf(joint.type)), limits.min, limits.max});
  }
  return table;
}

Status CheckLink(const Robot* robot, const CameraCalibration& calibration) {
  if (robot == nullptr) {
    return Mismatch(reason::ARGUMENT_INVALID, "--robot",
                    "the robot whose " + calibration.link + " carries camera " + calibration.name,
                    "none");
  }
  if (FindLink(*robot, calibration.link) >= 0) return Status::Ok();
  std::string names;
  for (const RobotLink& known : robot->links) names += (names.empty() ? "" : ", ") + known.name;
  return Mismatch(reason::CALIBRATION_INVALID, "--calibration", "a link of the robot: " + names,
                  calibration.link);
}

StatusOr<std::vector<Transform>> CarriedPoses(const Robot* robot,
                                              const CameraCalibration& calibration,
                                              const NumberTable& states) {
  INTERLACER_RETURN_IF_ERROR(CheckLink(robot, calibration));
  const auto link = static_cast<std::size_t>(FindLink(*robot, calibration.link));
  const auto columns = static_cast<std::size_t>(states.column_count);
  std::vector<Transform> poses;
  for (std::int64_t row = 0; row < states.row_count; ++row) {
    const std::span<const double> values =
        std::span(states.values).subspan(static_cast<std::size_t>(row) * columns, columns);
    poses.push_back(Compose(LinkPoses(*robot, values)[link], calibration.link_from_camera));
  }
  return poses;
}

}  // namespace interlacer
