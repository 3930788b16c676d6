#include "render/image_metrics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string>

#include "common/transforms.h"

namespace interlacer {
namespace {

constexpr double kSigmaPx = 1.5;
constexpr double kC1 = 6.5025;   // (0.01 * 255)^2
constexpr double kC2 = 58.5225;  // (0.03 * 255)^2
constexpr int kMovingThreshold = 16;
constexpr int kMovingGrowthPx = 5;

template <typename A, typename B>
Status CheckSameSize(const char* field, const A& a, const B& b) {
  if (a.width_px == b.width_px && a.height_px == b.height_px) return Status::Ok();
  return Mismatch(reason::IMAGE_SIZE_MISMATCH, field,
                  std::to_string(b.width_px) + "x" + std::to_string(b.height_px),
                  std::to_string(a.width_px) + "x" + std::to_string(a.height_px));
}

Status CheckWindowFits(const RgbImage& image) {
  if (image.width_px >= kSsimWindowPx && image.height_px >= kSsimWindowPx) return Status::Ok();
  return Mismatch(reason::IMAGE_SIZE_MISMATCH, "image", "a side of 11 px or more",
                  std::to_string(image.width_px) + "x" + std::to_string(image.height_px));
}

std::array<double, kSsimWindowPx> GaussianTaps() {
  std::array<double, kSsimWindowPx> taps;
  double sum = 0;
  for (int i = 0; i < kSsimWindowPx; ++i) {
    const double d = i - kSsimBorderPx;
    taps[i] = std::exp(-d * d / (2 * kSigmaPx * kSigmaPx));
    sum += taps[i];
  }
  for (double& tap : taps) tap /= sum;
  return taps;
}

/// [height,width] filtered in both directions, windows inside only: [height - 10,width - 10].
std::vector<double> Filter(const std::vector<double>& plane, int width, int height,
                           const std::array<double, kSsimWindowPx>& taps) {
  const int out_width = width - 2 * kSsimBorderPx, out_height = height - 2 * kSsimBorderPx;
  std::vector<double> rows(static_cast<std::size_t>(height) * out_width, 0.0);
  for (int y = 0; y < height; ++y) {
    const double* in = plane.data() + static_cast<std::size_t>(y) * width;
    double* out = rows.data() + static_cast<std::size_t>(y) * out_width;
    for (int k = 0; k < kSsimWindowPx; ++k) {
      for (int x = 0; x < out_width; ++x) out[x] += taps[k] * in[x + k];
    }
  }
  std::vector<double> filtered(static_cast<std::size_t>(out_height) * out_width, 0.0);
  for (int y = 0; y < out_height; ++y) {
    double* out = filtered.data() + static_cast<std::size_t>(y) * out_width;
    for (int k = 0; k < kSsimWindowPx; ++k) {
      const double* in = rows.data() + static_cast<std::size_t>(y + k) * out_width;
      for (int x = 0; x < out_width; ++x) out[x] += taps[k] * in[x];
    }
  }
  return filtered;
}

/// Adds a third of the SSIM of one channel to the map.
void AddChannel(const RgbImage& a, const RgbImage& b, int channel,
                const std::array<double, kSsimWindowPx>& taps, SsimMap& map) {
  const std::size_t count = static_cast<std::size_t>(a.width_px) * a.height_px;
  std::vector<double> x(count), y(count), squares(count), products(count);
  for (std::size_t i = 0; i < count; ++i) {
    x[i] = a.pixels[3 * i + channel];
    y[i] = b.pixels[3 * i + channel];
    squares[i] = x[i] * x[i] + y[i] * y[i];
    products[i] = x[i] * y[i];
  }
  // Only the sum of the variances is needed, so x^2 + y^2 is one map.
  const std::vector<double> mean_x = Filter(x, a.width_px, a.height_px, taps);
  const std::vector<double> mean_y = Filter(y, a.width_px, a.height_px, taps);
  const std::vector<double> mean_squares = Filter(squares, a.width_px, a.height_px, taps);
  const std::vector<double> mean_products = Filter(products, a.width_px, a.height_px, taps);
  for (std::size_t i = 0; i < map.values.size(); ++i) {
    const double product = mean_x[i] * mean_y[i];
    const double square = mean_x[i] * mean_x[i] + mean_y[i] * mean_y[i];
    const double variances = mean_squares[i] - square;
    const double covariance = mean_products[i] - product;
    map.values[i] +=
        (2 * product + kC1) * (2 * covariance + kC2) / ((square + kC1) * (variances + kC2)) / 3.0;
  }
}

Status CheckFinite(const char* field, const FloatImage& image) {
  if (image.channels != 3) {
    return Mismatch(reason::IMAGE_SIZE_MISMATCH, field, "3 channels",
                    std::to_string(image.channels));
  }
  for (const float value : image.pixels) {
    if (!std::isfinite(value)) {
      return Mismatch(reason::NOT_FINITE, field, "finite numbers", std::to_string(value));
    }
  }
  return Status::Ok();
}

/// Square dilation, rows then columns.
PixelMask Grow(const PixelMask& mask, int radius_px) {
  PixelMask wide = mask, grown = mask;
  for (int y = 0; y < mask.height_px; ++y) {
    for (int x = 0; x < mask.width_px; ++x) {
      for (int k = std::max(x - radius_px, 0); k <= std::min(x + radius_px, mask.width_px - 1);
           ++k) {
        wide.pixels[y * mask.width_px + x] |= mask.pixels[y * mask.width_px + k];
      }
    }
  }
  for (int y = 0; y < mask.height_px; ++y) {
    for (int k = std::max(y - radius_px, 0); k <= std::min(y + radius_px, mask.height_px - 1);
         ++k) {
      for (int x = 0; x < mask.width_px; ++x) {
        grown.pixels[y * mask.width_px + x] |= wide.pixels[k * mask.width_px + x];
      }
    }
  }
  return grown;
}

}  // namespace

StatusOr<SsimMap> ComputeSsimMap(const RgbImage& image, const RgbImage& truth) {
  INTERLACER_RETURN_IF_ERROR(CheckSameSize("image", image, truth));
  INTERLACER_RETURN_IF_ERROR(CheckWindowFits(image));
  SsimMap map{image.width_px - 2 * kSsimBorderPx, image.height_px - 2 * kSsimBorderPx, {}};
  map.values.assign(static_cast<std::size_t>(map.width_px) * map.height_px, 0.0);
  const std::array<double, kSsimWindowPx> taps = GaussianTaps();
  for (int channel = 0; channel < 3; ++channel) AddChannel(image, truth, channel, taps, map);
  return map;
}

StatusOr<double> SsimWangRgbV1(const RgbImage& image, const RgbImage& truth) {
  INTERLACER_ASSIGN_OR_RETURN(const SsimMap map, ComputeSsimMap(image, truth));
  double sum = 0;
  for (const double value : map.values) sum += value;
  return sum / static_cast<double>(map.values.size());
}

StatusOr<double> SsimWangRgbV1(const FloatImage& image, const FloatImage& truth) {
  INTERLACER_RETURN_IF_ERROR(CheckFinite("image", image));
  INTERLACER_RETURN_IF_ERROR(CheckFinite("truth", truth));
  return SsimWangRgbV1(QuantizeRgb(image), QuantizeRgb(truth));
}

StatusOr<std::optional<double>> MaskedSsim(const SsimMap& map, const PixelMask& mask) {
  const PixelMask inner{mask.width_px - 2 * kSsimBorderPx, mask.height_px - 2 * kSsimBorderPx, {}};
  INTERLACER_RETURN_IF_ERROR(CheckSameSize("mask", inner, map));
  double sum = 0;
  std::int64_t count = 0;
  for (int y = 0; y < map.height_px; ++y) {
    for (int x = 0; x < map.width_px; ++x) {
      if (!mask.pixels[(y + kSsimBorderPx) * mask.width_px + x + kSsimBorderPx]) continue;
      sum += map.values[static_cast<std::size_t>(y) * map.width_px + x];
      ++count;
    }
  }
  if (count < kMinMaskedPixels) return std::optional<double>();
  return std::optional<double>(sum / static_cast<double>(count));
}

StatusOr<std::optional<double>> PsnrRgb8V1(const RgbImage& image, const RgbImage& truth) {
  INTERLACER_RETURN_IF_ERROR(CheckSameSize("image", image, truth));
  std::int64_t squares = 0;
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    const std::int64_t d = std::int64_t{image.pixels[i]} - truth.pixels[i];
    squares += d * d;
  }
  if (squares == 0) return std::optional<double>();
  const double mean = static_cast<double>(squares) / static_cast<double>(image.pixels.size());
  return std::optional<double>(10.0 * std::log10(255.0 * 255.0 / mean));
}

