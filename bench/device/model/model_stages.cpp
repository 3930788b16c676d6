#include "bench/device/model/model_stages.h"

#include <c10/cuda/CUDAStream.h>

#include <utility>

#include "bench/device/device_platform.h"
#include "bench/device/event_work.h"
#include "bench/device/model/model_platform.h"
#include "bench/device/model/observed_stage.h"
#include "bench/stages/update.h"
#include "bench/threads.h"
#include "model/cuda/built_backend.h"
#include "model/cuda/device_choice.h"

namespace interlacer::bench {
namespace {

/// The first device. LibTorch's CUDA part is loaded here, before anything decides for the CPU.
ModelDevice DevicePlace(const Options& options) {
  ModelDevice place;
  place.device = torch::Device(at::kCUDA, 0);
  place.infix = "cuda/";
  place.timed = [options](std::function<void()> body) {
    return EventWork([] { return c10::cuda::getCurrentCUDAStream(0).stream(); }, std::move(body),
                     options);
  };
  if (DeviceAbsence().empty()) {
    const auto choice = ChooseDevice(DeviceRequest::kCuda, BuiltCudaBackend());
    if (!choice.ok()) throw StageAbsent(options.stage + ": " + choice.status().ToString());
    place.cuda = choice->cuda;
  }
  return place;
}

}  // namespace

std::vector<Case> MakeDeviceStepCases(const Options& options) {
  StepStage stage = MakeStepStage(options, DevicePlace(options));
  AddStepPeers(options, &stage);
  return std::move(stage.cases);
}

std::vector<Case> MakeDeviceTrainStepCases(const Options& options) {
  TrainStage stage = MakeTrainStage(options, DevicePlace(options));
  AddTrainPeers(options, &stage);
  return std::move(stage.cases);
}

std::vector<Case> MakeDeviceUpdateCases(const Options& options) {
  return MakeUpdateStage(options, DevicePlace(options));
}

Platform WithModelStages(Platform device) {
  device.stages.push_back({"step", &MakeDeviceStepCases});
  device.stages.push_back({"train_step", &MakeDeviceTrainStepCases});
  device.stages.push_back({"update", &MakeDeviceUpdateCases});
  device.stages.push_back({"observed", &MakeDeviceObservedCases});
  device.prepare = [](const Options& options) { UseThreads(options.threads); };
  return device;
}

}  // namespace interlacer::bench
