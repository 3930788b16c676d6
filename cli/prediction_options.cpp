#include "cli/prediction_options.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <utility>
#include <vector>

#include "cli/option_checks.h"
#include "common/file_io.h"
#include "data/csv.h"
#include "robots/joint_values.h"
#include "robots/robot_folder.h"

namespace interlacer::cli {
namespace {

/// The joints of a model that knows its robot by columns alone: as much of a robot as names need.
Robot RobotOfColumns(const ModelMetadata& metadata) {
  Robot robot;
  robot.name = metadata.robot_model_name;
  for (const ActionColumn& column : metadata.action_columns) {
    const bool is_length = column.unit == ActionUnit::kMeters;
    const std::string unit = is_length ? "_m" : "_rad";
    RobotLink link;
    link.joint.type = is_length ? JointType::kPrismatic : JointType::kRevolute;
    link.joint.name = column.name.ends_with(unit)
                          ? column.name.substr(0, column.name.size() - unit.size())
                          : column.name;
    robot.columns.push_back(static_cast<int>(robot.links.size()));
    robot.links.push_back(std::move(link));
  }
  return robot;
}

}  // namespace

CLI::Option* AddSubjectsOption(CLI::App* verb, std::vector<std::string>* subjects) {
  return verb
      ->add_option("--subjects", *subjects,
                   "Whose predictions are scored: all, or some of model, model_field, kinematic, "
                   "kinematic_field, contact, copy_last, reconstruction, splat, oracle_motion, "
                   "oracle_render; kinematic, contact, copy_last and oracle_motion need no model. "
                   "Default "
                   "all but model_field and oracle_render, which ask the model twice")
      ->delimiter(',');
}

void AddRenderOption(CLI::App* verb, RenderMode* mode) {
  verb->add_option_function<std::string>(
          "--render",
          [mode](const std::string& text) {
            *mode = text == NameOf(RenderMode::kField) ? RenderMode::kField : RenderMode::kObserved;
          },
          "What views are made of: observed, the pixels of the newest frames carried to where they "
          "are, with the field where none of them shows; or field, the point-based NeRF alone")
      ->default_str("observed")
      ->check(CLI::IsMember({"observed", "field"}));
}

void AddSpreadOption(CLI::App* verb, bool* measures_spread) {
  verb->add_flag("--spread", *measures_spread,
                 "Also how unsure the model is of each particle: how far apart four predictions "
                 "of the scene, seen from four sides, put it; steps take four times as long");
}

StatusOr<PictureSize> ParsePictureSize(const std::string& text) {
  if (text == "model") return PictureSize{};
  if (text == "recorded") return PictureSize{PictureSize::Of::kRecorded, 0, 0};
  PictureSize size{PictureSize::Of::kGiven, 0, 0};
  int length = 0;
  const bool is_size =
      std::sscanf(text.c_str(), "%5dx%5d%n", &size.width_px, &size.height_px, &length) == 2 &&
      static_cast<std::size_t>(length) == text.size();
  if (is_size && size.width_px > 0 && size.height_px > 0) return size;
  return Mismatch(reason::ARGUMENT_INVALID, "--picture-size",
                  "model, recorded or WIDTHxHEIGHT in pixels, such as 320x240", text);
}

void AddPictureSizeOption(CLI::App* verb, PictureSize* size) {
  verb->add_option("--picture-size",
                   "Size of the pictures: model, that of the model's images; recorded, that of the "
                   "episode's; or WIDTHxHEIGHT")
      ->default_str(size->of == PictureSize::Of::kModel ? "model" : "recorded")
      ->check(ParsedInto(size, ParsePictureSize));
}

void AddRobotOption(CLI::App* verb, std::string* robot_dir) {
  verb->add_option("--robot", *robot_dir,
                   "Robot folder (interlacer robot make) whose joints the episode's rows hold; "
                   "default the episode's own, else the checkpoint's")
      ->check(CLI::ExistingDirectory);
}

StatusOr<std::shared_ptr<const Robot>> ReadRobotOption(const std::string& robot_dir) {
  if (robot_dir.empty()) return std::shared_ptr<const Robot>();
  auto robot = ReadRobot(robot_dir);
  if (!robot.ok()) return robot.status().WithFieldPrefix(robot_dir);
  return std::make_shared<const Robot>(*std::move(robot));
}

StatusOr<ActionSequence> ReadActionTable(const std::string& path, const Robot* robot,
                                         const ModelMetadata& metadata) {
  INTERLACER_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  auto csv = ParseCsv(text);
  if (!csv.ok()) return csv.status().WithFieldPrefix(path);
  const Robot known = robot == nullptr ? RobotOfColumns(metadata) : *robot;
  auto matched = MatchColumns(known, csv->column_names);
  if (!matched.ok()) return matched.status().WithFieldPrefix(path);
  ActionSequence actions{ActionKind::kJointPositions,
                         csv->table.row_count,
                         static_cast<std::int64_t>(known.columns.size()),
                         {}};
  for (std::int64_t row = 0; row < actions.row_count; ++row) {
    for (const int column : *matched) {
      const std::size_t at = static_cast<std::size_t>(row * csv->table.column_count + column);
      actions.values.push_back(static_cast<float>(csv->table.values[at]));
    }
  }
  if (actions.row_count == 0) {
    return Mismatch(reason::ACTION_SHAPE, path, "a row for each step", "no row");
  }
  return actions;
}

}  // namespace interlacer::cli
