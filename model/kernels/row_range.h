#pragma once

/// Rows [begin, end) of a matrix. A value.

#include <cstdint>

namespace interlacer {

struct RowRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

}  // namespace interlacer
