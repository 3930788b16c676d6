#pragma once

/// The renderer's CPU kernels for one instruction set, and the best set of this machine.
/// Thread-safe.

#include "render/kernels/annular_sums.h"
#include "render/kernels/field_mlp.h"
#include "render/kernels/gather16.h"
#include "render/kernels/ssim_rows.h"

namespace interlacer {

struct RenderKernels {
  const char* instruction_set;
  GatherNearestFn gather_nearest;
  AnnularSumsFn annular_sums;
  AnnularSumsBackwardFn annular_sums_backward;
  DenseForwardFn dense_forward;
  DenseWeightGradientFn dense_weight_gradient;
  SsimRowsFn ssim_rows;
};

/// Kernels that every machine can run.
const RenderKernels& PortableRenderKernels();
/// Null where the machine lacks the instructions.
const RenderKernels* Avx2RenderKernels();
const RenderKernels* Avx512RenderKernels();
/// The fastest kernels that this machine can run.
const RenderKernels& BestRenderKernels();

}  // namespace interlacer
