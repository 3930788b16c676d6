#pragma once

/// The weights of the radiance field as tensors. Values; threads: as tensors.

#include <torch/types.h>

#include <array>

namespace interlacer {

/// w1, b1, w2, b2, w3, b3 as in render/radiance_field.h.
using FieldTensors = std::array<torch::Tensor, 6>;

}  // namespace interlacer
