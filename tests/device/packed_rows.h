#pragma once

/// Rows of model/kernels/packed_grf_cuda.h, packed on the host, for programs that check or measure
/// that kernel alone.

#include <cstdint>
#include <vector>

#include "common/kernels/bfloat16.h"

namespace interlacer {

/// [n,2 width] of k and v [n,width], bfloat16.
inline std::vector<std::uint16_t> PackedGrfRows(const std::vector<std::uint16_t>& k,
                                                const std::vector<std::uint16_t>& v,
                                                double feature_epsilon) {
  constexpr std::size_t kGroup = 4;
  std::vector<std::uint16_t> packed;
  packed.reserve(2 * k.size());
  for (std::size_t begin = 0; begin < k.size(); begin += kGroup) {
    for (std::size_t c = begin; c < begin + kGroup; ++c) {
      const float key = FromBfloat16(k[c]);
      // NaN passes.
      packed.push_back(ToBfloat16((key <= 0 ? 0 : key) + static_cast<float>(feature_epsilon)));
    }
    packed.insert(packed.end(), v.begin() + begin, v.begin() + begin + kGroup);
  }
  return packed;
}

}  // namespace interlacer
