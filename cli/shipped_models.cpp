#include "cli/shipped_models.h"

#include <filesystem>
#include <utility>

#include "data/episode_reader.h"
#include "robots/joint_values.h"
#include "robots/robot_folder.h"

namespace interlacer::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kRobotModel[] = "paper";
constexpr char kOtherRobotModel[] = "small";
constexpr char kRecordingModel[] = "compact";

std::string UseOf(const std::string& name) {
  if (name == kRobotModel) return "the robot that it was trained with";
  return name == kOtherRobotModel ? "other robots" : "recordings without a robot";
}

}  // namespace

std::string ShippedModelFor(const EpisodeManifest& manifest, const Robot* robot,
                            const std::vector<std::string>& known_columns) {
  if (robot != nullptr && ColumnNames(*robot) != known_columns) return kOtherRobotModel;
  return manifest.robot || manifest.states || manifest.actions ? kRobotModel : kRecordingModel;
}

StatusOr<std::string> FindShippedModel(const std::string& name) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  fs::path folder = program.parent_path();
  while (!error && folder.has_relative_path()) {
    for (const char* const checkpoints : {"checkpoints", "share/interlacer/checkpoints"}) {
      const fs::path found = folder / checkpoints / name;
      std::error_code absent;
      if (fs::exists(found / "config.json", absent)) return found.string();
    }
    folder = folder.parent_path();
  }
  return NotFound(reason::FILE_NOT_FOUND, "no checkpoint '" + name + "' lies beside " +
                                              program.string() +
                                              ": name one with --model, or a server with --server")
      .WithField("--model");
}

StatusOr<BackendOptions> WithShippedModel(BackendOptions options, const std::string& episode_dir,
                                          const VerbContext& context) {
  if (!options.model_dir.empty() || !options.server.empty()) return options;
  INTERLACER_ASSIGN_OR_RETURN(const EpisodeReader episode, EpisodeReader::Open(episode_dir));
  std::vector<std::string> known_columns;
  if (episode.robot() != nullptr) {
    INTERLACER_ASSIGN_OR_RETURN(const std::string paper, FindShippedModel(kRobotModel));
    INTERLACER_ASSIGN_OR_RETURN(const Robot known, ReadRobot(paper + "/robot"));
    known_columns = ColumnNames(known);
  }
  const std::string name =
      ShippedModelFor(episode.manifest(), episode.robot().get(), known_columns);
  INTERLACER_ASSIGN_OR_RETURN(options.model_dir, FindShippedModel(name));
  if (options.model_name.empty()) options.model_name = name;
  context.Message("no --model: predicting with " + options.model_dir + ", which is for " +
                  UseOf(name));
  return options;
}

}  // namespace interlacer::cli
