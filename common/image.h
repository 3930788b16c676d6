#pragma once

/// Images in memory: row-major, tightly packed, row 0 on top.
/// Operations expect pixels that fit the size, and sides of at least 1. Thread-safety: value types.

#include <cstdint>
#include <vector>

#include "common/status.h"

namespace interlacer {

/// [height,width,3] 8-bit RGB.
struct RgbImage {
  int width_px = 0;
  int height_px = 0;
  std::vector<std::uint8_t> pixels;
};

/// [height,width] 16-bit depth along z in units of `unit_m` metres; 0 is "no measurement".
struct DepthImage16 {
  int width_px = 0;
  int height_px = 0;
  double unit_m = 0;
  std::vector<std::uint16_t> pixels;
};

/// [height,width] float32 depth along z in metres; NaN is "no measurement".
struct DepthImage {
  int width_px = 0;
  int height_px = 0;
  std::vector<float> pixels_m;
};

/// [height,width,channels] float32.
struct FloatImage {
  int width_px = 0;
  int height_px = 0;
  int channels = 0;
  std::vector<float> pixels;
};

/// Metres by the explicit unit; 0 becomes NaN.
DepthImage DepthToMeters(const DepthImage16& depth);
/// Area average (colour). Exact for integer factors, weighted otherwise.
RgbImage ResizeArea(const RgbImage& image, int width_px, int height_px);
/// Nearest pixel centre (depth).
DepthImage ResizeNearest(const DepthImage& depth, int width_px, int height_px);
/// floor(255 clamp(x,0,1) + 0.5) per channel; image must have 3 channels.
RgbImage QuantizeRgb(const FloatImage& image);

}  // namespace interlacer
