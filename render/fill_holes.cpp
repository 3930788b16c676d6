#include "render/fill_holes.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace interlacer {
namespace {

/// One level: colours, and how much is known of each.
struct Level {
  int width_px = 0, height_px = 0;
  std::vector<float> color, weight;
};

std::size_t At(const Level& level, int row, int column) {
  row = std::clamp(row, 0, level.height_px - 1);
  column = std::clamp(column, 0, level.width_px - 1);
  return static_cast<std::size_t>(row) * level.width_px + column;
}

Level Halved(const Level& fine) {
  Level coarse{(fine.width_px + 1) / 2, (fine.height_px + 1) / 2, {}, {}};
  const std::size_t count = static_cast<std::size_t>(coarse.width_px) * coarse.height_px;
  coarse.color.assign(3 * count, 0);
  coarse.weight.assign(count, 0);
  for (int row = 0; row < fine.height_px; ++row) {
    for (int column = 0; column < fine.width_px; ++column) {
      const std::size_t from = At(fine, row, column), to = At(coarse, row / 2, column / 2);
      coarse.weight[to] += fine.weight[from];
      for (std::size_t c = 0; c < 3; ++c) {
        coarse.color[3 * to + c] += fine.weight[from] * fine.color[3 * from + c];
      }
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (coarse.weight[i] == 0) continue;
    for (std::size_t c = 0; c < 3; ++c) coarse.color[3 * i + c] /= coarse.weight[i];
    coarse.weight[i] = std::min(coarse.weight[i], 1.f);
  }
  return coarse;
}

/// What is missing of each pixel's weight comes from the four nearest coarse pixels.
void PullFrom(const Level& coarse, Level* fine) {
  for (int row = 0; row < fine->height_px; ++row) {
    for (int column = 0; column < fine->width_px; ++column) {
      const std::size_t at = At(*fine, row, column);
      const float known = fine->weight[at];
      if (known == 1) continue;
      const int up = (row - 1) >> 1, left = (column - 1) >> 1;
      const float down_share = row % 2 == 0 ? 0.75f : 0.25f;
      const float right_share = column % 2 == 0 ? 0.75f : 0.25f;
      for (std::size_t c = 0; c < 3; ++c) {
        const auto color = [&](int r, int k) { return coarse.color[3 * At(coarse, r, k) + c]; };
        const float above = (1 - right_share) * color(up, left) + right_share * color(up, left + 1);
        const float below =
            (1 - right_share) * color(up + 1, left) + right_share * color(up + 1, left + 1);
        const float coarse_color = (1 - down_share) * above + down_share * below;
        float& fine_color = fine->color[3 * at + c];
        fine_color = known * fine_color + (1 - known) * coarse_color;
      }
    }
  }
}

}  // namespace

Status FillHoles(std::span<const float> coverage, float background, FloatImage* color) {
  const std::size_t count = static_cast<std::size_t>(color->width_px) * color->height_px;
  if (coverage.size() != count || color->pixels.size() != 3 * count) {
    return Mismatch(reason::SHAPE_MISMATCH, "coverage", std::to_string(count) + " numbers",
                    std::to_string(coverage.size()));
  }
  if (std::none_of(coverage.begin(), coverage.end(), [](float c) { return c > 0; })) {
    std::fill(color->pixels.begin(), color->pixels.end(), background);
    return Status::Ok();
  }
  std::vector<Level> levels{{color->width_px,
                             color->height_px,
                             std::move(color->pixels),
                             {coverage.begin(), coverage.end()}}};
  while (levels.back().width_px > 1 || levels.back().height_px > 1) {
    levels.push_back(Halved(levels.back()));
  }
  for (std::size_t i = levels.size() - 1; i > 0; --i) PullFrom(levels[i], &levels[i - 1]);
  color->pixels = std::move(levels.front().color);
  return Status::Ok();
}

}  // namespace interlacer
