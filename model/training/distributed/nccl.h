#pragma once

/// Communication of ranks through NCCL: CUDA tensors, on the current stream.
///
/// Each call waits for its own end, so that a silent rank is noticed: after the time limit, or when
/// NCCL reports an error, the communicator is aborted. One GPU per rank. Errors and threads:
/// RankGroup.

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "model/training/distributed/group.h"
#include "model/training/distributed/nccl_library.h"

namespace interlacer {

std::unique_ptr<RankGroup> JoinNccl(const DistributedEnvironment& place, at::Device device,
                                    const c10::intrusive_ptr<c10d::Store>& store,
                                    const NcclLibrary& nccl);

}  // namespace interlacer
