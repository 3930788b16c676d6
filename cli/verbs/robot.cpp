#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>

#include "cli/describe.h"
#include "cli/option_checks.h"
#include "cli/output.h"
#include "cli/verbs/verbs.h"
#include "common/image_codec.h"
#include "common/json.h"
#include "common/number_text.h"
#include "robots/joint_values.h"
#include "robots/make_robot.h"
#include "robots/picture.h"
#include "robots/robot_folder.h"

namespace interlacer::cli {
namespace {

constexpr std::size_t kPoseNumbers = 7;

struct MakeArguments {
  std::vector<std::string> models;
  std::string output;
  std::vector<std::string> base_files;
  std::vector<double> base_poses;
  std::vector<std::string> prefixes;
  MakeRobotOptions make;
  bool force = false;
};

struct ShowArguments {
  std::string folder;
  std::string picture;
  std::vector<std::string> joints;
  PictureOptions view;
  bool force = false;
};

Status CountError(const std::string& option, std::size_t expected, std::size_t got) {
  return Mismatch(reason::ARGUMENT_INVALID, option, std::to_string(expected), std::to_string(got));
}

StatusOr<Transform> ReadBaseFile(const std::string& path) {
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json document, ReadJsonFile(path));
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject object, JsonObject::Make(document));
  INTERLACER_RETURN_IF_ERROR(object.AllowOnly({"translation_m", "rotation_xyzw"}));
  INTERLACER_ASSIGN_OR_RETURN(const auto t, object.GetNumbers("translation_m", 3));
  INTERLACER_ASSIGN_OR_RETURN(const auto q, object.GetNumbers("rotation_xyzw", 4));
  return Transform{{t[0], t[1], t[2]}, {q[0], q[1], q[2], q[3]}};
}

/// A pose for each model; the world's origin where none is given.
StatusOr<std::vector<Transform>> BasePoses(const MakeArguments& arguments) {
  const std::size_t count = arguments.models.size();
  std::vector<Transform> poses(count);
  const std::vector<double>& numbers = arguments.base_poses;
  if (!arguments.base_files.empty() && arguments.base_files.size() != count) {
    return CountError("--base", count, arguments.base_files.size());
  }
  if (!numbers.empty() && numbers.size() != kPoseNumbers * count) {
    return CountError("--base-pose", kPoseNumbers * count, numbers.size());
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!arguments.base_files.empty()) {
      auto pose = ReadBaseFile(arguments.base_files[i]);
      if (!pose.ok())
        return std::move(pose.status()).WithFieldPrefix(arguments.base_files[i] + ":");
      poses[i] = *pose;
    } else if (!numbers.empty()) {
      const double* const n = numbers.data() + kPoseNumbers * i;
      poses[i] = {{n[0], n[1], n[2]}, {n[3], n[4], n[5], n[6]}};
    }
  }
  return poses;
}

/// Several models in one tree are called `folder_name` where the user gives no name.
StatusOr<Robot> MakeFromModels(const MakeArguments& arguments, const std::string& folder_name,
                               const VerbContext& context, std::vector<std::string>* notes) {
  const std::size_t count = arguments.models.size();
  if (arguments.prefixes.size() != (count == 1 ? 0 : count)) {
    return CountError("--prefix", count == 1 ? 0 : count, arguments.prefixes.size());
  }
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<Transform> poses, BasePoses(arguments));
  std::vector<Robot> robots;
  for (std::size_t i = 0; i < count; ++i) {
    MakeRobotOptions options = arguments.make;
    options.world_from_base = poses[i];
    INTERLACER_ASSIGN_OR_RETURN(MadeRobot made, MakeRobot(arguments.models[i], options));
    for (const std::string& note : made.notes) context.Message("note: " + note);
    notes->insert(notes->end(), made.notes.begin(), made.notes.end());
    robots.push_back(std::move(made.robot));
  }
  if (count == 1) return std::move(robots[0]);
  return JoinRobots(arguments.make.name.empty() ? folder_name : arguments.make.name, robots,
                    arguments.prefixes);
}

