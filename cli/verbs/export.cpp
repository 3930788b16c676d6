
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "cli/output.h"
#include "cli/verbs/verbs.h"
#include "common/json.h"
#include "data/exporters/mcap_export.h"
#include "model/files/checkpoint_export.h"
#include "model/files/tensor_header.h"

namespace interlacer::cli {
namespace {

struct WeightsArguments {
  std::string checkpoint;
  std::string output;
  GuessSettings guess;
};

StatusOr<ExitCode> ExportWeights(const WeightsArguments& arguments, const VerbContext& context) {
  // Never replaces an existing checkpoint: training could not resume from the export.
  INTERLACER_ASSIGN_OR_RETURN(OutputFolder output,
                              OutputFolder::Create(arguments.output, kWeightsFile,
                                                   /*force=*/false));
  INTERLACER_ASSIGN_OR_RETURN(
      const CheckpointHashes hashes,
      ExportCheckpoint(arguments.checkpoint, output.partial().string(), arguments.guess));
  INTERLACER_RETURN_IF_ERROR(output.Commit());
  context.Result({{"checkpoint", arguments.output},
                  {"from_weights_sha256", hashes.from_sha256},
                  {"weights_sha256", hashes.to_sha256}},
                 arguments.output + "\n");
  return kExitDone;
}

struct McapArguments {
  std::string source;
  std::string output;
  std::string profile = "foxglove";
  bool force = false;
};

StatusOr<ExitCode> ExportMcap(const McapArguments& arguments, const VerbContext& context) {
  INTERLACER_RETURN_IF_ERROR(CheckNoOutput(arguments.output, arguments.force));
  std::unique_ptr<Progress> progress;
  McapExportOptions options;
  if (arguments.profile == "ros2") options.profile = McapProfile::kRos2;
  options.stop = context.stop();
  options.on_step = [&](std::int64_t done, std::int64_t total) {
    if (!progress) progress = context.MakeProgress("export", total);
    progress->Update(done);
  };
  std::error_code error;
  const bool is_prediction = std::filesystem::exists(arguments.source + "/prediction.json", error);
  std::vector<std::string> left_out;
  if (is_prediction) {
    INTERLACER_RETURN_IF_ERROR(ExportPredictionAsMcap(arguments.source, arguments.output, options));
  } else {
    INTERLACER_ASSIGN_OR_RETURN(left_out,
                                ExportEpisodeAsMcap(arguments.source, arguments.output, options));
  }
  if (progress) progress->Finish();
  for (const std::string& path : left_out) context.Message("left out: " + path);
  context.Result({{"source", arguments.source}, {"file", arguments.output}, {"left_out", left_out}},
                 arguments.output + "\n");
  return kExitDone;
}

void AddExportWeights(CLI::App* parent, VerbTable* verbs) {
  CLI::App* verb =
      parent->add_subcommand("weights", "A trained checkpoint at half the size, for predictions");
  const auto arguments = std::make_shared<WeightsArguments>();
  verb->add_option("checkpoint", arguments->checkpoint, "Checkpoint to read")->required();
  verb->add_option("-o,--output", arguments->output, "Folder to write, not there yet")->required();
  verb->add_option(
      "--more-trust", arguments->guess.more_trust,
      "Added to the bias of what particles take of the guess of contacts: 0, as learnt");
  verb->add_option(
      "--contact-points", arguments->guess.contact_point_count,
      "lifting.contact_point_count of the export: pixels that the rule of contact sees");
  verbs->Add(
      verb, [arguments](const VerbContext& context) { return ExportWeights(*arguments, context); });
}

void AddExportMcap(CLI::App* parent, VerbTable* verbs) {
  CLI::App* verb = parent->add_subcommand(
      "mcap", "An episode or a prediction as an MCAP file, which Foxglove and others show");
  const auto arguments = std::make_shared<McapArguments>();
  verb->add_option("source", arguments->source, "Folder of an episode, or that predict wrote")
      ->required();
  verb->add_option("-o,--output", arguments->output, "File to write")->required();
  verb->add_option("--profile", arguments->profile,
                   "Messages: Foxglove's, or those of ROS 2, which rosbags and ros2 bag read")
      ->capture_default_str()
      ->check(CLI::IsMember({"foxglove", "ros2"}));
  verb->add_flag("--force", arguments->force, "Replace an existing file");
  verbs->Add(verb,
             [arguments](const VerbContext& context) { return ExportMcap(*arguments, context); });
}

}  // namespace

void AddExport(CLI::App* app, VerbTable* verbs) {
  CLI::App* verb = app->add_subcommand("export", "Export weights, or recordings for viewers");
  verb->require_subcommand(1);
  AddExportWeights(verb, verbs);
  AddExportMcap(verb, verbs);
}

}  // namespace interlacer::cli
