#include "common/image_codec.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <string>
#include <vector>

#include "common/file_io.h"
#include "common/random.h"
#include "tests/support/must.h"
#include "tests/support/temp_folder.h"

namespace interlacer {
namespace {

using Bytes = std::vector<std::uint8_t>;

RgbImage RandomImage(int width_px, int height_px) {
  RandomSequence random(1, RandomStream::kDataGeneration);
  RgbImage image{width_px, height_px, {}};
  for (int i = 0; i < 3 * width_px * height_px; ++i) {
    image.pixels.push_back(static_cast<std::uint8_t>(random.Below(256)));
  }
  return image;
}

/// Smooth, so that JPEG keeps it nearly unchanged.
RgbImage SmoothImage(int width_px, int height_px) {
  RgbImage image{width_px, height_px, {}};
  for (int y = 0; y < height_px; ++y) {
    for (int x = 0; x < width_px; ++x) {
      image.pixels.push_back(static_cast<std::uint8_t>(100 + x));
      image.pixels.push_back(static_cast<std::uint8_t>(50 + y));
      image.pixels.push_back(80);
    }
  }
  return image;
}

void SetBigEndian(Bytes* data, std::size_t at, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) (*data)[at + i] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
}

std::int64_t PeakMemoryKiB() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(PngTest, ColourRoundTrip) {
  const RgbImage image = RandomImage(37, 21);
  const Bytes data = EncodePng(image);
  const auto size = Must(ReadPngSize(data));
  EXPECT_EQ(size.width_px, 37);
  EXPECT_EQ(size.height_px, 21);
  const auto decoded = Must(DecodeRgb(data));
  EXPECT_EQ(decoded.pixels, image.pixels);
}

TEST(PngTest, DepthRoundTripKeepsAllSixteenBits) {
  DepthImage16 depth{256, 256, 0.0001, {}};
  for (int i = 0; i < 65536; ++i) depth.pixels.push_back(static_cast<std::uint16_t>(i));
  const auto decoded = Must(DecodePngDepth(EncodePng(depth), 0.0001));
  EXPECT_EQ(decoded.pixels, depth.pixels);
  EXPECT_EQ(decoded.unit_m, 0.0001);
}

TEST(PngTest, ColourIsNotDepthAndDepthIsNotColour) {
  EXPECT_EQ(DecodePngDepth(EncodePng(RandomImage(4, 4)), 0.001).status().reason(),
            "PIXEL_ENCODING_UNSUPPORTED");
  const DepthImage16 depth{2, 2, 0.001, {1, 2, 3, 4}};
  EXPECT_EQ(DecodePngRgb(EncodePng(depth)).status().reason(), "PIXEL_ENCODING_UNSUPPORTED");
}

// fm-4
TEST(PngTest, EveryTruncationThatLosesPixelsIsAnError) {
  constexpr std::size_t kEndBytes = 12;  // of the part that says that the file ends
  const Bytes data = EncodePng(RandomImage(13, 9));
  for (std::size_t length = 0; length <= data.size(); ++length) {
    const auto decoded = DecodePngRgb(std::span(data).first(length));
    if (length + kEndBytes >= data.size()) {
      ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
      EXPECT_EQ(decoded->pixels, RandomImage(13, 9).pixels);
      continue;
    }
    ASSERT_FALSE(decoded.ok()) << length << " of " << data.size() << " bytes";
    EXPECT_EQ(decoded.status().reason(), "IMAGE_UNDECODABLE");
  }
}

TEST(PngTest, DamageIsAnErrorOrAnImageNeverACrash) {
  const Bytes data = EncodePng(RandomImage(13, 9));
  RandomSequence random(2, RandomStream::kDataGeneration);
  for (int i = 0; i < 500; ++i) {
    Bytes damaged = data;
    damaged[random.Below(static_cast<std::uint32_t>(data.size()))] ^=
        static_cast<std::uint8_t>(1 + random.Below(255));
    const auto decoded = DecodePngRgb(damaged);
    if (decoded.ok()) {
      EXPECT_EQ(decoded->pixels.size(), 3u * 13 * 9);
    }
  }
}

// fm-4
TEST(PngTest, HugeHeadersAllocateNothing) {
  Bytes bomb = EncodePng(RandomImage(4, 4));
  SetBigEndian(&bomb, 16, 65535);
  SetBigEndian(&bomb, 20, 65535);
  const std::int64_t before_kib = PeakMemoryKiB();
  EXPECT_EQ(DecodePngRgb(bomb).status().reason(), "LIMIT_IMAGE_SIDE");
  EXPECT_EQ(DecodePngDepth(bomb, 0.001).status().code(), StatusCode::kOutOfRange);
  // Inside a generous limit it is still a promise that the few bytes cannot keep.
  EXPECT_EQ(DecodePngRgb(bomb, {65535}).status().reason(), "IMAGE_UNDECODABLE");
  EXPECT_LT(PeakMemoryKiB() - before_kib, 16 * 1024);
  SetBigEndian(&bomb, 16, 0xffffffff);
  EXPECT_EQ(DecodePngRgb(bomb, {INT32_MAX}).status().reason(), "IMAGE_UNDECODABLE");
  SetBigEndian(&bomb, 16, 0);
  EXPECT_EQ(ReadPngSize(bomb).status().reason(), "IMAGE_UNDECODABLE");
}

/// A chunk with a CRC that is right or wrong.
Bytes PngChunk(const std::string& name, Bytes content, bool has_good_crc = true) {
  Bytes checked(name.begin(), name.end());
  checked.insert(checked.end(), content.begin(), content.end());
  std::uint32_t crc = 0xffffffff;
  for (const std::uint8_t byte : checked) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
  }
  Bytes chunk(4);
  SetBigEndian(&chunk, 0, static_cast<std::uint32_t>(content.size()));
  chunk.insert(chunk.end(), checked.begin(), checked.end());
  chunk.resize(chunk.size() + 4);
  SetBigEndian(&chunk, chunk.size() - 4, has_good_crc ? ~crc : crc);
  return chunk;
}

