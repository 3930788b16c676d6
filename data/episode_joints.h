#pragma once

/// Joint values of an episode, in the order of a robot's columns, whatever order the table has.
///
/// Errors: those of MatchColumns in robots/joint_values.h. Pure functions, thread-safe.

#include <span>
#include <string>
#include <vector>

#include "common/scene.h"
#include "common/status.h"
#include "data/episode_reader.h"
#include "robots/robot.h"

namespace interlacer {

/// For each column of the robot that of the table which holds its joint. The table's own order
/// where there is no robot or the table holds no joint positions.
StatusOr<std::vector<int>> ColumnsInOrder(const MotionTable& motion, const Robot* robot);

/// The same by the names of columns alone, for tables of joints whose robot is not known. The
/// table's own order where these are not its names: another program may have called them otherwise.
std::vector<int> ColumnsByName(const MotionTable& motion, std::span<const std::string> names);

/// Values of a row of the table in the order of `columns`.
std::vector<double> RowInOrder(const NumberTable& table, int row, std::span<const int> columns);

/// The same as the next row of the sequence.
void AppendRow(const NumberTable& table, int row, std::span<const int> columns,
               ActionSequence* sequence);

/// The measured joints of a step in the order of the episode's robot. FAILED_PRECONDITION
/// ACTION_KIND where the episode has no robot folder or the table no joint positions.
StatusOr<std::vector<double>> MeasuredJoints(const EpisodeReader& episode, int step);

}  // namespace interlacer
