#pragma once

/// The samples that one pass of kernels visits: at most `m`; the exact number may be known to the
/// device alone. Kernels visit only existing samples.

#include <cstdint>

#include "common/kernels/host_device.h"

namespace interlacer {

/// The pass holds samples begin .. begin + m - 1 of *total; a null total means that all m are
/// there.
struct PassRange {
  const std::int32_t* total = nullptr;
  std::int64_t begin = 0;
};

INTERLACER_HOST_DEVICE inline std::int64_t CountInPass(const PassRange& pass, std::int64_t m) {
  if (pass.total == nullptr) return m;
  const std::int64_t left = *pass.total - pass.begin;
  return left < 0 ? 0 : left < m ? left : m;
}

/// Upper bound of blocks, which take the tiles of a pass in turns: enough to fill a large GPU, few
/// enough that a pass without samples costs little.
inline constexpr std::int64_t kMaxPassBlocks = 4224;

inline std::int64_t PassBlocks(std::int64_t tiles) {
  return tiles < kMaxPassBlocks ? tiles : kMaxPassBlocks;
}

}  // namespace interlacer
