#include "common/image_codec.h"

#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/check.h"
#include "common/checked_math.h"
#include "common/file_io.h"
#include "common/png_stream.h"
#include "common/values_of_bytes.h"

namespace interlacer {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::array<std::uint8_t, 8> kPngMagic = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
constexpr std::array<std::uint8_t, 3> kJpegMagic = {0xff, 0xd8, 0xff};
/// Deflate cannot pack more than this many bytes into one.
constexpr std::int64_t kMaxDeflateRatio = 1032;
constexpr std::int64_t kMaxImageFileBytes = std::int64_t{512} << 20;
/// Every scan of a progressive JPEG passes over all coefficients, also one that says nothing;
/// encoders write about ten.
constexpr int kMaxJpegScans = 32;

Status Undecodable(std::string message) {
  const std::string got = message;
  return InvalidArgument(reason::IMAGE_UNDECODABLE, std::move(message))
      .WithMetadata("expected", "a whole PNG or JPEG image")
      .WithMetadata("got", got);
}

template <std::size_t n>
bool StartsWith(Bytes data, const std::array<std::uint8_t, n>& magic) {
  return data.size() >= n && std::equal(magic.begin(), magic.end(), data.begin());
}

/// What other files begin with, for the message.
std::string ContentHint(Bytes data) {
  if (data.empty()) return "an empty file";
  const std::string_view text(reinterpret_cast<const char*>(data.data()), data.size());
  for (const auto& [magic, name] :
       {std::pair<std::string_view, const char*>{"version https://git-lfs",
                                                 "a Git LFS pointer, which git lfs pull replaces"},
        {"II*", "a TIFF image"},
        {std::string_view("MM\0*", 4), "a TIFF image"},
        {"BM", "a BMP image"},
        {"GIF8", "a GIF image"},
        {"RIFF", "a WebP image or a film"},
        {"\xff\xd8\xff", "a JPEG image"},
        {"\x76\x2f\x31\x01", "an EXR image"},
        {"<", "a web page or XML"},
        {"\x93NUMPY", "a NumPy array"}}) {
    if (text.starts_with(magic)) return name;
  }
  return std::to_string(data.size()) + " bytes of another kind";
}

Status CheckLimits(const ImageSize& size, const ImageLimits& limits) {
  if (size.width_px <= limits.max_side_px && size.height_px <= limits.max_side_px) {
    return Status::Ok();
  }
  const std::string limit = std::to_string(limits.max_side_px);
  const std::string got = std::to_string(size.width_px) + " x " + std::to_string(size.height_px);
  return OutOfRange(reason::LIMIT_IMAGE_SIDE,
                    "image sides are at most " + limit + " px, got " + got)
      .WithMetadata("limit", limit)
      .WithMetadata("got", got);
}

// ---- PNG -------------------------------------------------------------------------------------

/// The fields of the IHDR chunk, read without the library.
struct PngHeader {
  ImageSize size;
  int bit_depth = 0;
  int color_type = 0;
};

StatusOr<PngHeader> ReadPngHeader(Bytes data) {
  constexpr std::size_t kHeaderBytes = 33;  // magic 8, length 4, "IHDR" 4, content 13, CRC 4
  if (!StartsWith(data, kPngMagic)) return Undecodable("not a PNG but " + ContentHint(data));
  if (data.size() < kHeaderBytes || std::memcmp(data.data() + 12, "IHDR", 4) != 0) {
    return Undecodable("PNG without a header: " + std::to_string(data.size()) + " bytes");
  }
  const std::uint32_t width = BigEndianNumber<std::uint32_t>(data.data() + 16);
  const std::uint32_t height = BigEndianNumber<std::uint32_t>(data.data() + 20);
  if (width == 0 || height == 0 || width > 0x7fffffffu || height > 0x7fffffffu) {
    return Undecodable("PNG with an impossible size");
  }
  return PngHeader{{static_cast<int>(width), static_cast<int>(height)}, data[24], data[25]};
}

int ChannelCount(int color_type) {
  switch (color_type) {
    case PNG_COLOR_TYPE_RGB:
      return 3;
    case PNG_COLOR_TYPE_RGB_ALPHA:
      return 4;
    case PNG_COLOR_TYPE_GRAY_ALPHA:
      return 2;
    default:
      return 1;
  }
}

/// Refuses headers that promise more pixels than the bytes behind them can hold.
Status CheckPngHeader(const PngHeader& header, Bytes data, const ImageLimits& limits) {
  INTERLACER_RETURN_IF_ERROR(CheckLimits(header.size, limits));
  const auto bits = CheckedProduct({header.size.width_px, header.size.height_px,
                                    ChannelCount(header.color_type), header.bit_depth});
  if (!bits || *bits / 8 / kMaxDeflateRatio > static_cast<std::int64_t>(data.size())) {
    return Undecodable("PNG of " + std::to_string(data.size()) + " bytes is too short for " +
                       std::to_string(header.size.width_px) + " x " +
                       std::to_string(header.size.height_px) + " pixels");
  }
  return Status::Ok();
}

enum class PngTarget { kRgb8, kGray16 };

/// Compressed bytes that a row may take beyond four times its pixels, which may be wider in the
/// file. With the last one the library inflates all that is there, a thousand times as much, to
/// look for the end.
constexpr std::size_t kMaxPngExcessBytes = 64 << 10;

struct PngSource {
  Bytes data;
  std::size_t position = 0;
  std::size_t end = data.size();
  std::array<char, 160> error{};
};

void OnPngError(png_structp png, png_const_charp message) {
  auto* source = static_cast<PngSource*>(png_get_error_ptr(png));
  std::strncpy(source->error.data(), message, source->error.size() - 1);
  std::longjmp(png_jmpbuf(png), 1);
}

void OnPngWarning(png_structp, png_const_charp) {}

void ReadPngData(png_structp png, png_bytep out, png_size_t count) {
  auto* source = static_cast<PngSource*>(png_get_io_ptr(png));
  if (count > source->end - source->position) {
    png_error(png, source->end < source->data.size() ? "more data than its pixels need"
                                                     : "the data ends too early");
  }
  std::memcpy(out, source->data.data() + source->position, count);
  source->position += count;
}

/// png_read_image, but for the bound of each row.
void ReadPngRows(png_structp png, png_infop info, int pass_count, PngSource* source,
                 png_bytepp rows) {
  const std::size_t most_bytes = 4 * png_get_rowbytes(png, info) + kMaxPngExcessBytes;
  for (int pass = 0; pass < pass_count; ++pass) {
    for (png_uint_32 y = 0; y < png_get_image_height(png, info); ++y) {
      source->end = source->position + std::min(source->data.size() - source->position, most_bytes);
      png_read_row(png, rows[y], nullptr);
    }
  }
}

/// Runs libpng. Between setjmp and the end only pointers and numbers live in this frame, so a
/// longjmp skips no destructor; `rows` and its pixels belong to the caller.
bool RunPngDecoder(PngSource* source, PngTarget target, png_bytepp rows, std::size_t row_bytes) {
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, source, OnPngError, OnPngWarning);
  if (png == nullptr) return false;
  png_infop info = png_create_info_struct(png);
  if (info == nullptr || setjmp(png_jmpbuf(png)) != 0) {
    png_destroy_read_struct(&png, &info, nullptr);
    return false;
  }
  png_set_read_fn(png, source, ReadPngData);
  png_set_chunk_malloc_max(png, 1 << 20);
  png_set_chunk_cache_max(png, 64);
  png_read_info(png, info);
  png_set_strip_alpha(png);
  if (target == PngTarget::kRgb8) {
    png_set_scale_16(png);
    png_set_expand(png);
    png_set_gray_to_rgb(png);
  } else {
    png_set_swap(png);  // file order is big-endian, ours little-endian
  }
  const int pass_count = png_set_interlace_handling(png);
  png_read_update_info(png, info);
  if (png_get_rowbytes(png, info) != row_bytes) png_error(png, "unexpected row length");
  ReadPngRows(png, info, pass_count, source, rows);
  png_read_end(png, nullptr);
  png_destroy_read_struct(&png, &info, nullptr);
  return true;
}

