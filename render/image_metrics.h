#pragma once

/// Scores of a rendered image against the true one.
///
///   ssim_wang_rgb_v1  Gaussian window 11x11, sigma 1.5, K1 .01, K2 .03, range 255, population
///                     covariances, mean over channels and over pixels at least 5 px from the
///                     border
///   psnr_rgb8_v1      10 log10(255^2 / mean squared error)
/// On 8-bit images, in double precision, fixed order of sums: equal inputs give equal bits.
/// Errors: INVALID_ARGUMENT IMAGE_SIZE_MISMATCH (sizes differ, or a side below 11 px), NOT_FINITE.
/// Pure functions, thread-safe. As scikit-image with gaussian_weights. Source: ssim.

#include <cstdint>
#include <optional>
#include <vector>

#include "common/camera.h"
#include "common/image.h"
#include "common/status.h"

namespace interlacer {

struct RenderKernels;  // render/cpu_kernels.h

inline constexpr int kSsimWindowPx = 11;
inline constexpr int kSsimBorderPx = kSsimWindowPx / 2;
/// A masked score of fewer pixels than this is not reported.
inline constexpr int kMinMaskedPixels = 100;

/// SSIM of every window that lies inside the image, mean over channels; pixel (0,0) of the map is
/// pixel (5,5) of the image.
struct SsimMap {
  int width_px = 0;
  int height_px = 0;
  std::vector<double> values;
};

/// 1 where a pixel counts, [height,width].
struct PixelMask {
  int width_px = 0;
  int height_px = 0;
  std::vector<std::uint8_t> pixels;
};

StatusOr<SsimMap> ComputeSsimMap(const RgbImage& image, const RgbImage& truth);
/// ComputeSsimMap with the kernels of one instruction set; the sets agree to 1e-11.
StatusOr<SsimMap> ComputeSsimMap(const RgbImage& image, const RgbImage& truth,
                                 const RenderKernels& kernels);
/// Mean of the map: ssim_wang_rgb_v1.
double MeanSsim(const SsimMap& map);
StatusOr<double> SsimWangRgbV1(const RgbImage& image, const RgbImage& truth);
/// Quantises by QuantizeRgb first; a number that is not finite is refused.
StatusOr<double> SsimWangRgbV1(const FloatImage& image, const FloatImage& truth);
/// Mean of the map over the mask; nothing below kMinMaskedPixels pixels. The mask has the image's
/// size; its border of 5 px does not count.
StatusOr<std::optional<double>> MaskedSsim(const SsimMap& map, const PixelMask& mask);

/// Nothing for equal images.
StatusOr<std::optional<double>> PsnrRgb8V1(const RgbImage& image, const RgbImage& truth);
/// The same over the mask's pixels at least 5 px from the border, those of MaskedSsim; nothing
/// where these are equal or fewer than kMinMaskedPixels.
StatusOr<std::optional<double>> MaskedPsnr(const RgbImage& image, const RgbImage& truth,
                                           const PixelMask& mask);

/// [height,width] 1 where the colours of two images of one size differ by 16 or more in some
/// channel, else 0.
std::vector<std::uint8_t> DifferingPixels(const RgbImage& a, const RgbImage& b);
/// `@moving`: DifferingPixels of the truth and the newest observed frame, grown by 5 px in the four
/// directions and the diagonals.
StatusOr<PixelMask> MovingMask(const RgbImage& truth, const RgbImage& newest_observed);
/// `@objects`: pixels [height,width] that show an object (not 0), grown as those of MovingMask.
PixelMask ObjectsMask(int width_px, int height_px, const std::vector<std::uint8_t>& shows_object);
/// `@workspace`: pixels with a valid true depth whose point lies in the box (world frame).
StatusOr<PixelMask> WorkspaceMask(const Camera& camera, const DepthImage& depth,
                                  const Box& workspace);
/// `depth_abs_m_v1`: mean |rendered - true| where both are finite and positive; nothing if nowhere.
StatusOr<std::optional<double>> DepthAbsMV1(const DepthImage& depth, const DepthImage& truth);

}  // namespace interlacer
