/// Body of ssim_rows.h; the including file sets INTERLACER_KERNEL_NAMESPACE. No include guard on
/// purpose. Channels stay interleaved, so every inner loop runs over neighbours in memory. Bound:
/// multiply-adds of the two filters in double; the ring of rows stays in cache.

#include "render/kernels/ssim_rows.h"

namespace interlacer::INTERLACER_KERNEL_NAMESPACE {
namespace {

constexpr int kChannels = 3;
/// x, y, x^2 + y^2 and x y: only the sum of the two variances is needed.
constexpr int kMoments = 4;

/// moments [4,3 width] of one image row.
void RowMoments(const std::uint8_t* a, const std::uint8_t* b, int count, double* moments) {
  double* __restrict x = moments;
  double* __restrict y = moments + count;
  double* __restrict squares = moments + 2 * count;
  double* __restrict products = moments + 3 * count;
  for (int i = 0; i < count; ++i) {
    const double p = a[i], q = b[i];
    x[i] = p;
    y[i] = q;
    squares[i] = p * p + q * q;
    products[i] = p * q;
  }
}

/// out[i] = sum over taps of weight * in[i + tap * stride]
void FilterAlong(const double* __restrict in, const double* taps, int stride, int count,
                 double* __restrict out) {
  for (int i = 0; i < count; ++i) {
    double sum = 0;
    for (int k = 0; k < kSsimTaps; ++k) sum += taps[k] * in[i + k * stride];
    out[i] = sum;
  }
}

/// FilterAlong over separate rows.
void FilterAcross(const double* const* rows, const double* taps, int count,
                  double* __restrict out) {
  for (int i = 0; i < count; ++i) {
    double sum = 0;
    for (int k = 0; k < kSsimTaps; ++k) sum += taps[k] * rows[k][i];
    out[i] = sum;
  }
}

/// SSIM of every number of a row, in place of its first moment.
void Similarity(double c1, double c2, int count, double* moments) {
  double* __restrict x = moments;
  const double* __restrict y = moments + count;
  const double* __restrict squares = moments + 2 * count;
  const double* __restrict products = moments + 3 * count;
  for (int i = 0; i < count; ++i) {
    const double product = x[i] * y[i];
    const double square = x[i] * x[i] + y[i] * y[i];
    const double variances = squares[i] - square;
    const double covariance = products[i] - product;
    x[i] = (2 * product + c1) * (2 * covariance + c2) / ((square + c1) * (variances + c2));
  }
}

}  // namespace

void SsimRows(const SsimInputs& inputs, int row_begin, int row_end, double* scratch, double* map) {
  const int in_count = kChannels * inputs.width_px;
  const int out_width = inputs.width_px - (kSsimTaps - 1);
  const int out_count = kChannels * out_width;
  const std::int64_t ring_row = std::int64_t{kMoments} * out_count;
  double* const raw = scratch;
  double* const windows = raw + std::int64_t{kMoments} * in_count;
  double* const ring = windows + ring_row;
  for (int row = row_begin; row < row_end + kSsimTaps - 1; ++row) {
    const std::int64_t at = std::int64_t{row} * in_count;
    RowMoments(inputs.image + at, inputs.truth + at, in_count, raw);
    double* filtered = ring + row % kSsimTaps * ring_row;
    for (int m = 0; m < kMoments; ++m) {
      FilterAlong(raw + m * in_count, inputs.taps, kChannels, out_count, filtered + m * out_count);
    }
    const int map_row = row - (kSsimTaps - 1);
    if (map_row < row_begin) continue;
    const double* rows[kSsimTaps];
    for (int k = 0; k < kSsimTaps; ++k) rows[k] = ring + (map_row + k) % kSsimTaps * ring_row;
    FilterAcross(rows, inputs.taps, static_cast<int>(ring_row), windows);
    Similarity(inputs.c1, inputs.c2, out_count, windows);
    double* out = map + std::int64_t{map_row - row_begin} * out_width;
    for (int x = 0; x < out_width; ++x) {
      out[x] = (windows[3 * x] + windows[3 * x + 1] + windows[3 * x + 2]) / kChannels;
    }
  }
}

}  // namespace interlacer::INTERLACER_KERNEL_NAMESPACE
