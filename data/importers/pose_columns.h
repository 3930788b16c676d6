#pragma once

/// Finds the columns of a pose in the names of a table's header.
///
/// Trackers write x, y, z, w or w, x, y, z; where a header names the columns it is believed, in
/// any order and with others between ("#timestamp [ns],p_RS_R_x [m],...,q_RS_w []" of EuRoC,
/// "field.pose.orientation.w" of rostopic, "qx"). Units in brackets, quotes and case do not count.
/// Pure functions, thread-safe.

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "common/status.h"

namespace interlacer {

struct PoseColumns {
  /// Of t tx ty tz qx qy qz qw.
  std::array<int, 8> index = {0, 1, 2, 3, 4, 5, 6, 7};
  int column_count = 8;
};

/// Nothing where the text does not name all eight columns, as ordinary comments do not. Errors:
/// INVALID_ARGUMENT SCHEMA_INVALID at `field` for a quaternion's or position's column named twice.
StatusOr<std::optional<PoseColumns>> FindPoseColumns(std::string_view header,
                                                     const std::string& field);

/// "time", "timestamp [ns]" and the like.
bool IsTimeColumnName(std::string_view name);

}  // namespace interlacer
