#pragma once

/// The launchers of the model's CUDA kernels as a table of functions (common/kernels/cuda.h).

#include "data/kernels/subset_keys_cuda.h"
#include "data/kernels/unproject_cuda.h"
#include "knn/kernels/grid_knn_cuda.h"
#include "knn/kernels/morton_order_cuda.h"
#include "knn/kernels/walk_lists_cuda.h"
#include "model/kernels/dense_pack_cuda.h"
#include "model/kernels/dynamics_head_cuda.h"
#include "model/kernels/fused_dense_cuda.h"
#include "model/kernels/fused_linear_cuda.h"
#include "model/kernels/grf_attention_cuda.h"
#include "model/kernels/linear_attention_cuda.h"
#include "model/kernels/packed_grf_cuda.h"
#include "model/kernels/token_features_cuda.h"
#include "model/kernels/walk_sampler_cuda.h"
#include "render/kernels/cuda_render_kernels.h"

namespace interlacer {

struct CudaKernels {
  CudaRenderKernels render;

  INTERLACER_LAUNCHER(CudaErrorText);
  INTERLACER_LAUNCHER(CudaDeviceCount);
  INTERLACER_LAUNCHER(CudaDeviceName);
  INTERLACER_LAUNCHER(CudaComputeCapability);

  INTERLACER_LAUNCHER(UnprojectWorkspaceBytes);
  INTERLACER_LAUNCHER(LaunchUnproject);
  INTERLACER_LAUNCHER(LaunchSubsetKeys);
  INTERLACER_LAUNCHER(LaunchAnchorKeys);

  INTERLACER_LAUNCHER(GridKnnWorkspaceBytes);
  INTERLACER_LAUNCHER(LaunchGridKnn);
  INTERLACER_LAUNCHER(MortonOrderWorkspaceBytes);
  INTERLACER_LAUNCHER(LaunchMortonOrder);
  INTERLACER_LAUNCHER(WalkListsWorkspaceBytes);
  INTERLACER_LAUNCHER(LaunchWalkLists);
  INTERLACER_LAUNCHER(TransposeWalkListsWorkspaceBytes);
  INTERLACER_LAUNCHER(LaunchTransposeWalkLists);
  INTERLACER_LAUNCHER(SampleWalksWorkspaceBytes);
  INTERLACER_LAUNCHER(LaunchSampleWalks);

  INTERLACER_LAUNCHER(LaunchTokenFeatures);

  INTERLACER_LAUNCHER(LaunchGrfForward);
  INTERLACER_LAUNCHER(LaunchWeightedGrfForward);
  INTERLACER_LAUNCHER(GrfCudaBackwardScratchCount);
  INTERLACER_LAUNCHER(LaunchGrfBackward);
  INTERLACER_LAUNCHER(LaunchWeightedGrfBackward);
  INTERLACER_LAUNCHER(LinearCudaScratchCount);
  INTERLACER_LAUNCHER(LaunchLinearAttentionForward);
  INTERLACER_LAUNCHER(LaunchLinearAttentionBackward);

  INTERLACER_LAUNCHER(LaunchPackDensePair);
  INTERLACER_LAUNCHER(LaunchPackTransposedDense);
  INTERLACER_LAUNCHER(LaunchPackDenseByInputs);
  INTERLACER_LAUNCHER(LaunchPackProjections);
  INTERLACER_LAUNCHER(FitsFusedCuda);
  INTERLACER_LAUNCHER(LaunchAddFeedForward);
  INTERLACER_LAUNCHER(LaunchGrfProjections);
  INTERLACER_LAUNCHER(FitsPackedGrf);
  INTERLACER_LAUNCHER(LaunchPackedGrf);
  INTERLACER_LAUNCHER(LaunchAddMixed);
  INTERLACER_LAUNCHER(FitsFusedLinear);
  INTERLACER_LAUNCHER(FusedLinearScratchCount);
  INTERLACER_LAUNCHER(LaunchAddLinearAttention);
  INTERLACER_LAUNCHER(FitsDynamicsHead);
  INTERLACER_LAUNCHER(LaunchDynamicsHead);
};

}  // namespace interlacer
