#pragma once

/// Whether what the limits admit fits into the device's memory, before the server says it is ready.
///
/// Needed are: a call of the hungriest model within a unit of work, for one unit runs at a time;
/// all others that can have device state (DeviceWorker::MaxHeld) between two units; and all scenes,
/// at most max_scene_bytes. Free is what
/// was before the first call. Errors: INVALID_ARGUMENT CONFIG_INVALID when the device could not
/// hold that even if nothing else used it, else RESOURCE_EXHAUSTED DEVICE_OUT_OF_MEMORY; both name
/// the flags and values that would fit. Pure function.

#include <vector>

#include "common/status.h"
#include "server/limits.h"
#include "server/models/model_registry.h"

namespace interlacer {

/// OK without models that tell.
Status CheckMemoryFits(const std::vector<ModelMemory>& models, const Limits& limits);

}  // namespace interlacer
