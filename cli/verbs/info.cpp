
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "cli/connection_options.h"
#include "cli/describe.h"
#include "cli/verbs/verbs.h"
#include "client/interlacer_client.h"
#include "common/file_io.h"
#include "common/json.h"
#include "data/dataset.h"
#include "data/episode_reader.h"
#include "data/manifest.h"
#include "data/scene_input.h"
#include "knn/knn_index.h"
#include "knn/recall.h"
#include "model/config.h"
#include "model/predictor.h"

namespace interlacer::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kCheckpointConfigFile[] = "config.json";

struct InfoOptions {
  std::string subject;
  ConnectionOptions connection{.deadline_s = kUnaryDeadlineS};
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

/// Share of the exact neighbours that `index` finds among the newest particles of the scene.
StatusOr<double> RecallOnScene(const std::string& episode_dir, KnnBackend index, int k,
                               Predictor* predictor) {
  INTERLACER_ASSIGN_OR_RETURN(const EpisodeReader episode, EpisodeReader::Open(episode_dir));
  const SceneInputOptions options = SceneInputOptionsFor(predictor->metadata());
  INTERLACER_ASSIGN_OR_RETURN(const SceneInput input, MakeSceneInput(episode, options));
  INTERLACER_ASSIGN_OR_RETURN(const auto scene, predictor->Lift(input));
  INTERLACER_ASSIGN_OR_RETURN(const auto rollout, predictor->Begin(scene, {}));
  INTERLACER_ASSIGN_OR_RETURN(const Particles* newest, rollout->ReadParticles());
  KnnGraph graphs[2];
  for (const auto& [backend, graph] :
       {std::pair{index, &graphs[0]}, std::pair{KnnBackend::kGrid, &graphs[1]}}) {
    INTERLACER_ASSIGN_OR_RETURN(const auto searcher, MakeKnnIndex(backend));
    INTERLACER_ASSIGN_OR_RETURN(*graph, searcher->Graph(newest->positions_m, k));
  }
  return Recall(graphs[0], graphs[1]);
}

/// The index that searches the checkpoint's graph, and the recall of an index other than the exact
/// grid.
Status DescribeGraph(const fs::path& checkpoint, Predictor* predictor, nlohmann::ordered_json* json,
                     TextRows* rows) {
  INTERLACER_ASSIGN_OR_RETURN(const std::string text,
                              ReadTextFile(checkpoint / kCheckpointConfigFile));
  INTERLACER_ASSIGN_OR_RETURN(const InterlacerConfig config, ParseConfigJson(text));
  const int k = LocalNeighborCount(config);
  if (k == 0) return Status();
  const KnnBackend index = config.graph.index;
  const std::string name(KnnBackendName(index));
  (*json)["graph_index"] = {{"name", name}};
  if (index == KnnBackend::kGrid) {
    rows->emplace_back("graph index", name + ", exact");
    return Status();
  }
  const fs::path scene = checkpoint / "warmup" / "episode";
  std::error_code error;
  if (!fs::exists(scene, error)) {
    rows->emplace_back("graph index", name + ", without a warm-up scene to measure its recall");
    return Status();
  }
  INTERLACER_ASSIGN_OR_RETURN(const double recall, RecallOnScene(scene, index, k, predictor));
  (*json)["graph_index"]["warm_up_recall"] = recall;
  rows->emplace_back("graph index", name + Format(", finds %.4f of the exact %d neighbours on the "
                                                  "warm-up scene",
                                                  recall, k));
  return Status();
}

StatusOr<ExitCode> PrintModel(const std::string& path, const VerbContext& context) {
  INTERLACER_ASSIGN_OR_RETURN(const std::unique_ptr<Predictor> predictor,
                              Predictor::Load(path, {.device = DeviceRequest::kCpu}));
  nlohmann::ordered_json json = ToJson(predictor->metadata());
  TextRows rows = ToRows(predictor->metadata());
  INTERLACER_RETURN_IF_ERROR(DescribeGraph(path, predictor.get(), &json, &rows));
  context.Result(json, AlignedText(rows));
  return kExitDone;
}

StatusOr<ExitCode> PrintServer(const std::string& address, const ConnectionOptions& connection,
                               const VerbContext& context) {
  ClientOptions client_options = ToClientOptions(address, connection);
  client_options.retry = true;
  INTERLACER_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Create(client_options));
  CallOptions call;
  call.deadline_s = connection.deadline_s;
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
      return PrintServer(subject, options.connection, context);
    return NotFound(
               reason::FILE_NOT_FOUND,
               subject + " is no episode, data set or checkpoint, and no host:port or unix:PATH")
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
      app->add_subcommand("info", "Describe a server, checkpoint, episode or data set");
  const auto options = std::make_shared<InfoOptions>();
  verb->add_option("subject", options->subject,
                   "host:port or unix:PATH of a server, or a checkpoint, episode or data set")
      ->required();
  AddConnectionOptions(verb, &options->connection);
  verbs->Add(verb, [options](const VerbContext& context) { return RunInfo(*options, context); });
}

}  // namespace interlacer::cli
