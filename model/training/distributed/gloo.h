#pragma once

/// Communication of ranks through c10d's Gloo: CPU tensors directly, others by a copy in host
/// memory.
///
/// GLOO_SOCKET_IFNAME chooses the network interface. Errors and threads: RankGroup.

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "model/training/distributed/group.h"

namespace interlacer {

std::unique_ptr<RankGroup> JoinGloo(const DistributedEnvironment& place, at::Device device,
                                    const c10::intrusive_ptr<c10d::Store>& store);

}  // namespace interlacer
