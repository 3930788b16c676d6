#include "render/cpu_kernels.h"

#include "common/kernels/cpu_features.h"

namespace interlacer {
namespace {

#define INTERLACER_RENDER_KERNELS(name, set)                                                 \
  {                                                                                          \
    name, set::GatherNearest, set::AnnularSums, set::AnnularSumsBackward, set::DenseForward, \
        set::DenseWeightGradientSum, set::SsimRows                                           \
  }
constexpr RenderKernels kPortable INTERLACER_RENDER_KERNELS("portable", cpu);
constexpr RenderKernels kAvx2 INTERLACER_RENDER_KERNELS("avx2", avx2);
constexpr RenderKernels kAvx512 INTERLACER_RENDER_KERNELS("avx512", avx512);

}  // namespace

const RenderKernels& PortableRenderKernels() { return kPortable; }

const RenderKernels* Avx2RenderKernels() { return HostCpuFeatures().avx2 ? &kAvx2 : nullptr; }

const RenderKernels* Avx512RenderKernels() { return HostCpuFeatures().avx512 ? &kAvx512 : nullptr; }

const RenderKernels& BestRenderKernels() { return *FormOfHost(&kPortable, &kAvx2, &kAvx512); }

}  // namespace interlacer
