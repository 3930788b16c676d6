#include "cli/backend_options.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "client/interlacer_client.h"
#include "client/remote_backend.h"
#include "common/device.h"
#include "model/cuda/built_backend.h"
#include "model/predictor.h"

namespace interlacer::cli {
namespace {

StatusOr<std::unique_ptr<RolloutBackend>> MakeLocal(const BackendOptions& options) {
  PredictorOptions predictor_options;
  predictor_options.cuda = BuiltCudaBackend();
  if (!options.model_name.empty()) predictor_options.model_name = options.model_name;
  INTERLACER_ASSIGN_OR_RETURN(predictor_options.device, ParseDeviceRequest(options.device));
  INTERLACER_ASSIGN_OR_RETURN(std::unique_ptr<Predictor> predictor,
                              Predictor::Load(options.model_dir, predictor_options));
  return std::unique_ptr<RolloutBackend>(
      std::make_unique<LocalBackend>(std::move(predictor), options.changes));
}

StatusOr<std::unique_ptr<RolloutBackend>> MakeRemote(const BackendOptions& options) {
  ClientOptions client_options = ToClientOptions(options.server, options.connection);
  client_options.retry = true;
  INTERLACER_ASSIGN_OR_RETURN(std::unique_ptr<Client> client, Client::Create(client_options));
  CallOptions call;
  call.deadline_s = options.connection.deadline_s;
  call.wait_for_ready = false;
  call.model_name = options.model_name;
  call.priority = RequestPriority::kBackground;
  if (options.wire_images == "png") call.packing.color = ColorPacking::kPng;
  INTERLACER_ASSIGN_OR_RETURN(std::unique_ptr<RemoteBackend> backend,
                              RemoteBackend::Connect(std::move(client), call));
  return std::unique_ptr<RolloutBackend>(std::move(backend));
}

}  // namespace

void AddBackendOptions(CLI::App* verb, BackendOptions* options) {
  CLI::Option* model =
      verb->add_option("--model", options->model_dir,
                       "Checkpoint folder to predict with; default a shipped one that fits");
  CLI::Option* server = verb->add_option("--server", options->server,
                                         "Server to predict with, host:port or unix:PATH");
  model->excludes(server);
  verb->add_option("--model-name", options->model_name, "Model of the server; default its first");
  verb->add_option("--device", options->device, "cpu, cuda or auto, with --model")
      ->capture_default_str()
      ->check(CLI::IsMember({"cpu", "cuda", "auto"}));
  verb->add_option("--wire-images", options->wire_images, "Colour on the wire: raw or png")
      ->capture_default_str()
      ->check(CLI::IsMember({"raw", "png"}));
  AddConnectionOptions(verb, &options->connection);
  verb->get_option("--tls-ca")->needs(server);
}

StatusOr<std::unique_ptr<RolloutBackend>> MakeBackend(const BackendOptions& options) {
  if (options.model_dir.empty() == options.server.empty()) {
    return Mismatch(reason::ARGUMENT_INVALID, "--model or --server", "exactly one of them",
                    options.model_dir.empty() ? "none" : "both");
  }
  return options.server.empty() ? MakeLocal(options) : MakeRemote(options);
}

}  // namespace interlacer::cli
