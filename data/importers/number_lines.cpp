#include "data/importers/number_lines.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "common/transforms.h"

namespace interlacer {
namespace {

/// Poses of real recordings are printed with 5 to 9 digits.

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

}  // namespace

StatusOr<std::vector<double>> ParseNumbers(std::string_view text, char separator,
                                           const std::string& field) {
  std::vector<double> numbers;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  const auto skip = [&] {
    while (at != end && (IsBlank(*at) || *at == separator)) ++at;
  };
  for (skip(); at != end; skip()) {
    if (*at == '+') ++at;
    double value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || (next != end && !IsBlank(*next) && *next != separator)) {
      return Mismatch(reason::SCHEMA_INVALID, field, "numbers", std::string(text.substr(0, 80)));
    }
    if (!std::isfinite(value)) {
      return Mismatch(reason::NOT_FINITE, field, "finite numbers", std::string(text.substr(0, 80)));
    }
    numbers.push_back(value);
    at = next;
  }
  return numbers;
}

std::vector<TextLine> SplitLines(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::vector<TextLine> lines;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    while (!line.empty() && IsBlank(line.back())) line.remove_suffix(1);
    while (!line.empty() && IsBlank(line.front())) line.remove_prefix(1);
    if (!line.empty()) lines.push_back({number, std::string(line)});
  }
  return lines;
}

StatusOr<Transform> ParseMatrixLines(const std::vector<TextLine>& lines, std::size_t first,
                                     const std::string& file) {
  Matrix4d matrix{};
  for (std::size_t row = 0; row < 4; ++row) {
    if (first + row >= lines.size()) {
      return Mismatch(reason::SCHEMA_INVALID, file, "4 lines of a matrix",
                      std::to_string(row) + " at the end of the file");
    }
    const TextLine& line = lines[first + row];
    const std::string field = file + ":" + std::to_string(line.number);
    INTERLACER_ASSIGN_OR_RETURN(const auto numbers, ParseNumbers(line.text, ' ', field));
    if (numbers.size() != 4) {
      return Mismatch(reason::SCHEMA_INVALID, field, "4 numbers", std::to_string(numbers.size()));
    }
    std::copy(numbers.begin(), numbers.end(), matrix.begin() + 4 * row);
  }
  auto pose = FromMatrix(matrix, kRotationTolerance);
  if (!pose.ok()) {
    return std::move(pose.status())
        .WithFieldPrefix(file + ":" + std::to_string(lines[first].number));
  }
  return pose;
}

}  // namespace interlacer
