#include "common/kernels/launch.h"
#include "model/kernels/token_features_cuda.h"

namespace interlacer {
namespace {

constexpr int kThreads = 128;
constexpr int kColumns = 32;  // columns of a tile
constexpr int kStride = kColumns + 1;

/// Collects the numbers of each thread's row in a tile and writes it column block by column block,
/// so that neighbouring threads write neighbouring columns.
class RowWriter {
 public:
  __device__ RowWriter(float* tile, float* block_rows, int rows, int width)
      : tile_(tile), block_rows_(block_rows), rows_(rows), width_(width) {}

  __device__ void Put(float value) {
    tile_[static_cast<int>(threadIdx.x) * kStride + filled_] = value;
    if (++filled_ == kColumns) Flush();
  }

  /// Must be called by every thread of the block together.
  __device__ void Flush() {
    __syncthreads();
    for (int x = static_cast<int>(threadIdx.x); x < rows_ * kColumns; x += kThreads) {
      const int row = x / kColumns;
      const int column = x % kColumns;
      if (column < filled_) {
        block_rows_[static_cast<std::int64_t>(row) * width_ + written_ + column] =
            tile_[row * kStride + column];
      }
    }
    __syncthreads();
    written_ += filled_;
    filled_ = 0;
  }

 private:
  float* tile_;
  float* block_rows_;
  int rows_;
  int width_;
  int filled_ = 0;
  int written_ = 0;
};

/// Each thread computes one token.
/// Bound: writes of rows.
/// Block: 128 threads, whose tile of 32 columns takes 17 KB of shared memory.
/// Layout: rows of the tile have 33 numbers, so that threads filling a column meet no bank
/// conflict.
__global__ void TokenFeaturesKernel(TokenFeatures tokens, int width, float* out) {
  __shared__ float tile[kThreads * kStride];
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kThreads;
  const int rows = static_cast<int>(tokens.n - first < kThreads ? tokens.n - first : kThreads);
  // Threads beyond the last token repeat it and write nothing; all must take part in Flush.
  const int mine = static_cast<int>(threadIdx.x) < rows ? static_cast<int>(threadIdx.x) : rows - 1;
  const std::int64_t token = first + mine;
  RowWriter row(tile, out + first * width, rows, width);
  for (int c = 0; c < tokens.feature_width; ++c) {
    row.Put(tokens.features[token * tokens.feature_width + c]);
  }
  float p[3];
  for (int c = 0; c < 3; ++c) {
    p[c] = (tokens.positions_m[3 * token + c] - tokens.center_m[c]) / tokens.extent_m;
    row.Put(p[c]);
  }
  for (int octave = 0; octave < tokens.octaves; ++octave) {
    const float scale = static_cast<float>(std::int64_t{1} << octave);
    for (int c = 0; c < 3; ++c) row.Put(sinpif(scale * p[c]));
    for (int c = 0; c < 3; ++c) row.Put(cospif(scale * p[c]));
  }
  for (int time = 0; time < tokens.times; ++time) row.Put(time == tokens.time ? 1 : 0);
  row.Flush();
}

}  // namespace

CudaError LaunchTokenFeatures(const TokenFeatures& tokens, float* out_device, CudaStream stream) {
  return LaunchBlocks(TokenFeaturesKernel, BlocksFor(tokens.n, kThreads), kThreads, stream, tokens,
                      TokenFeatureWidth(tokens), out_device);
}

}  // namespace interlacer
