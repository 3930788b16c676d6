#include "data/importers/hdf5_joints.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "data/importers/end_effector_joints.h"

namespace interlacer {
namespace {

/// A column of an array.
struct Column {
  Hdf5Array array;
  std::size_t index = 0;
};

/// The array below the demonstration, which must have these rows and columns.
StatusOr<Hdf5Array> FindTable(const Hdf5File& file, const std::string& demo,
                              const std::string& name, std::int64_t rows, std::int64_t columns,
                              const char* option, const std::string& form,
                              const std::string& items) {
  const std::string path = demo + "/" + name;
  const auto array = file.FindArray(path);
  if (array && array->shape.size() == 2 && array->shape[0] == rows && array->shape[1] == columns) {
    return *array;
  }
  std::string got = path + ": no such array of numbers";
  if (array) got = path + " [" + std::to_string(array->shape[0]) + ",...]";
  if (array && array->shape.size() == 2) {
    got = path + " of " + std::to_string(array->shape[0]) + " rows and " +
          std::to_string(array->shape[1]) + " columns for " + std::to_string(columns) + " " + items;
  }
  return Mismatch(reason::ACTION_SHAPE, option,
                  form + "; obs has " + ListOfNames(file.Names(demo + "/obs")), got);
}

/// Where each named joint is, by --joints DATASET=NAME,...
StatusOr<std::map<std::string, Column>> FindColumns(const Hdf5File& file, const std::string& demo,
                                                    const std::vector<std::string>& joints,
                                                    std::int64_t steps) {
  std::map<std::string, Column> columns;
  for (const std::string& text : joints) {
    const std::size_t equals = text.find('=');
    std::vector<std::string> names;
    for (std::size_t at = equals; at != std::string::npos;) {
      const std::size_t end = text.find(',', at + 1);
      names.push_back(text.substr(at + 1, end == std::string::npos ? end : end - at - 1));
      at = end;
    }
    INTERLACER_ASSIGN_OR_RETURN(
        const Hdf5Array array,
        FindTable(file, demo, text.substr(0, equals), steps, std::ssize(names), "--joints",
                  "DATASET=NAME,NAME,...: an array of " + std::to_string(steps) +
                      " rows with a name for each column (- for one that is no joint)",
                  "names"));
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == "-" || columns.try_emplace(names[i], Column{array, i}).second) continue;
      return Mismatch(reason::ARGUMENT_INVALID, "--joints", "each joint once", names[i] + " twice");
    }
  }
  return columns;
}

StatusOr<std::vector<double>> ReadFiniteRow(const Hdf5File& file, const Hdf5Array& array,
                                            std::int64_t step) {
  INTERLACER_ASSIGN_OR_RETURN(std::vector<double> row, file.ReadRow<double>(array, step));
  for (const double value : row) {
    if (std::isfinite(value)) continue;
    return Mismatch(reason::NOT_FINITE, array.path + " row " + std::to_string(step),
                    "finite numbers", std::to_string(value));
  }
  return row;
}

Status NoJoints(const Hdf5File& file, const std::string& demo) {
  const std::vector<std::string> entries = file.Names(demo + "/obs");
  const bool has_joints = std::any_of(entries.begin(), entries.end(),
                                      [](const auto& name) { return name.ends_with("joint_pos"); });
  return Mismatch(
      reason::ACTION_SHAPE, "--joints",
      has_joints ? "DATASET=NAME,NAME,...: which joints of the robot the columns of an array are"
                 : "positions of joints: a pose of the end effector leaves open how the arm "
                   "stands; find joints that reach it by inverse kinematics (--inverse-kinematics "
                   "obs/robot0_eef_pos=LINK,obs/robot0_eef_quat=LINK), or replay the states with "
                   "joint_pos among the observations",
      "obs has " + ListOfNames(entries));
}

/// Position and rotation of an end effector.
struct PoseArrays {
  Hdf5Array position, rotation;
};

class JointReader {
 public:
  JointReader(const Hdf5File& file, std::string demo, std::shared_ptr<const Robot> robot)
      : file_(file), demo_(std::move(demo)), robot_(std::move(robot)) {}

  Status Find(const BagOptions& options, std::int64_t step_count) {
    INTERLACER_ASSIGN_OR_RETURN(named_, FindColumns(file_, demo_, options.joints, step_count));
    INTERLACER_RETURN_IF_ERROR(CheckNames());
    std::vector<bool> measured;
    for (const int link : robot_->columns) {
      const auto found = named_.find(robot_->links[static_cast<std::size_t>(link)].joint.name);
      columns_.push_back(found == named_.end() ? nullptr : &found->second);
      measured.push_back(columns_.back() != nullptr);
    }
    if (options.end_effectors.empty()) return CheckAllMeasured();
    INTERLACER_ASSIGN_OR_RETURN(
        solved_, EndEffectorJoints::Make(robot_, options.end_effectors, std::move(measured)));
    for (const EndEffector& end : solved_->end_effectors()) {
      PoseArrays arrays;
      const std::string rows = "an array of " + std::to_string(step_count) + " rows of ";
      INTERLACER_ASSIGN_OR_RETURN(
          arrays.position, FindTable(file_, demo_, end.position_source, step_count, 3,
                                     "--inverse-kinematics", rows + "x,y,z in metres", "numbers"));
      INTERLACER_ASSIGN_OR_RETURN(
          arrays.rotation,
          FindTable(file_, demo_, end.rotation_source, step_count, 4, "--inverse-kinematics",
                    rows + "a quaternion x,y,z,w", "numbers"));
      poses_.push_back(std::move(arrays));
    }
    return Status::Ok();
  }

