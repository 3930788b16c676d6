#pragma once

/// The plain kind of PNG by libdeflate, some three times as fast as libpng, which inflates and
/// deflates with zlib: 8-bit RGB or 16-bit grey, not interlaced, without transparency. Noise, of
/// which coding would leave more than half, is stored: larger files, in a fiftieth of the time.
/// With data/mcap/compression.cpp the only door to libdeflate.
///
/// common/image_codec.h is what others call: it checks sizes first and hands all other kinds, and
/// whatever is damaged here, to libpng. Thread-safe. The format: ISO/IEC 15948.

#include <cstdint>
#include <span>
#include <vector>

namespace interlacer {

enum class PlainPngKind { kRgb8, kGray16 };

/// `pixels` has width_px * height_px * 3 bytes, or as many integers of 2 bytes.
std::vector<std::uint8_t> WritePlainPng(PlainPngKind kind, int width_px, int height_px,
                                        const std::uint8_t* pixels);

/// False where `data` is of another kind or size, or anything in it is not as it should be;
/// `pixels` then holds nothing of use.
bool ReadPlainPng(std::span<const std::uint8_t> data, PlainPngKind kind, int width_px,
                  int height_px, std::uint8_t* pixels);

}  // namespace interlacer
