#pragma once

/// Depth images as image_transport's compressedDepth codes them by RVL: runs of pixels without
/// measurement, then differences between neighbours, all as numbers of three bits a nibble.
///
/// Errors: INVALID_ARGUMENT IMAGE_DATA_LENGTH, IMAGE_SIZE_MISMATCH (before memory is taken),
/// IMAGE_UNDECODABLE. Pure functions, thread-safe.
/// The code is A. D. Wilson's (Fast Lossless Depth Image Compression, ISS 2017).

#include <cstdint>
#include <span>

#include "common/image.h"
#include "common/image_codec.h"
#include "common/status.h"

namespace interlacer {

/// Of the two numbers that stand before the code.
StatusOr<ImageSize> ReadRvlSize(std::span<const std::uint8_t> data);
StatusOr<DepthImage16> DecodeRvl(std::span<const std::uint8_t> data, double unit_m);

}  // namespace interlacer
