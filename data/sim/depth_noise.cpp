#include "data/sim/depth_noise.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "common/random.h"

namespace interlacer::sim {
namespace {

constexpr double kDepthStepM = 0.05;      // between neighbours on either side of a silhouette
constexpr float kLossAtDepthStep = 0.5f;  // probability
constexpr std::uint32_t kNoiseDraws = 1u << 16;  // first counter word, above the numbers of draws

/// Whether a neighbour of the pixel, left, right, above or below, is farther or nearer by a step.
bool AtDepthStep(const DepthImage16& depth, int row, int column) {
  const auto at = [&](int r, int c) {
    r = std::clamp(r, 0, depth.height_px - 1);
    c = std::clamp(c, 0, depth.width_px - 1);
    return static_cast<int>(depth.pixels[static_cast<std::size_t>(r) * depth.width_px + c]);
  };
  const int here = at(row, column);
  const int step = static_cast<int>(kDepthStepM / depth.unit_m);
  return std::abs(at(row - 1, column) - here) > step ||
         std::abs(at(row + 1, column) - here) > step ||
         std::abs(at(row, column - 1) - here) > step || std::abs(at(row, column + 1) - here) > step;
}

}  // namespace

void AddDepthNoise(std::uint64_t seed, int step, int camera, double deviation_at_1m_m,
                   DepthImage16& depth) {
  if (deviation_at_1m_m <= 0) return;
  RandomSequence random(seed, RandomStream::kDataGeneration, kNoiseDraws + step, camera);
  const DepthImage16 exact = depth;
  constexpr double kLargest = std::numeric_limits<std::uint16_t>::max();
  for (int row = 0; row < depth.height_px; ++row) {
    for (int column = 0; column < depth.width_px; ++column) {
      std::uint16_t& pixel = depth.pixels[static_cast<std::size_t>(row) * depth.width_px + column];
      const double z_m = pixel * depth.unit_m;
      const double noisy_m = z_m + deviation_at_1m_m * z_m * z_m * random.Normal();
      const bool lost = random.Uniform() < kLossAtDepthStep && AtDepthStep(exact, row, column);
      if (pixel == 0) continue;
      const double units = std::clamp(std::round(noisy_m / depth.unit_m), 1.0, kLargest);
      pixel = lost ? 0 : static_cast<std::uint16_t>(units);
    }
  }
}

}  // namespace interlacer::sim
