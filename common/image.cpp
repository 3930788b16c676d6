#include "common/image.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/check.h"

namespace interlacer {
namespace {

/// Source pixels under one destination pixel. In units of 1/(source * destination) of the side,
/// source pixel i covers [i*destination, (i+1)*destination) and destination pixel j covers
/// [j*source, (j+1)*source): the overlaps are integers, so the average is exact.
struct Span {
  int first = 0;
  std::vector<std::uint32_t> weights;  // sum = source side
};

std::vector<Span> AreaSpans(int source, int destination) {
  std::vector<Span> spans(destination);
  for (std::int64_t j = 0; j < destination; ++j) {
    const std::int64_t begin = j * source, end = begin + source;
    spans[j].first = static_cast<int>(begin / destination);
    for (std::int64_t i = spans[j].first; i * destination < end; ++i) {
      const std::int64_t overlap =
          std::min(end, (i + 1) * destination) - std::max(begin, i * destination);
      spans[j].weights.push_back(static_cast<std::uint32_t>(overlap));
    }
  }
  return spans;
}

std::vector<int> NearestIndices(int source, int destination) {
  std::vector<int> indices(destination);
  for (std::int64_t j = 0; j < destination; ++j) {
    // floor((j + 1/2) source / destination)
    indices[j] = static_cast<int>((2 * j + 1) * source / (2 * std::int64_t{destination}));
  }
  return indices;
}

/// Horizontal pass of one source row: sums of value * weight, [width_out,3].
void SumRow(const std::uint8_t* row, const std::vector<Span>& columns, std::uint32_t* sums) {
  for (std::size_t x = 0; x < columns.size(); ++x) {
    const std::uint8_t* pixel = row + 3 * columns[x].first;
    std::uint32_t sum[3] = {0, 0, 0};
    for (std::uint32_t weight : columns[x].weights) {
      for (int c = 0; c < 3; ++c) sum[c] += weight * pixel[c];
      pixel += 3;
    }
    std::copy(sum, sum + 3, sums + 3 * x);
  }
}

}  // namespace

DepthImage DepthToMeters(const DepthImage16& depth) {
  DepthImage result{depth.width_px, depth.height_px, std::vector<float>(depth.pixels.size())};
  for (std::size_t i = 0; i < depth.pixels.size(); ++i) {
    result.pixels_m[i] = depth.pixels[i] == 0 ? std::numeric_limits<float>::quiet_NaN()
                                              : static_cast<float>(depth.pixels[i] * depth.unit_m);
  }
  return result;
}

RgbImage ResizeArea(const RgbImage& image, int width_px, int height_px) {
  INTERLACER_CHECK(width_px > 0 && height_px > 0 && image.width_px > 0 && image.height_px > 0,
                   "image sides must be positive");
  if (width_px == image.width_px && height_px == image.height_px) return image;
  const std::vector<Span> columns = AreaSpans(image.width_px, width_px);
  const std::vector<Span> rows = AreaSpans(image.height_px, height_px);
  // The weights of a destination pixel add up to this.
  const std::uint64_t area =
      static_cast<std::uint64_t>(image.width_px) * static_cast<std::uint64_t>(image.height_px);
  const std::size_t row_size = std::size_t{3} * width_px;
  RgbImage result{width_px, height_px, std::vector<std::uint8_t>(row_size * height_px)};
  std::vector<std::uint32_t> row_sums(row_size);
  std::vector<std::uint64_t> sums(row_size);
  for (int y = 0; y < height_px; ++y) {
    std::fill(sums.begin(), sums.end(), 0);
    for (std::size_t i = 0; i < rows[y].weights.size(); ++i) {
      const std::size_t source_row = rows[y].first + i;
      SumRow(image.pixels.data() + source_row * 3 * image.width_px, columns, row_sums.data());
      const std::uint64_t weight = rows[y].weights[i];
      for (std::size_t x = 0; x < row_size; ++x) sums[x] += weight * row_sums[x];
    }
    for (std::size_t x = 0; x < row_size; ++x) {
      result.pixels[y * row_size + x] = static_cast<std::uint8_t>((sums[x] + area / 2) / area);
    }
  }
  return result;
}

DepthImage ResizeNearest(const DepthImage& depth, int width_px, int height_px) {
  INTERLACER_CHECK(width_px > 0 && height_px > 0 && depth.width_px > 0 && depth.height_px > 0,
                   "image sides must be positive");
  const std::vector<int> columns = NearestIndices(depth.width_px, width_px);
  const std::vector<int> rows = NearestIndices(depth.height_px, height_px);
  DepthImage result{width_px, height_px, {}};
  result.pixels_m.reserve(static_cast<std::size_t>(width_px) * height_px);
  for (int row : rows) {
    const float* source = depth.pixels_m.data() + static_cast<std::size_t>(row) * depth.width_px;
    for (int column : columns) result.pixels_m.push_back(source[column]);
  }
  return result;
}

RgbImage QuantizeRgb(const FloatImage& image) {
  INTERLACER_CHECK(image.channels == 3, "a colour image has 3 channels");
  RgbImage result{image.width_px, image.height_px, std::vector<std::uint8_t>(image.pixels.size())};
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    const float clamped = std::clamp(image.pixels[i], 0.0f, 1.0f);
    result.pixels[i] = static_cast<std::uint8_t>(std::floor(255.0f * clamped + 0.5f));
  }
  return result;
}

}  // namespace interlacer
