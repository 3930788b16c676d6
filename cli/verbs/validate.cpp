#include "data/validate.h"

#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "cli/bag_options.h"
#include "cli/output.h"
#include "cli/validation_text.h"
#include "cli/verbs/verbs.h"
#include "common/file_io.h"
#include "common/image_codec.h"
#include "common/json.h"
#include "data/dataset.h"
#include "data/dataset_coverage.h"
#include "data/importers/importers.h"
#include "data/overlay.h"

namespace interlacer::cli {
namespace {

struct ValidateArguments {
  std::string path;
  std::string overlay;
  std::vector<std::string> overlay_cameras;
  int overlay_step = 0;
  bool no_hash = false;
  bool force = false;
  std::string calibration;
  BagArguments bag;
};

/// Imports a bag into a temporary folder, which is removed.
StatusOr<ExitCode> ValidateBag(const ValidateArguments& arguments, const VerbContext& context) {
  if (!arguments.overlay.empty()) {
    return Mismatch(reason::ARGUMENT_INVALID, "--overlay", "an episode: import the bag first",
                    arguments.path);
  }
  std::string folder = (std::filesystem::temp_directory_path() / "interlacer-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    return CannotWrite(folder, std::error_code(errno, std::generic_category()));
  }
  const auto remove = [](const std::string* path) {
    std::error_code ignored;
    std::filesystem::remove_all(*path, ignored);
  };
  const std::unique_ptr<const std::string, decltype(remove)> removed(&folder, remove);
  ImportOptions options;
  INTERLACER_ASSIGN_OR_RETURN(options.bag, ParseBagArguments(arguments.bag));
  options.calibration = arguments.calibration;
  options.source_dir = arguments.path;
  options.episode_dir = folder + "/episode";
  options.stop = context.stop();
  std::unique_ptr<Progress> progress;
  options.on_frame = [&](std::int64_t done, std::int64_t total) {
    if (!progress) progress = context.MakeProgress("validate", total);
    progress->Update(done);
  };
  INTERLACER_ASSIGN_OR_RETURN(ImportReport report, ImportRecording("ros2", options));
  if (progress) progress->Finish();
  report.validation.episode_id = std::filesystem::path(arguments.path).filename().string();
  context.Result(nlohmann::ordered_json::array({ToJson(report.validation)}),
                 ValidationText(report.validation));
  return report.validation.ok() ? kExitDone : kExitCheckFailed;
}

bool IsBag(const std::string& path) {
  std::error_code error;
  return path.ends_with(".mcap") || path.ends_with(".db3") ||
         std::filesystem::exists(path + "/metadata.yaml", error);
}

StatusOr<int> CameraIndex(const EpisodeReader& episode, const ValidateArguments& arguments,
                          std::size_t position) {
  if (arguments.overlay_cameras.empty()) return static_cast<int>(position);
  const std::string& name = arguments.overlay_cameras[position];
  if (const auto index = episode.FindCamera(name)) return *index;
  return Mismatch(reason::CAMERA_UNKNOWN, "--overlay-cameras", "a camera of the episode", name);
}

/// The points of one camera over the picture of another.
Status WriteOverlay(const ValidateArguments& arguments, const std::string& episode_dir) {
  INTERLACER_ASSIGN_OR_RETURN(
      const EpisodeReader episode,
      EpisodeReader::Open(episode_dir, {.verify_hashes = !arguments.no_hash}));
  if (episode.camera_count() < 2) {
    return Mismatch(reason::CAMERA_MISSING, "cameras", "two or more for an overlay",
                    std::to_string(episode.camera_count()));
  }
  INTERLACER_ASSIGN_OR_RETURN(const int base, CameraIndex(episode, arguments, 0));
  INTERLACER_ASSIGN_OR_RETURN(const int over, CameraIndex(episode, arguments, 1));
  INTERLACER_ASSIGN_OR_RETURN(const RgbImage overlay,
                              MakeOverlay(episode, arguments.overlay_step, base, over));
  return WritePngFile(overlay, arguments.overlay);
}

StatusOr<ExitCode> RunValidate(const ValidateArguments& arguments, const VerbContext& context) {
  if (IsBag(arguments.path)) return ValidateBag(arguments, context);
  if (!arguments.overlay.empty()) {
    INTERLACER_RETURN_IF_ERROR(CheckNoOutput(arguments.overlay, arguments.force));
  }
  std::map<std::string, Status> damaged;
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<std::string> episodes,
                              ListEpisodes(arguments.path, "", &damaged));
  if (episodes.empty()) {
    return NotFound(reason::FILE_NOT_FOUND, arguments.path + " holds no episode")
        .WithField(arguments.path);
  }
  const std::unique_ptr<Progress> progress =
      context.MakeProgress("validate", static_cast<std::int64_t>(episodes.size()));
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  std::string text;
  bool is_ok = true;
  DatasetCoverageCheck whole;
  for (const std::string& dir : episodes) {
    if (context.stop().stop_requested()) return Cancelled("stopped");
    StatusOr<ValidationReport> opened =
        ValidateEpisode(dir, {.verify_hashes = !arguments.no_hash, .stop = context.stop()});
    if (opened.status().code() == StatusCode::kCancelled) return opened.status();
    // What of one episode cannot be opened says nothing of the others.
    ValidationReport report;
    if (opened.ok()) {
      report = *std::move(opened);
    } else {
      report.episode_id = std::filesystem::path(dir).filename().string();
      report.errors.push_back(opened.status());
    }
    // A manifest that is missing was said above.
    const auto found = damaged.find(dir);
    if (!arguments.no_hash && found != damaged.end() &&
        found->second.reason() == reason::HASH_MISMATCH) {
      report.errors.push_back(found->second);
    }
    json.push_back(ToJson(report));
    text += ValidationText(report);
    is_ok = is_ok && report.ok();
    progress->Update(static_cast<std::int64_t>(json.size()));
    const auto episode = EpisodeReader::Open(dir, {.verify_hashes = false});
    if (episode.ok()) whole.Add(*episode);
  }
  progress->Finish();
  if (const DatasetCoverage coverage = whole.Result(); coverage.episode_count > 1) {
    json.push_back(ToJson(coverage));
    text += CoverageText(coverage);
  }
  context.Result(json, text);
  if (!arguments.overlay.empty()) {
    INTERLACER_RETURN_IF_ERROR(WriteOverlay(arguments, episodes.front()));
  }
  return is_ok ? kExitDone : kExitCheckFailed;
}

}  // namespace