StatusOr<ExitCode> RunMake(const MakeArguments& arguments, const VerbContext& context) {
  std::vector<std::string> inputs = arguments.models;
  for (const auto* more : {&arguments.base_files, &arguments.make.package_paths}) {
    inputs.insert(inputs.end(), more->begin(), more->end());
  }
  INTERLACER_ASSIGN_OR_RETURN(
      OutputFolder output,
      OutputFolder::Create(arguments.output, kRobotFile, arguments.force, inputs));
  std::vector<std::string> notes;
  INTERLACER_ASSIGN_OR_RETURN(const Robot made,
                              MakeFromModels(arguments, output.name(), context, &notes));
  INTERLACER_RETURN_IF_ERROR(WriteRobot(made, output.partial().string()));
  INTERLACER_ASSIGN_OR_RETURN(const Robot robot, ReadRobot(output.partial().string()));
  INTERLACER_RETURN_IF_ERROR(output.Commit());
  context.Result({{"robot", arguments.output},
                  {"name", robot.name},
                  {"sha256", robot.sha256},
                  {"columns", ColumnNames(robot)},
                  {"link_count", robot.links.size()},
                  {"surface_point_count", robot.surface.size()},
                  {"notes", notes}},
                 arguments.output + "\n");
  return kExitDone;
}

std::vector<int> PointsOfLinks(const Robot& robot) {
  std::vector<int> counts(robot.links.size(), 0);
  for (const std::int64_t link : robot.surface.links) ++counts[link];
  return counts;
}

/// One row a link, below a row of titles.
std::vector<std::vector<std::string>> LinkTable(const Robot& robot) {
  std::vector<std::vector<std::string>> rows = {{"column", "joint", "type", "min", "max", "unit",
                                                 "max/s", "link", "parent", "part", "points"}};
  const std::vector<int> points = PointsOfLinks(robot);
  for (std::size_t i = 0; i < robot.links.size(); ++i) {
    const RobotLink& link = robot.links[i];
    const RobotJoint& joint = link.joint;
    const bool is_fixed = joint.type == JointType::kFixed;
    const auto column = std::find(robot.columns.begin(), robot.columns.end(), static_cast<int>(i));
    std::string place = "-";
    if (column != robot.columns.end()) place = std::to_string(column - robot.columns.begin());
    if (joint.mimic) {
      place = NumberText(joint.mimic->factor) + " * " + robot.links[joint.mimic->link].joint.name;
      if (joint.mimic->offset != 0) place += " + " + NumberText(joint.mimic->offset);
    }
    rows.push_back({place, joint.name.empty() ? "-" : joint.name, std::string(NameOf(joint.type)),
                    joint.limits ? NumberText(joint.limits->min) : "-",
                    joint.limits ? NumberText(joint.limits->max) : "-",
                    is_fixed ? "-" : std::string(UnitOf(joint.type)),
                    joint.max_speed ? NumberText(*joint.max_speed) : "-", link.name,
                    link.parent < 0 ? "-" : robot.links[link.parent].name,
                    std::string(NameOf(link.part)), std::to_string(points[i])});
  }
  return rows;
}

std::string TableText(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows[0].size(), 0);
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t c = 0; c + 1 < row.size(); ++c) {
      text += row[c] + std::string(widths[c] - row[c].size() + 2, ' ');
    }
    text += row.back() + "\n";
  }
  return text;
}

StatusOr<ExitCode> RunShow(const ShowArguments& arguments, const VerbContext& context) {
  INTERLACER_ASSIGN_OR_RETURN(const Robot robot, ReadRobot(arguments.folder));
  INTERLACER_ASSIGN_OR_RETURN(const auto values, ParseJointValues(robot, arguments.joints));
  if (!arguments.picture.empty()) {
    INTERLACER_RETURN_IF_ERROR(CheckNoOutput(arguments.picture, arguments.force));
    INTERLACER_RETURN_IF_ERROR(
        WritePngFile(DrawRobot(robot, values, arguments.view), arguments.picture));
  }
  nlohmann::ordered_json json = RobotToJson(robot);
  json["sha256"] = robot.sha256;
  json["column_names"] = ColumnNames(robot);
  json["joint_values"] = values;
  json["surface_point_count"] = robot.surface.size();
  const TextRows head = {{"robot", robot.name},
                         {"source", robot.source},
                         {"hash", robot.sha256},
                         {"columns", std::to_string(robot.columns.size())},
                         {"surface points", std::to_string(robot.surface.size())}};
  context.Result(json, AlignedText(head) + "\n" + TableText(LinkTable(robot)));
  return kExitDone;
}

