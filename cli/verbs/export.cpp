
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/output.h"
#include "cli/verbs/verbs.h"
#include "common/json.h"
#include "model/files/checkpoint_export.h"
#include "model/files/tensor_header.h"

namespace interlacer::cli {
namespace {

struct ExportArguments {
  std::string checkpoint;
  std::string output;
};

StatusOr<ExitCode> RunExport(const ExportArguments& arguments, const VerbContext& context) {
  // Never replaces an existing checkpoint: training could not resume from the export.
  INTERLACER_ASSIGN_OR_RETURN(OutputFolder output,
                              OutputFolder::Create(arguments.output, kWeightsFile,
                                                   /*force=*/false));
  INTERLACER_ASSIGN_OR_RETURN(const CheckpointHashes hashes,
                              ExportCheckpoint(arguments.checkpoint, output.partial().string()));
  INTERLACER_RETURN_IF_ERROR(output.Commit());
  context.Result({{"checkpoint", arguments.output},
                  {"from_weights_sha256", hashes.from_sha256},
                  {"weights_sha256", hashes.to_sha256}},
                 arguments.output + "\n");
  return kExitDone;
}

}  // namespace

void AddExport(CLI::App* app, VerbTable* verbs) {
  CLI::App* verb =
      app->add_subcommand("export", "A trained checkpoint at half the size, for predictions");
  const auto arguments = std::make_shared<ExportArguments>();
  verb->add_option("checkpoint", arguments->checkpoint, "Checkpoint to read")->required();
  verb->add_option("-o,--output", arguments->output, "Folder to write, not there yet")->required();
  verbs->Add(verb,
             [arguments](const VerbContext& context) { return RunExport(*arguments, context); });
}

}  // namespace interlacer::cli
