/// Body of field_mlp.h; the including file sets INTERLACER_KERNEL_NAMESPACE. No include guard on
/// purpose.

#include "render/kernels/field_mlp.h"
#include "render/kernels/simd16.h"

namespace interlacer::INTERLACER_KERNEL_NAMESPACE {
namespace {

// Register tile, rows x columns of 16 lanes: its sums, a row of weights and a value must fit into
// 32 AVX-512 or 16 narrower registers. Multiply-adds bound the products: a loaded weight serves
// kTileRows of them, a loaded value kTileColumns.
#if defined(__AVX512F__)
constexpr int kTileRows = 6;
constexpr int kTileColumns = 4;
#elif defined(__AVX2__)
constexpr int kTileRows = 6;
constexpr int kTileColumns = 1;
#else
constexpr int kTileRows = 2;
constexpr int kTileColumns = 1;
#endif

template <int kRows, int kColumns>
INTERLACER_LANES void ForwardTile(const DenseLayer& l, std::int64_t row, int column) {
  F16 sum[kRows][kColumns];
  for (int c = 0; c < kColumns; ++c) {
    const F16 start = l.bias != nullptr ? Load16(l.bias + column + 16 * c) : Zero16();
    for (int r = 0; r < kRows; ++r) sum[r][c] = start;
  }
  const float* x = l.x + row * l.x_stride;
  const float* w = l.w + column;
  for (int k = 0; k < l.x_width; ++k, w += l.y_stride) {
    F16 weight[kColumns];
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) weight[c] = Load16(w + 16 * c);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const float value = x[r * l.x_stride + k];
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) sum[r][c] += weight[c] * value;
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kColumns; ++c) {
      const std::int64_t at = (row + r) * l.y_stride + column + 16 * c;
      F16 value = sum[r][c];
      if (l.relu) value = Max16(value, Zero16());
      if (l.mask != nullptr) value = WherePositive16(Load16(l.mask + at), value);
      Store16(l.y + at, value);
    }
  }
}

template <int kColumns>
void ForwardColumns(const DenseLayer& l, int column) {
  std::int64_t row = 0;
  for (; row + kTileRows <= l.m; row += kTileRows) ForwardTile<kTileRows, kColumns>(l, row, column);
  for (; row < l.m; ++row) ForwardTile<1, kColumns>(l, row, column);
}

template <int kRows, int kColumns>
INTERLACER_LANES void GradientTile(const DenseWeightGradient& g, int out, int column) {
  F16 sum[kRows][kColumns];
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kColumns; ++c) {
      sum[r][c] = Load16(g.w_grad + (out + r) * g.x_stride + column + 16 * c);
    }
  }
  const float* x = g.x + column;
  const float* dy = g.y_grad + out;
  for (std::int64_t i = 0; i < g.m; ++i, x += g.x_stride, dy += g.y_stride) {
    F16 value[kColumns];
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) value[c] = Load16(x + 16 * c);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) sum[r][c] += value[c] * dy[r];
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kColumns; ++c) {
      Store16(g.w_grad + (out + r) * g.x_stride + column + 16 * c, sum[r][c]);
    }
  }
}

template <int kColumns>
void GradientColumns(const DenseWeightGradient& g, int column) {
  int out = 0;
  for (; out + kTileRows <= g.y_width; out += kTileRows) {
    GradientTile<kTileRows, kColumns>(g, out, column);
  }
  for (; out < g.y_width; ++out) GradientTile<1, kColumns>(g, out, column);
}

}  // namespace

void DenseForward(const DenseLayer& layer) {
  int column = 0;
  for (; column + 16 * kTileColumns <= layer.y_stride; column += 16 * kTileColumns) {
    ForwardColumns<kTileColumns>(layer, column);
  }
  for (; column < layer.y_stride; column += 16) ForwardColumns<1>(layer, column);
}

void DenseWeightGradientSum(const DenseWeightGradient& gradient) {
  int column = 0;
  for (; column + 16 * kTileColumns <= gradient.x_stride; column += 16 * kTileColumns) {
    GradientColumns<kTileColumns>(gradient, column);
  }
  for (; column < gradient.x_stride; column += 16) GradientColumns<1>(gradient, column);
  for (std::int64_t i = 0; i < gradient.m; ++i) {
    const float* dy = gradient.y_grad + i * gradient.y_stride;
    for (int out = 0; out < gradient.y_width; ++out) gradient.bias_grad[out] += dy[out];
  }
}

}  // namespace interlacer::INTERLACER_KERNEL_NAMESPACE
