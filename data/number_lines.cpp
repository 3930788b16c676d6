#include "data/number_lines.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "common/transforms.h"

namespace interlacer {
namespace {

constexpr std::size_t kMaxShownChars = 80;

/// Marks of UTF-16 and, without one, its zero bytes; text has none.
Status CheckEncoding(std::string_view text, const std::string& file) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
    return Mismatch(reason::SCHEMA_INVALID, file, "text in UTF-8",
                    "UTF-16; iconv -f UTF-16 -t UTF-8 turns it");
  }
  const std::size_t zero = text.find('\0');
  if (zero == std::string_view::npos) return Status::Ok();
  const auto line =
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(zero), '\n');
  return Mismatch(reason::SCHEMA_INVALID, file + ":" + std::to_string(line + 1), "text in UTF-8",
                  "a zero byte: UTF-16 without its mark, or a file that was cut while written");
}

StatusOr<double> ParseNumber(std::string_view token, const std::string& field,
                             std::string_view line) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (token.starts_with('+')) token.remove_prefix(1);
  if (token.find(".#") != std::string_view::npos) return kNan;  // 1.#QNAN, -1.#IND, 1.#INF
  if (token == "None" || token == "null" || token == "NA") return kNan;
  double value = 0;
  const char* const end = token.data() + token.size();
  const auto [next, error] = std::from_chars(token.data(), end, value);
  if (error != std::errc() || next != end) {
    return Mismatch(reason::SCHEMA_INVALID, field,
                    "numbers with decimal points, separated by blanks, tabs or commas",
                    std::string(line.substr(0, kMaxShownChars)));
  }
  return value;
}

}  // namespace

bool IsTableSeparator(char c) { return c == ' ' || c == '\t' || c == ','; }

std::string_view Trimmed(std::string_view text, std::string_view framing) {
  const std::size_t first = text.find_first_not_of(framing);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(framing) - first + 1);
}

StatusOr<std::vector<double>> ParseNumbersOrNan(std::string_view text, const std::string& field) {
  std::vector<double> numbers;
  for (std::size_t at = 0;;) {
    while (at < text.size() && IsTableSeparator(text[at])) ++at;
    if (at == text.size()) return numbers;
    std::size_t end = at;
    while (end < text.size() && !IsTableSeparator(text[end])) ++end;
    INTERLACER_ASSIGN_OR_RETURN(const double value,
                                ParseNumber(text.substr(at, end - at), field, text));
    numbers.push_back(value);
    at = end;
  }
}

StatusOr<std::vector<double>> ParseNumbers(std::string_view text, const std::string& field) {
  auto numbers = ParseNumbersOrNan(text, field);
  if (!numbers.ok() || std::all_of(numbers->begin(), numbers->end(),
                                   [](double value) { return std::isfinite(value); })) {
    return numbers;
  }
  return Mismatch(reason::NOT_FINITE, field, "finite numbers",
                  std::string(text.substr(0, kMaxShownChars)));
}

StatusOr<std::vector<TextLine>> SplitLines(std::string_view text, const std::string& file) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  INTERLACER_RETURN_IF_ERROR(CheckEncoding(text, file));
  std::vector<TextLine> lines;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    const std::string_view line = Trimmed(text.substr(0, end), " \t");
    if (!line.empty()) lines.push_back({number, std::string(line)});
    text.remove_prefix(end);
    text.remove_prefix(text.starts_with("\r\n") ? 2 : std::min<std::size_t>(1, text.size()));
  }
  return lines;
}

StatusOr<std::optional<Transform>> ParseMatrixLines(const std::vector<TextLine>& lines,
                                                    std::size_t first, const std::string& file) {
  Matrix4d matrix{};
  for (std::size_t row = 0; row < 4; ++row) {
    if (first + row >= lines.size()) {
      return Mismatch(reason::SCHEMA_INVALID, file, "4 lines of a matrix",
                      std::to_string(row) + " at the end of the file");
    }
    const TextLine& line = lines[first + row];
    const std::string field = file + ":" + std::to_string(line.number);
    INTERLACER_ASSIGN_OR_RETURN(const auto numbers, ParseNumbersOrNan(line.text, field));
    if (numbers.size() != 4) {
      return Mismatch(reason::SCHEMA_INVALID, field, "4 numbers", std::to_string(numbers.size()));
    }
    std::copy(numbers.begin(), numbers.end(), matrix.begin() + 4 * row);
  }
  if (IsLostPose(matrix)) return std::optional<Transform>();
  auto pose = FromMatrix(matrix, kRotationTolerance);
  if (!pose.ok()) {
    return std::move(pose.status())
        .WithFieldPrefix(file + ":" + std::to_string(lines[first].number));
  }
  return std::optional<Transform>(*pose);
}

bool IsLostPose(const Matrix4d& matrix) {
  const bool is_finite =
      std::all_of(matrix.begin(), matrix.end(), [](double value) { return std::isfinite(value); });
  double largest = 0;  // of the rotation
  for (int i = 0; i < 12; ++i) {
    if (i % 4 < 3) largest = std::max(largest, std::abs(matrix[i]));
  }
  return !is_finite || largest == 0;
}

}  // namespace interlacer