Bytes Inserted(Bytes data, std::size_t at, const Bytes& more) {
  data.insert(data.begin() + static_cast<std::ptrdiff_t>(at), more.begin(), more.end());
  return data;
}

TEST(PngTest, WhatToolsPutAroundThePixelsChangesNone) {
  constexpr std::size_t kBehindHeader = 33;
  const RgbImage image = RandomImage(13, 9);
  const Bytes plain = EncodePng(image);
  for (const Bytes& odd : {Inserted(plain, kBehindHeader, PngChunk("tEXt", Bytes(2'000'000, 'x'))),
                           Inserted(plain, kBehindHeader, PngChunk("eXIf", Bytes(20, 1), false)),
                           Inserted(plain, kBehindHeader, PngChunk("iCCP", Bytes(40, 7))),
                           Inserted(plain, kBehindHeader, PngChunk("gAMA", {0, 0, 1, 2})),
                           Inserted(plain, plain.size(), Bytes(100, 0))}) {
    const auto decoded = Must(DecodePngRgb(odd));
    EXPECT_EQ(decoded.pixels, image.pixels);
  }
  EXPECT_FALSE(DecodePngRgb(Inserted(plain, kBehindHeader, PngChunk("ABCD", {1}))).ok());
}

TEST(PngTest, SixteenBitColourAndGreyWithAlphaAreTaken) {
  // One white pixel with alpha, uncompressed: zlib header, a stored block of one row, Adler-32.
  const auto png = [](std::uint8_t color_type, const Bytes& row) {
    std::uint32_t a = 1, b = 0;
    for (const std::uint8_t byte : row) b += a += byte;
    const auto count = static_cast<std::uint8_t>(row.size());
    Bytes stream = {0x78, 1, 1, count, 0, static_cast<std::uint8_t>(~count), 0xff};
    stream.insert(stream.end(), row.begin(), row.end());
    stream.resize(stream.size() + 4);
    SetBigEndian(&stream, stream.size() - 4, b << 16 | a);
    Bytes data = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    for (const Bytes& chunk : {PngChunk("IHDR", {0, 0, 0, 1, 0, 0, 0, 1, 16, color_type, 0, 0, 0}),
                               PngChunk("IDAT", stream), PngChunk("IEND", {})}) {
      data.insert(data.end(), chunk.begin(), chunk.end());
    }
    return data;
  };
  constexpr std::uint8_t kRgb = 2, kGreyAlpha = 4;
  const auto color = Must(DecodePngRgb(png(kRgb, {0, 0xff, 0xff, 0x80, 0x80, 0, 0})));
  EXPECT_EQ(color.pixels, (Bytes{255, 128, 0}));
  const Bytes grey = png(kGreyAlpha, {0, 0x03, 0xe8, 0xff, 0xff});
  const auto depth = Must(DecodePngDepth(grey, 0.001));
  EXPECT_EQ(depth.pixels, (std::vector<std::uint16_t>{1000}));
  EXPECT_EQ(DecodePngRgb(grey).status().reason(), "PIXEL_ENCODING_UNSUPPORTED");
}

