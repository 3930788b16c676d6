#include "data/episode_joints.h"

#include <cstddef>
#include <numeric>
#include <string>

#include "robots/joint_values.h"

namespace interlacer {

StatusOr<std::vector<int>> ColumnsInOrder(const MotionTable& motion, const Robot* robot) {
  if (robot == nullptr || motion.kind != ActionKind::kJointPositions) {
    std::vector<int> own(motion.columns.size());
    std::iota(own.begin(), own.end(), 0);
    return own;
  }
  std::vector<std::string> names;
  for (const TableColumn& column : motion.columns) names.push_back(column.name);
  return MatchColumns(*robot, names);
}

void AppendRow(const NumberTable& table, int row, std::span<const int> columns,
               ActionSequence* sequence) {
  const double* const values = table.values.data() + row * table.column_count;
  for (const int column : columns) sequence->values.push_back(static_cast<float>(values[column]));
  sequence->column_count = std::ssize(columns);
  ++sequence->row_count;
}

StatusOr<std::vector<double>> MeasuredJoints(const EpisodeReader& episode, int step) {
  const auto& motion = episode.manifest().states;
  const bool has_joints = motion && motion->kind == ActionKind::kJointPositions;
  if (episode.robot() == nullptr || !has_joints) {
    return FailedPrecondition(reason::ACTION_KIND,
                              "measured joints need a robot folder and a table of joint positions")
        .WithField("states");
  }
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<int> source,
                              ColumnsInOrder(*motion, episode.robot().get()));
  const NumberTable& table = episode.states();
  std::vector<double> values;
  for (const int column : source) {
    values.push_back(table.values[static_cast<std::size_t>(step * table.column_count + column)]);
  }
  return values;
}

}  // namespace interlacer
