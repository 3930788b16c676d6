#include "common/png_stream.h"

#include <gtest/gtest.h>
#include <png.h>

#include <cstring>
#include <vector>

namespace interlacer {
namespace {

using Bytes = std::vector<std::uint8_t>;
constexpr int kWidthPx = 61, kHeightPx = 43;

std::size_t RowBytes(PlainPngKind kind) {
  return std::size_t{kWidthPx} * (kind == PlainPngKind::kRgb8 ? 3 : 2);
}

/// Slopes with noise, so that libpng chooses each of its filters somewhere.
Bytes Pixels(PlainPngKind kind) {
  Bytes pixels(RowBytes(kind) * kHeightPx);
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    state = state * 1664525u + 1013904223u;
    pixels[i] = static_cast<std::uint8_t>(i / 7 + i / RowBytes(kind) * 5 + (state >> 30));
  }
  return pixels;
}

void Append(png_structp png, png_bytep data, png_size_t size) {
  auto* out = static_cast<Bytes*>(png_get_io_ptr(png));
  out->insert(out->end(), data, data + size);
}

Bytes WriteByLibpng(PlainPngKind kind, const Bytes& pixels, int filters) {
  Bytes out;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, &out, Append, [](png_structp) {});
  png_set_compression_buffer_size(png, 512);  // several parts of pixels
  png_set_filter(png, PNG_FILTER_TYPE_BASE, filters);
  const bool is_color = kind == PlainPngKind::kRgb8;
  png_set_IHDR(png, info, kWidthPx, kHeightPx, is_color ? 8 : 16,
               is_color ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  if (!is_color) png_set_swap(png);
  for (int y = 0; y < kHeightPx; ++y) png_write_row(png, pixels.data() + y * RowBytes(kind));
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return out;
}

struct Input {
  const Bytes* data;
  std::size_t at;
};

void Take(png_structp png, png_bytep out, png_size_t size) {
  auto* in = static_cast<Input*>(png_get_io_ptr(png));
  std::memcpy(out, in->data->data() + in->at, size);
  in->at += size;
}

Bytes ReadByLibpng(PlainPngKind kind, const Bytes& data) {
  Bytes pixels(RowBytes(kind) * kHeightPx);
  Input input{&data, 0};
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_read_fn(png, &input, Take);
  png_read_info(png, info);
  EXPECT_EQ(png_get_rowbytes(png, info), RowBytes(kind));
  if (kind == PlainPngKind::kGray16) png_set_swap(png);
  for (int y = 0; y < kHeightPx; ++y) {
    png_read_row(png, pixels.data() + y * RowBytes(kind), nullptr);
  }
  png_read_end(png, nullptr);
  png_destroy_read_struct(&png, &info, nullptr);
  return pixels;
}

class PlainPngTest : public ::testing::TestWithParam<PlainPngKind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, PlainPngTest,
                         ::testing::Values(PlainPngKind::kRgb8, PlainPngKind::kGray16));

TEST_P(PlainPngTest, LibpngReadsTheSamePixels) {
  const Bytes pixels = Pixels(GetParam());
  EXPECT_EQ(ReadByLibpng(GetParam(), WritePlainPng(GetParam(), kWidthPx, kHeightPx, pixels.data())),
            pixels);
}

TEST_P(PlainPngTest, EveryFilterOfLibpngIsRead) {
  const Bytes pixels = Pixels(GetParam());
  for (const int filters : {PNG_FILTER_NONE, PNG_FILTER_SUB, PNG_FILTER_UP, PNG_FILTER_AVG,
                            PNG_FILTER_PAETH, PNG_ALL_FILTERS}) {
    const Bytes data = WriteByLibpng(GetParam(), pixels, filters);
    Bytes read(pixels.size(), 77);
    ASSERT_TRUE(ReadPlainPng(data, GetParam(), kWidthPx, kHeightPx, read.data())) << filters;
    EXPECT_EQ(read, pixels) << filters;
  }
}

TEST_P(PlainPngTest, NoiseIsStoredAndSlopesAreCoded) {
  Bytes noise(RowBytes(GetParam()) * kHeightPx), slope(noise.size());
  std::uint32_t state = 7;
  for (std::size_t i = 0; i < noise.size(); ++i) {
    state = state * 1664525u + 1013904223u;
    noise[i] = static_cast<std::uint8_t>(state >> 24);
    slope[i] = static_cast<std::uint8_t>(i % RowBytes(GetParam()) / 6);
  }
  for (const Bytes& pixels : {noise, slope}) {
    const Bytes data = WritePlainPng(GetParam(), kWidthPx, kHeightPx, pixels.data());
    Bytes read(pixels.size());
    ASSERT_TRUE(ReadPlainPng(data, GetParam(), kWidthPx, kHeightPx, read.data()));
    EXPECT_EQ(read, pixels);
    EXPECT_EQ(ReadByLibpng(GetParam(), data), pixels);
    if (pixels == noise) {
      EXPECT_GT(data.size(), noise.size());
      EXPECT_LT(data.size(), noise.size() + 200);
    } else {
      EXPECT_LT(data.size(), slope.size() / 4);
    }
  }
}

TEST_P(PlainPngTest, NoDamagedByteGoesUnseen) {
  const Bytes pixels = Pixels(GetParam());
  const Bytes whole = WritePlainPng(GetParam(), kWidthPx, kHeightPx, pixels.data());
  Bytes read(pixels.size());
  EXPECT_FALSE(ReadPlainPng(whole, GetParam(), kWidthPx, kHeightPx - 1, read.data()));
  for (std::size_t i = 0; i + 12 < whole.size(); i += 7) {
    Bytes damaged = whole;
    damaged[i] ^= 0x10;
    EXPECT_FALSE(ReadPlainPng(damaged, GetParam(), kWidthPx, kHeightPx, read.data())) << i;
    EXPECT_FALSE(
        ReadPlainPng(std::span(whole).first(i), GetParam(), kWidthPx, kHeightPx, read.data()));
  }
}

}  // namespace
}  // namespace interlacer
