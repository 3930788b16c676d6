#pragma once

/// Layers for inference on a CUDA device: bfloat16 on tensor cores in few launches
/// (model/kernels/fused_dense_cuda.h, fused_linear_cuda.h, packed_grf_cuda.h), with their weights
/// packed once.
///
/// h [T,width] is contiguous float32 and updated in place. Values equal those of the single layers
/// up to the rounding of intermediate results, states and mixed rows to bfloat16. The layers must
/// outlive the forms and keep their weights. Nothing waits for the device. Errors: StatusException
/// DEVICE_LOST. Determinism: equal calls give equal bits. Threads: as torch modules.

#include "model/clouds.h"
#include "model/engine/layer_form.h"
#include "model/graph/cloud_order.h"
#include "model/network/head.h"
#include "model/network/interlacer.h"

namespace interlacer {

struct CudaBackend;

/// An attention layer, in the forms that there are with the feed-forward layers after it. With
/// `packed_walks_degree` > 0 the masks of steps hold path counts of walks on graphs with that many
/// neighbours.
BoundForm BindCudaAttention(const CudaBackend& cuda, const InterlacerLayer& layer,
                            int packed_walks_degree);
/// h += second(gelu(first(norm(h)))).
BoundForm BindCudaFeedForward(const CudaBackend& cuda, const InterlacerLayer& layer);

/// Displaces and changes the newer cloud of the step.
using HeadForm = std::function<CloudTensors(const torch::Tensor& h, const StepInput& input,
                                            const CloudOrder& order)>;
struct BoundHead {
  HeadForm form;
  std::string why_not;
};
/// DynamicsHead::forward in one launch; none with a guess.
BoundHead BindCudaHead(const CudaBackend& cuda, const DynamicsHead& head,
                       const LayerNorm& last_norm);

}  // namespace interlacer
