#pragma once

/// Parses text tables of numbers as the tools of their formats read them: blanks, tabs and commas
/// separate, lines end in LF, CR LF or CR. Comment lines are the caller's.
///
/// Trackers that have lost the camera write NaN, infinities or zeros; such values are read and left
/// to the caller where the name says so. Text is UTF-8, with or without its mark; UTF-16 is named
/// and refused.
/// Errors: INVALID_ARGUMENT SCHEMA_INVALID or NOT_FINITE with the field given. Thread-safe.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/geometry.h"
#include "common/status.h"

namespace interlacer {

/// How far a matrix of few digits may be from a rotation.
inline constexpr double kRotationTolerance = 5e-3;

bool IsTableSeparator(char c);
/// The text without characters of `framing` at its ends.
std::string_view Trimmed(std::string_view text, std::string_view framing);

/// All numbers of a text, finite ones only.
StatusOr<std::vector<double>> ParseNumbers(std::string_view text, const std::string& field);
/// NaN and infinities too, in the words of C and of older Microsoft libraries ("-1.#IND"); None,
/// null and NA of scripts are NaN.
StatusOr<std::vector<double>> ParseNumbersOrNan(std::string_view text, const std::string& field);

struct TextLine {
  int number = 0;  ///< from 1
  std::string text;
};
/// Lines without blanks at their ends; empty ones are left out. `file` is the field of the error.
StatusOr<std::vector<TextLine>> SplitLines(std::string_view text, const std::string& file);

/// Whether a tracker that had lost the camera wrote this: numbers that are not finite, or nothing
/// but zeros in the rotation.
bool IsLostPose(const Matrix4d& matrix);

/// A pose from `lines[first]` ... `lines[first + 3]`, four numbers each; none where it
/// is a lost one.
StatusOr<std::optional<Transform>> ParseMatrixLines(const std::vector<TextLine>& lines,
                                                    std::size_t first, const std::string& file);

}  // namespace interlacer
