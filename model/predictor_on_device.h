#pragma once

/// Predictor::Load on a device that was chosen before (model/cuda/device_choice.h). Errors and
/// threads: as there.

#include <memory>
#include <string>

#include "model/cuda/device_choice.h"
#include "model/predictor.h"

namespace interlacer {

StatusOr<std::unique_ptr<Predictor>> LoadPredictorOn(DeviceChoice device,
                                                     const std::string& checkpoint_dir,
                                                     const PredictorOptions& options);

}  // namespace interlacer
