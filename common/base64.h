#pragma once

/// Base64 of bytes in one line, with padding, as data URLs hold it. Pure function, thread-safe.

#include <cstdint>
#include <span>
#include <string>

namespace interlacer {

std::string Base64(std::span<const std::uint8_t> data);

}  // namespace interlacer
