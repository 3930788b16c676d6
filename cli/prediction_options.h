#pragma once

/// Options that verbs share which predict from an episode: what views are made of, whose joints the
/// rows hold, and planned rows of a file.

#include <memory>
#include <string>
#include <vector>

#include "common/model_metadata.h"
#include "common/prediction.h"
#include "common/scene.h"
#include "common/status.h"
#include "evaluation/prediction_task.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace interlacer::cli {

/// `--render observed|field`.
void AddRenderOption(CLI::App* verb, RenderMode* mode);
/// `--spread`.
void AddSpreadOption(CLI::App* verb, bool* measures_spread);
/// `--picture-size model|recorded|WIDTHxHEIGHT`.
void AddPictureSizeOption(CLI::App* verb, PictureSize* size);
/// INVALID_ARGUMENT naming the three forms.
StatusOr<PictureSize> ParsePictureSize(const std::string& text);
/// `--robot DIR`.
void AddRobotOption(CLI::App* verb, std::string* robot_dir);
/// `--subjects NAME,...` (evaluation/subjects.h).
CLI::Option* AddSubjectsOption(CLI::App* verb, std::vector<std::string>* subjects);

/// Null for an empty folder name. Errors: those of robots/robot_folder.h.
StatusOr<std::shared_ptr<const Robot>> ReadRobotOption(const std::string& robot_dir);

/// Rows of a CSV file whose columns are named by joint, in any order, with or without the unit:
/// "left_joint_1_rad" or "left_joint_1". The joints are those of `robot`, or without one those that
/// the model takes. Errors: those of data/csv.h, of common/file_io.h and of MatchColumns
/// (robots/joint_values.h), naming the file.
StatusOr<ActionSequence> ReadActionTable(const std::string& path, const Robot* robot,
                                         const ModelMetadata& metadata);

}  // namespace interlacer::cli
