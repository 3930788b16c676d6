#pragma once

/// Checks the packed images of a request, then decodes them.
///
/// `payload` is the result of PixelPayloads::Of for the image. Check reads sizes, unit and the
/// container's header only: no memory for pixels is allocated. Decode expects a checked image and
/// reuses the memory of the result. Errors: INVALID_ARGUMENT with IMAGE_*,
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
/// Depth in metres, NaN where not measured. DEPTH_IMPLAUSIBLE when the median lies outside 0.05 m
/// to 20 m, which means a wrong unit.
Status DecodeDepthImage(const wire::Image& image, const PixelPayload& payload, DepthImage* depth);

/// Memory of a decoded view of this size in bytes, colour and depth.
std::int64_t DecodedViewBytes(const wire::Image& image);

}  // namespace interlacer
