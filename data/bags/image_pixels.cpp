#include "data/bags/image_pixels.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "common/number_text.h"
#include "data/bags/rvl.h"

namespace interlacer {
namespace {

constexpr std::size_t kCompressedDepthHeadBytes = 12;
constexpr char kEncodings[] =
    "rgb8, bgr8, rgba8, bgra8, mono8, 16UC1, mono16, 32FC1, JPEG, PNG or compressedDepth";

bool IsCompressedDepth(const ImageMessage& image) {
  return image.is_compressed && image.encoding.find("compressedDepth") != std::string::npos;
}

/// Where each of red, green and blue lies in a pixel.
struct ColorLayout {
  const char* encoding;
  int channels;
  int red, green, blue;
};
constexpr ColorLayout kColorLayouts[] = {{"rgb8", 3, 0, 1, 2},  {"bgr8", 3, 2, 1, 0},
                                         {"rgba8", 4, 0, 1, 2}, {"bgra8", 4, 2, 1, 0},
                                         {"mono8", 1, 0, 0, 0}, {"8UC1", 1, 0, 0, 0}};

const ColorLayout* FindLayout(const std::string& encoding) {
  for (const ColorLayout& layout : kColorLayouts) {
    if (encoding == layout.encoding) return &layout;
  }
  return nullptr;
}

/// The rows of a raw image fit its data.
Status CheckRows(const ImageMessage& image, std::size_t pixel_bytes) {
  if (image.width_px < 1 || image.height_px < 1 || image.width_px > ImageLimits{}.max_side_px ||
      image.height_px > ImageLimits{}.max_side_px) {
    return Mismatch(reason::IMAGE_SIZE_MISMATCH, "width, height",
                    "1 to " + std::to_string(ImageLimits{}.max_side_px) + " pixels",
                    SizeText(image.width_px, image.height_px));
  }
  const std::uint64_t least = static_cast<std::uint64_t>(image.width_px) * pixel_bytes;
  if (image.row_bytes < least) {
    return Mismatch(reason::IMAGE_DATA_LENGTH, "step",
                    std::to_string(least) + " bytes or more for " + std::to_string(image.width_px) +
                        " pixels of " + image.encoding,
                    std::to_string(image.row_bytes));
  }
  const std::uint64_t size = image.row_bytes * static_cast<std::uint64_t>(image.height_px - 1);
  if (image.data.size() < size + least) {
    return Mismatch(reason::IMAGE_DATA_LENGTH, "data", std::to_string(size + least) + " bytes",
                    std::to_string(image.data.size()));
  }
  return Status::Ok();
}

/// The numbers of row `v`, whatever the machine that wrote them.
template <typename T>
void CopyRow(const ImageMessage& image, int v, T* row) {
  const std::size_t count = static_cast<std::size_t>(image.width_px);
  std::memcpy(row, image.data.data() + image.row_bytes * v, sizeof(T) * count);
  if (image.is_big_endian == (std::endian::native == std::endian::big)) return;
  for (std::size_t u = 0; u < count; ++u) {
    auto* const bytes = reinterpret_cast<std::uint8_t*>(row + u);
    std::reverse(bytes, bytes + sizeof(T));
  }
}

bool IsRvl(const ImageMessage& image) {
  return IsCompressedDepth(image) && image.encoding.find("rvl") != std::string::npos;
}

/// Integers of the PNG or RVL in a compressed message.
StatusOr<DepthImage16> CodedIntegers(const ImageMessage& image, double unit_m) {
  if (!IsCompressedDepth(image)) return DecodePngDepth(image.data, unit_m);
  if (image.data.size() < kCompressedDepthHeadBytes) {
    return Mismatch(reason::IMAGE_DATA_LENGTH, "data",
                    std::to_string(kCompressedDepthHeadBytes) + " bytes or more",
                    std::to_string(image.data.size()));
  }
  const auto code = image.data.subspan(kCompressedDepthHeadBytes);
  return IsRvl(image) ? DecodeRvl(code, unit_m) : DecodePngDepth(code, unit_m);
}

/// Calls take(index, metres) for every pixel; NaN where nothing was measured.
template <typename Take>
Status ForEachDepthM(const ImageMessage& image, const Take& take) {
  if (image.is_compressed) {
    INTERLACER_ASSIGN_OR_RETURN(const DepthImage16 codes, CodedIntegers(image, 1));
    float a = 0, b = 0;  // depth = a / (code - b)
    std::memcpy(&a, image.data.data() + 4, sizeof(a));
    std::memcpy(&b, image.data.data() + 8, sizeof(b));
    for (std::size_t i = 0; i < codes.pixels.size(); ++i) {
      const std::uint16_t code = codes.pixels[i];
      take(i, code == 0 ? std::numeric_limits<float>::quiet_NaN()
                        : a / (static_cast<float>(code) - b));
    }
    return Status::Ok();
  }
  INTERLACER_RETURN_IF_ERROR(CheckRows(image, sizeof(float)));
  std::vector<float> row_m(static_cast<std::size_t>(image.width_px));
  std::size_t i = 0;
  for (int v = 0; v < image.height_px; ++v) {
    CopyRow(image, v, row_m.data());
    for (const float depth_m : row_m) take(i++, depth_m);
  }
  return Status::Ok();
}

}  // namespace

StatusOr<PixelKind> KindOfPixels(const ImageMessage& image) {
  if (image.is_compressed) {
    if (IsCompressedDepth(image)) {
      return image.encoding.starts_with("32FC1") ? PixelKind::kDepthMeters
                                                 : PixelKind::kDepthIntegers;
    }
    // Of a PNG the format's first word is what was compressed, where there is one.
    return image.encoding.starts_with("16UC1") || image.encoding.starts_with("mono16")
               ? PixelKind::kDepthIntegers
               : PixelKind::kColor;
  }
  if (FindLayout(image.encoding) != nullptr) return PixelKind::kColor;
  if (image.encoding == "16UC1" || image.encoding == "mono16") return PixelKind::kDepthIntegers;
  if (image.encoding == "32FC1") return PixelKind::kDepthMeters;
  return Mismatch(reason::PIXEL_ENCODING_UNSUPPORTED, "encoding", kEncodings,
                  image.encoding.substr(0, 64));
}

StatusOr<ImageSize> SizeOfImage(const ImageMessage& image) {
  if (!image.is_compressed) return ImageSize{image.width_px, image.height_px};
  const std::size_t head =
      IsCompressedDepth(image) ? std::min(kCompressedDepthHeadBytes, image.data.size()) : 0;
  if (IsRvl(image)) return ReadRvlSize(image.data.subspan(head));
  const auto png = ReadPngSize(image.data.subspan(head));
  return png.ok() || head > 0 ? png : ReadJpegSize(image.data);
}

StatusOr<RgbImage> ColorOf(const ImageMessage& image) {
  if (image.is_compressed) {
    INTERLACER_ASSIGN_OR_RETURN(const PixelKind kind, KindOfPixels(image));
    if (kind == PixelKind::kColor) return DecodeRgb(image.data);
  }
  const ColorLayout* const layout = FindLayout(image.encoding);
  if (layout == nullptr) {
    return Mismatch(reason::PIXEL_ENCODING_UNSUPPORTED, "encoding",
                    "colour: rgb8, bgr8, rgba8, bgra8, mono8, JPEG or PNG",
                    image.encoding.substr(0, 64));
  }
  INTERLACER_RETURN_IF_ERROR(CheckRows(image, static_cast<std::size_t>(layout->channels)));
  RgbImage color{image.width_px, image.height_px, {}};
  color.pixels.resize(std::size_t{3} * image.width_px * image.height_px);
  std::uint8_t* out = color.pixels.data();
  for (int v = 0; v < image.height_px; ++v) {
    const std::uint8_t* in = image.data.data() + image.row_bytes * v;
    if (image.encoding == "rgb8") {
      out = std::copy_n(in, std::size_t{3} * image.width_px, out);
      continue;
    }
    for (int u = 0; u < image.width_px; ++u, in += layout->channels) {
      *out++ = in[layout->red];
      *out++ = in[layout->green];
      *out++ = in[layout->blue];
    }
  }
  return color;
}

StatusOr<MetreDepths> SurveyDepths(const ImageMessage& image) {
  MetreDepths depths;
  INTERLACER_RETURN_IF_ERROR(
      ForEachDepthM(image, [&](std::size_t, float depth_m) { depths.Add(depth_m); }));
  return depths;
}

StatusOr<DepthImage16> DepthOf(const ImageMessage& image, double unit_m) {
  INTERLACER_ASSIGN_OR_RETURN(const PixelKind kind, KindOfPixels(image));
  if (kind == PixelKind::kColor) {
    return Mismatch(reason::PIXEL_ENCODING_UNSUPPORTED, "encoding",
                    "depth: 16UC1, mono16, 32FC1 or compressedDepth", image.encoding.substr(0, 64));
  }
  if (kind == PixelKind::kDepthIntegers && image.is_compressed) return CodedIntegers(image, unit_m);
  DepthImage16 depth{image.width_px, image.height_px, unit_m, {}};
  if (kind == PixelKind::kDepthIntegers) {
    INTERLACER_RETURN_IF_ERROR(CheckRows(image, sizeof(std::uint16_t)));
    const std::size_t width = static_cast<std::size_t>(image.width_px);
    depth.pixels.resize(width * image.height_px);
    for (int v = 0; v < image.height_px; ++v) CopyRow(image, v, depth.pixels.data() + width * v);
    return depth;
  }
  INTERLACER_ASSIGN_OR_RETURN(const ImageSize size, SizeOfImage(image));
  if (!image.is_compressed) INTERLACER_RETURN_IF_ERROR(CheckRows(image, sizeof(float)));
  depth.width_px = size.width_px;
  depth.height_px = size.height_px;
  constexpr double kMostUnits = kMostDepthUnits + 0.5;
  std::vector<std::uint16_t>& pixels = depth.pixels;
  INTERLACER_RETURN_IF_ERROR(ForEachDepthM(image, [&](std::size_t, float depth_m) {
    const double units = depth_m / unit_m;
    pixels.push_back(units > 0 && units < kMostUnits ? static_cast<std::uint16_t>(units + 0.5) : 0);
  }));
  return depth;
}

}  // namespace interlacer
