// The tables of a TUM recording; the rest of the format: tum.cpp.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "data/importers/pose_columns.h"
#include "data/importers/time_stamps.h"
#include "data/importers/tum.h"
#include "data/number_lines.h"

namespace interlacer {
namespace {

/// A quaternion farther from norm 1 than this is not a rounded one.
constexpr double kMaxNormError = 0.01;

std::string FieldOf(const std::string& file, const TextLine& line) {
  return file + ":" + std::to_string(line.number);
}

std::string_view Unquoted(std::string_view text) {
  const auto is_framing = [](char c) { return IsTableSeparator(c) || c == '"'; };
  while (!text.empty() && is_framing(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_framing(text.back())) text.remove_suffix(1);
  return text;
}

bool LeavesFolder(std::string_view path) {
  return path.starts_with('/') || path == ".." || path.starts_with("../") ||
         path.ends_with("/..") || path.find("/../") != std::string_view::npos;
}

/// "1305031102,175304 rgb/0.png": a decimal comma, not the end of a whole number of seconds.
bool HasDecimalComma(std::string_view time, std::string_view rest) {
  const std::size_t digits = rest.find_first_not_of("0123456789");
  return time.find('.') == std::string_view::npos && digits > 0 &&
         digits != std::string_view::npos && (rest[digits] == ' ' || rest[digits] == '\t');
}

/// The path is empty where the line has a time alone.
StatusOr<TumImage> ParseListLine(const TextLine& line, const std::string& file) {
  const std::string_view text = line.text;
  const std::size_t end = std::min(text.find_first_of(" \t,"), text.size());
  const std::string_view time = Unquoted(text.substr(0, end));
  std::string_view rest = text.substr(end);
  const bool is_comma = rest.starts_with(',');
  rest = Unquoted(rest);
  const bool is_decimal_comma = is_comma && HasDecimalComma(time, rest);
  TumImage image;
  const auto [next, error] = std::from_chars(time.data(), time.data() + time.size(), image.time_s);
  image.path = std::string(Unquoted(rest.substr(0, rest.find_first_of("\t,"))));
  std::replace(image.path.begin(), image.path.end(), '\\', '/');  // written on Windows
  if (error != std::errc() || next != time.data() + time.size() || !std::isfinite(image.time_s) ||
      is_decimal_comma || LeavesFolder(image.path)) {
    return Mismatch(reason::SCHEMA_INVALID, FieldOf(file, line),
                    "a time with a decimal point and a path inside the recording",
                    line.text.substr(0, 80));
  }
  return image;
}

bool IsListHeader(std::string_view text) {
  return IsTimeColumnName(Unquoted(text.substr(0, text.find_first_of(" \t,"))));
}

/// Sorts by time, in seconds; of entries of one time the first stays. Others that differ from it
/// are counted.
template <typename Item, typename IsSame>
StatusOr<TumTimes> SortByTime(const std::string& file, const std::string& time_unit, IsSame is_same,
                              std::vector<Item>* items) {
  TumTimes times;
  if (items->empty()) return times;
  std::vector<double> stamps;
  for (const Item& item : *items) {
    if (!stamps.empty() && item.time_s < stamps.back()) ++times.backward_count;
    stamps.push_back(item.time_s);
  }
  std::stable_sort(items->begin(), items->end(),
                   [](const auto& a, const auto& b) { return a.time_s < b.time_s; });
  std::vector<Item> kept;
  std::size_t repeated = 0;
  for (Item& item : *items) {
    if (kept.empty() || kept.back().time_s != item.time_s) {
      kept.push_back(std::move(item));
    } else if (is_same(kept.back(), item)) {
      ++repeated;
    } else {
      ++times.same_count;
    }
  }
  INTERLACER_RETURN_IF_ERROR(
      CheckStampDigits(static_cast<std::size_t>(times.same_count), stamps.size() - repeated, file));
  INTERLACER_ASSIGN_OR_RETURN(const double unit_s, FindTimeUnit(stamps, time_unit, file));
  times.are_counts = time_unit.empty() && AreCounts(stamps);
  for (Item& item : kept) item.time_s *= unit_s;
  *items = std::move(kept);
  return times;
}

/// The pose of a row, none for a lost one.
StatusOr<std::optional<TumPose>> ParsePoseLine(const TextLine& line, const std::string& file,
                                               const PoseColumns& columns, double* norm_error) {
  const std::string field = FieldOf(file, line);
  INTERLACER_ASSIGN_OR_RETURN(const auto row, ParseNumbersOrNan(line.text, field));
  if (row.size() == 1) return std::optional<TumPose>();  // a time alone
  if (static_cast<int>(row.size()) != columns.column_count) {
    return Mismatch(reason::SCHEMA_INVALID, field,
                    columns.column_count == 8
                        ? "8 numbers t tx ty tz qx qy qz qw, with decimal points"
                        : std::to_string(columns.column_count) + " numbers, as the header names",
                    std::to_string(row.size()));
  }
  std::array<double, 8> n;
  for (std::size_t i = 0; i < n.size(); ++i) n[i] = row[columns.index[i]];
  const double norm = std::sqrt(n[4] * n[4] + n[5] * n[5] + n[6] * n[6] + n[7] * n[7]);
  const bool is_lost =
      norm == 0 || !std::all_of(n.begin(), n.end(), [](double v) { return std::isfinite(v); });
  if (is_lost) return std::optional<TumPose>();
  if (!(std::abs(norm - 1) <= kMaxNormError)) {
    return Mismatch(reason::QUATERNION_NOT_UNIT, field, "norm 1 within 0.01", std::to_string(norm));
  }
  *norm_error = std::max(*norm_error, std::abs(norm - 1));
  return std::optional<TumPose>(
      {n[0], {{n[1], n[2], n[3]}, {n[4] / norm, n[5] / norm, n[6] / norm, n[7] / norm}}});
}

/// A header that is no comment must name what is read.
Status MissingColumns(const TextLine& line, const std::string& file) {
  return Mismatch(reason::SCHEMA_INVALID, FieldOf(file, line),
                  "numbers, or a header that names timestamp tx ty tz qx qy qz qw in any order",
                  line.text.substr(0, 80));
}

}  // namespace

StatusOr<TumImageList> ParseTumImageList(std::string_view text, const std::string& file,
                                         const std::string& time_unit) {
  TumImageList list;
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<TextLine> lines, SplitLines(text, file));
  for (const TextLine& line : lines) {
    if (line.text.front() == '#' || (list.images.empty() && IsListHeader(line.text))) continue;
    INTERLACER_ASSIGN_OR_RETURN(TumImage image, ParseListLine(line, file));
    if (image.path.empty()) {
      ++list.nameless_count;
    } else {
      list.images.push_back(std::move(image));
    }
  }
  INTERLACER_ASSIGN_OR_RETURN(
      list.times,
      SortByTime(
          file, time_unit, [](const TumImage& a, const TumImage& b) { return a.path == b.path; },
          &list.images));
  return list;
}

StatusOr<TumTrajectory> ParseTumTrajectory(std::string_view text, const std::string& file,
                                           const std::string& time_unit) {
  TumTrajectory trajectory;
  PoseColumns columns;
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<TextLine> lines, SplitLines(text, file));
  bool is_at_header = true;
  for (const TextLine& line : lines) {
    const bool is_comment = line.text.front() == '#' || line.text.front() == '%';
    const bool is_header =
        is_at_header &&
        std::string_view("0123456789+-.nNiI").find(line.text.front()) == std::string_view::npos;
    if (is_comment || is_header) {
      INTERLACER_ASSIGN_OR_RETURN(const auto named,
                                  FindPoseColumns(line.text, FieldOf(file, line)));
      if (!named && !is_comment) return MissingColumns(line, file);
      if (named && is_at_header) columns = *named;
      continue;
    }
    is_at_header = false;
    INTERLACER_ASSIGN_OR_RETURN(auto pose,
                                ParsePoseLine(line, file, columns, &trajectory.largest_norm_error));
    if (pose) {
      trajectory.poses.push_back(*pose);
    } else {
      ++trajectory.lost_count;
    }
  }
  INTERLACER_ASSIGN_OR_RETURN(trajectory.times, SortByTime(
                                                    file, time_unit,
                                                    [](const TumPose& a, const TumPose& b) {
                                                      return a.world_from_camera ==
                                                             b.world_from_camera;
                                                    },
                                                    &trajectory.poses));
  return trajectory;
}

}  // namespace interlacer
