#include "data/episode_joints.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "robots/joint_values.h"

namespace interlacer {

namespace {

std::vector<int> OwnColumns(const MotionTable& motion) {
  std::vector<int> own(motion.columns.size());
  std::iota(own.begin(), own.end(), 0);
  return own;
}

}  // namespace

StatusOr<std::vector<int>> ColumnsInOrder(const MotionTable& motion, const Robot* robot) {
  if (robot == nullptr || motion.kind != ActionKind::kJointPositions) return OwnColumns(motion);
  std::vector<std::string> names;
  for (const TableColumn& column : motion.columns) names.push_back(column.name);
  return MatchColumns(*robot, names);
}

std::vector<int> ColumnsByName(const MotionTable& motion, std::span<const std::string> names) {
  std::vector<int> found;
  for (const std::string& name : names) {
    const auto column = std::find_if(motion.columns.begin(), motion.columns.end(),
                                     [&](const TableColumn& c) { return c.name == name; });
    if (column != motion.columns.end()) {
      found.push_back(static_cast<int>(column - motion.columns.begin()));
    }
  }
  return found.size() == motion.columns.size() ? found : OwnColumns(motion);
}

std::vector<double> RowInOrder(const NumberTable& table, int row, std::span<const int> columns) {
  const double* const values = table.values.data() + row * table.column_count;
  std::vector<double> ordered;
  for (const int column : columns) ordered.push_back(values[column]);
  return ordered;
}

void AppendRow(const NumberTable& table, int row, std::span<const int> columns,
               ActionSequence* sequence) {
  const std::vector<double> values = RowInOrder(table, row, columns);
  sequence->values.insert(sequence->values.end(), values.begin(), values.end());
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
  return RowInOrder(episode.states(), step, source);
}

}  // namespace interlacer