/// The parts of a PNG that make its pixels. What tools put between them (texts, thumbnails, colour
/// profiles, also damaged or huge ones) and behind them changes no pixel. Parts that are cut stay
/// cut.
std::vector<std::uint8_t> PixelParts(Bytes data) {
  constexpr std::size_t kFrameBytes = 12;  // length, name, CRC
  std::vector<std::uint8_t> parts(data.begin(), data.begin() + kPngMagic.size());
  std::string_view last;
  std::size_t at = kPngMagic.size();
  while (data.size() - at >= kFrameBytes && last != "IEND") {
    const std::size_t bytes =
        std::size_t{BigEndianNumber<std::uint32_t>(data.data() + at)} + kFrameBytes;
    if (bytes > data.size() - at) break;
    last = {reinterpret_cast<const char*>(data.data()) + at + 4, 4};
    const bool is_critical = (last.front() & 0x20) == 0 && last != "IEND";
    if (is_critical || last == "tRNS") {
      parts.insert(parts.end(), data.begin() + at, data.begin() + at + bytes);
    }
    at += bytes;
  }
  // Nothing is cut off where a file ends between two parts or within the one that says so.
  const std::string_view rest(reinterpret_cast<const char*>(data.data()) + at, data.size() - at);
  const std::string_view end_part("\0\0\0\0IEND\xae\x42\x60\x82", kFrameBytes);
  if (last == "IEND" || end_part.starts_with(rest)) {
    parts.insert(parts.end(), end_part.begin(), end_part.end());
  } else {
    parts.insert(parts.end(), data.begin() + static_cast<std::ptrdiff_t>(at), data.end());
  }
  return parts;
}

