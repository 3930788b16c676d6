#pragma once

/// Whole files in memory, with a cap on the size and all-or-nothing writes.
///
/// A file is read only if it is a regular file of at most `max_bytes`; nothing is allocated before
/// that is known. A write goes to a temporary name beside the target, is flushed to disk and then
/// renamed, so a reader sees the old content or the new, never a part.
/// Errors: NOT_FOUND FILE_NOT_FOUND, INVALID_ARGUMENT FILE_UNREADABLE, FAILED_PRECONDITION
/// FILE_UNWRITABLE; the field is the path. Thread-safe.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "common/status.h"

namespace interlacer {

inline constexpr std::int64_t kDefaultMaxFileBytes = std::int64_t{1} << 30;

StatusOr<std::int64_t> FileSizeBytes(const std::string& path);
StatusOr<std::vector<std::uint8_t>> ReadFileBytes(const std::string& path,
                                                  std::int64_t max_bytes = kDefaultMaxFileBytes);
StatusOr<std::string> ReadTextFile(const std::string& path,
                                   std::int64_t max_bytes = kDefaultMaxFileBytes);

/// FILE_UNWRITABLE: "cannot write PATH: " and what the system says.
Status CannotWrite(const std::string& path, const std::error_code& error);

Status WriteFileAtomic(const std::string& path, std::span<const std::uint8_t> data);
Status WriteFileAtomic(const std::string& path, std::string_view text);

}  // namespace interlacer
