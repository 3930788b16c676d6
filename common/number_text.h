#pragma once

/// Numbers, indices and image sizes in messages, and numbers in commands that repeat a run. Those
/// of messages have up to nine digits, short for huge and tiny ones ("1e+300", "0.25", "0").

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>

namespace interlacer {

inline std::string NumberText(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.9g", value == 0 ? 0.0 : value);
  return text;
}

/// Text that reads as the same number again: six digits at most, or as many more as that takes.
inline std::string ExactNumberText(double value) {
  constexpr int kEnoughDigits = std::numeric_limits<double>::max_digits10;
  char text[32];
  for (int digits = 6; digits <= kEnoughDigits; ++digits) {
    std::snprintf(text, sizeof(text), "%.*g", digits, value);
    if (std::strtod(text, nullptr) == value) break;
  }
  return text;
}

/// "320x240".
inline std::string SizeText(int width_px, int height_px) {
  return std::to_string(width_px) + "x" + std::to_string(height_px);
}

/// An element's part of a field path: "views[2]".
inline std::string Indexed(const char* field, int index) {
  return std::string(field) + "[" + std::to_string(index) + "]";
}

}  // namespace interlacer