Status DecodePng(Bytes data, const ImageSize& size, PngTarget target, std::uint8_t* pixels) {
  const PlainPngKind plain =
      target == PngTarget::kRgb8 ? PlainPngKind::kRgb8 : PlainPngKind::kGray16;
  if (ReadPlainPng(data, plain, size.width_px, size.height_px, pixels)) return Status::Ok();
  const std::size_t row_bytes =
      static_cast<std::size_t>(size.width_px) * (target == PngTarget::kRgb8 ? 3 : 2);
  std::vector<png_bytep> rows(size.height_px);
  for (std::size_t y = 0; y < rows.size(); ++y) rows[y] = pixels + y * row_bytes;
  const std::vector<std::uint8_t> parts = PixelParts(data);
  PngSource source{parts};
  if (!RunPngDecoder(&source, target, rows.data(), row_bytes)) {
    return Undecodable(std::string("PNG cannot be decoded: ") + source.error.data());
  }
  return Status::Ok();
}

// ---- JPEG ------------------------------------------------------------------------------------

struct TurboJpegDeleter {
  void operator()(void* handle) const { tjDestroy(handle); }
};
using TurboJpeg = std::unique_ptr<void, TurboJpegDeleter>;

/// At least the number of scans: the marker that begins one may also occur in metadata by chance,
/// but not in coded pixels. Stops after kMaxJpegScans.
int CountJpegScans(Bytes data) {
  constexpr std::uint8_t kMarker = 0xff, kStartOfScan = 0xda;
  int count = 0;
  for (auto at = data.begin(); count <= kMaxJpegScans; ++count) {
    at = std::adjacent_find(at, data.end(), [](std::uint8_t first, std::uint8_t second) {
      return first == kMarker && second == kStartOfScan;
    });
    if (at == data.end()) break;
    at += 2;
  }
  return count;
}

StatusOr<ImageSize> ReadJpegHeader(tjhandle handle, Bytes data) {
  ImageSize size;
  int subsampling = 0, colorspace = 0;
  if (!StartsWith(data, kJpegMagic)) return Undecodable("not a JPEG: wrong magic number");
  if (tjDecompressHeader3(handle, data.data(), data.size(), &size.width_px, &size.height_px,
                          &subsampling, &colorspace) != 0) {
    return Undecodable(std::string("JPEG header cannot be read: ") + tjGetErrorStr2(handle));
  }
  if (size.width_px < 1 || size.height_px < 1) return Undecodable("JPEG without pixels");
  if (colorspace == TJCS_CMYK || colorspace == TJCS_YCCK) {
    return Undecodable("JPEG in the four inks of printing (CMYK): convert it to RGB");
  }
  if (CountJpegScans(data) > kMaxJpegScans) {
    return Undecodable("JPEG with more than " + std::to_string(kMaxJpegScans) + " scans");
  }
  return size;
}

/// libjpeg's rules for a whole image; the message of the first breach.
std::optional<std::string> TryDecodeJpeg(tjhandle handle, Bytes data, RgbImage* image) {
  // A warning means missing or damaged data: the rest would be invented.
  const int failed =
      tjDecompress2(handle, data.data(), data.size(), image->pixels.data(), image->width_px, 0,
                    image->height_px, TJPF_RGB, TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS);
  if (failed == 0) return std::nullopt;
  return tjGetErrorStr2(handle);
}

