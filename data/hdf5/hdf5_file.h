#pragma once

/// Groups, arrays and texts of an HDF5 file, read row by row; the only door to libhdf5.
///
/// Shapes come from the file and are only numbers: callers compare them with what they expect
/// before they read, and ReadRow takes no more than a row.
/// Errors: FILE_NOT_FOUND, FILE_UNREADABLE, SCHEMA_INVALID at the object's path. Thread-safe: calls
/// of the whole process wait for each other, because the library is not.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/status.h"

namespace interlacer {

struct Hdf5Array {
  std::string path;
  std::vector<std::int64_t> shape;
  bool is_float = false;
  std::size_t item_bytes = 0;
};

class Hdf5File {
 public:
  static StatusOr<Hdf5File> Open(const std::string& path);

  const std::string& path() const { return path_; }
  bool Has(const std::string& object) const;
  /// Names in a group, sorted; nothing where there is no such group.
  std::vector<std::string> Names(const std::string& group) const;
  /// Nothing where there is no array of numbers of that path, or one that claims far more numbers
  /// than are stored.
  std::optional<Hdf5Array> FindArray(const std::string& path) const;
  /// A text attribute of an object, of fixed or variable length; nothing where it is absent.
  std::optional<std::string> TextAttribute(const std::string& object,
                                           const std::string& name) const;
  /// The error for an object that is there and that FindArray does not find.
  Status Unreadable(const std::string& object) const;
  /// Row `row` of the first dimension as T (std::uint8_t, float or double), converted from what is
  /// stored; at most 2^28 numbers.
  template <typename T>
  StatusOr<std::vector<T>> ReadRow(const Hdf5Array& array, std::int64_t row) const;

 private:
  struct Handle;
  std::string path_;
  std::shared_ptr<const Handle> file_;
};

}  // namespace interlacer
