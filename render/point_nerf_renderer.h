#pragma once

/// The fast CPU renderer on a chosen set of kernels. See render/renderer.h for the contract.

#include <memory>

#include "render/cpu_kernels.h"
#include "render/renderer.h"

namespace interlacer {

/// MakePointNerfRenderer with BestRenderKernels() replaced; `kernels` must outlive the renderer.
std::unique_ptr<PointNerfRenderer> MakePointNerfRendererWith(const RendererConfig& config,
                                                             const RenderKernels& kernels);

}  // namespace interlacer