/// The data without a few bytes that USB cameras leave between the last pixel and the end mark.
/// Nothing where the message tells of another breach; whether all pixels are there decides a second
/// look.
std::optional<std::vector<std::uint8_t>> WithoutStuffing(Bytes data, const std::string& message) {
  constexpr std::array<std::uint8_t, 2> kEndMark = {0xff, 0xd9};
  constexpr std::size_t kMaxStuffing = 64;
  unsigned count = 0, marker = 0;
  const std::size_t at = message.find_first_of("0123456789");
  if (at == std::string::npos ||
      std::sscanf(message.c_str() + at, "%u extraneous bytes before marker 0x%x", &count,
                  &marker) != 2 ||
      marker != kEndMark[1]) {
    return std::nullopt;
  }
  const auto end = std::find_end(data.begin(), data.end(), kEndMark.begin(), kEndMark.end());
  if (end == data.end() || end - data.begin() < static_cast<std::ptrdiff_t>(count)) {
    return std::nullopt;
  }
  const auto stuffing = end - static_cast<std::ptrdiff_t>(count);
  const bool is_padding = std::all_of(stuffing, end, [](std::uint8_t byte) { return byte == 0; });
  if (count > kMaxStuffing && !is_padding) return std::nullopt;
  std::vector<std::uint8_t> clean(data.begin(), stuffing);
  clean.insert(clean.end(), kEndMark.begin(), kEndMark.end());
  return clean;
}

// ---- Files -----------------------------------------------------------------------------------

/// A decoder's error with the path as its field.
template <typename T>
StatusOr<T> AtPath(StatusOr<T> result, const std::string& path) {
  if (result.ok()) return result;
  return std::move(result.status().WithField(path));
}

}  // namespace

StatusOr<ImageSize> ReadPngSize(Bytes data) {
  INTERLACER_ASSIGN_OR_RETURN(const PngHeader header, ReadPngHeader(data));
  return header.size;
}

StatusOr<ImageSize> ReadJpegSize(Bytes data) {
  const TurboJpeg handle(tjInitDecompress());
  INTERLACER_CHECK(handle != nullptr, "turbojpeg cannot start");
  return ReadJpegHeader(handle.get(), data);
}

StatusOr<RgbImage> DecodePngRgb(Bytes data, const ImageLimits& limits) {
  INTERLACER_ASSIGN_OR_RETURN(const PngHeader header, ReadPngHeader(data));
  INTERLACER_RETURN_IF_ERROR(CheckPngHeader(header, data, limits));
  const bool is_grey =
      header.color_type == PNG_COLOR_TYPE_GRAY || header.color_type == PNG_COLOR_TYPE_GRAY_ALPHA;
  if (header.bit_depth == 16 && is_grey) {
    return Mismatch(reason::PIXEL_ENCODING_UNSUPPORTED, "color",
                    "colour, or grey of at most 8 bits", "16-bit grey, as depth images are");
  }
  RgbImage image{header.size.width_px, header.size.height_px, {}};
  image.pixels.resize(std::size_t{3} * image.width_px * image.height_px);
  INTERLACER_RETURN_IF_ERROR(DecodePng(data, header.size, PngTarget::kRgb8, image.pixels.data()));
  return image;
}

StatusOr<DepthImage16> DecodePngDepth(Bytes data, double unit_m, const ImageLimits& limits) {
  if (StartsWith(data, kJpegMagic)) {
    return Undecodable("a JPEG image, whose 8 bits hold no depths: depth is a PNG of 16 bits");
  }
  INTERLACER_ASSIGN_OR_RETURN(const PngHeader header, ReadPngHeader(data));
  INTERLACER_RETURN_IF_ERROR(CheckPngHeader(header, data, limits));
  const bool is_grey =
      header.color_type == PNG_COLOR_TYPE_GRAY || header.color_type == PNG_COLOR_TYPE_GRAY_ALPHA;
  if (header.bit_depth != 16 || !is_grey) {
    return Mismatch(reason::PIXEL_ENCODING_UNSUPPORTED, "depth", "16-bit grey integers of a unit",
                    std::to_string(header.bit_depth) + " bits, " +
                        std::to_string(ChannelCount(header.color_type)) + " channels");
  }
  DepthImage16 image{header.size.width_px, header.size.height_px, unit_m, {}};
  image.pixels.resize(static_cast<std::size_t>(image.width_px) * image.height_px);
  INTERLACER_RETURN_IF_ERROR(DecodePng(data, header.size, PngTarget::kGray16,
                                       reinterpret_cast<std::uint8_t*>(image.pixels.data())));
  return image;
}

