#include "data/importers/lerobot_joints.h"

#include <cmath>
#include <map>
#include <numbers>
#include <utility>

namespace interlacer {
namespace {

constexpr std::string_view kPosition = ".pos";

std::string Joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

struct Columns {
  std::string feature;
  std::vector<std::string> joints;  ///< of each column
  bool is_named = false;            ///< by the option, not by the set
};

StatusOr<Columns> ParseColumns(const LerobotSet& set, const std::string& text,
                               const std::string& option) {
  Columns columns;
  std::size_t equals = text.find('=');
  columns.feature = text.substr(0, equals);
  const auto feature = set.features().find(columns.feature);
  if (feature == set.features().end() || feature->second.is_picture()) {
    std::vector<std::string> known;
    for (const auto& [name, value] : set.features()) {
      if (!value.is_picture()) known.push_back(name);
    }
    return Mismatch(reason::ACTION_SHAPE, option,
                    "FEATURE, or FEATURE=NAME,NAME,..., of " + Joined(known), text);
  }
  if (equals == std::string::npos) {
    for (std::string name : feature->second.names) {
      if (name.ends_with(kPosition)) name.resize(name.size() - kPosition.size());
      columns.joints.push_back(std::move(name));
    }
    return columns;
  }
  columns.is_named = true;
  while (equals != std::string::npos) {
    const std::size_t end = text.find(',', equals + 1);
    columns.joints.push_back(
        text.substr(equals + 1, end == std::string::npos ? end : end - equals - 1));
    equals = end;
  }
  return columns;
}

bool IsGripper(const std::string& name) { return name == "gripper" || name.ends_with("_gripper"); }

/// A joint's place among the features.
struct Place {
  std::size_t feature = 0, column = 0;
};

}  // namespace

StatusOr<NumberTable> ReadLerobotJoints(const LerobotSet& set, const ParquetTable& table,
                                        std::int64_t first_row, std::int64_t row_count,
                                        const std::vector<std::int64_t>& frames, const Robot& robot,
                                        const std::vector<std::string>& texts,
                                        const std::string& option, bool is_degrees) {
  std::vector<Columns> features;
  std::vector<NumberRows> rows;
  std::map<std::string, Place> places;
  std::vector<std::string> known;
  for (const std::string& text : texts) {
    INTERLACER_ASSIGN_OR_RETURN(Columns columns, ParseColumns(set, text, option));
    INTERLACER_ASSIGN_OR_RETURN(NumberRows numbers,
                                table.ReadRows(columns.feature, first_row, row_count));
    // Without names none is a joint: the error below says so.
    if (!columns.joints.empty() && numbers.width != std::ssize(columns.joints)) {
      return Mismatch(reason::ACTION_SHAPE, option,
                      columns.feature + " of " + std::to_string(columns.joints.size()) +
                          " columns, as many as names",
                      std::to_string(numbers.width));
    }
    for (std::size_t i = 0; i < columns.joints.size(); ++i) {
      const std::string& name = columns.joints[i];
      if (name == "-") continue;
      if (!places.emplace(name, Place{features.size(), i}).second) {
        return Mismatch(reason::ACTION_SHAPE, option, "each joint once", name + " twice");
      }
      known.push_back(name);
    }
    features.push_back(std::move(columns));
    rows.push_back(std::move(numbers));
  }
  NumberTable result{std::ssize(frames), std::ssize(robot.columns), {}};
  std::vector<std::pair<Place, double>> found;  // with the unit
  for (const int link : robot.columns) {
    const RobotJoint& joint = robot.links[static_cast<std::size_t>(link)].joint;
    const auto place = places.find(joint.name);
    if (place == places.end()) {
      return Mismatch(reason::ACTION_SHAPE, option,
                      "joint " + joint.name + " of --robot; " + option + " " +
                          (texts.empty() ? "FEATURE" : features.front().feature) +
                          "=NAME,NAME,... says which joints the columns are",
                      Joined(known));
    }
    const Columns& columns = features[place->second.feature];
    const bool is_angle = joint.type != JointType::kPrismatic;
    if (is_angle && is_degrees && !columns.is_named && IsGripper(joint.name)) {
      return Mismatch(reason::ACTION_SHAPE, option,
                      "angles: LeRobot writes many grippers as 0 to 100 percent beside joints in "
                      "degrees; if it is in degrees, say so by " +
                          option + " " + columns.feature +
                          "=NAME,NAME,..., else convert the column before",
                      joint.name + " by the set's own name");
    }
    found.emplace_back(place->second, is_angle ? (is_degrees ? std::numbers::pi / 180 : 1) : 1);
  }
  for (const std::int64_t frame : frames) {
    for (const auto& [place, unit] : found) {
      const NumberRows& numbers = rows[place.feature];
      const double value =
          numbers.values[static_cast<std::size_t>(frame * numbers.width) + place.column];
      if (!std::isfinite(value)) {
        return Mismatch(reason::NOT_FINITE,
                        features[place.feature].feature + " row " + std::to_string(frame),
                        "finite numbers", std::to_string(value));
      }
      result.values.push_back(value * unit);
    }
  }
  return result;
}

}  // namespace interlacer
