#include "data/bags/rvl.h"

#include <optional>
#include <string>

#include "common/number_text.h"

namespace interlacer {
namespace {

constexpr std::size_t kHeadBytes = 8, kWordBytes = 4;

std::uint32_t LittleEndian32(std::span<const std::uint8_t> data) {
  return data[0] | (std::uint32_t{data[1]} << 8) | (std::uint32_t{data[2]} << 16) |
         (std::uint32_t{data[3]} << 24);
}

/// Numbers of three bits a nibble, the lowest first; a nibble's top bit says that more follow.
/// Nibbles come from the top of little-endian words.
class NumberReader {
 public:
  explicit NumberReader(std::span<const std::uint8_t> words) : words_(words) {}

  std::optional<std::uint32_t> Next() {
    constexpr int kNumberBits = 32;
    std::uint32_t number = 0;
    for (int shift = 0; shift < kNumberBits; shift += 3) {
      if (nibbles_left_ == 0) {
        if (words_.size() < kWordBytes) return std::nullopt;
        word_ = LittleEndian32(words_);
        words_ = words_.subspan(kWordBytes);
        nibbles_left_ = 2 * kWordBytes;
      }
      const std::uint32_t nibble = word_ >> 28;
      word_ <<= 4;
      --nibbles_left_;
      number |= (nibble & 7) << shift;
      if ((nibble & 8) == 0) return number;
    }
    return std::nullopt;
  }

 private:
  std::span<const std::uint8_t> words_;
  std::uint32_t word_ = 0;
  std::size_t nibbles_left_ = 0;
};

}  // namespace

StatusOr<ImageSize> ReadRvlSize(std::span<const std::uint8_t> data) {
  if (data.size() < kHeadBytes) {
    return Mismatch(reason::IMAGE_DATA_LENGTH, "data",
                    std::to_string(kHeadBytes) + " bytes or more", std::to_string(data.size()));
  }
  const auto width = static_cast<std::int32_t>(LittleEndian32(data));
  const auto height = static_cast<std::int32_t>(LittleEndian32(data.subspan(4)));
  const int most = ImageLimits{}.max_side_px;
  if (width < 1 || height < 1 || width > most || height > most) {
    return Mismatch(reason::IMAGE_SIZE_MISMATCH, "width, height",
                    "1 to " + std::to_string(most) + " pixels", SizeText(width, height));
  }
  return ImageSize{width, height};
}

StatusOr<DepthImage16> DecodeRvl(std::span<const std::uint8_t> data, double unit_m) {
  INTERLACER_ASSIGN_OR_RETURN(const ImageSize size, ReadRvlSize(data));
  DepthImage16 image{size.width_px, size.height_px, unit_m, {}};
  image.pixels.resize(static_cast<std::size_t>(size.width_px) * size.height_px);
  NumberReader numbers(data.subspan(kHeadBytes));
  std::uint32_t depth = 0;
  std::size_t at = 0;
  while (at < image.pixels.size()) {
    const auto holes = numbers.Next(), measured = numbers.Next();
    const std::size_t left = image.pixels.size() - at;
    bool is_whole =
        holes && measured && *holes <= left && *measured <= left - *holes && *holes + *measured > 0;
    at += is_whole ? *holes : 0;
    for (std::uint32_t i = 0; is_whole && i < *measured; ++i) {
      const auto folded = numbers.Next();  // 0, -1, 1, -2, ... as 0, 1, 2, 3, ...
      is_whole = folded.has_value();
      if (is_whole) depth += (*folded >> 1) ^ (0U - (*folded & 1));
      image.pixels[at++] = static_cast<std::uint16_t>(depth);
    }
    if (is_whole) continue;
    return Mismatch(reason::IMAGE_UNDECODABLE, "data",
                    "RVL of " + std::to_string(image.pixels.size()) + " pixels",
                    "one that ends or contradicts itself after " + std::to_string(at));
  }
  return image;
}

}  // namespace interlacer
