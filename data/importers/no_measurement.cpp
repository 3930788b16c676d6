#include "data/importers/no_measurement.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

#include "common/number_text.h"
#include "data/depth.h"

namespace interlacer {
namespace {

/// Ends of ranges of integers and of sensors; the largest depth of a scene hardly is one of these.
constexpr std::array<std::uint16_t, 18> kUsualCodes = {255,   1023,  2046,  2047,  4000,  4095,
                                                       8000,  8191,  10000, 16383, 20000, 32000,
                                                       32001, 32767, 32768, 50000, 65280, 65534};
/// Signs of a code, of which two must be there: an end of a range; far above the depths of the
/// scene; in far more pixels than any depth of it.
constexpr double kLeastGapRatio = 1.5;
constexpr std::int64_t kLeastCountRatio = 10;
constexpr double kLeastShare = 0.01;

std::string Share(std::int64_t count, std::int64_t total) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f %%",
                100 * static_cast<double>(count) / static_cast<double>(total));
  return text;
}

}  // namespace

void DepthCodes::Add(const DepthCodes& other) {
  pixel_count += other.pixel_count;
  saturated_count += other.saturated_count;
  named_count += other.named_count;
  for (const auto& [value, count] : other.suspects) suspects[value] += count;
}

DepthCodes RemoveNoMeasurement(std::optional<std::uint16_t> no_depth_value, DepthImage16* depth) {
  DepthCodes codes;
  codes.pixel_count = static_cast<std::int64_t>(depth->pixels.size());
  std::vector<std::uint32_t> counts = CountDepths(*depth);
  const std::uint16_t named = no_depth_value.value_or(kSaturatedDepth);
  codes.named_count = no_depth_value ? counts[named] : 0;
  codes.saturated_count = named == kSaturatedDepth && no_depth_value ? 0 : counts[kSaturatedDepth];
  if (codes.named_count + codes.saturated_count > 0) {
    for (std::uint16_t& value : depth->pixels) {
      if (value == named || value == kSaturatedDepth) value = 0;
    }
  }
  counts[named] = counts[kSaturatedDepth] = counts[0] = 0;
  const auto is_there = [](std::uint32_t count) { return count > 0; };
  const auto last = std::find_if(counts.rbegin(), counts.rend(), is_there);
  const auto before =
      std::find_if(last == counts.rend() ? last : last + 1, counts.rend(), is_there);
  if (before == counts.rend()) return codes;
  const auto largest = static_cast<std::uint16_t>(counts.rend() - last - 1);
  const auto second = static_cast<double>(counts.rend() - before - 1);
  const bool is_usual =
      std::find(kUsualCodes.begin(), kUsualCodes.end(), largest) != kUsualCodes.end();
  const bool is_far = largest >= kLeastGapRatio * second;
  const bool is_frequent =
      *last >= kLeastCountRatio * std::int64_t{*std::max_element(before, counts.rend())};
  if (is_usual + is_far + is_frequent >= 2) codes.suspects[largest] = *last;
  return codes;
}

std::vector<Finding> DescribeCodes(const DepthCodes& codes, double unit_m) {
  std::vector<Finding> findings;
  if (codes.saturated_count > 0) {
    findings.push_back({"DEPTH_NO_MEASUREMENT_VALUE",
                        "65535 was taken for no measurement in " +
                            Share(codes.saturated_count, codes.pixel_count) + " of the pixels",
                        "depth"});
  }
  for (const auto& [value, count] : codes.suspects) {
    if (static_cast<double>(count) < kLeastShare * static_cast<double>(codes.pixel_count)) continue;
    const std::string number = std::to_string(value);
    findings.push_back({"DEPTH_CODE_SUSPECT",
                        Share(count, codes.pixel_count) + " of the pixels have the depth " +
                            number + " (" + NumberText(value * unit_m) +
                            " m), as a code would stand there: if it means no measurement, "
                            "--no-depth-value " +
                            number,
                        "depth"});
  }
  return findings;
}

}  // namespace interlacer
