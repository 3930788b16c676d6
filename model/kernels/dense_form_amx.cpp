#include <immintrin.h>

#include "common/kernels/amx_tiles.h"
#include "model/kernels/fused_dense_rows.h"

namespace interlacer::amx {
namespace {

constexpr int kTileRows = 16;         // of sums and of left sides
constexpr int kTileColumns = 16;      // of sums
constexpr int kTileInputs = 32;       // 16 pairs
constexpr int kRows = 2 * kTileRows;  // of a block
constexpr int kColumns = 2 * kTileColumns;
constexpr int kPanelStride = 2 * kFusedPanelColumns * sizeof(std::uint16_t);
constexpr int kSumsStride = kFusedPanelColumns * sizeof(float);

void ShapeTiles() { _tile_loadconfig(&kWholeTiles); }

/// Every switch of threads would save the tiles, and LibTorch's own are shaped otherwise.
void ReleaseTiles() { _tile_release(); }

/// Bound: tile products, 16 cycles each; two loads of left sides and two of weights serve four of
/// them, so that loads from the first cache hide behind them.
/// Sizes: four tiles of sums of 32 rows by 32 columns, which cover the latency of a product; a
/// panel's two halves one after the other.
/// Layout: a panel's pairs of inputs are a tile's rows as they lie; a row of biases read 16 times
/// (a stride of nothing) starts the sums.
void Multiply(const std::uint16_t* a, int inputs, const std::uint16_t* panel, const float* bias,
              float* sums) {
  const std::int64_t stride = inputs * static_cast<std::int64_t>(sizeof(std::uint16_t));
  for (int column = 0; column < kFusedPanelColumns; column += kColumns) {
    _tile_loadd(0, bias + column, 0);
    _tile_loadd(1, bias + column + kTileColumns, 0);
    _tile_loadd(2, bias + column, 0);
    _tile_loadd(3, bias + column + kTileColumns, 0);
    for (int k = 0; k < inputs; k += kTileInputs) {
      const std::uint16_t* weights = panel + k * kFusedPanelColumns + 2 * column;
      _tile_loadd(4, a + k, stride);
      _tile_loadd(6, weights, kPanelStride);
      _tile_dpbf16ps(0, 4, 6);
      _tile_loadd(7, weights + 2 * kTileColumns, kPanelStride);
      _tile_dpbf16ps(1, 4, 7);
      _tile_loadd(5, a + kTileRows * inputs + k, stride);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
    float* second = sums + kTileRows * kFusedPanelColumns;
    _tile_stored(0, sums + column, kSumsStride);
    _tile_stored(1, sums + column + kTileColumns, kSumsStride);
    _tile_stored(2, second + column, kSumsStride);
    _tile_stored(3, second + column + kTileColumns, kSumsStride);
  }
}

}  // namespace

static_assert(kFusedChunkRows % kRows == 0 && kRows <= kFusedMaxBlockRows);

const DenseForm kDenseForm{"AMX", kRows, kTileInputs, &ShapeTiles, &Multiply, &ReleaseTiles};

}  // namespace interlacer::amx
