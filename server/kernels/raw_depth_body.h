/// Body of raw_depth.h; the including file sets INTERLACER_KERNEL_NAMESPACE. No include guard on
/// purpose.
///
/// Bound: memory; a pass reads each sample and writes each depth once. Selections are integer
/// arithmetic, so that the loops are vectorised without reordering floating-point operations.

#include <algorithm>
#include <bit>
#include <cstring>

#include "server/kernels/raw_depth.h"

namespace interlacer::INTERLACER_KERNEL_NAMESPACE {
namespace {

/// Samples of one block: they fit the first cache, and their counts fit a uint16.
constexpr int kBlock = 2048;
constexpr std::uint32_t kNanBits = 0x7fc00000u;

template <typename Sample>
void TallyBlock(const Sample* samples, int count, const RawDepthRange& range,
                RawDepthTally* tally) {
  const auto last_measured = static_cast<Sample>(range.last_measured);
  const auto nearer_end = static_cast<Sample>(range.first_plausible - 1);
  const auto last_plausible = static_cast<Sample>(range.last_plausible);
  // Counters as wide as a sample keep all lanes of a vector busy.
  Sample measured = 0, too_near = 0, too_far = 0;
  for (int i = 0; i < count; ++i) {
    const Sample x = samples[i];
    const auto before = static_cast<Sample>(x - 1);  // wraps for 0, which is no measurement
    measured = static_cast<Sample>(measured + (before < last_measured));
    too_near = static_cast<Sample>(too_near + (before < nearer_end));
    too_far = static_cast<Sample>(too_far + ((x > last_plausible) & (x <= last_measured)));
  }
  tally->measured += measured;
  tally->too_near += too_near;
  tally->too_far += too_far;
}

/// Calls convert(samples, n, depth_m) and counts, block by block.
template <typename Sample, typename Convert>
void ForBlocks(const std::uint8_t* bytes, std::int64_t count, const RawDepthRange& range,
               float* depth_m, RawDepthTally* tally, const Convert& convert) {
  Sample samples[kBlock];
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const int n = static_cast<int>(std::min<std::int64_t>(kBlock, count - begin));
    std::memcpy(samples, bytes + begin * sizeof(Sample), n * sizeof(Sample));
    convert(samples, n, depth_m + begin);
    TallyBlock(samples, n, range, tally);
  }
}

}  // namespace

void RawDepthUnits(const std::uint8_t* samples, std::int64_t count, double unit_m,
                   const RawDepthRange& range, float* depth_m, RawDepthTally* tally) {
  ForBlocks<std::uint16_t>(samples, count, range, depth_m, tally,
                           [unit_m](const std::uint16_t* units, int n, float* __restrict out_m) {
                             for (int i = 0; i < n; ++i) {
                               const int u = units[i];
                               const auto bits =
                                   std::bit_cast<std::uint32_t>(static_cast<float>(u * unit_m));
                               out_m[i] = std::bit_cast<float>(bits | (u == 0 ? kNanBits : 0u));
                             }
                           });
}

void RawDepthFloats(const std::uint8_t* samples, std::int64_t count, const RawDepthRange& range,
                    float* depth_m, RawDepthTally* tally) {
  ForBlocks<std::uint32_t>(
      samples, count, range, depth_m, tally,
      [last = range.last_measured](const std::uint32_t* bits, int n, float* __restrict out_m) {
        for (int i = 0; i < n; ++i) {
          out_m[i] = std::bit_cast<float>(bits[i] - 1 < last ? bits[i] : kNanBits);
        }
      });
}

}  // namespace interlacer::INTERLACER_KERNEL_NAMESPACE
