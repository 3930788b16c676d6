#include "cli/shipped_models.h"

#include <filesystem>

#include "data/episode_reader.h"

namespace interlacer::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kRobotModel[] = "small";
constexpr char kRecordingModel[] = "paper";

}  // namespace

std::string ShippedModelFor(const EpisodeManifest& manifest) {
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
  const std::string name = ShippedModelFor(episode.manifest());
  INTERLACER_ASSIGN_OR_RETURN(options.model_dir, FindShippedModel(name));
  if (options.model_name.empty()) options.model_name = name;
  context.Message("no --model: predicting with " + options.model_dir + ", which is for " +
                  (name == kRobotModel ? "scenes with a robot" : "recordings without a robot"));
  return options;
}

}  // namespace interlacer::cli
