#pragma once

/// Columns of a Parquet file: numbers, lists of numbers, texts and images; the only door to Arrow.
///
/// Of what the file claims nothing is taken on trust: at most 2^24 rows, 2^27 numbers a call, and 2
/// GiB of Arrow's memory. Errors: FILE_NOT_FOUND, FILE_UNREADABLE (no Parquet, cut, damaged, too
/// large), SCHEMA_INVALID (no such column, other types). Threads: one call at a time.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"

namespace interlacer {

/// Row-major [rows,width].
struct NumberRows {
  std::int64_t width = 0;
  std::vector<double> values;
};

class ParquetTable {
 public:
  static StatusOr<ParquetTable> Open(const std::string& path);

  const std::string& path() const { return path_; }
  std::int64_t row_count() const;
  bool Has(const std::string& column) const;

  /// Rows [first, first + count) of numbers, or of lists of one length; a number that is absent is
  /// NaN. Integers above 2^53 are rounded.
  StatusOr<NumberRows> ReadRows(const std::string& column, std::int64_t first,
                                std::int64_t count) const;
  /// A whole column of single numbers.
  StatusOr<std::vector<double>> ReadNumbers(const std::string& column) const;
  /// The texts of one row, which holds one or a list.
  StatusOr<std::vector<std::string>> ReadTexts(const std::string& column, std::int64_t row) const;
  /// The bytes of each row in turn, of binary columns or of the field `bytes` of structures, as
  /// images are embedded. They live during the call; rows without any are empty.
  Status VisitBytes(const std::string& column, std::int64_t first, std::int64_t count,
                    const std::function<Status(std::span<const std::uint8_t>)>& visit) const;

 private:
  struct Handle;
  std::string path_;
  std::shared_ptr<Handle> file_;
};

}  // namespace interlacer
