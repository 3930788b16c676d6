#pragma once

/// A whole training update as `interlacer train` makes it: a batch of sequences encoded, lifted,
/// rolled out and rendered, their gradients, one step of AdamW, with the settings of `paper`.
/// Reading episodes is left out: a second thread does it meanwhile.

#include <vector>

#include "bench/case.h"
#include "bench/model_place.h"
#include "bench/options.h"

namespace interlacer::bench {

/// Beside the updates of our other local layers. Cases can be named where the place cannot compute.
std::vector<Case> MakeUpdateStage(const Options& options, const ModelPlace& place);

}  // namespace interlacer::bench
