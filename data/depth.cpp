#include "data/depth.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace interlacer {
namespace {

bool IsMeasured(float depth_m) { return std::isfinite(depth_m) && depth_m > 0; }

}  // namespace

Status ValidateDepthUnit(double unit_m, std::string_view field) {
  if (std::isfinite(unit_m) && unit_m > 0 && unit_m <= 1) return Status::Ok();
  return Mismatch(reason::DEPTH_UNIT_MISSING, std::string(field),
                  "metres per integer above 0, at most 1", std::to_string(unit_m));
}

double ValidDepthRatio(const DepthImage& depth) {
  if (depth.pixels_m.empty()) return 0;
  const auto measured = std::count_if(depth.pixels_m.begin(), depth.pixels_m.end(), IsMeasured);
  return static_cast<double>(measured) / static_cast<double>(depth.pixels_m.size());
}

std::optional<double> MedianDepthM(const DepthImage& depth) {
  std::vector<float> measured;
  std::copy_if(depth.pixels_m.begin(), depth.pixels_m.end(), std::back_inserter(measured),
               IsMeasured);
  if (measured.empty()) return std::nullopt;
  const auto middle = measured.begin() + (static_cast<std::ptrdiff_t>(measured.size()) - 1) / 2;
  std::nth_element(measured.begin(), middle, measured.end());
  return *middle;
}

std::vector<std::uint32_t> CountDepths(const DepthImage16& depth) {
  // Neighbours are often equal: two tables, so that they do not wait for each other.
  std::vector<std::uint32_t> counts(std::size_t{1} << 16), odd(counts.size());
  const std::size_t size = depth.pixels.size();
  for (std::size_t i = 0; i + 1 < size; i += 2) {
    ++counts[depth.pixels[i]];
    ++odd[depth.pixels[i + 1]];
  }
  if (size % 2 == 1) ++counts[depth.pixels.back()];
  for (std::size_t value = 0; value < odd.size(); ++value) counts[value] += odd[value];
  return counts;
}

std::optional<std::uint16_t> MedianDepth(std::span<const std::uint32_t> counts) {
  const std::uint64_t measured =
      std::accumulate(counts.begin() + 1, counts.end(), std::uint64_t{0});
  if (measured == 0) return std::nullopt;
  std::uint16_t value = 0;
  for (std::uint64_t seen = 0; seen <= (measured - 1) / 2;) seen += counts[++value];
  return value;
}

}  // namespace interlacer
