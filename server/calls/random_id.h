#pragma once

/// Names that cannot be guessed. Thread-safe.

#include <string>

namespace interlacer {

/// 128 random bits of the operating system as 32 hexadecimal digits.
std::string NewRandomId();

}  // namespace interlacer
