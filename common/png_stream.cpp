#include "common/png_stream.h"

#include <libdeflate.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "common/check.h"
#include "common/values_of_bytes.h"

namespace interlacer {
namespace {

constexpr std::array<std::uint8_t, 8> kSignature = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
constexpr std::size_t kHeaderBytes = 13, kPartFrameBytes = 12;  // length, name, CRC
/// The smallest files for their time: levels above take twice as long for 1 % less.
constexpr int kCompressionLevel = 1;
/// Noise: coding takes fifty times as long as storing, and saves less than half.
constexpr double kMaxCodedBits = 4;
/// A thread's, of two megapixels; that of larger pictures is freed.
constexpr std::size_t kMostKeptBytes = std::size_t{8} << 20;
enum Filter : std::uint8_t { kNone, kSub, kUp, kAverage, kPaeth };

using Bytes = std::span<const std::uint8_t>;

std::size_t PixelBytes(PlainPngKind kind) { return kind == PlainPngKind::kRgb8 ? 3 : 2; }

void PutBigEndian32(std::uint32_t value, std::uint8_t* out) {
  for (int i = 0; i < 4; ++i) out[i] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
}

std::array<std::uint8_t, kHeaderBytes> Header(PlainPngKind kind, int width_px, int height_px) {
  std::array<std::uint8_t, kHeaderBytes> header{};
  PutBigEndian32(static_cast<std::uint32_t>(width_px), header.data());
  PutBigEndian32(static_cast<std::uint32_t>(height_px), header.data() + 4);
  header[8] = kind == PlainPngKind::kRgb8 ? 8 : 16;
  header[9] = kind == PlainPngKind::kRgb8 ? 2 : 0;
  return header;
}

/// Frames what stands behind the name of a part at `begin`.
void ClosePart(std::size_t begin, std::vector<std::uint8_t>* out) {
  std::uint8_t* const part = out->data() + begin;
  const std::size_t size = out->size() - begin;
  PutBigEndian32(static_cast<std::uint32_t>(size - 8), part);
  std::uint8_t crc[4];
  PutBigEndian32(libdeflate_crc32(0, part + 4, size - 4), crc);
  out->insert(out->end(), crc, crc + 4);
}

void AppendPart(std::string_view name, Bytes content, std::vector<std::uint8_t>* out) {
  const std::size_t begin = out->size();
  out->resize(begin + 4);
  out->insert(out->end(), name.begin(), name.end());
  out->insert(out->end(), content.begin(), content.end());
  ClosePart(begin, out);
}

/// File order of 16-bit integers is big-endian.
void CopyRow(PlainPngKind kind, const std::uint8_t* in, std::size_t bytes, std::uint8_t* out) {
  if (kind == PlainPngKind::kRgb8) {
    std::memcpy(out, in, bytes);
    return;
  }
  for (std::size_t i = 0; i + 1 < bytes; i += 2) {
    out[i] = in[i + 1];
    out[i + 1] = in[i];
  }
}

/// Rows with the filter Sub, each after its mark.
void FilterRows(PlainPngKind kind, std::size_t row_bytes, int height_px, const std::uint8_t* pixels,
                std::vector<std::uint8_t>* rows) {
  const std::size_t step = PixelBytes(kind);
  rows->resize((row_bytes + 1) * height_px);
  std::vector<std::uint8_t> swapped(kind == PlainPngKind::kRgb8 ? 0 : row_bytes);
  for (int y = 0; y < height_px; ++y) {
    const std::uint8_t* row = pixels + y * row_bytes;
    if (!swapped.empty()) {
      CopyRow(kind, row, row_bytes, swapped.data());
      row = swapped.data();
    }
    std::uint8_t* const out = rows->data() + y * (row_bytes + 1);
    out[0] = kSub;
    std::memcpy(out + 1, row, step);
    for (std::size_t i = step; i < row_bytes; ++i) {
      out[1 + i] = static_cast<std::uint8_t>(row[i] - row[i - step]);
    }
  }
}

std::uint8_t PaethPredictor(int left, int up, int corner) {
  const int from_left = std::abs(up - corner), from_up = std::abs(left - corner);
  const int from_corner = std::abs(left + up - 2 * corner);
  if (from_left <= from_up && from_left <= from_corner) return static_cast<std::uint8_t>(left);
  return static_cast<std::uint8_t>(from_up <= from_corner ? up : corner);
}

/// Undoes the filter of a row of `n` bytes in place; `above` is the finished row over it.
template <std::size_t step>
bool UnfilterRow(std::uint8_t filter, const std::uint8_t* above, std::size_t n, std::uint8_t* row) {
  const auto add = [row](std::size_t i, int value) {
    row[i] = static_cast<std::uint8_t>(row[i] + value);
  };
  switch (filter) {
    case kNone:
      return true;
    case kSub:
      for (std::size_t i = step; i < n; ++i) add(i, row[i - step]);
      return true;
    case kUp:
      for (std::size_t i = 0; i < n; ++i) add(i, above[i]);
      return true;
    case kAverage:
      for (std::size_t i = 0; i < step; ++i) add(i, above[i] / 2);
      for (std::size_t i = step; i < n; ++i) add(i, (row[i - step] + above[i]) / 2);
      return true;
    case kPaeth:
      for (std::size_t i = 0; i < step; ++i) add(i, above[i]);
      for (std::size_t i = step; i < n; ++i) {
        add(i, PaethPredictor(row[i - step], above[i], above[i - step]));
      }
      return true;
    default:
      return false;
  }
}

/// Pixels of rows that each follow the mark of their filter, which is undone in place; false for an
/// unknown one.
bool UnfilterRows(PlainPngKind kind, std::size_t row_bytes, std::span<std::uint8_t> rows,
                  std::uint8_t* pixels) {
  const std::vector<std::uint8_t> zeros(row_bytes);
  const std::uint8_t* above = zeros.data();
  const auto unfilter = kind == PlainPngKind::kRgb8 ? UnfilterRow<3> : UnfilterRow<2>;
  for (; !rows.empty(); rows = rows.subspan(row_bytes + 1), pixels += row_bytes) {
    std::uint8_t* const row = rows.data() + 1;
    if (!unfilter(rows.front(), above, row_bytes, row)) return false;
    CopyRow(kind, row, row_bytes, pixels);
    above = row;
  }
  return true;
}

/// The header's content and the compressed pixels of a file whose every part is whole; false where
/// a part is damaged or changes what pixels mean.
bool SplitParts(Bytes data, Bytes* header, std::vector<Bytes>* compressed) {
  if (data.size() < kSignature.size() ||
      !std::equal(kSignature.begin(), kSignature.end(), data.begin())) {
    return false;
  }
  bool is_last_pixels = false;
  for (std::size_t at = kSignature.size(); data.size() - at >= kPartFrameBytes;) {
    const std::size_t size = BigEndianNumber<std::uint32_t>(data.data() + at);
    if (size > data.size() - at - kPartFrameBytes) return false;
    const std::string_view name(reinterpret_cast<const char*>(data.data()) + at + 4, 4);
    const Bytes content = data.subspan(at + 8, size);
    if (name == "IEND") return !header->empty() && !compressed->empty();
    const bool is_header = name == "IHDR", is_pixels = name == "IDAT";
    const bool is_critical = (name[0] & 0x20) == 0;
    // Pixels follow each other and the header; a palette or transparency is not plain.
    if (is_header != header->empty() || (is_critical && !is_header && !is_pixels) ||
        name == "tRNS" || (is_pixels && !compressed->empty() && !is_last_pixels)) {
      return false;
    }
    if (is_critical && libdeflate_crc32(0, content.data() - 4, size + 4) !=
                           BigEndianNumber<std::uint32_t>(content.data() + size)) {
      return false;
    }
    if (is_header) *header = content;
    if (is_pixels) compressed->push_back(content);
    is_last_pixels = is_pixels;
    at += size + kPartFrameBytes;
  }
  return false;
}

struct FreeDeflate {
  void operator()(libdeflate_compressor* c) const { libdeflate_free_compressor(c); }
  void operator()(libdeflate_decompressor* d) const { libdeflate_free_decompressor(d); }
};

/// Bits a byte that coding each by itself would leave, by every 16th of `rows`.
double EntropyBits(Bytes rows, std::size_t row_bytes) {
  constexpr std::size_t kSampledRow = 16;
  std::array<std::uint32_t, 256> counts{};
  double total = 0, bits = 0;
  for (std::size_t at = 0; at + row_bytes <= rows.size(); at += kSampledRow * row_bytes) {
    for (const std::uint8_t byte : rows.subspan(at, row_bytes)) ++counts[byte];
    total += static_cast<double>(row_bytes);
  }
  for (const std::uint32_t count : counts) {
    if (count > 0) bits -= count / total * std::log2(count / total);
  }
  return bits;
}

}  // namespace

std::vector<std::uint8_t> WritePlainPng(PlainPngKind kind, int width_px, int height_px,
                                        const std::uint8_t* pixels) {
  // Its tables take longer to make than a small picture to write.
  thread_local const std::unique_ptr<libdeflate_compressor, FreeDeflate> coding(
      libdeflate_alloc_compressor(kCompressionLevel)),
      storing(libdeflate_alloc_compressor(0));
  INTERLACER_CHECK(coding != nullptr && storing != nullptr, "libdeflate is out of memory");
  const std::size_t row_bytes = PixelBytes(kind) * static_cast<std::size_t>(width_px);
  // Memory of a picture's size is kept: new pages for each take longer than filtering.
  thread_local std::vector<std::uint8_t> rows, packed;
  FilterRows(kind, row_bytes, height_px, pixels, &rows);
  const auto& compressor = EntropyBits(rows, row_bytes + 1) < kMaxCodedBits ? coding : storing;
  packed.resize(
      std::max(packed.size(), libdeflate_zlib_compress_bound(compressor.get(), rows.size())));
  const std::size_t size = libdeflate_zlib_compress(compressor.get(), rows.data(), rows.size(),
                                                    packed.data(), packed.size());
  INTERLACER_CHECK(size > 0, "what libdeflate writes fits its own bound");
  std::vector<std::uint8_t> out;
  out.reserve(kSignature.size() + kHeaderBytes + size + 3 * kPartFrameBytes);
  out.assign(kSignature.begin(), kSignature.end());
  AppendPart("IHDR", Header(kind, width_px, height_px), &out);
  AppendPart("IDAT", Bytes(packed).first(size), &out);
  AppendPart("IEND", {}, &out);
  if (packed.size() > kMostKeptBytes) {
    for (auto* kept : {&rows, &packed}) std::vector<std::uint8_t>().swap(*kept);
  }
  return out;
}

bool ReadPlainPng(Bytes data, PlainPngKind kind, int width_px, int height_px,
                  std::uint8_t* pixels) {
  thread_local const std::unique_ptr<libdeflate_decompressor, FreeDeflate> decompressor(
      libdeflate_alloc_decompressor());
  INTERLACER_CHECK(decompressor != nullptr, "libdeflate is out of memory");
  Bytes header;
  std::vector<Bytes> parts;
  if (!SplitParts(data, &header, &parts)) return false;
  const auto expected = Header(kind, width_px, height_px);
  if (!std::equal(header.begin(), header.end(), expected.begin(), expected.end())) return false;
  const std::size_t row_bytes = PixelBytes(kind) * static_cast<std::size_t>(width_px);
  std::vector<std::uint8_t> joined;
  if (parts.size() > 1) {
    for (const Bytes part : parts) joined.insert(joined.end(), part.begin(), part.end());
  }
  const Bytes compressed = parts.size() > 1 ? Bytes(joined) : parts.front();
  // Kept as in writing.
  thread_local std::vector<std::uint8_t> rows;
  rows.resize((row_bytes + 1) * height_px);
  const bool is_whole =
      libdeflate_zlib_decompress(decompressor.get(), compressed.data(), compressed.size(),
                                 rows.data(), rows.size(), nullptr) == LIBDEFLATE_SUCCESS &&
      UnfilterRows(kind, row_bytes, rows, pixels);
  if (rows.size() > kMostKeptBytes) std::vector<std::uint8_t>().swap(rows);
  return is_whole;
}

}  // namespace interlacer
