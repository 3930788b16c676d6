#pragma once

/// What the kernels of a CUDA device do not support of a configuration: asked where a model is
/// loaded or moved, never in a step.
///
/// Threads: pure functions.

#include "common/device.h"
#include "common/status.h"
#include "model/config.h"

namespace interlacer {

/// UNIMPLEMENTED FEATURE_NOT_BUILT naming the field for which a device of this kind has no kernels:
/// graph attention wider than kMaxGrfCudaWidth (256 channels), or an index other than the exact
/// grid, or mechanisms of the attention library. Other layers that the fused kernels do not
/// support, such as wider ones, run one by one through torch.
Status CheckFitsDevice(const InterlacerConfig& config, DeviceKind device);

/// UNIMPLEMENTED FEATURE_NOT_BUILT, naming the key, where the configuration's graph is built on the
/// host even for a device, which makes the step wait and prevents its recording: exact walks over
/// symmetrised edges, whose rows have no bound, or over many weighted edges, or more walks or
/// neighbours of an anchor than a kernel supports.
Status CheckDeviceGraph(const InterlacerConfig& config);

}  // namespace interlacer
