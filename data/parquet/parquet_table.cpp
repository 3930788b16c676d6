#include "data/parquet/parquet_table.h"

#include <arrow/api.h>
#include <parquet/arrow/reader.h>
#include <parquet/exception.h>
#include <parquet/metadata.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

#include "common/printable_text.h"

namespace interlacer {
namespace {

constexpr std::int64_t kMostRows = std::int64_t{1} << 24;
constexpr std::int64_t kMostNumbers = std::int64_t{1} << 27;
constexpr std::int64_t kMostArrowBytes = std::int64_t{2} << 30;
/// Images of a batch are in memory together.
constexpr std::int64_t kBatchRows = 64;

Status Unreadable(const std::string& path, const std::string& what) {
  return InvalidArgument(reason::FILE_UNREADABLE,
                         path + ": not a Parquet file that can be read: " + PrintableLine(what))
      .WithField(path);
}

template <typename Array>
void AppendValues(const arrow::Array& array, std::vector<double>* values) {
  const auto& typed = static_cast<const Array&>(array);
  for (std::int64_t i = 0; i < typed.length(); ++i) {
    values->push_back(typed.IsNull(i) ? std::numeric_limits<double>::quiet_NaN()
                                      : static_cast<double>(typed.Value(i)));
  }
}

/// False where the array holds something else.
bool AppendNumbers(const arrow::Array& array, std::vector<double>* values) {
  switch (array.type_id()) {
    case arrow::Type::BOOL:
      AppendValues<arrow::BooleanArray>(array, values);
      return true;
    case arrow::Type::INT8:
      AppendValues<arrow::Int8Array>(array, values);
      return true;
    case arrow::Type::UINT8:
      AppendValues<arrow::UInt8Array>(array, values);
      return true;
    case arrow::Type::INT16:
      AppendValues<arrow::Int16Array>(array, values);
      return true;
    case arrow::Type::UINT16:
      AppendValues<arrow::UInt16Array>(array, values);
      return true;
    case arrow::Type::INT32:
      AppendValues<arrow::Int32Array>(array, values);
      return true;
    case arrow::Type::UINT32:
      AppendValues<arrow::UInt32Array>(array, values);
      return true;
    case arrow::Type::INT64:
      AppendValues<arrow::Int64Array>(array, values);
      return true;
    case arrow::Type::UINT64:
      AppendValues<arrow::UInt64Array>(array, values);
      return true;
    case arrow::Type::FLOAT:
      AppendValues<arrow::FloatArray>(array, values);
      return true;
    case arrow::Type::DOUBLE:
      AppendValues<arrow::DoubleArray>(array, values);
      return true;
    default:
      return false;
  }
}

/// The values of row `row` of a list; null where the array is none or the row is absent.
std::shared_ptr<arrow::Array> ListAt(const arrow::Array& array, std::int64_t row) {
  if (array.IsNull(row)) return nullptr;
  switch (array.type_id()) {
    case arrow::Type::LIST:
      return static_cast<const arrow::ListArray&>(array).value_slice(row);
    case arrow::Type::LARGE_LIST:
      return static_cast<const arrow::LargeListArray&>(array).value_slice(row);
    case arrow::Type::FIXED_SIZE_LIST:
      return static_cast<const arrow::FixedSizeListArray&>(array).value_slice(row);
    default:
      return nullptr;
  }
}

/// Bytes or text; nothing where the array holds something else or the row is absent.
std::optional<std::string_view> BytesAt(const arrow::Array& array, std::int64_t row) {
  if (array.IsNull(row)) return std::nullopt;
  if (arrow::is_binary_like(array.type_id())) {
    return static_cast<const arrow::BinaryArray&>(array).GetView(row);
  }
  if (arrow::is_large_binary_like(array.type_id())) {
    return static_cast<const arrow::LargeBinaryArray&>(array).GetView(row);
  }
  return std::nullopt;
}

}  // namespace

struct ParquetTable::Handle {
  arrow::CappedMemoryPool pool{arrow::system_memory_pool(), kMostArrowBytes};
  std::unique_ptr<parquet::arrow::FileReader> reader;