  StatusOr<std::vector<std::vector<double>>> Rows(const std::vector<std::int64_t>& steps,
                                                  const std::stop_token& stop) {
    std::vector<std::vector<double>> rows;
    std::vector<std::vector<Transform>> poses;
    for (const std::int64_t step : steps) {
      INTERLACER_ASSIGN_OR_RETURN(std::vector<double> row, MeasuredRow(step));
      rows.push_back(std::move(row));
      auto& step_poses = poses.emplace_back();
      for (const PoseArrays& arrays : poses_) {
        INTERLACER_ASSIGN_OR_RETURN(const auto p, ReadFiniteRow(file_, arrays.position, step));
        INTERLACER_ASSIGN_OR_RETURN(const auto q, ReadFiniteRow(file_, arrays.rotation, step));
        step_poses.push_back({{p[0], p[1], p[2]}, {q[0], q[1], q[2], q[3]}});
      }
    }
    if (!solved_) return rows;
    return solved_->Solve(steps, std::move(rows), poses, stop);
  }

  std::vector<std::string> Notes() const {
    std::vector<std::string> notes = {
        std::string("actions: the ") + (solved_ ? "" : "measured ") +
        "joints of the same step; those of the file are normalised changes"};
    if (solved_) notes.push_back(solved_->Note());
    return notes;
  }

 private:
  /// 0 in columns that are not measured.
  StatusOr<std::vector<double>> MeasuredRow(std::int64_t step) const {
    std::map<std::string, std::vector<double>> rows;
    std::vector<double> values;
    for (const Column* column : columns_) {
      if (column == nullptr) {
        values.push_back(0);
        continue;
      }
      std::vector<double>& row = rows[column->array.path];
      if (row.empty()) {
        INTERLACER_ASSIGN_OR_RETURN(row, ReadFiniteRow(file_, column->array, step));
      }
      values.push_back(row[column->index]);
    }
    return values;
  }

  /// A name that the robot lacks would leave the joint that it stands for to inverse kinematics.
  Status CheckNames() const {
    std::vector<std::string> known;
    for (const int link : robot_->columns) {
      known.push_back(robot_->links[static_cast<std::size_t>(link)].joint.name);
    }
    for (const auto& [name, column] : named_) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      return Mismatch(
          reason::ACTION_SHAPE, "--joints",
          "joints of --robot (- for a column that is none): joint " + ListOfNames(known), name);
    }
    return Status::Ok();
  }

  Status CheckAllMeasured() const {
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (columns_[c] != nullptr) continue;
      std::vector<std::string> names;
      for (const auto& [known, ignored] : named_) names.push_back(known);
      const auto link = static_cast<std::size_t>(robot_->columns[c]);
      return Mismatch(reason::ACTION_SHAPE, "--joints",
                      "joint " + robot_->links[link].joint.name + " of --robot",
                      ListOfNames(names));
    }
    return Status::Ok();
  }

  const Hdf5File& file_;
  std::string demo_;
  std::shared_ptr<const Robot> robot_;
  std::map<std::string, Column> named_;
  std::vector<const Column*> columns_;  ///< [c] null: not measured
  std::optional<EndEffectorJoints> solved_;
  std::vector<PoseArrays> poses_;  ///< [end effectors]
};

}  // namespace

std::string ListOfNames(const std::vector<std::string>& names) {
  constexpr std::size_t kMostListed = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMostListed); ++i) {
    text += (text.empty() ? "" : ", ") + names[i];
  }
  if (names.size() > kMostListed) text += ", ... (" + std::to_string(names.size()) + ")";
  return text.empty() ? "none" : text;
}

StatusOr<Hdf5Joints> ReadHdf5Joints(const Hdf5File& file, const std::string& demo,
                                    std::shared_ptr<const Robot> robot, const BagOptions& options,
                                    const std::vector<std::int64_t>& steps, std::int64_t step_count,
                                    const std::stop_token& stop) {
  if (options.joints.empty() && options.end_effectors.empty()) return NoJoints(file, demo);
  Hdf5Joints joints;
  joints.states = {std::ssize(steps), std::ssize(robot->columns), {}};
  JointReader reader(file, demo, std::move(robot));
  INTERLACER_RETURN_IF_ERROR(reader.Find(options, step_count));
  INTERLACER_ASSIGN_OR_RETURN(const auto rows, reader.Rows(steps, stop));
  for (const std::vector<double>& row : rows) {
    joints.states.values.insert(joints.states.values.end(), row.begin(), row.end());
  }
  joints.notes = reader.Notes();
  return joints;
}

}  // namespace interlacer
