#pragma once

/// How frames are encoded on the wire. Raw rows and float32 depth are exact and cheap on one host;
/// PNG is exact and smaller; JPEG is small and lossy. Value type.

namespace interlacer {

enum class ColorPacking { kRaw, kPng, kJpeg };

struct ImagePacking {
  ColorPacking color = ColorPacking::kRaw;
  int jpeg_quality = 90;
  /// 0 sends depth as float32 metres. A positive unit sends 16-bit PNG in that unit; depths that
  /// are whole multiples of the unit (such as those read from 16-bit files) come back unchanged.
  double png_depth_unit_m = 0;
};

}  // namespace interlacer
