#pragma once

/// Reads NumPy .npy files of version 1 and 2 in C order, little-endian: floats of 16 to 64 bits,
/// signed integers of 8 to 64 and unsigned ones of 8 to 32 bits. Writes float32, float64, int64 and
/// uint8.
///
/// Shape and byte count are compared with each other and with the size of the file before anything
/// is allocated. Errors: INVALID_ARGUMENT SCHEMA_INVALID (not such a file), SHAPE_MISMATCH; those
/// of common/file_io.h. Pure functions, thread-safe. Source: npy.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"

namespace interlacer {

enum class NpyType {
  kFloat16,
  kFloat32,
  kFloat64,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32
};

/// An array; numbers of any of the types are given as double or int64.
struct NpyArray {
  NpyType type = NpyType::kFloat64;
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> data;  ///< little-endian, C order
  std::int64_t element_count() const;
};

StatusOr<NpyArray> ParseNpy(std::span<const std::uint8_t> bytes);

/// Every type whose values are all doubles: int64 is refused.
StatusOr<std::vector<double>> NpyToDoubles(const NpyArray& array);
/// Every integer type; floats are refused.
StatusOr<std::vector<std::int64_t>> NpyToInt64(const NpyArray& array);

std::vector<std::uint8_t> EncodeNpy(std::span<const double> values,
                                    std::span<const std::int64_t> shape);
std::vector<std::uint8_t> EncodeNpy(std::span<const float> values,
                                    std::span<const std::int64_t> shape);
std::vector<std::uint8_t> EncodeNpy(std::span<const std::int64_t> values,
                                    std::span<const std::int64_t> shape);
std::vector<std::uint8_t> EncodeNpy(std::span<const std::uint8_t> values,
                                    std::span<const std::int64_t> shape);

}  // namespace interlacer
