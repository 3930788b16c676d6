#pragma once

/// Frames of videos, and TIFF images of depths, decoded by the programs ffmpeg and ffprobe.
///
/// Sizes are known and compared before a frame is decoded; MP4 files alone are read, and no other
/// file or address that one names. Errors: FILE_NOT_FOUND, FILE_UNREADABLE with what the program
/// says or with the frames that are missing, IMAGE_SIZE_MISMATCH, PIXEL_ENCODING_UNSUPPORTED,
/// LIMIT_IMAGE_SIDE, CANCELLED. Thread-safe.

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>

#include "common/image.h"
#include "common/status.h"

namespace interlacer {

struct VideoFacts {
  std::string codec, pixel_format;  ///< ffmpeg's names
  int width_px = 0, height_px = 0;
  double rate_hz = 0;  ///< frames a second on average; 0: not known
};

enum class VideoPixels {
  kRgb24,   ///< 8-bit red, green, blue
  kCode12,  ///< little-endian 16-bit codes 0..4095, as they are: nothing is scaled
};

/// The first video stream.
StatusOr<VideoFacts> ProbeVideo(const std::string& path, std::stop_token stop);

/// Frames of the first video stream from the one nearest to `first_s` on, `frame_s` apart: calls
/// `take` with each of exactly `count`, row-major. FILE_UNREADABLE where one lies half a frame or
/// more from `first_s` + n `frame_s`, as in videos that left frames out. kCode12 needs gray12le or
/// yuv420p12le.
Status DecodeVideo(const std::string& path, const VideoFacts& facts, VideoPixels pixels,
                   double first_s, double frame_s, std::int64_t count, std::stop_token stop,
                   const std::function<Status(std::span<const std::uint8_t>)>& take);

/// A TIFF image of 16-bit integers of that size; `folder` takes a file that is gone afterwards.
StatusOr<DepthImage16> DecodeTiffDepth(std::span<const std::uint8_t> data, double unit_m,
                                       int width_px, int height_px, const std::string& folder,
                                       std::stop_token stop);

}  // namespace interlacer
