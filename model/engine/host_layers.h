#pragma once

/// Fused bfloat16 layers for inference on the CPU (model/kernels/fused_dense.h), with their weights
/// packed once.
///
/// Values equal those of the single layers up to the rounding of bfloat16 results that the fused
/// form keeps in float32. h is contiguous float32 in host memory. The layers must outlive the
/// forms and keep their weights. Threads: as torch modules.

#include "model/engine/layer_form.h"
#include "model/layers/feed_forward.h"
#include "model/network/interlacer.h"

namespace interlacer {

/// h += out(Mix(query(norm(h)), key(norm(h)), value(norm(h)))). With `packs_walks` the masks of
/// all steps hold path counts. Attention that the kernels do not mix has its projections fused.
BoundForm BindHostAttention(const InterlacerLayer& layer, bool packs_walks);
/// h += second(gelu(first(norm(h)))).
BoundForm BindHostFeedForward(const InterlacerLayer& layer);

}  // namespace interlacer
