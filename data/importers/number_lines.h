#pragma once

/// Parses text files of numbers: blank- or comma-separated, `#` starts a comment line.
/// Errors: INVALID_ARGUMENT SCHEMA_INVALID or NOT_FINITE with the field given. Thread-safe.

#include <string>
#include <string_view>
#include <vector>

#include "common/geometry.h"
#include "common/status.h"

namespace interlacer {

/// How far a matrix of few digits may be from a rotation.
inline constexpr double kRotationTolerance = 5e-3;

/// All numbers of a text; `separator` ' ' also takes tabs and runs of blanks.
StatusOr<std::vector<double>> ParseNumbers(std::string_view text, char separator,
                                           const std::string& field);

struct TextLine {
  int number = 0;  ///< from 1
  std::string text;
};
/// Lines without trailing blanks and carriage returns; empty ones and a byte order mark are left
/// out.
std::vector<TextLine> SplitLines(std::string_view text);

/// A pose from `lines[first]` ... `lines[first + 3]`, four numbers each.
StatusOr<Transform> ParseMatrixLines(const std::vector<TextLine>& lines, std::size_t first,
                                     const std::string& file);

}  // namespace interlacer
