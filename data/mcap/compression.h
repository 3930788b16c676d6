#pragma once

/// Zstandard and LZ4 frames, and CRC-32; no other part includes libzstd or liblz4.
///
/// Memory grows with the data that really comes out, never with a size that only a header claims.
/// Thread-safe.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace interlacer {

struct Decompressed {
  std::vector<std::uint8_t> data;
  bool is_whole = false;  ///< the frame ended, at the size that was stated
};

/// `compression` "", "lz4" or "zstd". What decodes before the data ends or is damaged is given, at
/// most `size` bytes. Errors: INVALID_ARGUMENT COMPRESSION_UNSUPPORTED.
StatusOr<Decompressed> Decompress(std::string_view compression, std::vector<std::uint8_t> data,
                                  std::uint64_t size);
/// Whether a Zstandard frame that states its size begins here, and the size.
std::optional<std::uint64_t> ZstdSize(std::span<const std::uint8_t> data);

std::vector<std::uint8_t> CompressZstd(std::span<const std::uint8_t> data, int level);

/// Of zip and PNG; `crc` that of the bytes before, 0 at the start.
std::uint32_t Crc32(std::uint32_t crc, std::span<const std::uint8_t> data);

}  // namespace interlacer