StatusOr<PixelMask> MovingMask(const RgbImage& truth, const RgbImage& newest_observed) {
  INTERLACER_RETURN_IF_ERROR(CheckSameSize("newest_observed", newest_observed, truth));
  PixelMask mask{truth.width_px, truth.height_px, {}};
  mask.pixels.assign(truth.pixels.size() / 3, 0);
  for (std::size_t i = 0; i < truth.pixels.size(); ++i) {
    if (std::abs(int{truth.pixels[i]} - int{newest_observed.pixels[i]}) >= kMovingThreshold) {
      mask.pixels[i / 3] = 1;
    }
  }
  return Grow(mask, kMovingGrowthPx);
}

StatusOr<PixelMask> WorkspaceMask(const Camera& camera, const DepthImage& depth,
                                  const Box& workspace) {
  INTERLACER_RETURN_IF_ERROR(ValidateCamera(camera));
  INTERLACER_RETURN_IF_ERROR(CheckSameSize("depth", depth, camera));
  PixelMask mask{depth.width_px, depth.height_px, {}};
  mask.pixels.assign(depth.pixels_m.size(), 0);
  for (int v = 0; v < depth.height_px; ++v) {
    for (int u = 0; u < depth.width_px; ++u) {
      const std::size_t i = static_cast<std::size_t>(v) * depth.width_px + u;
      const float z_m = depth.pixels_m[i];
      if (!(std::isfinite(z_m) && z_m > 0)) continue;
      const Vec3d point = Unproject(camera, u, v, z_m);
      mask.pixels[i] =
          Contains(workspace, {static_cast<float>(point[0]), static_cast<float>(point[1]),
                               static_cast<float>(point[2])});
    }
  }
  return mask;
}

StatusOr<std::optional<double>> DepthAbsMV1(const DepthImage& depth, const DepthImage& truth) {
  INTERLACER_RETURN_IF_ERROR(CheckSameSize("depth", depth, truth));
  double sum = 0;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < depth.pixels_m.size(); ++i) {
    const float a = depth.pixels_m[i], b = truth.pixels_m[i];
    if (!(std::isfinite(a) && a > 0 && std::isfinite(b) && b > 0)) continue;
    sum += std::fabs(static_cast<double>(a) - b);
    ++count;
  }
  if (count == 0) return std::optional<double>();
  return std::optional<double>(sum / static_cast<double>(count));
}

}  // namespace interlacer
