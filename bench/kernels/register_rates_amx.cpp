#include <immintrin.h>

#include "bench/kernels/register_rates.h"
#include "common/kernels/amx_tiles.h"

namespace interlacer::bench {
double RunBf16TilesAmx(std::int64_t iterations) {
  constexpr double kFlopsAProduct = 2.0 * 16 * 16 * 32;
  const std::int64_t rounds = iterations / 16;  // a product takes 16 cycles
  _tile_loadconfig(&kWholeTiles);
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