void AddValidate(CLI::App* app, VerbTable* verbs) {
  CLI::App* verb = app->add_subcommand(
      "validate", "Check an episode, a data set or a ROS 2 bag: files, units, calibration");
  const auto arguments = std::make_shared<ValidateArguments>();
  verb->add_option("path", arguments->path, "Episode, data set, folder of episodes, or ROS 2 bag")
      ->required();
  verb->add_option("--overlay", arguments->overlay,
                   "PNG to write: points of the second camera over the picture of the first");
  verb->add_option("--overlay-cameras", arguments->overlay_cameras,
                   "The two cameras; default the first two")
      ->delimiter(',')
      ->expected(2);
  verb->add_option("--overlay-step", arguments->overlay_step, "Step of the overlay")
      ->capture_default_str();
  verb->add_option("--calibration", arguments->calibration,
                   "of a bag: JSON file of cameras in place of what it says")
      ->check(CLI::ExistingFile);
  AddBagOptions(verb, "of a bag: ", &arguments->bag);
  verb->add_flag("--no-hash", arguments->no_hash, "Do not compare the hashes of files");
  verb->add_flag("--force", arguments->force, "Replace an existing overlay");
  verbs->Add(verb,
             [arguments](const VerbContext& context) { return RunValidate(*arguments, context); });
}

}  // namespace interlacer::cli
