#pragma once

/// Numbers, indices and image sizes in messages. Numbers have up to nine digits, short for huge and
/// tiny ones
/// ("1e+300", "0.25", "0").

#include <cstdio>
#include <string>

namespace interlacer {

inline std::string NumberText(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.9g", value == 0 ? 0.0 : value);
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
