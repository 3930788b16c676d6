#include "render/fill_holes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace interlacer {
namespace {

/// Farther surroundings count more by the eighth power of their depth.
constexpr int kDepthSquarings = 3;

/// What is known of a pixel. Depth 0 is unknown.
struct FilledPixel {
  std::array<float, 3> color{};
  float depth_m = 0;
  float weight = 0;
};

struct FilledLevel {
  int width_px = 0, height_px = 0;
  std::vector<FilledPixel> pixels;

  const FilledPixel& Near(int row, int column) const {
    row = std::clamp(row, 0, height_px - 1);
    column = std::clamp(column, 0, width_px - 1);
    return pixels[static_cast<std::size_t>(row) * width_px + column];
  }
};

/// Mean of four pixels by weight, farther ones preferred; its weight is the sum of theirs.
FilledPixel MeanOf(const std::array<const FilledPixel*, 4>& pixels,
                   const std::array<float, 4>& weights) {
  float farthest_m = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    if (weights[i] > 0) farthest_m = std::max(farthest_m, pixels[i]->depth_m);
  }
  FilledPixel mean;
  float depth_weight = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const FilledPixel& pixel = *pixels[i];
    float weight = weights[i];
    if (pixel.depth_m > 0 && pixel.depth_m < farthest_m) {
      float share = pixel.depth_m / farthest_m;
      for (int squaring = 0; squaring < kDepthSquarings; ++squaring) share *= share;
      weight *= share;
    }
    mean.weight += weight;
    for (std::size_t c = 0; c < 3; ++c) mean.color[c] += weight * pixel.color[c];
    if (pixel.depth_m > 0) {
      mean.depth_m += weight * pixel.depth_m;
      depth_weight += weight;
    }
  }
  if (mean.weight > 0) {
    for (float& c : mean.color) c /= mean.weight;
  }
  if (depth_weight > 0) mean.depth_m /= depth_weight;
  return mean;
}

FilledLevel Halved(const FilledLevel& fine) {
  FilledLevel coarse{(fine.width_px + 1) / 2, (fine.height_px + 1) / 2, {}};
  coarse.pixels.reserve(static_cast<std::size_t>(coarse.width_px) * coarse.height_px);
  static const FilledPixel outside;
  for (int row = 0; row < fine.height_px; row += 2) {
    for (int column = 0; column < fine.width_px; column += 2) {
      const bool has_right = column + 1 < fine.width_px, has_below = row + 1 < fine.height_px;
      const std::array<const FilledPixel*, 4> pixels{
          &fine.Near(row, column), has_right ? &fine.Near(row, column + 1) : &outside,
          has_below ? &fine.Near(row + 1, column) : &outside,
          has_right && has_below ? &fine.Near(row + 1, column + 1) : &outside};
      FilledPixel mean = MeanOf(
          pixels, {pixels[0]->weight, pixels[1]->weight, pixels[2]->weight, pixels[3]->weight});
      mean.weight = std::min(mean.weight, 1.f);
      coarse.pixels.push_back(mean);
    }
  }
  return coarse;
}

/// What is missing of each pixel's weight comes from the four nearest coarse pixels.
void PullFrom(const FilledLevel& coarse, FilledLevel* fine) {
  for (int row = 0; row < fine->height_px; ++row) {
    const int up = (row - 1) >> 1;
    const float below = row % 2 == 0 ? 0.75f : 0.25f;
    for (int column = 0; column < fine->width_px; ++column) {
      FilledPixel& pixel = fine->pixels[static_cast<std::size_t>(row) * fine->width_px + column];
      if (pixel.weight == 1) continue;
      const int left = (column - 1) >> 1;
      const float right = column % 2 == 0 ? 0.75f : 0.25f;
      const FilledPixel mean = MeanOf(
          {&coarse.Near(up, left), &coarse.Near(up, left + 1), &coarse.Near(up + 1, left),
           &coarse.Near(up + 1, left + 1)},
          {(1 - below) * (1 - right), (1 - below) * right, below * (1 - right), below * right});
      const float known = pixel.weight;
      for (std::size_t c = 0; c < 3; ++c) {
        pixel.color[c] = known * pixel.color[c] + (1 - known) * mean.color[c];
      }
      if (known == 0 || pixel.depth_m == 0) pixel.depth_m = mean.depth_m;
    }
  }
}

}  // namespace

Status FillHoles(std::span<const float> coverage, float background, FloatImage* color) {
  constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();
  return FillHoles(
      coverage,
      {color->width_px, color->height_px,
       std::vector<float>(static_cast<std::size_t>(color->width_px) * color->height_px, kUnknown)},
      background, color);
}

Status FillHoles(std::span<const float> coverage, const DepthImage& depth, float background,
                 FloatImage* color) {
  const std::size_t count = static_cast<std::size_t>(color->width_px) * color->height_px;
  if (coverage.size() != count || color->pixels.size() != 3 * count) {
    return Mismatch(reason::SHAPE_MISMATCH, "coverage", std::to_string(count) + " numbers",
                    std::to_string(coverage.size()));
  }
  if (depth.pixels_m.size() != count) {
    return Mismatch(reason::SHAPE_MISMATCH, "depth", std::to_string(count) + " numbers",
                    std::to_string(depth.pixels_m.size()));
  }
  if (std::none_of(coverage.begin(), coverage.end(), [](float c) { return c > 0; })) {
    std::fill(color->pixels.begin(), color->pixels.end(), background);
    return Status::Ok();
  }
  std::vector<FilledLevel> levels{{color->width_px, color->height_px, {}}};
  levels[0].pixels.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    FilledPixel& pixel = levels[0].pixels[i];
    std::copy_n(color->pixels.begin() + 3 * static_cast<long>(i), 3, pixel.color.begin());
    const float depth_m = depth.pixels_m[i];
    pixel.depth_m = std::isfinite(depth_m) && depth_m > 0 ? depth_m : 0;
    pixel.weight = coverage[i];
  }
  while (levels.back().width_px > 1 || levels.back().height_px > 1) {
    levels.push_back(Halved(levels.back()));
  }
  for (std::size_t i = levels.size() - 1; i > 0; --i) PullFrom(levels[i], &levels[i - 1]);
  for (std::size_t i = 0; i < count; ++i) {
    std::copy_n(levels[0].pixels[i].color.begin(), 3,
                color->pixels.begin() + 3 * static_cast<long>(i));
  }
  return Status::Ok();
}

}  // namespace interlacer
