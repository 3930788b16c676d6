#include "data/episode_joints.h"

#include "robots/joint_values.h"

namespace interlacer {

StatusOr<std::vector<double>> MeasuredJoints(const EpisodeReader& episode, int step) {
  const auto& motion = episode.manifest().states;
  const bool has_joints = motion && motion->kind == ActionKind::kJointPositions;
  if (episode.robot() == nullptr || !has_joints) {
    return FailedPrecondition(reason::ACTION_KIND,
                              "measured joints need a robot folder and a table of joint positions")
        .WithField("states");
  }
  std::vector<std::string> names;
  for (const TableColumn& column : motion->columns) names.push_back(column.name);
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<int> source, MatchColumns(*episode.robot(), names));
  const NumberTable& table = episode.states();
  std::vector<double> values;
  for (const int column : source) {
    values.push_back(table.values[static_cast<std::size_t>(step * table.column_count + column)]);
  }
  return values;
}

}  // namespace interlacer
