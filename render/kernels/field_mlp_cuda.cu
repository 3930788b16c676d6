#include "common/kernels/launch.h"
#include "common/kernels/workspace.h"
#include "render/kernels/field_cuda.h"

namespace interlacer {
namespace {

constexpr int kSide = 4;    // of a thread's tile
constexpr int kTile = 64;   // rows and columns of a block's tile
constexpr int kDepth = 16;  // of the operands that are staged at once
constexpr int kThreads = kTile / kSide * (kTile / kSide);
/// Number of slabs of rows whose weight gradients are summed separately.
constexpr int kSlabs = 64;

/// sums[a][b] += rows[k][row + a] * columns[k][column + b] over the staged operands.
__device__ void MultiplyStaged(const float (*rows)[kTile + kSide],
                               const float (*columns)[kTile + kSide], int row, int column,
                               float (&sums)[kSide][kSide]) {
#pragma unroll
  for (int k = 0; k < kDepth; ++k) {
    const float4 x = *reinterpret_cast<const float4*>(&rows[k][row]);
    const float4 w = *reinterpret_cast<const float4*>(&columns[k][column]);
    const float x_side[kSide] = {x.x, x.y, x.z, x.w};
    const float w_side[kSide] = {w.x, w.y, w.z, w.w};
#pragma unroll
    for (int a = 0; a < kSide; ++a) {
#pragma unroll
      for (int b = 0; b < kSide; ++b) sums[a][b] += x_side[a] * w_side[b];
    }
  }
}

/// y = x w + bias in float32.
/// Bound: arithmetic outside of tensor cores; a staged number is used 64 times.
/// Block: 256 threads for a 64 x 64 tile of y, 4 x 4 sums each, so that two float4 loads from
/// shared memory feed 16 multiply-adds.
/// Layout: kDepth columns of x (transposed) and rows of w are staged; rows are padded by 4 floats.
__global__ void DenseForwardKernel(DenseLayer layer, std::int64_t column_tiles, PassRange pass) {
  __shared__ __align__(16) float x_tile[kDepth][kTile + kSide];  // transposed
  __shared__ __align__(16) float w_tile[kDepth][kTile + kSide];
  const int me = static_cast<int>(threadIdx.x);
  const int row = me / (kTile / kSide) * kSide;
  const int column = me % (kTile / kSide) * kSide;
  const std::int64_t count = CountInPass(pass, layer.m);
  const std::int64_t tiles = (count + kTile - 1) / kTile * column_tiles;
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const std::int64_t first_row = tile / column_tiles * kTile;
    const int first_column = static_cast<int>(tile % column_tiles) * kTile;
    float sum[kSide][kSide] = {};
    for (int first = 0; first < layer.x_width; first += kDepth) {
      for (int place = me; place < kTile * kDepth; place += kThreads) {
        const int k = first + place % kDepth;
        const std::int64_t r = first_row + place / kDepth;
        x_tile[place % kDepth][place / kDepth] =
            r < count && k < layer.x_width ? layer.x[r * layer.x_stride + k] : 0;
      }
      for (int place = me; place < kTile * kDepth; place += kThreads) {
        const int k = first + place / kTile;
        const int c = first_column + place % kTile;
        w_tile[place / kTile][place % kTile] =
            k < layer.x_width && c < layer.y_stride
                ? layer.w[static_cast<std::int64_t>(k) * layer.y_stride + c]
                : 0;
      }
      __syncthreads();
      MultiplyStaged(x_tile, w_tile, row, column, sum);
      __syncthreads();
    }
#pragma unroll
    for (int a = 0; a < kSide; ++a) {
      const std::int64_t r = first_row + row + a;
      if (r >= count) continue;
#pragma unroll
      for (int b = 0; b < kSide; ++b) {
        const int c = first_column + column + b;
        if (c >= layer.y_stride) continue;
        const std::int64_t at = r * layer.y_stride + c;
        float value = sum[a][b] + (layer.bias != nullptr ? layer.bias[c] : 0);
        if (layer.relu && !(value > 0)) value = 0;
        if (layer.mask != nullptr && !(layer.mask[at] > 0)) value = 0;
        layer.y[at] = value;
      }
    }
  }
}

/// Weight gradients of one slab: partials [slab][y_width * x_stride weights, then y_width biases].
/// Bound: arithmetic, as DenseForwardKernel; memory where the layers are narrow.
/// Block: a 64 x 64 tile of the gradient and one slab, because the tiles alone are too few to fill
/// a GPU; the order of sums is fixed.
/// Layout: kDepth rows of y_grad and x are staged; rows are padded by 4 floats.
__global__ void WeightGradientKernel(DenseWeightGradient g, int x_tiles, int y_tiles,
                                     float* partials, PassRange pass) {
  __shared__ __align__(16) float y_tile[kDepth][kTile + kSide];
  __shared__ __align__(16) float x_tile[kDepth][kTile + kSide];
  const int me = static_cast<int>(threadIdx.x);
  const int slab = static_cast<int>(blockIdx.x) / (x_tiles * y_tiles);
  const int first_out = static_cast<int>(blockIdx.x) / x_tiles % y_tiles * kTile;
  const int first_in = static_cast<int>(blockIdx.x) % x_tiles * kTile;
  const int row = me / (kTile / kSide) * kSide;
  const int column = me % (kTile / kSide) * kSide;
  const std::int64_t count = CountInPass(pass, g.m);
  const std::int64_t slab_rows = (count + kSlabs * kDepth - 1) / (kSlabs * kDepth) * kDepth;
  const std::int64_t begin = slab * slab_rows;
  const std::int64_t end = begin + slab_rows < count ? begin + slab_rows : count;
  float sum[kSide][kSide] = {};
  float bias_sum = 0;
  for (std::int64_t first = begin; first < end; first += kDepth) {
    for (int place = me; place < kTile * kDepth; place += kThreads) {
      const std::int64_t r = first + place / kTile;
      const int out = first_out + place % kTile;
      const int in = first_in + place % kTile;
      y_tile[place / kTile][place % kTile] =
          r < end && out < g.y_width ? g.y_grad[r * g.y_stride + out] : 0;
      x_tile[place / kTile][place % kTile] =
          r < end && in < g.x_stride ? g.x[r * g.x_stride + in] : 0;
    }
    __syncthreads();
    MultiplyStaged(y_tile, x_tile, row, column, sum);
    if (me < kTile) {
      for (int k = 0; k < kDepth; ++k) bias_sum += y_tile[k][me];
    }
    __syncthreads();
  }
  const std::int64_t weights = static_cast<std::int64_t>(g.y_width) * g.x_stride;
  float* const partial = partials + slab * (weights + g.y_width);
#pragma unroll
  for (int a = 0; a < kSide; ++a) {
    const int out = first_out + row + a;
#pragma unroll
    for (int b = 0; b < kSide; ++b) {
      const int in = first_in + column + b;
      if (out < g.y_width && in < g.x_stride) {
        partial[static_cast<std::int64_t>(out) * g.x_stride + in] = sum[a][b];
      }
    }
  }
  if (first_in == 0 && me < kTile && first_out + me < g.y_width) {
    partial[weights + first_out + me] = bias_sum;
  }
}

/// Adds the slabs in order to the gradients.
/// Bound: memory; neighbouring threads read neighbouring numbers.
/// Block: a thread per gradient, nothing shared.
/// Layout: slabs one after another, each with its weights, then its biases.
__global__ void SumSlabsKernel(DenseWeightGradient g, const float* partials) {
  const std::int64_t i = GlobalThread();
  const std::int64_t weights = static_cast<std::int64_t>(g.y_width) * g.x_stride;
  const std::int64_t size = weights + g.y_width;
  if (i >= size) return;
  float sum = 0;
  for (int slab = 0; slab < kSlabs; ++slab) sum += partials[slab * size + i];
  float* const target = i < weights ? g.w_grad + i : g.bias_grad + (i - weights);
  *target += sum;
}

/// Transposes a small matrix of weights.
/// Bound: latency, so reads may be strided.
/// Block: a thread per weight, nothing shared.
/// Layout: writes are contiguous.
__global__ void TransposeKernel(const float* matrix, int rows, int columns, float* transposed) {
  const int i = static_cast<int>(GlobalThread());
  if (i < rows * columns) transposed[i] = matrix[i % rows * columns + i / rows];
}

}  // namespace

