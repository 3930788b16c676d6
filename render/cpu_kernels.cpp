#include "render/cpu_kernels.h"

#include "common/kernels/cpu_features.h"

namespace interlacer {
namespace {

constexpr RenderKernels kPortable{
    "portable",        cpu::GatherNearest,          cpu::AnnularSums, cpu::AnnularSumsBackward,
    cpu::DenseForward, cpu::DenseWeightGradientSum, cpu::SsimRows};
constexpr RenderKernels kAvx2{"avx2",
                              avx2::GatherNearest,
                              avx2::AnnularSums,
                              avx2::AnnularSumsBackward,
                              avx2::DenseForward,
                              avx2::DenseWeightGradientSum,
                              avx2::SsimRows};
constexpr RenderKernels kAvx512{"avx512",
                                avx512::GatherNearest,
                                avx512::AnnularSums,
                                avx512::AnnularSumsBackward,
                                avx512::DenseForward,
                                avx512::DenseWeightGradientSum,
                                avx512::SsimRows};

}  // namespace

const RenderKernels& PortableRenderKernels() { return kPortable; }

const RenderKernels* Avx2RenderKernels() { return HostCpuFeatures().avx2 ? &kAvx2 : nullptr; }

const RenderKernels* Avx512RenderKernels() { return HostCpuFeatures().avx512 ? &kAvx512 : nullptr; }

const RenderKernels& BestRenderKernels() {
  if (const RenderKernels* kernels = Avx512RenderKernels()) return *kernels;
  if (const RenderKernels* kernels = Avx2RenderKernels()) return *kernels;
  return kPortable;
}

}  // namespace interlacer
