#pragma once

/// Reads NumPy .npy files: floats of 16 to 64 bits, integers of 8 to 64 bits, truth values, of
/// either byte order, in C and in Fortran order. Writes float32, float64, int64 and uint8.
///
/// Shape and byte count are compared with each other and with the size of the file before anything
/// is allocated. Errors: INVALID_ARGUMENT SCHEMA_INVALID (not such a file), SHAPE_MISMATCH. Pure
/// functions, thread-safe. Source: npy.

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
  kUint32,
  kUint64
};

/// An array; numbers of any of the types are given as double or int64. Truth values are uint8.
struct NpyArray {
  NpyType type = NpyType::kFloat64;
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> data;  ///< little-endian, C order
  std::int64_t element_count() const;
};

StatusOr<NpyArray> ParseNpy(std::span<const std::uint8_t> bytes);

/// Every type; integers beyond 2^53, which not all are doubles, are refused.
StatusOr<std::vector<double>> NpyToDoubles(const NpyArray& array);
/// Every integer type; floats are refused, as is uint64 beyond int64.
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