CudaError LaunchDenseForward(const DenseLayer& layer, CudaStream stream, const PassRange& pass) {
  const std::int64_t column_tiles = BlocksFor(layer.y_stride, kTile);
  return LaunchBlocks(DenseForwardKernel, PassBlocks(BlocksFor(layer.m, kTile) * column_tiles),
                      kThreads, stream, layer, column_tiles, pass);
}

std::size_t DenseWeightGradientWorkspaceBytes(int x_stride, int y_width) {
  return sizeof(float) * kSlabs * static_cast<std::size_t>(x_stride + 1) *
         static_cast<std::size_t>(y_width);
}

CudaError LaunchDenseWeightGradient(const DenseWeightGradient& gradient, void* workspace,
                                    CudaStream stream, const PassRange& pass) {
  const int x_tiles = static_cast<int>(BlocksFor(gradient.x_stride, kTile));
  const int y_tiles = static_cast<int>(BlocksFor(gradient.y_width, kTile));
  const std::int64_t sums = static_cast<std::int64_t>(gradient.y_width) * (gradient.x_stride + 1);
  float* const partials = static_cast<float*>(workspace);
  INTERLACER_CUDA_RETURN_IF_ERROR(
      LaunchBlocks(WeightGradientKernel, static_cast<std::int64_t>(kSlabs) * x_tiles * y_tiles,
                   kThreads, stream, gradient, x_tiles, y_tiles, partials, pass));
  return LaunchBlocks(SumSlabsKernel, BlocksFor(sums, kThreads), kThreads, stream, gradient,
                      partials);
}

CudaError LaunchTranspose(const float* matrix_device, int rows, int columns,
                          float* transposed_device, CudaStream stream) {
  return LaunchBlocks(TransposeKernel,
                      BlocksFor(static_cast<std::int64_t>(rows) * columns, kThreads), kThreads,
                      stream, matrix_device, rows, columns, transposed_device);
}

}  // namespace interlacer