void AddMake(CLI::App* robot, VerbTable* verbs) {
  CLI::App* verb = robot->add_subcommand("make", "A robot folder from URDF or MJCF");
  const auto arguments = std::make_shared<MakeArguments>();
  MakeRobotOptions& make = arguments->make;
  verb->add_option("models", arguments->models,
                   "URDF or MJCF file; several stand in one world, then with --prefix")
      ->required();
  verb->add_option("-o,--output", arguments->output, "Folder to write")->required();
  verb->add_option("--name", make.name, "Name of the robot; default the model's own");
  CLI::Option* base = verb->add_option(
      "--base", arguments->base_files,
      "JSON file with translation_m and rotation_xyzw of the root in the world; one a model");
  verb->add_option("--base-pose", arguments->base_poses,
                   "The same as x,y,z,qx,qy,qz,qw; default the world's origin")
      ->delimiter(',')
      ->excludes(base);
  verb->add_option("--prefix", arguments->prefixes,
                   "Put before the names of links and joints, one a model");
  verb->add_option("--package-path", make.package_paths,
                   "Folder with the packages of package://, or a package")
      ->check(CLI::ExistingDirectory);
  verb->add_option("--links", make.links,
                   "Links that get surface points; default all, in MJCF but the world");
  verb->add_option("--columns", make.columns,
                   "Joints in the order of the columns of joint values; the others are held "
                   "still; default all in the order of the tree");
  verb->add_option("--gripper", make.gripper,
                   "Links that are, with all that hangs on them, the gripper");
  verb->add_option("--fingers", make.fingers,
                   "Links that hold things; default what joints move within the gripper");
  verb->add_flag("--max-speeds", make.max_speeds,
                 "Keep the speeds of a URDF's limits: faster commands are refused, plans keep to "
                 "them");
  verb->add_option("--points-per-link", make.points_per_link, "Surface points of a link")
      ->capture_default_str()
      ->check(AboveZero());
  verb->add_option("--seed", make.seed, "Seed of the points")
      ->capture_default_str()
      ->check(ZeroOrMore());
  verb->add_flag("--force", arguments->force, "Replace an existing robot folder");
  verbs->Add(verb,
             [arguments](const VerbContext& context) { return RunMake(*arguments, context); });
}

void AddShow(CLI::App* robot, VerbTable* verbs) {
  CLI::App* verb = robot->add_subcommand("show", "Joints, links and a picture of a robot folder");
  const auto arguments = std::make_shared<ShowArguments>();
  verb->add_option("folder", arguments->folder, "Robot folder")->required();
  verb->add_option("-o,--output", arguments->picture, "PNG of the surface points, a colour a link");
  verb->add_option("--joints", arguments->joints,
                   "joint=value, radians or metres; the others are 0 or at the limit next to it");
  verb->add_option("--size", arguments->view.width_px, "Side of the picture, pixels")
      ->capture_default_str()
      ->check(CLI::Range(16, 4096));
  verb->add_option("--azimuth", arguments->view.azimuth_deg,
                   "Viewer's direction from +x towards +y, degrees")
      ->capture_default_str()
      ->check(FiniteNumber());
  verb->add_option("--elevation", arguments->view.elevation_deg,
                   "Viewer's height above the floor, degrees")
      ->capture_default_str()
      ->check(NumberBetween(-90, 90));
  verb->add_flag("--force", arguments->force, "Replace an existing picture");
  verbs->Add(verb, [arguments](const VerbContext& context) {
    arguments->view.height_px = arguments->view.width_px;
    return RunShow(*arguments, context);
  });
}

}  // namespace

void AddRobot(CLI::App* app, VerbTable* verbs) {
  CLI::App* verb = app->add_subcommand("robot", "Robot folders: made from URDF or MJCF, and shown");
  verb->require_subcommand(1);
  AddMake(verb, verbs);
  AddShow(verb, verbs);
}

}  // namespace interlacer::cli
