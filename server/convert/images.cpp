#include "server/convert/images.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string>

#include "common/checked_math.h"
#include "common/image_codec.h"
#include "common/number_text.h"
#include "data/depth.h"

namespace interlacer {
namespace {

static_assert(std::endian::native == std::endian::little, "payloads are copied as they come");

std::span<const std::uint8_t> Payload(const wire::Image& image) {
  return {reinterpret_cast<const std::uint8_t*>(image.data().data()), image.data().size()};
}

std::string SizeText(int width_px, int height_px) {
  return std::to_string(width_px) + "x" + std::to_string(height_px);
}

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

Status CheckRawRows(const wire::Image& image) {
  const std::int64_t packed_row_bytes =
      std::int64_t{image.width_px()} * BytesPerPixel(image.encoding());
  if (image.row_stride_bytes() != 0 && image.row_stride_bytes() < packed_row_bytes) {
    return Mismatch(reason::IMAGE_STRIDE, "row_stride_bytes",
                    "0 or at least " + std::to_string(packed_row_bytes),
                    std::to_string(image.row_stride_bytes()));
  }
  const std::int64_t row_bytes =
      image.row_stride_bytes() == 0 ? packed_row_bytes : image.row_stride_bytes();
  const auto expected_bytes = CheckedProduct({row_bytes, image.height_px()});
  const auto got_bytes = static_cast<std::int64_t>(image.data().size());
  if (!expected_bytes || *expected_bytes != got_bytes) {
    return Mismatch(reason::IMAGE_DATA_LENGTH, "data",
                    expected_bytes ? std::to_string(*expected_bytes) + " bytes" : "fewer bytes",
                    std::to_string(got_bytes) + " bytes");
  }
  return Status::Ok();
}

Status CheckContainer(const wire::Image& image, int max_side_px) {
  if (image.row_stride_bytes() != 0) {
    return Mismatch(reason::IMAGE_STRIDE, "row_stride_bytes", "0 for a compressed image",
                    std::to_string(image.row_stride_bytes()));
  }
  const bool is_png = image.compression() == wire::IMAGE_COMPRESSION_PNG;
  auto size = is_png ? ReadPngSize(Payload(image)) : ReadJpegSize(Payload(image));
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

Status CheckPixels(const wire::Image& image, int max_side_px) {
  INTERLACER_RETURN_IF_ERROR(CheckSide("width_px", image.width_px(), max_side_px));
  INTERLACER_RETURN_IF_ERROR(CheckSide("height_px", image.height_px(), max_side_px));
  if (image.compression() == wire::IMAGE_COMPRESSION_NONE) return CheckRawRows(image);
  return CheckContainer(image, max_side_px);
}

std::string EncodingText(wire::PixelEncoding encoding) {
  return wire::PixelEncoding_IsValid(encoding) ? wire::PixelEncoding_Name(encoding)
                                               : std::to_string(encoding);
}

std::string CompressionText(wire::ImageCompression compression) {
  return wire::ImageCompression_IsValid(compression) ? wire::ImageCompression_Name(compression)
                                                     : std::to_string(compression);
}

/// Copies raw rows, dropping the padding of the stride.
template <typename T>
std::vector<T> UnpackRows(const wire::Image& image, int channels) {
  const std::size_t row_values = std::size_t(image.width_px()) * channels;
  const std::size_t row_bytes =
      image.row_stride_bytes() == 0 ? row_values * sizeof(T) : image.row_stride_bytes();
  std::vector<T> values(row_values * image.height_px());
  for (int row = 0; row < image.height_px(); ++row) {
    std::memcpy(values.data() + row * row_values, image.data().data() + row * row_bytes,
                row_values * sizeof(T));
  }
  return values;
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

Status CheckColorImage(const wire::Image& image, int max_side_px) {
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
  return CheckPixels(image, max_side_px);
}

Status CheckDepthImage(const wire::Image& image, int max_side_px) {
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
  return CheckPixels(image, max_side_px);
}

StatusOr<RgbImage> DecodeColorImage(const wire::Image& image) {
  RgbImage rgb;
  if (image.compression() == wire::IMAGE_COMPRESSION_NONE) {
    rgb = {image.width_px(), image.height_px(), UnpackRows<std::uint8_t>(image, 3)};
  } else {
    const bool is_png = image.compression() == wire::IMAGE_COMPRESSION_PNG;
    auto decoded = is_png ? DecodePngRgb(Payload(image)) : DecodeJpegRgb(Payload(image));
    if (!decoded.ok()) return decoded.status().WithField("data");
    rgb = *std::move(decoded);
  }
  if (image.encoding() == wire::PIXEL_ENCODING_BGR8) {
    for (std::size_t i = 0; i + 2 < rgb.pixels.size(); i += 3) {
      std::swap(rgb.pixels[i], rgb.pixels[i + 2]);
    }
  }
  return rgb;
}

StatusOr<DepthImage> DecodeDepthImage(const wire::Image& image) {
  DepthImage depth;
  if (image.encoding() == wire::PIXEL_ENCODING_DEPTH_F32) {
    depth = {image.width_px(), image.height_px(), UnpackRows<float>(image, 1)};
    for (float& z : depth.pixels_m) {
      if (!(std::isfinite(z) && z > 0)) z = std::numeric_limits<float>::quiet_NaN();
    }
  } else if (image.compression() == wire::IMAGE_COMPRESSION_NONE) {
    depth = DepthToMeters({image.width_px(), image.height_px(), image.depth_unit_m(),
                           UnpackRows<std::uint16_t>(image, 1)});
  } else {
    auto decoded = DecodePngDepth(Payload(image), image.depth_unit_m());
    if (!decoded.ok()) return decoded.status().WithField("data");
    depth = DepthToMeters(*decoded);
  }
  INTERLACER_RETURN_IF_ERROR(CheckMedian(depth));
  return depth;
}

std::int64_t DecodedViewBytes(const wire::Image& image) {
  constexpr std::int64_t kBytesPerPixel = 3 + sizeof(float);
  return CheckedProduct({image.width_px(), image.height_px(), kBytesPerPixel}).value_or(0);
}

}  // namespace interlacer
