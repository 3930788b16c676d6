#pragma once

/// Joints of a robot from the columns of a LeRobot table.
///
/// A text of an option is FEATURE=NAME,NAME,... (- for a column that is no joint of the robot), or
/// FEATURE, whose own names count, without the ".pos" that LeRobot's drivers write.
/// Errors: ACTION_SHAPE naming what is missing and what is there, NOT_FINITE, those of
/// data/parquet/parquet_table.h. Thread-safe.

#include <cstdint>
#include <string>
#include <vector>

#include "data/episode.h"
#include "data/importers/lerobot_set.h"
#include "data/parquet/parquet_table.h"
#include "robots/robot.h"

namespace interlacer {

/// [frames,columns of the robot], radians and metres. `frames` count from `first_row`;
/// `is_degrees` holds for angles, metres are metres. A gripper's angle in degrees must be named by
/// the option: LeRobot's drivers write percent there.
StatusOr<NumberTable> ReadLerobotJoints(const LerobotSet& set, const ParquetTable& table,
                                        std::int64_t first_row, std::int64_t row_count,
                                        const std::vector<std::int64_t>& frames, const Robot& robot,
                                        const std::vector<std::string>& texts,
                                        const std::string& option, bool is_degrees);

}  // namespace interlacer