  const parquet::FileMetaData& metadata() const { return *reader->parquet_reader()->metadata(); }

  /// The leaves of a column of the table.
  std::vector<int> Leaves(const std::string& column) const {
    std::vector<int> leaves;
    const parquet::SchemaDescriptor& schema = *metadata().schema();
    for (int i = 0; i < schema.num_columns(); ++i) {
      if (schema.Column(i)->path()->ToDotVector().front() == column) leaves.push_back(i);
    }
    return leaves;
  }

  /// Calls `visit` with the arrays that make up the rows; its error ends the reading.
  Status Visit(const std::string& path, const std::string& column, std::int64_t first,
               std::int64_t count, const std::function<Status(const arrow::Array&)>& visit) {
    const std::vector<int> leaves = Leaves(column);
    if (leaves.empty()) {
      return Mismatch(reason::SCHEMA_INVALID, path, "a column " + column, "none of that name");
    }
    const std::int64_t end = first + count;
    std::int64_t group_begin = 0;
    for (int group = 0; group < metadata().num_row_groups(); ++group) {
      const std::int64_t group_end = group_begin + metadata().RowGroup(group)->num_rows();
      if (group_begin < end && group_end > first) {
        INTERLACER_RETURN_IF_ERROR(
            VisitGroup(path, group, leaves, first - group_begin, end - group_begin, visit));
      }
      group_begin = group_end;
    }
    return Status::Ok();
  }

  /// Rows [begin, end) of a row group, as far as it has them.
  Status VisitGroup(const std::string& path, int group, const std::vector<int>& leaves,
                    std::int64_t begin, std::int64_t end,
                    const std::function<Status(const arrow::Array&)>& visit) {
    auto batches = reader->GetRecordBatchReader({group}, leaves);
    if (!batches.ok()) return Unreadable(path, batches.status().ToString());
    std::int64_t row = 0;
    while (row < end) {
      std::shared_ptr<arrow::RecordBatch> batch;
      arrow::Status status = (*batches)->ReadNext(&batch);
      if (status.ok() && batch) status = batch->ValidateFull();
      if (!status.ok()) return Unreadable(path, status.ToString());
      if (!batch) return Unreadable(path, "fewer rows than it claims");
      const std::int64_t from = std::max<std::int64_t>(begin - row, 0);
      const std::int64_t to = std::min(end - row, batch->num_rows());
      if (from < to) INTERLACER_RETURN_IF_ERROR(visit(*batch->column(0)->Slice(from, to - from)));
      row += batch->num_rows();
      if (row >= metadata().RowGroup(group)->num_rows()) break;
    }
    return Status::Ok();
  }
};

StatusOr<ParquetTable> ParquetTable::Open(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return NotFound(reason::FILE_NOT_FOUND, path + ": no such file").WithField(path);
  }
  ParquetTable table;
  table.path_ = path;
  table.file_ = std::make_shared<Handle>();
  try {
    parquet::arrow::FileReaderBuilder builder;
    arrow::Status status =
        builder.OpenFile(path, false, parquet::ReaderProperties(&table.file_->pool));
    if (!status.ok()) return Unreadable(path, status.ToString());
    parquet::ArrowReaderProperties properties;
    properties.set_batch_size(kBatchRows);
    // Reading ahead goes on in threads that may outlive the pool.
    properties.set_pre_buffer(false);
    auto reader = builder.memory_pool(&table.file_->pool)->properties(properties)->Build();
    if (!reader.ok()) return Unreadable(path, reader.status().ToString());
    table.file_->reader = *std::move(reader);
  } catch (const std::exception& exception) {
    return Unreadable(path, exception.what());
  }
  const std::int64_t rows = table.row_count();
  if (rows < 0 || rows > kMostRows) {
    return Unreadable(path, "expected at most " + std::to_string(kMostRows) + " rows, got " +
                                std::to_string(rows));
  }
  return table;
}

std::int64_t ParquetTable::row_count() const { return file_->metadata().num_rows(); }

