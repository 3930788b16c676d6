#include "render/image_metrics.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "common/number_text.h"
#include "common/thread_pool.h"
#include "common/transforms.h"
#include "render/cpu_kernels.h"

namespace interlacer {
namespace {

constexpr double kSigmaPx = 1.5;
constexpr double kC1 = 6.5025;   // (0.01 * 255)^2
constexpr double kC2 = 58.5225;  // (0.03 * 255)^2
/// Each task filters ten rows more than it writes.
constexpr std::int64_t kSsimRowsOfATask = 64;
constexpr int kMovingThreshold = 16;  // grey levels
constexpr int kMaskGrowthPx = 5;

template <typename A, typename B>
Status CheckSameSize(const char* field, const A& a, const B& b) {
  if (a.width_px == b.width_px && a.height_px == b.height_px) return Status::Ok();
  return Mismatch(reason::IMAGE_SIZE_MISMATCH, field, SizeText(b.width_px, b.height_px),
                  SizeText(a.width_px, a.height_px));
}

Status CheckWindowFits(const RgbImage& image) {
  if (image.width_px >= kSsimWindowPx && image.height_px >= kSsimWindowPx) return Status::Ok();
  return Mismatch(reason::IMAGE_SIZE_MISMATCH, "image", "a side of 11 px or more",
                  SizeText(image.width_px, image.height_px));
}

/// Gaussian weights of the window along one axis, normalised to a sum of 1.
void FillGaussianTaps(double* taps) {
  double sum = 0;
  for (int i = 0; i < kSsimTaps; ++i) {
    const double d = i - kSsimBorderPx;
    taps[i] = std::exp(-d * d / (2 * kSigmaPx * kSigmaPx));
    sum += taps[i];
  }
  for (int i = 0; i < kSsimTaps; ++i) taps[i] /= sum;
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

/// Of the numbers [begin,end).
std::int64_t SquaredError(const RgbImage& image, const RgbImage& truth, std::size_t begin,
                          std::size_t end) {
  std::int64_t squares = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const std::int64_t d = std::int64_t{image.pixels[i]} - truth.pixels[i];
    squares += d * d;
  }
  return squares;
}

std::optional<double> PsnrOf(std::int64_t squares, std::size_t count) {
  if (squares == 0) return std::nullopt;
  const double mean = static_cast<double>(squares) / static_cast<double>(count);
  return 10.0 * std::log10(255.0 * 255.0 / mean);
}

}  // namespace

StatusOr<SsimMap> ComputeSsimMap(const RgbImage& image, const RgbImage& truth) {
  return ComputeSsimMap(image, truth, BestRenderKernels());
}

StatusOr<SsimMap> ComputeSsimMap(const RgbImage& image, const RgbImage& truth,
                                 const RenderKernels& kernels) {
  INTERLACER_RETURN_IF_ERROR(CheckSameSize("image", image, truth));
  INTERLACER_RETURN_IF_ERROR(CheckWindowFits(image));
  SsimMap map{image.width_px - 2 * kSsimBorderPx, image.height_px - 2 * kSsimBorderPx, {}};
  map.values.resize(static_cast<std::size_t>(map.width_px) * map.height_px);
  SsimInputs inputs{image.pixels.data(), truth.pixels.data(), image.width_px, {}, kC1, kC2};
  FillGaussianTaps(inputs.taps);
  ParallelFor(map.height_px, kSsimRowsOfATask, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> scratch(static_cast<std::size_t>(SsimScratchCount(image.width_px)));
    kernels.ssim_rows(inputs, static_cast<int>(begin), static_cast<int>(end), scratch.data(),
                      map.values.data() + begin * map.width_px);
  });
  return map;
}

double MeanSsim(const SsimMap& map) {
  double sum = 0;
  for (const double value : map.values) sum += value;
  return sum / static_cast<double>(map.values.size());
}

StatusOr<double> SsimWangRgbV1(const RgbImage& image, const RgbImage& truth) {
  INTERLACER_ASSIGN_OR_RETURN(const SsimMap map, ComputeSsimMap(image, truth));
  return MeanSsim(map);
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
  return PsnrOf(SquaredError(image, truth, 0, image.pixels.size()), image.pixels.size());
}

StatusOr<std::optional<double>> MaskedPsnr(const RgbImage& image, const RgbImage& truth,
                                           const PixelMask& mask) {
  INTERLACER_RETURN_IF_ERROR(CheckSameSize("image", image, truth));
  INTERLACER_RETURN_IF_ERROR(CheckSameSize("mask", mask, truth));
  std::int64_t squares = 0;
  std::size_t count = 0;
  for (int y = kSsimBorderPx; y < mask.height_px - kSsimBorderPx; ++y) {
    for (int x = kSsimBorderPx; x < mask.width_px - kSsimBorderPx; ++x) {
      const std::size_t pixel = static_cast<std::size_t>(y) * mask.width_px + x;
      if (mask.pixels[pixel] == 0) continue;
      squares += SquaredError(image, truth, 3 * pixel, 3 * pixel + 3);
      ++count;
    }
  }
  if (count < kMinMaskedPixels) return std::optional<double>();
  return PsnrOf(squares, 3 * count);
}

std::vector<std::uint8_t> DifferingPixels(const RgbImage& a, const RgbImage& b) {
  std::vector<std::uint8_t> differs(a.pixels.size() / 3, 0);
  for (std::size_t i = 0; i < a.pixels.size(); ++i) {
    if (std::abs(int{a.pixels[i]} - int{b.pixels[i]}) >= kMovingThreshold) differs[i / 3] = 1;
  }
  return differs;
}

StatusOr<PixelMask> MovingMask(const RgbImage& truth, const RgbImage& newest_observed) {
  INTERLACER_RETURN_IF_ERROR(CheckSameSize("newest_observed", newest_observed, truth));
  return Grow({truth.width_px, truth.height_px, DifferingPixels(truth, newest_observed)},
              kMaskGrowthPx);
}

PixelMask ObjectsMask(int width_px, int height_px, const std::vector<std::uint8_t>& shows_object) {
  return Grow({width_px, height_px, shows_object}, kMaskGrowthPx);
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
