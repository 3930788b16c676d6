#include "common/kernels/host_device.h"
#include "common/kernels/launch.h"
#include "model/kernels/linear_attention_cuda.h"

namespace interlacer {
namespace {

// Both passes are small matrix products of one head: sums over tokens of (row) x (column, extended
// by one number), and (row) x (state). Operands are staged in shared memory; a thread holds a 4 x 4
// tile of the result.

constexpr int kSide = 4;  // side of the square of results that a thread holds
constexpr int kSumThreads = 288;
constexpr int kProductThreads = 128;
constexpr int kVectorThreads = 256;

INTERLACER_HOST_DEVICE constexpr int UpToSide(int count) {
  return (count + kSide - 1) / kSide * kSide;
}

/// Array sizes for heads up to kWidth.
template <int kWidth>
struct Sizes {
  static constexpr int kExtended = UpToSide(kWidth + 1);
  static constexpr int kTokens = 2048 / kWidth;         ///< tokens staged at once
  static constexpr int kTokenStride = kTokens + kSide;  ///< fewer bank conflicts than kTokens
};

/// Inputs of the kernels; one struct for all, so that all share the code that stages them.
struct Operands {
  LinearAttentionShape shape;
  const float* q = nullptr;
  const float* k = nullptr;
  const float* v = nullptr;
  const float* key_mask = nullptr;
  const float* normalizer = nullptr;  ///< [n, heads]
  const float* grad_out = nullptr;
  const float* slopes = nullptr;  ///< [n, heads], b_i = -(g_i . out_i) / den_i
  const float* state = nullptr;   ///< S and z, or their gradients
  float epsilon = 0;
};

__device__ float Phi(float x, float epsilon) { return (x > 0 ? x : 0) + epsilon; }

__device__ float Inverse(float x) { return x == 0 ? 0 : 1 / x; }

__device__ float MaskOf(const Operands& o, std::int64_t token) {
  return o.key_mask == nullptr ? 1 : o.key_mask[token];
}

/// Offset of a head's first number in an [n, heads * head_width] array.
__device__ std::int64_t At(const Operands& o, std::int64_t token, int head) {
  return (token * o.shape.heads + head) * o.shape.head_width;
}

/// Channel c < width of the key vector; masked keys are 0 whatever they hold.
__device__ float MaskedPhiKey(const Operands& o, std::int64_t token, int head, int c) {
  const float mask = MaskOf(o, token);
  return mask == 0 ? 0 : mask * Phi(o.k[At(o, token, head) + c], o.epsilon);
}
__device__ float PhiQuery(const Operands& o, std::int64_t token, int head, int c) {
  return Phi(o.q[At(o, token, head) + c], o.epsilon);
}
/// The extended vectors [v | 1], and [a | b] with a = g / den; c <= width.
__device__ float ExtendedValue(const Operands& o, std::int64_t token, int head, int c) {
  return c == o.shape.head_width ? 1 : o.v[At(o, token, head) + c];
}
__device__ float ExtendedGrad(const Operands& o, std::int64_t token, int head, int c) {
  const std::int64_t place = token * o.shape.heads + head;
  if (c == o.shape.head_width) return o.slopes[place];
  return Inverse(o.normalizer[place]) * o.grad_out[At(o, token, head) + c];
}

/// Computes b_i of every token and head.
/// Bound: reads of two rows, with two operations a number.
/// Block: nothing is shared, so the size only has to fill whole warps.
/// Layout: one thread for each token and head, which reads the head's neighbouring numbers.
__global__ void SlopesKernel(LinearAttentionSaved<float> saved, std::int64_t places, int width,
                             float* slopes) {
  const std::int64_t place = GlobalThread();
  if (place >= places) return;
  const float inverse = Inverse(saved.normalizer[place]);
  float slope = 0;
  for (int c = 0; c < width; ++c) {
    slope -= inverse * saved.grad_out[place * width + c] * saved.out[place * width + c];
  }
  slopes[place] = slope;
}

enum class SumKind { kState, kStateGrad };

/// Each block sums row[a] * column[b] of one head over a tile of tokens into tile_states [tiles,
/// heads, width + 1, width], whose last row is that of b = width. Groups of threads take every
/// groups-th token; the groups are added in order.
/// Bound: reads of shared memory, 32 bytes for 16 multiply-adds.
/// Block: 288 threads hold the 16 x 17 squares of a 64-wide head, or four groups for 32 channels.
/// Layout: staged tokens are rows of whole squares, so that loads take 16 bytes.
template <int kWidth, SumKind kKind>
__global__ void SumStateKernel(Operands o, float* tile_states) {
  using S = Sizes<kWidth>;
  __shared__ __align__(16) float rows[S::kTokens * kWidth];
  __shared__ __align__(16) float columns[S::kTokens * S::kExtended];
  __shared__ float sums[kSumThreads * kSide * kSide];
  const int width = o.shape.head_width;
  const int head = static_cast<int>(blockIdx.x % o.shape.heads);
  const std::int64_t tile_begin = blockIdx.x / o.shape.heads * kLinearCudaTile;
  const std::int64_t tile_end =
      tile_begin + kLinearCudaTile < o.shape.n ? tile_begin + kLinearCudaTile : o.shape.n;
  const int row_stride = UpToSide(width);
  const int column_stride = UpToSide(width + 1);
  const int column_tiles = column_stride / kSide;
  const int tiles = row_stride / kSide * column_tiles;
  const int groups = kSumThreads / tiles;
  const int me = static_cast<int>(threadIdx.x);
  const int group = me / tiles;
  const int first_row = me % tiles / column_tiles * kSide;
  const int first_column = me % tiles % column_tiles * kSide;
  float sum[kSide][kSide] = {};
  for (std::int64_t first = tile_begin; first < tile_end; first += S::kTokens) {
    const int tokens =
        static_cast<int>(tile_end - first < S::kTokens ? tile_end - first : S::kTokens);
    // Columns beyond the width are zero, so that squares of 4 x 4 need no bounds.
    for (int x = me; x < tokens * row_stride; x += kSumThreads) {
      const std::int64_t token = first + x / row_stride;
      const int c = x % row_stride;
      float value = 0;
      if (c < width) {
        value = kKind == SumKind::kState ? MaskedPhiKey(o, token, head, c)
                                         : PhiQuery(o, token, head, c);
      }
      rows[x] = value;
    }
    for (int x = me; x < tokens * column_stride; x += kSumThreads) {
      const std::int64_t token = first + x / column_stride;
      const int c = x % column_stride;
      float value = 0;
      if (c <= width) {
        if (kKind == SumKind::kStateGrad) {
          value = ExtendedGrad(o, token, head, c);
        } else if (MaskOf(o, token) != 0) {
          value = ExtendedValue(o, token, head, c);
        }
      }
      columns[x] = value;
    }
    __syncthreads();
    // The last threads may belong to no whole group.
    if (group < groups) {
      for (int token = group; token < tokens; token += groups) {
        const float4 r = *reinterpret_cast<const float4*>(rows + token * row_stride + first_row);
        const float4 c =
            *reinterpret_cast<const float4*>(columns + token * column_stride + first_column);
        const float row[kSide] = {r.x, r.y, r.z, r.w};
        const float column[kSide] = {c.x, c.y, c.z, c.w};
#pragma unroll
        for (int a = 0; a < kSide; ++a) {
#pragma unroll
          for (int b = 0; b < kSide; ++b) sum[a][b] += row[a] * column[b];
        }
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int a = 0; a < kSide; ++a) {
#pragma unroll
    for (int b = 0; b < kSide; ++b) sums[(a * kSide + b) * kSumThreads + me] = sum[a][b];
  }
  __syncthreads();
  float* const state = tile_states + static_cast<std::int64_t>(blockIdx.x) * width * (width + 1);
  for (int x = me; x < width * (width + 1); x += kSumThreads) {
    // The state holds S [width, width] row by row, then z [width].
    const int a = x < width * width ? x / width : x - width * width;
    const int b = x < width * width ? x % width : width;
    const int thread = a / kSide * column_tiles + b / kSide;
    // Groups are added in order, which fixes the bits.
    float total = 0;
    for (int g = 0; g < groups; ++g) {
      total += sums[(a % kSide * kSide + b % kSide) * kSumThreads + g * tiles + thread];
    }
    state[x] = total;
  }
}

/// state [count] = scale * sum of tile_states [tiles, count], in order.
/// Bound: reads of the tile states, each once; unrolled, so that several are under way.
/// Block: nothing is shared, so the size only has to fill whole warps.
/// Layout: neighbouring threads read neighbouring numbers.
__global__ void AddTilesKernel(const float* tile_states, std::int64_t tiles, std::int64_t count,
                               float scale, float* state) {
  const std::int64_t x = GlobalThread();
  if (x >= count) return;
  float sum = 0;
#pragma unroll 8
  for (std::int64_t tile = 0; tile < tiles; ++tile) sum += tile_states[tile * count + x];
  state[x] = scale * sum;
}

enum class ProductKind { kOutput, kQueryGrad, kKeyGrad, kValueGrad };

/// Number p of a token's vector: phi(q), [a | b], [v | 1] or m phi(k), by kind.
template <ProductKind kKind>
__device__ float VectorValue(const Operands& o, std::int64_t token, int head, int p) {
  switch (kKind) {
    case ProductKind::kOutput:
      return PhiQuery(o, token, head, p);
    case ProductKind::kQueryGrad:
      return ExtendedGrad(o, token, head, p);
    case ProductKind::kKeyGrad:
      return ExtendedValue(o, token, head, p);
    case ProductKind::kValueGrad:
      break;
  }
  return MaskedPhiKey(o, token, head, p);
}

/// Each block multiplies the vectors of a range of tokens by one head's matrix [S | z] or its
/// transpose: result[r] = sum over p of vector[p] * matrix[p][r]. `denominators` is for kOutput
/// only.
/// Bound: reads of shared memory, 32 bytes for 16 multiply-adds.
/// Block: 128 threads, as many as squares of 4 x 4 in the results of 2048 / width tokens.
/// Layout: vectors and products are staged by channel, with padding against bank conflicts.
template <int kWidth, ProductKind kKind>
__global__ void ProductKernel(Operands o, float delta, float* result, float* denominators) {
  using S = Sizes<kWidth>;
  __shared__ __align__(16) float matrix[S::kExtended * S::kExtended];
  __shared__ __align__(16) float vectors[S::kExtended * S::kTokenStride];
  __shared__ __align__(16) float products[S::kExtended * S::kTokenStride];
  constexpr bool kTransposed = kKind == ProductKind::kQueryGrad || kKind == ProductKind::kKeyGrad;
  const int width = o.shape.head_width;
  const int head = static_cast<int>(blockIdx.x % o.shape.heads);
  const std::int64_t first = blockIdx.x / o.shape.heads * std::int64_t{S::kTokens};
  const int tokens =
      static_cast<int>(o.shape.n - first < S::kTokens ? o.shape.n - first : S::kTokens);
  const int length = kTransposed ? width + 1 : width;  // length of a vector
  const int results = kKind == ProductKind::kOutput ? width + 1 : width;
  const int stride = UpToSide(results);
  const int me = static_cast<int>(threadIdx.x);
  const float* const state = o.state + static_cast<std::int64_t>(head) * width * (width + 1);
  for (int x = me; x < length * stride; x += kProductThreads) {
    const int p = x / stride;
    const int r = x % stride;
    const int a = kTransposed ? r : p;
    const int b = kTransposed ? p : r;
    float value = 0;
    if (r < results) value = b == width ? state[width * width + a] : state[a * width + b];
    matrix[x] = value;
  }
  for (int x = me; x < S::kTokens * length; x += kProductThreads) {
    const int token = x / length;
    const int p = x % length;
    vectors[p * S::kTokenStride + token] =
        token < tokens ? VectorValue<kKind>(o, first + token, head, p) : 0;
  }
  __syncthreads();
  constexpr int kTokenTiles = S::kTokens / kSide;
  for (int tile = me; tile < kTokenTiles * (stride / kSide); tile += kProductThreads) {
    const int token = tile % kTokenTiles * kSide;
    const int r = tile / kTokenTiles * kSide;
    float sum[kSide][kSide] = {};
    for (int p = 0; p < length; ++p) {
      const float4 m = *reinterpret_cast<const float4*>(matrix + p * stride + r);
      const float4 t = *reinterpret_cast<const float4*>(vectors + p * S::kTokenStride + token);
      const float row[kSide] = {m.x, m.y, m.z, m.w};
      const float value[kSide] = {t.x, t.y, t.z, t.w};
#pragma unroll
      for (int a = 0; a < kSide; ++a) {
#pragma unroll
        for (int b = 0; b < kSide; ++b) sum[a][b] += row[a] * value[b];
      }
    }
#pragma unroll
    for (int a = 0; a < kSide; ++a) {
#pragma unroll
      for (int b = 0; b < kSide; ++b) {
        products[(r + a) * S::kTokenStride + token + b] = sum[a][b];
      }
    }
  }
  __syncthreads();
  for (int x = me; x < tokens * width; x += kProductThreads) {
    const int t = x / width;
    const int c = x % width;
    const std::int64_t token = first + t;
    const std::int64_t at = At(o, token, head) + c;
    float value = products[c * S::kTokenStride + t];
    if constexpr (kKind == ProductKind::kOutput) {
      const float denominator = delta + products[width * S::kTokenStride + t];
      value *= Inverse(denominator);
      if (c == 0) denominators[token * o.shape.heads + head] = denominator;
    } else if constexpr (kKind == ProductKind::kQueryGrad) {
      value = o.q[at] > 0 ? value : 0;
    } else if constexpr (kKind == ProductKind::kKeyGrad) {
      value = o.k[at] > 0 ? MaskOf(o, token) * value : 0;
    }
    result[at] = value;
  }
}

std::int64_t TileCount(const LinearAttentionShape& shape) {
  return (shape.n + kLinearCudaTile - 1) / kLinearCudaTile;
}

std::int64_t StateCount(const LinearAttentionShape& shape) {
  return static_cast<std::int64_t>(shape.heads) * shape.head_width * (shape.head_width + 1);
}

bool Fits(const LinearAttentionShape& shape) {
  return shape.n >= 0 && shape.heads > 0 && shape.head_width > 0 &&
         shape.head_width <= kMaxLinearCudaWidth;
}

/// Writes 1/n times the sum over all tokens to `state`, in two launches.
template <int kWidth, SumKind kKind>
CudaError SumState(const Operands& o, float* tile_states, float* state, CudaStream stream) {
  const std::int64_t tiles = TileCount(o.shape);
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchBlocks(SumStateKernel<kWidth, kKind>, tiles * o.shape.heads,
                                               kSumThreads, stream, o, tile_states));
  const std::int64_t count = StateCount(o.shape);
  return LaunchBlocks(AddTilesKernel, BlocksFor(count, kVectorThreads), kVectorThreads, stream,
                      tile_states, tiles, count,
                      static_cast<float>(1.0 / static_cast<double>(o.shape.n)), state);
}

template <int kWidth, ProductKind kKind>
CudaError Multiply(const Operands& o, float delta, float* result, float* denominators,
                   CudaStream stream) {
  const std::int64_t ranges = BlocksFor(o.shape.n, Sizes<kWidth>::kTokens);
  return LaunchBlocks(ProductKernel<kWidth, kKind>, ranges * o.shape.heads, kProductThreads, stream,
                      o, delta, result, denominators);
}

/// Calls function.template operator()<kWidth>() with the smallest constant that holds a head.
template <typename Function>
CudaError ByWidth(int head_width, const Function& function) {
  if (head_width <= 16) return function.template operator()<16>();
  if (head_width <= 32) return function.template operator()<32>();
  return function.template operator()<kMaxLinearCudaWidth>();
}

Operands MakeOperands(const LinearAttentionShape& shape, const LinearAttentionInputs<float>& inputs,
                      const LinearAttentionEpsilons& epsilons) {
  Operands o;
  o.shape = shape;
  o.q = inputs.q;
  o.k = inputs.k;
  o.v = inputs.v;
  o.key_mask = inputs.key_mask;
  o.epsilon = static_cast<float>(epsilons.feature);
  return o;
}

}  // namespace

std::int64_t LinearCudaScratchCount(const LinearAttentionShape& shape) {
  return (TileCount(shape) + 1) * StateCount(shape) + shape.n * shape.heads;
}

CudaError LaunchLinearAttentionForward(const LinearAttentionShape& shape,
                                       const LinearAttentionInputs<float>& inputs,
                                       const LinearAttentionEpsilons& epsilons,
                                       const LinearAttentionOutputs<float>& outputs, float* scratch,
                                       CudaStream stream) {
  if (!Fits(shape)) return cudaErrorInvalidValue;
  if (shape.n == 0) return 0;
  Operands o = MakeOperands(shape, inputs, epsilons);
  o.state = outputs.state;
  return ByWidth(shape.head_width, [&]<int kWidth>() {
    INTERLACER_CUDA_RETURN_IF_ERROR(
        (SumState<kWidth, SumKind::kState>(o, scratch, outputs.state, stream)));
    return Multiply<kWidth, ProductKind::kOutput>(o, static_cast<float>(epsilons.normalizer),
                                                  outputs.out, outputs.normalizer, stream);
  });
}

CudaError LaunchLinearAttentionBackward(const LinearAttentionShape& shape,
                                        const LinearAttentionInputs<float>& inputs,
                                        const LinearAttentionSaved<float>& saved,
                                        const LinearAttentionEpsilons& epsilons,
                                        const LinearAttentionGradients<float>& gradients,
                                        float* scratch, CudaStream stream) {
  if (!Fits(shape)) return cudaErrorInvalidValue;
  if (shape.n == 0) return 0;
  // Scratch memory: the state's gradient, the tiles' partial sums, the slopes b_i.
  float* const grad_state = scratch;
  float* const tile_states = grad_state + StateCount(shape);
  float* const slopes = tile_states + TileCount(shape) * StateCount(shape);
  const std::int64_t places = shape.n * shape.heads;
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchBlocks(SlopesKernel, BlocksFor(places, kVectorThreads),
                                               kVectorThreads, stream, saved, places,
                                               shape.head_width, slopes));
  Operands to_queries = MakeOperands(shape, inputs, epsilons);
  to_queries.normalizer = saved.normalizer;
  to_queries.grad_out = saved.grad_out;
  to_queries.slopes = slopes;
  to_queries.state = saved.state;
  Operands to_keys = to_queries;
  to_keys.state = grad_state;
  return ByWidth(shape.head_width, [&]<int kWidth>() {
    INTERLACER_CUDA_RETURN_IF_ERROR(
        (SumState<kWidth, SumKind::kStateGrad>(to_queries, tile_states, grad_state, stream)));
    INTERLACER_CUDA_RETURN_IF_ERROR(
        (Multiply<kWidth, ProductKind::kQueryGrad>(to_queries, 0, gradients.q, nullptr, stream)));
    INTERLACER_CUDA_RETURN_IF_ERROR(
        (Multiply<kWidth, ProductKind::kKeyGrad>(to_keys, 0, gradients.k, nullptr, stream)));
    return Multiply<kWidth, ProductKind::kValueGrad>(to_keys, 0, gradients.v, nullptr, stream);
  });
}

}  // namespace interlacer
