#include "server/convert/raw_depth.h"

#include <bit>
#include <cmath>
#include <limits>

#include "common/kernels/cpu_features.h"

namespace interlacer {
namespace {

/// The first value from 1 to `end` for which `holds`, or `end` when there is none; `holds` changes
/// from false to true once.
template <typename Predicate>
std::uint32_t FirstThat(std::uint32_t end, const Predicate& holds) {
  std::uint32_t begin = 1;
  while (begin < end) {
    const std::uint32_t middle = begin + (end - begin) / 2;
    if (holds(middle)) {
      end = middle;
    } else {
      begin = middle + 1;
    }
  }
  return begin;
}

/// The range of samples whose depth by `meters`, which increases with the sample, is plausible.
template <typename Meters>
RawDepthRange RangeOf(std::uint32_t sample_end, const PlausibleDepth& plausible,
                      const Meters& meters) {
  RawDepthRange range;
  range.last_measured =
      FirstThat(sample_end, [&](std::uint32_t x) { return !std::isfinite(meters(x)); }) - 1;
  range.first_plausible =
      FirstThat(sample_end, [&](std::uint32_t x) { return meters(x) >= plausible.min_m; });
  range.last_plausible =
      FirstThat(sample_end, [&](std::uint32_t x) { return meters(x) > plausible.max_m; }) - 1;
  return range;
}

}  // namespace

RawDepthDecoder RawDepthDecoder::Uint16(double unit_m, const PlausibleDepth& plausible) {
  RawDepthDecoder decoder;
  decoder.unit_m_ = unit_m;
  constexpr std::uint32_t kSampleEnd = std::numeric_limits<std::uint16_t>::max() + 1u;
  decoder.range_ = RangeOf(kSampleEnd, plausible,
                           [unit_m](std::uint32_t x) { return static_cast<float>(x * unit_m); });
  return decoder;
}

RawDepthDecoder RawDepthDecoder::Float32(const PlausibleDepth& plausible) {
  RawDepthDecoder decoder;
  decoder.is_float_ = true;
  constexpr auto kInfinityBits =
      std::bit_cast<std::uint32_t>(std::numeric_limits<float>::infinity());
  decoder.range_ = RangeOf(kInfinityBits, plausible,
                           [](std::uint32_t bits) { return std::bit_cast<float>(bits); });
  return decoder;
}

void RawDepthDecoder::Decode(const std::uint8_t* samples, std::int64_t count, float* depth_m) {
  if (is_float_) {
    INTERLACER_FORM_OF_HOST(RawDepthFloats)(samples, count, range_, depth_m, &tally_);
  } else {
    INTERLACER_FORM_OF_HOST(RawDepthUnits)(samples, count, unit_m_, range_, depth_m, &tally_);
  }
}

bool RawDepthDecoder::IsMedianPlausible() const {
  if (tally_.measured == 0) return true;
  const std::int64_t rank = tally_.measured / 2;
  return tally_.too_near <= rank && tally_.measured - tally_.too_far > rank;
}

}  // namespace interlacer
