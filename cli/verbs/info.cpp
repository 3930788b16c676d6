
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "cli/backend_options.h"
#include "cli/describe.h"
#include "cli/verbs/verbs.h"
#include "client/interlacer_client.h"
#include "common/json.h"
#include "data/dataset.h"
#include "data/manifest.h"
#include "model/predictor.h"

namespace interlacer::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kCheckpointConfigFile[] = "config.json";

struct InfoOptions {
  std::string subject;
  double deadline_s = kUnaryDeadlineS;
};

StatusOr<ExitCode> PrintEpisode(const std::string& path, const VerbContext& context) {
  INTERLACER_ASSIGN_OR_RETURN(const EpisodeManifest manifest, ReadManifest(path));
  context.Result(ToJson(manifest), AlignedText(ToRows(manifest)));
  return kExitDone;
}

StatusOr<ExitCode> PrintDataset(const std::string& path, const VerbContext& context) {
  INTERLACER_ASSIGN_OR_RETURN(const Dataset dataset, ReadDataset(path));
  INTERLACER_ASSIGN_OR_RETURN(const std::string sha256, DatasetSha256(path));
  TextRows rows{{"data set", dataset.name}, {"licence", dataset.license}};
  nlohmann::ordered_json splits;
  for (const auto& [split, episodes] : dataset.splits) {
    rows.emplace_back(split, std::to_string(episodes.size()) + " episodes");
    splits[split] = episodes;
  }
  rows.emplace_back("hash", sha256);
  context.Result({{"name", dataset.name},
                  {"license", dataset.license},
                  {"splits", splits},
                  {"dataset_sha256", sha256}},
                 AlignedText(rows));
  return kExitDone;
}

StatusOr<ExitCode> PrintModel(const std::string& path, const VerbContext& context) {
  INTERLACER_ASSIGN_OR_RETURN(const std::unique_ptr<Predictor> predictor,
                              Predictor::Load(path, {.device = DeviceRequest::kCpu}));
  context.Result(ToJson(predictor->metadata()), AlignedText(ToRows(predictor->metadata())));
  return kExitDone;
}

StatusOr<ExitCode> PrintServer(const std::string& address, double deadline_s,
                               const VerbContext& context) {
  INTERLACER_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                              Client::Create({.address = address}));
  CallOptions call;
  call.deadline_s = deadline_s;
  call.stop = context.stop();
  INTERLACER_ASSIGN_OR_RETURN(const ServerInfo info, client->GetServerInfo(call));
  nlohmann::ordered_json json = ToJson(info);
  std::string text = AlignedText(ToRows(info));
  for (const ModelStatus& model : info.models) {
    if (model.state != "ready") continue;
    call.model_name = model.model_name;
    INTERLACER_ASSIGN_OR_RETURN(const ModelMetadata metadata, client->GetModelMetadata(call));
    json["metadata"].push_back(ToJson(metadata));
    text += "\n" + AlignedText(ToRows(metadata));
  }
  context.Result(json, text);
  return kExitDone;
}

StatusOr<ExitCode> RunInfo(const InfoOptions& options, const VerbContext& context) {
  const std::string& subject = options.subject;
  const fs::path path(subject);
  std::error_code error;
  if (!fs::exists(path, error)) {
    if (subject.find(':') != std::string::npos)
      return PrintServer(subject, options.deadline_s, context);
    return NotFound(reason::FILE_NOT_FOUND,
                    subject + " is no episode, data set or checkpoint, and no host:port")
        .WithField(subject);
  }
  if (fs::exists(path / kManifestFile, error)) return PrintEpisode(subject, context);
  if (fs::exists(path / kDatasetFile, error)) return PrintDataset(subject, context);
  if (fs::exists(path / kCheckpointConfigFile, error)) return PrintModel(subject, context);
  return NotFound(reason::FILE_NOT_FOUND,
                  subject + " has no manifest.json, dataset.json or " + kCheckpointConfigFile)
      .WithField(subject);
}

}  // namespace

void AddInfo(CLI::App* app, VerbTable* verbs) {
  CLI::App* verb =
      app->add_subcommand("info", "What a server, checkpoint, episode or data set says of itself");
  const auto options = std::make_shared<InfoOptions>();
  verb->add_option("subject", options->subject, "host:port, checkpoint, episode or data set")
      ->required();
  AddDeadlineOption(verb, &options->deadline_s);
  verbs->Add(verb, [options](const VerbContext& context) { return RunInfo(*options, context); });
}

}  // namespace interlacer::cli
