#pragma once

/// Pixels of image messages: colour as 8-bit RGB, depth as integers.
///
/// Colour: rgb8, bgr8, rgba8, bgra8, mono8; JPEG and PNG. Depth: 16UC1 and mono16 (integers), 32FC1
/// (metres), PNG of 16 bits, and compressedDepth as PNG or RVL of both (a head of 12 bytes: format
/// and two numbers of the quantised inverse depth). Sizes are compared with the data before memory
/// is taken. Errors: INVALID_ARGUMENT PIXEL_ENCODING_UNSUPPORTED, IMAGE_SIZE_MISMATCH,
/// IMAGE_DATA_LENGTH, IMAGE_UNDECODABLE. Pure functions, thread-safe. Source: ros2-interfaces,
/// sensor_msgs/Image.

#include "common/image.h"
#include "common/image_codec.h"
#include "common/metre_depths.h"
#include "data/bags/messages.h"

namespace interlacer {

enum class PixelKind { kColor, kDepthIntegers, kDepthMeters };

/// By its encoding; of a PNG by its content too.
StatusOr<PixelKind> KindOfPixels(const ImageMessage& image);
StatusOr<ImageSize> SizeOfImage(const ImageMessage& image);
StatusOr<RgbImage> ColorOf(const ImageMessage& image);

/// Of kDepthMeters.
StatusOr<MetreDepths> SurveyDepths(const ImageMessage& image);
/// Integers as they are; metres as the nearest multiple of `unit_m`. Not finite, not above 0 and
/// what 16 bits do not hold is no measurement.
StatusOr<DepthImage16> DepthOf(const ImageMessage& image, double unit_m);

}  // namespace interlacer