TEST(JpegTest, BytesBeforeTheEndMarkLoseNoPixel) {
  const Bytes clean = EncodeJpeg(RandomImage(64, 48), 90);
  const auto expected = Must(DecodeJpegRgb(clean));
  for (const Bytes& stuffing : {Bytes{0}, Bytes{0x55, 0xaa, 0x11, 0x22}, Bytes{0xff, 0, 7},
                                Bytes(63, 0x5a), Bytes(3000, 0)}) {
    const auto decoded = DecodeJpegRgb(Inserted(clean, clean.size() - 2, stuffing));
    ASSERT_TRUE(decoded.ok()) << stuffing.size() << ": " << decoded.status().ToString();
    EXPECT_EQ(decoded->pixels, expected.pixels);
  }
  const Bytes smooth = EncodeJpeg(SmoothImage(96, 72), 92);
  for (const std::size_t count : {1u, 2u, 3u, 7u, 4000u}) {
    const auto decoded = DecodeJpegRgb(Inserted(smooth, smooth.size() - 2, Bytes(count, 0)));
    ASSERT_TRUE(decoded.ok()) << count << ": " << decoded.status().ToString();
    EXPECT_EQ(decoded->pixels, DecodeJpegRgb(smooth)->pixels);
  }
  // Many bytes that are no padding may be pixels that a damaged stream did not reach.
  EXPECT_FALSE(DecodeJpegRgb(Inserted(clean, clean.size() - 2, Bytes(200, 0x5a))).ok());
  Bytes cut(clean.begin(), clean.end() - static_cast<std::ptrdiff_t>(clean.size() / 3));
  cut.insert(cut.end(), {0xff, 0xd9});
  EXPECT_FALSE(DecodeJpegRgb(cut).ok());
}

TEST(JpegTest, SmoothImagesSurvive) {
  const RgbImage image = SmoothImage(64, 48);
  const Bytes data = EncodeJpeg(image, 95);
  const auto size = Must(ReadJpegSize(data));
  EXPECT_EQ(size.width_px, 64);
  const auto decoded = Must(DecodeRgb(data));
  constexpr int kQuality95Error = 4;  // grey levels
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    ASSERT_NEAR(decoded.pixels[i], image.pixels[i], kQuality95Error);
  }
}

TEST(JpegTest, TruncatedDataIsAnErrorNotGreyPixels) {
  const Bytes data = EncodeJpeg(RandomImage(64, 48), 90);
  for (std::size_t length : {data.size() / 4, data.size() / 2, data.size() - 20}) {
    EXPECT_EQ(DecodeJpegRgb(std::span(data).first(length)).status().reason(), "IMAGE_UNDECODABLE");
  }
}

/// The library would inflate all of it, at a gigabyte a second.
// fm-4
TEST(PngTest, DataBehindTheLastRowIsLittle) {
  const auto cut_to = [](int row_count, Bytes data) {
    Bytes header(data.begin() + 16, data.begin() + 29);
    header[7] = static_cast<std::uint8_t>(row_count);
    header[4] = header[5] = header[6] = 0;
    const Bytes chunk = PngChunk("IHDR", header);
    std::copy(chunk.begin(), chunk.end(), data.begin() + 8);
    return data;
  };
  const RgbImage tall = RandomImage(64, 1000);
  const auto some = Must(DecodePngRgb(cut_to(200, EncodePng(RandomImage(64, 210)))));
  EXPECT_EQ(some.height_px, 200);
  const Status much = DecodePngRgb(cut_to(200, EncodePng(tall))).status();
  EXPECT_EQ(much.reason(), "IMAGE_UNDECODABLE");
  EXPECT_NE(much.message().find("more data than its pixels need"), std::string::npos)
      << much.ToString();
}

// fm-4
TEST(JpegTest, HugeHeadersAllocateNothing) {
  Bytes bomb = EncodeJpeg(SmoothImage(16, 16), 90);
  for (std::size_t i = 0; i + 8 < bomb.size(); ++i) {
    if (bomb[i] == 0xff && bomb[i + 1] == 0xc0) {  // start of frame: height, width
      bomb[i + 5] = bomb[i + 7] = 0xff;            // 65280 and more; JPEG itself ends at 65500
      break;
    }
  }
  const std::int64_t before_kib = PeakMemoryKiB();
  EXPECT_EQ(DecodeJpegRgb(bomb).status().reason(), "LIMIT_IMAGE_SIDE");
  EXPECT_LT(PeakMemoryKiB() - before_kib, 16 * 1024);
}

