#include "server/convert/images.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "common/checked_math.h"
#include "common/image_codec.h"
#include "common/number_text.h"
#include "data/depth.h"
#include "server/convert/raw_depth.h"

namespace interlacer {
namespace {

static_assert(std::endian::native == std::endian::little, "payloads are copied as they come");

constexpr PlausibleDepth kPlausibleMedian = {kMinPlausibleMedianM, kMaxPlausibleMedianM};

int BytesPerPixel(wire::PixelEncoding encoding) {
  switch (encoding) {
    case wire::PIXEL_ENCODING_RGB8:
    case wire::PIXEL_ENCODING_BGR8:
      return 3;
    case wire::PIXEL_ENCODING_DEPTH_U16:
      return 2;
    case wire::PIXEL_ENCODING_DEPTH_F32:
      return 4;
    default:
      return 0;
  }
}

Status CheckSide(const char* field, std::int64_t side_px, int max_side_px) {
  if (side_px < 1) {
    return Mismatch(reason::IMAGE_SIZE_MISMATCH, field, "at least 1", std::to_string(side_px));
  }
  if (side_px > max_side_px) {
    return OutOfRange(reason::LIMIT_IMAGE_SIDE, "image side " + std::to_string(side_px) +
                                                    " px is above the limit of " +
                                                    std::to_string(max_side_px) + " px")
        .WithField(field)
        .WithMetadata("limit", std::to_string(max_side_px))
        .WithMetadata("got", std::to_string(side_px));
  }
  return Status::Ok();
}

Status CheckRawRows(const wire::Image& image, const PixelPayload& payload) {
  const std::int64_t packed_row_bytes =
      std::int64_t{image.width_px()} * BytesPerPixel(image.encoding());
  if (image.row_stride_bytes() != 0 && image.row_stride_bytes() < packed_row_bytes) {
    return Mismatch(reason::IMAGE_STRIDE, "row_stride_bytes",
                    "0 or at least " + std::to_string(packed_row_bytes),
                    std::to_string(image.row_stride_bytes()));
  }
  const std::int64_t row_bytes =
      image.row_stride_bytes() == 0 ? packed_row_bytes : image.row_stride_bytes();
  // The stride comes from the request, so the product may overflow.
  const auto expected_bytes = CheckedProduct({row_bytes, image.height_px()});
  const auto got_bytes = static_cast<std::int64_t>(payload.size_bytes());
  if (!expected_bytes || *expected_bytes != got_bytes) {
    return Mismatch(reason::IMAGE_DATA_LENGTH, "data",
                    expected_bytes ? std::to_string(*expected_bytes) + " bytes" : "fewer bytes",
                    std::to_string(got_bytes) + " bytes");
  }
  return Status::Ok();
}

Status CheckContainer(const wire::Image& image, const PixelPayload& payload, int max_side_px) {
  if (image.row_stride_bytes() != 0) {
    return Mismatch(reason::IMAGE_STRIDE, "row_stride_bytes", "0 for a compressed image",
                    std::to_string(image.row_stride_bytes()));
  }
  const bool is_png = image.compression() == wire::IMAGE_COMPRESSION_PNG;
  std::vector<std::uint8_t> joined;
  const PixelPayload::Piece bytes = payload.Joined(&joined);
  auto size = is_png ? ReadPngSize(bytes) : ReadJpegSize(bytes);
  if (!size.ok()) return size.status().WithField("data");
  INTERLACER_RETURN_IF_ERROR(CheckSide("data", size->width_px, max_side_px));
  INTERLACER_RETURN_IF_ERROR(CheckSide("data", size->height_px, max_side_px));
  if (size->width_px != image.width_px() || size->height_px != image.height_px()) {
    return Mismatch(reason::IMAGE_SIZE_MISMATCH, "data",
                    SizeText(image.width_px(), image.height_px()) + " px in the header",
                    SizeText(size->width_px, size->height_px) + " px");
  }
  return Status::Ok();
}

Status CheckPixels(const wire::Image& image, const PixelPayload& payload, int max_side_px) {
  INTERLACER_RETURN_IF_ERROR(CheckSide("width_px", image.width_px(), max_side_px));
  INTERLACER_RETURN_IF_ERROR(CheckSide("height_px", image.height_px(), max_side_px));
  if (image.compression() == wire::IMAGE_COMPRESSION_NONE) return CheckRawRows(image, payload);
  return CheckContainer(image, payload, max_side_px);
}

std::string EncodingText(wire::PixelEncoding encoding) {
  return wire::PixelEncoding_IsValid(encoding) ? wire::PixelEncoding_Name(encoding)
                                               : std::to_string(encoding);
}

std::string CompressionText(wire::ImageCompression compression) {
  return wire::ImageCompression_IsValid(compression) ? wire::ImageCompression_Name(compression)
                                                     : std::to_string(compression);
}

/// Calls visit(offset of row bytes, number of values before the row, number of values) for raw rows
/// without their padding; contiguous rows are merged into one call.
template <typename Visit>
void ForRows(const wire::Image& image, int channels, const Visit& visit) {
  const std::size_t row_values = std::size_t(image.width_px()) * channels;
  const std::size_t packed_bytes = std::size_t(image.width_px()) * BytesPerPixel(image.encoding());
  const std::size_t stride_bytes = image.row_stride_bytes();
  if (stride_bytes == 0 || stride_bytes == packed_bytes) {
    visit(0, 0, row_values * image.height_px());
    return;
  }
  for (int row = 0; row < image.height_px(); ++row) {
    visit(row * stride_bytes, row * row_values, row_values);
  }
}

void DecodeRawColor(const wire::Image& image, const PixelPayload& payload, RgbImage* color) {
  color->width_px = image.width_px();
  color->height_px = image.height_px();
  color->pixels.resize(std::size_t{3} * image.width_px() * image.height_px());
  ForRows(image, 3, [&](std::size_t offset, std::size_t begin, std::size_t count) {
    payload.CopyTo(offset, count, color->pixels.data() + begin);
  });
}

/// Decodes raw depth; returns whether the median is plausible.
bool DecodeRawDepth(const wire::Image& image, const PixelPayload& payload, DepthImage* depth) {
  const bool is_float = image.encoding() == wire::PIXEL_ENCODING_DEPTH_F32;
  RawDepthDecoder decoder = is_float
                                ? RawDepthDecoder::Float32(kPlausibleMedian)
                                : RawDepthDecoder::Uint16(image.depth_unit_m(), kPlausibleMedian);
  depth->width_px = image.width_px();
  depth->height_px = image.height_px();
  depth->pixels_m.resize(std::size_t(image.width_px()) * image.height_px());
  ForRows(image, 1, [&](std::size_t offset, std::size_t begin, std::size_t count) {
    float* out_m = depth->pixels_m.data() + begin;
    const auto decode_run = [&](const std::uint8_t* samples, std::size_t run) {
      decoder.Decode(samples, static_cast<std::int64_t>(run), out_m);
      out_m += run;
    };
    if (is_float) {
      payload.ForRuns<4>(offset, count, decode_run);
    } else {
      payload.ForRuns<2>(offset, count, decode_run);
    }
  });
  return decoder.IsMedianPlausible();
}

/// The stated size, which is that of the header and within the server's limit: it has been checked.
ImageLimits CheckedSides(const wire::Image& image) {
  return {std::max(image.width_px(), image.height_px())};
}

Status CheckMedian(const DepthImage& depth) {
  std::vector<float> valid;
  valid.reserve(depth.pixels_m.size());
  std::copy_if(depth.pixels_m.begin(), depth.pixels_m.end(), std::back_inserter(valid),
               [](float z) { return std::isfinite(z); });
  if (valid.empty()) return Status::Ok();
  const auto middle = valid.begin() + valid.size() / 2;
  std::nth_element(valid.begin(), middle, valid.end());
  if (*middle >= kMinPlausibleMedianM && *middle <= kMaxPlausibleMedianM) return Status::Ok();
  return Mismatch(reason::DEPTH_IMPLAUSIBLE, "data",
                  "a median depth of 0.05 m to 20 m (is the unit right?)",
                  NumberText(*middle) + " m");
}

}  // namespace

Status CheckColorImage(const wire::Image& image, const PixelPayload& payload, int max_side_px) {
  if (image.encoding() != wire::PIXEL_ENCODING_RGB8 &&
      image.encoding() != wire::PIXEL_ENCODING_BGR8) {
    return Mismatch(reason::PIXEL_ENCODING_UNSUPPORTED, "encoding",
                    "PIXEL_ENCODING_RGB8 or PIXEL_ENCODING_BGR8", EncodingText(image.encoding()));
  }
  if (image.compression() != wire::IMAGE_COMPRESSION_NONE &&
      image.compression() != wire::IMAGE_COMPRESSION_PNG &&
      image.compression() != wire::IMAGE_COMPRESSION_JPEG) {
    return Mismatch(reason::COMPRESSION_UNSUPPORTED, "compression",
                    "IMAGE_COMPRESSION_NONE, _PNG or _JPEG", CompressionText(image.compression()));
  }
  if (image.depth_unit_m() != 0) {
    return Mismatch(reason::PIXEL_ENCODING_UNSUPPORTED, "depth_unit_m", "0 for a colour image",
                    std::to_string(image.depth_unit_m()));
  }
  return CheckPixels(image, payload, max_side_px);
}

Status CheckDepthImage(const wire::Image& image, const PixelPayload& payload, int max_side_px) {
  const bool is_u16 = image.encoding() == wire::PIXEL_ENCODING_DEPTH_U16;
  if (!is_u16 && image.encoding() != wire::PIXEL_ENCODING_DEPTH_F32) {
    return Mismatch(reason::PIXEL_ENCODING_UNSUPPORTED, "encoding",
                    "PIXEL_ENCODING_DEPTH_U16 or PIXEL_ENCODING_DEPTH_F32",
                    EncodingText(image.encoding()));
  }
  const bool is_raw = image.compression() == wire::IMAGE_COMPRESSION_NONE;
  if (!is_raw && !(is_u16 && image.compression() == wire::IMAGE_COMPRESSION_PNG)) {
    return Mismatch(reason::COMPRESSION_UNSUPPORTED, "compression",
                    is_u16 ? "IMAGE_COMPRESSION_NONE or _PNG" : "IMAGE_COMPRESSION_NONE",
                    CompressionText(image.compression()));
  }
  const double unit_m = image.depth_unit_m();
  if (is_u16 && !(std::isfinite(unit_m) && unit_m > 0)) {
    return Mismatch(reason::DEPTH_UNIT_MISSING, "depth_unit_m",
                    "metres in one depth unit, such as 0.001", std::to_string(unit_m));
  }
  if (!is_u16 && unit_m != 0) {
    return Mismatch(reason::PIXEL_ENCODING_UNSUPPORTED, "depth_unit_m", "0 for DEPTH_F32",
                    std::to_string(unit_m));
  }
  return CheckPixels(image, payload, max_side_px);
}

Status DecodeColorImage(const wire::Image& image, const PixelPayload& payload, RgbImage* color) {
  if (image.compression() == wire::IMAGE_COMPRESSION_NONE) {
    DecodeRawColor(image, payload, color);
  } else {
    std::vector<std::uint8_t> joined;
    const PixelPayload::Piece bytes = payload.Joined(&joined);
    const bool is_png = image.compression() == wire::IMAGE_COMPRESSION_PNG;
    const ImageLimits limits = CheckedSides(image);
    auto decoded = is_png ? DecodePngRgb(bytes, limits) : DecodeJpegRgb(bytes, limits);
    if (!decoded.ok()) return decoded.status().WithField("data");
    *color = *std::move(decoded);
  }
  if (image.encoding() == wire::PIXEL_ENCODING_BGR8) {
    for (std::size_t i = 0; i + 2 < color->pixels.size(); i += 3) {
      std::swap(color->pixels[i], color->pixels[i + 2]);
    }
  }
  return Status::Ok();
}

Status DecodeDepthImage(const wire::Image& image, const PixelPayload& payload, DepthImage* depth) {
  if (image.compression() == wire::IMAGE_COMPRESSION_NONE) {
    // The fast check has no value to report; a failure is confirmed, and described, by the slow
    // one.
    return DecodeRawDepth(image, payload, depth) ? Status::Ok() : CheckMedian(*depth);
  }
  std::vector<std::uint8_t> joined;
  auto decoded = DecodePngDepth(payload.Joined(&joined), image.depth_unit_m(), CheckedSides(image));
  if (!decoded.ok()) return decoded.status().WithField("data");
  *depth = DepthToMeters(*decoded);
  return CheckMedian(*depth);
}

std::int64_t DecodedViewBytes(const wire::Image& image) {
  constexpr std::int64_t kBytesPerPixel = 3 + sizeof(float);
  return CheckedProduct({image.width_px(), image.height_px(), kBytesPerPixel}).value_or(0);
}

}  // namespace interlacer
