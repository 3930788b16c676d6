#pragma once

/// Makes the attention mechanisms that a configuration names. Threads: pure functions.

#include <memory>

#include "model/attention/mechanism.h"
#include "model/config.h"
#include "model/layers/layers.h"

namespace interlacer {

std::shared_ptr<AttentionMechanism> MakeGlobalMechanism(const NetworkConfig& config,
                                                        Precision precision);
/// Null for LocalLayer::kNone.
std::shared_ptr<AttentionMechanism> MakeLocalMechanism(const NetworkConfig& config,
                                                       Precision precision);

}  // namespace interlacer
