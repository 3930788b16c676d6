#pragma once

/// PNG (8-bit RGB, 16-bit grey) and JPEG (RGB) in memory and files; no other part includes libpng
/// or turbojpeg.
///
/// The size in the header is compared with `limits` before anything is allocated or decoded.
/// Errors: INVALID_ARGUMENT IMAGE_UNDECODABLE, also for JPEGs of many scans,
/// PIXEL_ENCODING_UNSUPPORTED, OUT_OF_RANGE LIMIT_IMAGE_SIDE; those of common/file_io.h.
/// Thread-safe.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/image.h"

namespace interlacer {

/// `max_side_px` holds where nothing else is granted or known.
struct ImageLimits {
  int max_side_px = 8192;
};
/// The format has 16 bits for a side, of which libjpeg takes these.
inline constexpr int kMaxJpegSidePx = 65500;
struct ImageSize {
  int width_px = 0;
  int height_px = 0;
};

StatusOr<ImageSize> ReadPngSize(std::span<const std::uint8_t> data);
StatusOr<ImageSize> ReadJpegSize(std::span<const std::uint8_t> data);
/// Grey of up to 8 bits, palette, alpha and 16-bit colour become 8-bit RGB (alpha dropped);
/// chunks beside the pixels do not count.
StatusOr<RgbImage> DecodePngRgb(std::span<const std::uint8_t> data, const ImageLimits& limits = {});
/// 16-bit grey only (alpha dropped); `unit_m` is stored, not applied.
StatusOr<DepthImage16> DecodePngDepth(std::span<const std::uint8_t> data, double unit_m,
                                      const ImageLimits& limits = {});
/// Every pixel must be there: cut and damaged data is refused. A few stray bytes before the end
/// mark lose none and are taken.
StatusOr<RgbImage> DecodeJpegRgb(std::span<const std::uint8_t> data,
                                 const ImageLimits& limits = {});
/// PNG or JPEG by magic number.
StatusOr<RgbImage> DecodeRgb(std::span<const std::uint8_t> data, const ImageLimits& limits = {});

std::vector<std::uint8_t> EncodePng(const RgbImage& image);
std::vector<std::uint8_t> EncodePng(const DepthImage16& image);
/// Sides of at most kMaxJpegSidePx, and a quality of 1 to 100.
std::vector<std::uint8_t> EncodeJpeg(const RgbImage& image, int quality);

StatusOr<RgbImage> ReadRgbFile(const std::string& path, const ImageLimits& limits = {});
StatusOr<DepthImage16> ReadDepthPngFile(const std::string& path, double unit_m,
                                        const ImageLimits& limits = {});
Status WritePngFile(const RgbImage& image, const std::string& path);
Status WritePngFile(const DepthImage16& image, const std::string& path);

}  // namespace interlacer