void AppendSegment(std::uint8_t marker, const Bytes& payload, Bytes* out) {
  const std::size_t length = payload.size() + 2;
  out->insert(out->end(), {0xff, marker, static_cast<std::uint8_t>(length >> 8),
                           static_cast<std::uint8_t>(length)});
  out->insert(out->end(), payload.begin(), payload.end());
}

/// A grey progressive image of 16 x 16 pixels: one scan of DC coefficients and `band_count` of AC
/// bands, all empty.
Bytes ProgressiveJpeg(int band_count) {
  Bytes out = {0xff, 0xd8};
  Bytes table(65, 1);
  table[0] = 0;
  AppendSegment(0xdb, table, &out);
  AppendSegment(0xc2, {8, 0, 16, 0, 16, 3, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0}, &out);
  Bytes codes(18);  // of one bit: "0" is a difference of zero
  codes[1] = 1;
  AppendSegment(0xc4, codes, &out);
  codes[0] = 0x10;  // "0" ends the band of a block
  AppendSegment(0xc4, codes, &out);
  AppendSegment(0xda, {3, 1, 0, 2, 0, 3, 0, 0, 0, 0}, &out);
  out.insert(out.end(), {0x00, 0x0f});  // 12 blocks, padded by ones
  for (int band = 0; band < band_count; ++band) {
    const auto first = static_cast<std::uint8_t>(1 + 63 * band / band_count);
    const auto last = static_cast<std::uint8_t>(63 * (band + 1) / band_count);
    AppendSegment(0xda, {1, 1, 0, first, last, 0}, &out);
    out.push_back(0x0f);  // 4 blocks
  }
  out.insert(out.end(), {0xff, 0xd9});
  return out;
}

// fm-4
TEST(JpegTest, ProgressiveImagesOfAFewScansAreDecodedOfVeryManyRefused) {
  Must(DecodeJpegRgb(ProgressiveJpeg(9)));
  EXPECT_TRUE(DecodeJpegRgb(ProgressiveJpeg(31)).ok());
  EXPECT_EQ(DecodeJpegRgb(ProgressiveJpeg(32)).status().reason(), "IMAGE_UNDECODABLE");
  EXPECT_EQ(ReadJpegSize(ProgressiveJpeg(32)).status().reason(), "IMAGE_UNDECODABLE");
}

TEST(JpegTest, ImagesForPrintingSaySo) {
  // Header of 8 x 8 pixels in four components, and the start of their scan.
  const Bytes inks = {0xff, 0xd8, 0xff, 0xc0, 0,    20, 8, 0,    8,  0,    8,    4,    1,   0x11, 0,
                      2,    0x11, 0,    3,    0x11, 0,  4, 0x11, 0,  0xff, 0xda, 0,    14,  4,    1,
                      0,    2,    0,    3,    0,    4,  0, 0,    63, 0,    0,    0xff, 0xd9};
  const Status status = DecodeJpegRgb(inks).status();
  EXPECT_EQ(status.reason(), "IMAGE_UNDECODABLE");
  EXPECT_NE(status.message().find("convert it to RGB"), std::string::npos) << status.message();
}

TEST(JpegTest, NoDepthIsOne) {
  const Bytes jpeg = EncodeJpeg(RandomImage(8, 8), 90);
  const Status status = DecodePngDepth(jpeg, 0.001).status();
  EXPECT_EQ(status.reason(), "IMAGE_UNDECODABLE");
  EXPECT_NE(status.message().find("a PNG of 16 bits"), std::string::npos) << status.message();
  EXPECT_NE(DecodePngRgb(jpeg).status().message().find("a JPEG image"), std::string::npos);
}

TEST(ImageFileTest, OtherContentIsNamed) {
  const TempFolder folder;
  const std::string path = folder.File("picture.png");
  EXPECT_EQ(ReadRgbFile(path).status().reason(), "FILE_NOT_FOUND");
  ASSERT_TRUE(WriteFileAtomic(path, std::string_view("no picture")).ok());
  EXPECT_EQ(ReadRgbFile(path).status().reason(), "IMAGE_UNDECODABLE");
  EXPECT_EQ(ReadRgbFile(path).status().field(), path);
  ASSERT_TRUE(WritePngFile(RandomImage(3, 2), path).ok());
  EXPECT_TRUE(ReadRgbFile(path).ok());
}

}  // namespace
}  // namespace interlacer
