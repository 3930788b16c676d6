#pragma once

/// Images of a request: checked while packed, then decoded.
///
/// `payload` is what PixelPayloads::Of gives for the image. Check reads sizes, unit and the header
/// of a container only: nothing is allocated for pixels. Decode assumes a checked image and takes
/// the memory that the result has already. Errors: INVALID_ARGUMENT with IMAGE_*,
/// DEPTH_UNIT_MISSING, PIXEL_ENCODING_UNSUPPORTED, COMPRESSION_UNSUPPORTED, DEPTH_IMPLAUSIBLE;
/// OUT_OF_RANGE LIMIT_IMAGE_SIDE. Field paths are relative to the image. Thread-safe.

#include "common/image.h"
#include "common/status.h"
#include "server/convert/pixel_payloads.h"
#include "server/convert/wire.h"

namespace interlacer {

Status CheckColorImage(const wire::Image& image, const PixelPayload& payload, int max_side_px);
Status CheckDepthImage(const wire::Image& image, const PixelPayload& payload, int max_side_px);

Status DecodeColorImage(const wire::Image& image, const PixelPayload& payload, RgbImage* color);
/// Metres, NaN where not measured. DEPTH_IMPLAUSIBLE when the median lies outside 0.05 m to 20 m:
/// such a depth has the wrong unit.
Status DecodeDepthImage(const wire::Image& image, const PixelPayload& payload, DepthImage* depth);

/// Bytes of pixels that a decoded view of this size takes, colour and depth.
std::int64_t DecodedViewBytes(const wire::Image& image);

}  // namespace interlacer