bool ParquetTable::Has(const std::string& column) const { return !file_->Leaves(column).empty(); }

StatusOr<NumberRows> ParquetTable::ReadRows(const std::string& column, std::int64_t first,
                                            std::int64_t count) const {
  const auto wrong = [&](const std::string& got) {
    return Mismatch(reason::SCHEMA_INVALID, path_,
                    "column " + column + " of numbers, or of lists of one length", got);
  };
  NumberRows rows;
  const auto add_list = [&](const arrow::Array& values) {
    if (rows.width == 0) rows.width = values.length();
    if (values.length() != rows.width || rows.width == 0) {
      return wrong("lists of " + std::to_string(rows.width) + " and " +
                   std::to_string(values.length()));
    }
    if (std::ssize(rows.values) + rows.width > kMostNumbers) return wrong("too many numbers");
    return AppendNumbers(values, &rows.values) ? Status::Ok() : wrong(values.type()->ToString());
  };
  const auto add = [&](const arrow::Array& array) -> Status {
    if (AppendNumbers(array, &rows.values)) {
      rows.width = 1;
      return Status::Ok();
    }
    for (std::int64_t row = 0; row < array.length(); ++row) {
      const auto values = ListAt(array, row);
      if (!values) return wrong(array.type()->ToString() + ", or a row that is absent");
      INTERLACER_RETURN_IF_ERROR(add_list(*values));
    }
    return Status::Ok();
  };
  try {
    INTERLACER_RETURN_IF_ERROR(file_->Visit(path_, column, first, count, add));
  } catch (const std::exception& exception) {
    return Unreadable(path_, exception.what());
  }
  if ((count > 0 && rows.width == 0) || std::ssize(rows.values) != count * rows.width) {
    return wrong("fewer rows than " + std::to_string(first + count));
  }
  return rows;
}

StatusOr<std::vector<double>> ParquetTable::ReadNumbers(const std::string& column) const {
  INTERLACER_ASSIGN_OR_RETURN(NumberRows rows, ReadRows(column, 0, row_count()));
  if (rows.width <= 1) return std::move(rows.values);
  return Mismatch(reason::SCHEMA_INVALID, path_, "column " + column + " of single numbers",
                  "lists of " + std::to_string(rows.width));
}

StatusOr<std::vector<std::string>> ParquetTable::ReadTexts(const std::string& column,
                                                           std::int64_t row) const {
  std::vector<std::string> texts;
  const auto add = [&](const arrow::Array& array) {
    const auto list = ListAt(array, 0);
    const arrow::Array& values = list ? *list : array;
    for (std::int64_t i = 0; i < values.length(); ++i) {
      if (const auto text = BytesAt(values, i)) texts.emplace_back(*text);
    }
    return Status::Ok();
  };
  try {
    INTERLACER_RETURN_IF_ERROR(file_->Visit(path_, column, row, 1, add));
  } catch (const std::exception& exception) {
    return Unreadable(path_, exception.what());
  }
  return texts;
}

Status ParquetTable::VisitBytes(
    const std::string& column, std::int64_t first, std::int64_t count,
    const std::function<Status(std::span<const std::uint8_t>)>& visit) const {
  const auto add = [&](const arrow::Array& array) -> Status {
    std::shared_ptr<arrow::Array> bytes;
    if (array.type_id() == arrow::Type::STRUCT) {
      bytes = static_cast<const arrow::StructArray&>(array).GetFieldByName("bytes");
    }
    const arrow::Array& values = bytes ? *bytes : array;
    for (std::int64_t row = 0; row < values.length(); ++row) {
      const std::string_view view = BytesAt(values, row).value_or("");
      INTERLACER_RETURN_IF_ERROR(
          visit({reinterpret_cast<const std::uint8_t*>(view.data()), view.size()}));
    }
    return Status::Ok();
  };
  try {
    return file_->Visit(path_, column, first, count, add);
  } catch (const std::exception& exception) {
    return Unreadable(path_, exception.what());
  }
}

}  // namespace interlacer
