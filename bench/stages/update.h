#pragma once

/// A whole training update as in `interlacer train`: a batch of sequences encoded, lifted, rolled
/// out and rendered, their gradients, one step of AdamW, with the settings of `paper`. Reading
/// episodes is excluded, because a second thread does it in parallel.

#include <vector>

#include "bench/case.h"
#include "bench/model_place.h"
#include "bench/options.h"

namespace interlacer::bench {

/// The peers are updates of our other local layers. Cases can be named even where the device cannot
/// compute.
std::vector<Case> MakeUpdateStage(const Options& options, const ModelDevice& place);

}  // namespace interlacer::bench
