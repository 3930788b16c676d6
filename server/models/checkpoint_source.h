#pragma once

/// Makes a checkpoint a model of the server, through model/predictor.h and the first run of
/// server/models/warm_up.h. Errors: those of Predictor::Load and WarmUp. Needs the
/// libraries of the model and of the CUDA backend.

#include <string>

#include "common/device.h"
#include "model/cuda/built_backend.h"
#include "model/predictor.h"
#include "server/models/model_registry.h"
#include "server/models/warm_up.h"

namespace interlacer {

inline ModelSource CheckpointSource(const std::string& model_name,
                                    const std::string& checkpoint_dir, DeviceRequest device) {
  return {model_name,
          [=] {
            return Predictor::Load(
                checkpoint_dir,
                {.model_name = model_name, .device = device, .cuda = BuiltCudaBackend()});
          },
          [=](std::stop_token stop, ServedModel* model) {
            return WarmUp(checkpoint_dir, std::move(stop), model);
          }};
}

}  // namespace interlacer
