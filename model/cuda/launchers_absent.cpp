/// Stubs of the CUDA kernels' launchers in a build without CUDA. No tensor is on a device there, so
/// none is called in practice; each returns the error of an absent device.

#include "data/kernels/subset_keys_cuda.h"
#include "data/kernels/unproject_cuda.h"
#include "knn/kernels/grid_knn_cuda.h"
#include "knn/kernels/morton_order_cuda.h"
#include "knn/kernels/walk_lists_cuda.h"
#include "model/kernels/dense_pack_cuda.h"
#include "model/kernels/device_query_cuda.h"
#include "model/kernels/dynamics_head_cuda.h"
#include "model/kernels/fused_linear_cuda.h"
#include "model/kernels/grf_attention_cuda.h"
#include "model/kernels/kinematic_tokens_cuda.h"
#include "model/kernels/linear_attention_cuda.h"
#include "model/kernels/packed_grf_cuda.h"
#include "model/kernels/token_features_cuda.h"
#include "model/kernels/walk_sampler_cuda.h"

namespace interlacer {
int CudaDeviceCount() { return 0; }
const char* CudaErrorText(int) { return "built without CUDA"; }

std::size_t UnprojectWorkspaceBytes(std::int64_t) { return 0; }
int LaunchUnproject(std::span<const UnprojectViewDevice>, void*, const UnprojectedDevice&, void*) {
  return kNoDevice;
}
int LaunchSubsetKeys(std::uint64_t, std::uint32_t, std::int64_t, std::int64_t*, void*) {
  return kNoDevice;
}
int LaunchAnchorKeys(std::uint64_t, std::int64_t, std::int64_t*, void*) { return kNoDevice; }

std::size_t GridKnnWorkspaceBytes(const CellGrid&, std::int64_t) { return 0; }
int LaunchGridKnn(const CellGrid&, const float*, std::int64_t, int, void*, std::int32_t*, void*) {
  return kNoDevice;
}
int LaunchGridKnn(const CellGrid&, const float*, const PointRanges&, int, void*, std::int32_t*,
                  void*) {
  return kNoDevice;
}
std::size_t MortonOrderWorkspaceBytes(std::int64_t, std::int64_t) { return 0; }
int LaunchMortonOrder(const MortonCloud&, const MortonCloud&, int, double, void*, void*) {
  return kNoDevice;
}

std::size_t WalkListsWorkspaceBytes(std::int64_t) { return 0; }
int LaunchWalkLists(const WalkGraphView&, std::int64_t, void*, std::int32_t*, std::uint32_t*,
                    void*) {
  return kNoDevice;
}
std::size_t TransposeWalkListsWorkspaceBytes(std::int64_t) { return 0; }
int LaunchTransposeWalkLists(std::int64_t, const std::int32_t*, const std::uint32_t*, void*,
                             const TransposedWalksDevice&, void*) {
  return kNoDevice;
}
std::size_t SampleWalksWorkspaceBytes(std::int64_t) { return 0; }
int LaunchSampleWalks(const WalkEdges&, std::int64_t, const WalkSamplerOptions&, void*,
                      const SampledWalksDevice&, void*) {
  return kNoDevice;
}

int LaunchGrfAttentionForward(const GrfShape&, const GrfPackedPairs<float>&,
                              const GrfInputs<float>&, const GrfEpsilons&, float*, float*, void*) {
  return kNoDevice;
}
int LaunchGrfAttentionForward(const GrfShape&, const GrfWeightedPairs<float>&,
                              const GrfInputs<float>&, const GrfEpsilons&, float*, float*, void*) {
  return kNoDevice;
}
int LaunchGrfAttentionForward(const GrfShape&, const GrfPackedPairs<float>&,
                              const GrfInputs<std::uint16_t>&, const GrfEpsilons&, float*, float*,
                              void*) {
  return kNoDevice;
}
bool FitsPackedGrf(int) { return false; }
int LaunchPackGrfRows(std::int64_t, int, const std::uint16_t*, const std::uint16_t*,
                      const GrfEpsilons&, std::uint16_t*, void*) {
  return kNoDevice;
}
int LaunchPackedGrf(const PackedGrfShape&, const GrfPackedPairs<float>&, const PackedGrfInputs&,
                    const GrfEpsilons&, const PackedGrfOutputs&, void*) {
  return kNoDevice;
}

int LaunchPackDensePair(const DenseWeight&, const DenseWeight&, int, std::uint16_t*, void*) {
  return kNoDevice;
}
int LaunchPackTransposedDense(const DenseWeight&, std::uint16_t*, void*) { return kNoDevice; }
int LaunchPackDenseByInputs(const DenseWeight&, std::uint16_t*, void*) { return kNoDevice; }
int LaunchPackProjections(const DenseWeight&, const DenseWeight&, const DenseWeight&,
                          std::uint16_t*, void*) {
  return kNoDevice;
}
bool FitsFusedCuda(int) { return false; }
int LaunchAddFeedForward(const FusedRange&, int, const FeedForwardLayers&, float*, void*) {
  return kNoDevice;
}
int LaunchGrfProjections(std::int64_t, int, const FusedRange&, const GrfProjections&,
                         const GrfEpsilons&, const float*, std::uint16_t*, std::uint16_t*, void*) {
  return kNoDevice;
}
int LaunchAddMixed(const FusedRange&, int, const OutputLayer&, const std::uint16_t*,
                   const FeedForwardLayers&, float*, void*) {
  return kNoDevice;
}
bool FitsFusedLinear(int, int) { return false; }
std::int64_t FusedLinearScratchCount(std::int64_t, int) { return 0; }
int LaunchAddLinearAttention(std::int64_t, int, const FusedRange&, const LinearLayers&,
                             const LinearAttentionEpsilons&, const FeedForwardLayers&, float*,
                             float*, void*) {
  return kNoDevice;
}
bool FitsDynamicsHead(int) { return false; }
int LaunchDynamicsHead(std::int64_t, int, const DynamicsHeadLayers&, const float*,
                       const DynamicsHeadClouds&, void*) {
  return kNoDevice;
}

std::int64_t GrfCudaBackwardScratchCount(std::int64_t, std::int64_t) { return 0; }
int LaunchGrfAttentionBackward(const GrfShape&, const GrfPackedPairs<float>&,
                               const GrfTransposedPairs&, std::int64_t, const GrfInputs<float>&,
                               const GrfSaved<float>&, const GrfEpsilons&,
                               const GrfGradients<float>&, float*, void*) {
  return kNoDevice;
}
int LaunchGrfAttentionBackward(const GrfShape&, const GrfWeightedPairs<float>&,
                               const GrfTransposedPairs&, std::int64_t, const GrfInputs<float>&,
                               const GrfSaved<float>&, const GrfEpsilons&,
                               const GrfGradients<float>&, float*, void*) {
  return kNoDevice;
}

std::int64_t LinearCudaScratchCount(const LinearAttentionShape&) { return 0; }
int LaunchLinearAttentionForward(const LinearAttentionShape&, const LinearAttentionInputs<float>&,
                                 const LinearAttentionEpsilons&,
                                 const LinearAttentionOutputs<float>&, float*, void*) {
  return kNoDevice;
}
int LaunchLinearAttentionBackward(const LinearAttentionShape&, const LinearAttentionInputs<float>&,
                                  const LinearAttentionSaved<float>&,
                                  const LinearAttentionEpsilons&,
                                  const LinearAttentionGradients<float>&, float*, void*) {
  return kNoDevice;
}

int LaunchKinematicTokens(const KinematicTokens&, const KinematicTokenOutputs&, void*) {
  return kNoDevice;
}

int LaunchTokenFeatures(const TokenFeatures&, float*, void*) { return kNoDevice; }

}  // namespace interlacer
