#include <immintrin.h>

#include "bench/kernels/register_rates.h"

namespace interlacer::bench {
namespace {

/// Configuration of eight tiles of 16 rows of 64 bytes.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

}  // namespace

double RunBf16TilesAmx(std::int64_t iterations) {
  constexpr double kFlopsAProduct = 2.0 * 16 * 16 * 32;
  const std::int64_t rounds = iterations / 16;  // a product takes 16 cycles
  // Constant: the intrinsic of GCC 12 says of eight bytes alone that it reads them, so that stores
  // to a local object would be left out.
  static constexpr TileConfig kConfig;
  _tile_loadconfig(&kConfig);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  for (std::int64_t i = 0; i < rounds; ++i) {
    _tile_dpbf16ps(0, 4, 5);
    _tile_dpbf16ps(1, 4, 5);
    _tile_dpbf16ps(2, 4, 5);
    _tile_dpbf16ps(3, 4, 5);
  }
  _tile_release();
  return 4 * kFlopsAProduct * static_cast<double>(rounds);
}

}  // namespace interlacer::bench
