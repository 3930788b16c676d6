#include "bench/stages/serve.h"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "bench/errors.h"
#include "bench/model_problem.h"
#include "bench/quiet_server.h"
#include "cli/local_backend.h"
#include "client/remote_backend.h"
#include "model/cuda/built_backend.h"
#include "model/files/checkpoint.h"
#include "server/models/checkpoint_source.h"
#include "tests/support/temp_folder.h"

namespace interlacer::bench {
namespace {

const std::string kModelName = "serve";

template <typename T>
T Require(StatusOr<T> result) {
  if (!result.ok()) throw std::runtime_error(result.status().ToString());
  return *std::move(result);
}

/// A checkpoint with random weights that is used directly and behind the server, and the request
/// for both.
class ServedModel {
 public:
  ServedModel(const Options& options, DeviceRequest device) {
    const Status saved =
        SaveCheckpoint(folder_.path(), *MakeModel(options, LocalLayer::kGrfExact), {});
    if (!saved.ok()) throw std::runtime_error(saved.ToString());
    local_ = std::make_unique<LocalBackend>(Require(Predictor::Load(
        folder_.path(), {.model_name = kModelName, .device = device, .cuda = BuiltCudaBackend()})));
    server_ = StartQuietServer(CheckpointSource(kModelName, folder_.path(), device));
    ClientOptions client;
    client.address = "127.0.0.1:" + std::to_string(server_->port());
    client.retry = false;
    remote_ = Require(RemoteBackend::Connect(Require(Client::Create(client)), {}));

    scene_ = Require(ReadWarmUpScene(folder_.path(), local_->metadata()));
    output_.steps = {1};
    output_.render_mode = RenderMode::kField;
    output_.render_targets.resize(1);
    output_.render_targets[0].name = "view";
    output_.render_targets[0].scene_camera_name = local_->metadata().cameras.at(0).name;
  }

  RgbImage Served() { return PredictOn(remote_.get()); }
  RgbImage InProcess() { return PredictOn(local_.get()); }

 private:
  RgbImage PredictOn(RolloutBackend* backend) {
    RgbImage image;
    const auto keep = [&](PredictedStep step) {
      image = std::move(step.views.at(0).color);
      return Status();
    };
    Require(backend->Predict(scene_.input, scene_.actions, output_, keep, {}));
    return image;
  }

  TempFolder folder_;
  std::unique_ptr<LocalBackend> local_;
  std::unique_ptr<InterlacerServer> server_;
  std::unique_ptr<RemoteBackend> remote_;
  WarmUpScene scene_;
  OutputOptions output_;
};

/// Compares the two images; an image of one colour would hide every error, so it fails the gate.
GateResult SamePicture(ServedModel* model) {
  // A device runs the first step launch by launch and records it for later ones.
  model->Served();
  model->InProcess();
  const RgbImage served = model->Served(), expected = model->InProcess();
  const auto [least, most] = std::minmax_element(expected.pixels.begin(), expected.pixels.end());
  GateResult gate;
  if (least != most && *least < *most) gate.error = MaxAbs(served.pixels, expected.pixels);
  gate.error_kind = "max_abs";
  gate.reference = "the picture of the same prediction in this process";
  return gate;
}

/// Cases with frames of the `paper` configuration: two cameras at two times.
std::vector<Case> MakeServeCases(const Options& options) {
  const bool is_cuda = options.device == "cuda";
  const auto model = OnFirstUse<ServedModel>([options, is_cuda] {
    return std::make_unique<ServedModel>(options,
                                         is_cuda ? DeviceRequest::kCuda : DeviceRequest::kCpu);
  });
  const InterlacerConfig config = ModelConfig(options, LocalLayer::kGrfExact);
  const CameraSpec& camera = config.data.cameras.at(0);
  Case item;
  item.stage = "serve";
  item.name = std::string("serve/") + (is_cuda ? "cuda/" : "") + std::to_string(2 * options.n) +
              "/d" + std::to_string(options.d) + "/in_process";
  item.ours = "interlacer_server";
  item.peer = "in_process";
  item.peer_version = "the same build";
  item.dtype = "served";
  item.n = options.n;
  item.tokens = 2 * options.n;
  item.d = options.d;
  item.params = {
      {"cameras", config.data.cameras.size()},
      {"image", std::to_string(camera.width_px) + "x" + std::to_string(camera.height_px)},
      {"steps", 1},
      {"views", 1}};
  item.gate = Once([model] { return SamePicture(&model()); });
  item.run_ours = Timed([model] { model().Served(); });
  item.run_peer = Timed([model] { model().InProcess(); });
  return {std::move(item)};
}

}  // namespace

Platform WithServeStage(Platform platform) {
  platform.stages.push_back({"serve", &MakeServeCases});
  return platform;
}

}  // namespace interlacer::bench
