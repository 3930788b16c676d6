#include "data/importers/pose_columns.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <vector>

namespace interlacer {
namespace {

constexpr std::array<std::string_view, 8> kColumnTexts = {"t",  "tx", "ty", "tz",
                                                          "qx", "qy", "qz", "qw"};

/// Lower case, without units, quotes and marks of comments.
std::string PlainName(std::string_view name) {
  name = name.substr(0, name.find_first_of("[("));
  std::string plain;
  for (const char c : name) {
    if (std::string_view(" \t\"'#%:").find(c) == std::string_view::npos) {
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return plain;
}

bool IsOneOf(std::string_view text, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

/// 0 for time, 1 to 3 for x y z of the position, 4 to 7 for x y z w of the quaternion, or -1.
int ColumnOf(std::string_view name) {
  if (IsTimeColumnName(name)) return 0;
  const std::string plain = PlainName(name);
  if (plain.empty()) return -1;
  const std::size_t axis = std::string_view("xyzw").find(plain.back());
  if (axis == std::string_view::npos) return -1;
  std::string_view stem = std::string_view(plain).substr(0, plain.size() - 1);
  if (stem.ends_with('_') || stem.ends_with('.')) stem.remove_suffix(1);
  stem = stem.substr(stem.rfind('.') + 1);
  const bool is_position =
      IsOneOf(stem, {"", "t", "p", "p_rs_r", "pos", "position", "trans", "translation"});
  if (is_position && axis < 3) return static_cast<int>(1 + axis);
  const bool is_rotation = IsOneOf(stem, {"q", "q_rs", "quat", "quaternion", "ori", "orientation"});
  return is_rotation ? static_cast<int>(4 + axis) : -1;
}

std::vector<std::string_view> SplitNames(std::string_view header) {
  const char separator = header.find(',') != std::string_view::npos    ? ','
                         : header.find('\t') != std::string_view::npos ? '\t'
                                                                       : ' ';
  std::vector<std::string_view> names;
  while (!header.empty()) {
    const std::size_t end = std::min(header.find(separator), header.size());
    const std::string_view name = header.substr(0, end);
    header.remove_prefix(std::min(end + 1, header.size()));
    if (separator == ',' || !PlainName(name).empty()) names.push_back(name);
  }
  return names;
}

}  // namespace

bool IsTimeColumnName(std::string_view name) {
  const std::string plain = PlainName(name);
  return IsOneOf(plain, {"t", "time", "times", "timestamp", "timestamps", "stamp"}) ||
         plain.ends_with(".stamp");
}

StatusOr<std::optional<PoseColumns>> FindPoseColumns(std::string_view header,
                                                     const std::string& field) {
  std::vector<std::string_view> names = SplitNames(header);
  // Words of a comment before the first name: "# format: timestamp tx ty ...".
  while (!names.empty() && ColumnOf(names.front()) < 0) names.erase(names.begin());
  PoseColumns columns;
  columns.index.fill(-1);
  columns.column_count = static_cast<int>(names.size());
  std::optional<int> twice;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const int column = ColumnOf(names[i]);
    if (column < 0) continue;
    if (columns.index[column] < 0) {
      columns.index[column] = static_cast<int>(i);
    } else if (column > 0) {
      twice = column;
    }
  }
  const auto& found = columns.index;
  if (std::find(found.begin(), found.end(), -1) != found.end()) return std::optional<PoseColumns>();
  if (twice) {
    return Mismatch(reason::SCHEMA_INVALID, field, "each column of a pose once",
                    std::string(kColumnTexts[*twice]) + " again");
  }
  return std::optional<PoseColumns>(columns);
}

}  // namespace interlacer
