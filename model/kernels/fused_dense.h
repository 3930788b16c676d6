#pragma once

/// Dense layers in bfloat16 with float32 accumulation, fused with their neighbours: norms before,
/// GELU between, residual sums after. Rows pass through in chunks that stay in the L2 cache, so
/// hidden layers never reach memory. Inference only.
///
///   h [n,width] float32 row-major      weight [out,in], bias [out] float32      LN as LayerNorm
/// Rounding: inputs of a product and its weights to bfloat16 (nearest even), sums in float32, GELU
/// within 1e-4 of x Phi(x). Determinism: rows do not mix, so equal bits for any thread count.
/// Errors: none; the caller checks sizes (CanFuseDense). Threads: as grf_attention.h.

#include <cstdint>
#include <span>
#include <vector>

#include "common/kernels/parallel_for.h"
#include "model/kernels/packed_dense.h"

namespace interlacer {

/// Whether the processor multiplies bfloat16 (AVX-512 BF16) and both widths suit the kernel's
/// blocks.
bool CanFuseDense(int in_width, int out_width);

/// The forms of a product with so many inputs that the processor runs, the fastest first.
std::vector<const DenseForm*> DenseFormsOfHost(int in_width);

/// Packs the weight [out_width,in_width] of a layer for the fastest form.
PackedDense PackDense(const float* weight, const float* bias, int in_width, int out_width);

/// A layer and the destination of its result [n,out_width].
struct DenseOutput {
  const PackedDense* dense = nullptr;
  float* out = nullptr;
};

/// out = dense(LN(h)) for every output; all layers read the same normalised rows.
void NormDense(std::int64_t n, const float* h, const RowNorm& norm,
               std::span<const DenseOutput> outputs, ParallelForFunction parallel_for);

/// h += dense(x), x [n,in_width].
void AddDense(std::int64_t n, const float* x, const PackedDense& dense, float* h,
              ParallelForFunction parallel_for);

/// h += second(GELU(first(LN(h)))).
void AddFeedForward(std::int64_t n, const RowNorm& norm, const PackedDense& first,
                    const PackedDense& second, float* h, ParallelForFunction parallel_for);

}  // namespace interlacer
