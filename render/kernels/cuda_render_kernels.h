#pragma once

/// The launchers of a renderer on a device as a table of functions, so that a program may hold
/// several sets of kernels. Only a program that links the kernels can make one.

#include "common/kernels/cuda.h"
#include "render/kernels/cloud_index_cuda.h"
#include "render/kernels/field_cuda.h"
#include "render/kernels/observed_discs_cuda.h"
#include "render/kernels/ray_march_cuda.h"

namespace interlacer {

struct CudaRenderKernels {
  INTERLACER_LAUNCHER(CudaErrorText);
  INTERLACER_LAUNCHER(LayOutCloudIndex);
  INTERLACER_LAUNCHER(CloudIndexWorkspaceBytes);
  INTERLACER_LAUNCHER(LaunchCloudIndex);
  INTERLACER_LAUNCHER(MarchWorkspaceBytes);
  INTERLACER_LAUNCHER(LaunchMarchRays);
  INTERLACER_LAUNCHER(LaunchGatherNearest);
  INTERLACER_LAUNCHER(LaunchAnnularSums);
  INTERLACER_LAUNCHER(LaunchAnnularSumsBackward);
  INTERLACER_LAUNCHER(LaunchDenseForward);
  INTERLACER_LAUNCHER(DenseWeightGradientWorkspaceBytes);
  INTERLACER_LAUNCHER(LaunchDenseWeightGradient);
  INTERLACER_LAUNCHER(LaunchTranspose);
  INTERLACER_LAUNCHER(LaunchEmptyRule);
  INTERLACER_LAUNCHER(PackedFieldBytes);
  INTERLACER_LAUNCHER(LaunchPackField);
  INTERLACER_LAUNCHER(LaunchFieldBf16);
  INTERLACER_LAUNCHER(LaunchComposite);
  INTERLACER_LAUNCHER(LaunchCompositeBackward);
  INTERLACER_LAUNCHER(ParticleGradientWorkspaceBytes);
  INTERLACER_LAUNCHER(LaunchParticleGradients);
  INTERLACER_LAUNCHER(ObservedWorkspaceBytes);
  INTERLACER_LAUNCHER(LaunchObservedDiscs);
};

}  // namespace interlacer