StatusOr<RgbImage> DecodeJpegRgb(Bytes data, const ImageLimits& limits) {
  const TurboJpeg handle(tjInitDecompress());
  INTERLACER_CHECK(handle != nullptr, "turbojpeg cannot start");
  INTERLACER_ASSIGN_OR_RETURN(const ImageSize size, ReadJpegHeader(handle.get(), data));
  INTERLACER_RETURN_IF_ERROR(CheckLimits(size, limits));
  RgbImage image{size.width_px, size.height_px, {}};
  image.pixels.resize(std::size_t{3} * image.width_px * image.height_px);
  auto failure = TryDecodeJpeg(handle.get(), data, &image);
  // libjpeg has read ahead: the bytes that it counts may not be all.
  std::optional<std::vector<std::uint8_t>> clean;
  for (int look = 0; failure && look < 3; ++look) {
    clean = WithoutStuffing(clean ? *clean : data, *failure);
    if (!clean) break;
    failure = TryDecodeJpeg(handle.get(), *clean, &image);
  }
  if (failure) return Undecodable("JPEG cannot be decoded: " + *failure);
  return image;
}

StatusOr<RgbImage> DecodeRgb(Bytes data, const ImageLimits& limits) {
  if (StartsWith(data, kPngMagic)) return DecodePngRgb(data, limits);
  if (StartsWith(data, kJpegMagic)) return DecodeJpegRgb(data, limits);
  return Undecodable("neither PNG nor JPEG but " + ContentHint(data));
}

std::vector<std::uint8_t> EncodePng(const RgbImage& image) {
  INTERLACER_CHECK(image.pixels.size() == std::size_t{3} * image.width_px * image.height_px,
                   "pixels do not fit the size");
  return WritePlainPng(PlainPngKind::kRgb8, image.width_px, image.height_px, image.pixels.data());
}

std::vector<std::uint8_t> EncodePng(const DepthImage16& image) {
  INTERLACER_CHECK(
      image.pixels.size() == static_cast<std::size_t>(image.width_px) * image.height_px,
      "pixels do not fit the size");
  return WritePlainPng(PlainPngKind::kGray16, image.width_px, image.height_px,
                       reinterpret_cast<const std::uint8_t*>(image.pixels.data()));
}

std::vector<std::uint8_t> EncodeJpeg(const RgbImage& image, int quality) {
  INTERLACER_CHECK(image.pixels.size() == std::size_t{3} * image.width_px * image.height_px,
                   "pixels do not fit the size");
  const TurboJpeg handle(tjInitCompress());
  INTERLACER_CHECK(handle != nullptr, "turbojpeg cannot start");
  std::vector<std::uint8_t> out(tjBufSize(image.width_px, image.height_px, TJSAMP_444));
  unsigned char* buffer = out.data();
  unsigned long size = out.size();
  const int failed =
      tjCompress2(handle.get(), image.pixels.data(), image.width_px, 0, image.height_px, TJPF_RGB,
                  &buffer, &size, TJSAMP_444, quality, TJFLAG_NOREALLOC | TJFLAG_ACCURATEDCT);
  INTERLACER_CHECK(failed == 0, tjGetErrorStr2(handle.get()));
  out.resize(size);
  return out;
}

StatusOr<RgbImage> ReadRgbFile(const std::string& path, const ImageLimits& limits) {
  INTERLACER_ASSIGN_OR_RETURN(const auto data, ReadFileBytes(path, kMaxImageFileBytes));
  return AtPath(DecodeRgb(data, limits), path);
}

StatusOr<DepthImage16> ReadDepthPngFile(const std::string& path, double unit_m,
                                        const ImageLimits& limits) {
  INTERLACER_ASSIGN_OR_RETURN(const auto data, ReadFileBytes(path, kMaxImageFileBytes));
  return AtPath(DecodePngDepth(data, unit_m, limits), path);
}

Status WritePngFile(const RgbImage& image, const std::string& path) {
  return WriteFileAtomic(path, EncodePng(image));
}

Status WritePngFile(const DepthImage16& image, const std::string& path) {
  return WriteFileAtomic(path, EncodePng(image));
}

}  // namespace interlacer
