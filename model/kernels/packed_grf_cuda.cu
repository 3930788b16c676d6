#include "common/kernels/block_memory.h"
#include "common/kernels/launch.h"
#include "model/kernels/packed_grf_cuda.h"
#include "model/kernels/packed_grf_rows.h"

namespace interlacer {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarpLanes;
/// Queries of a block of the plain form; enough to amortise loading the table of weights.
constexpr std::int64_t kPlainQueries = 4 * kWarps;
constexpr int kTiledBlocks = 2;  // blocks that share a multiprocessor
/// Shared memory of a block besides the rows: the table, and what the CUDA runtime reserves.
constexpr int kOtherSharedBytes = 2048;

/// Each thread packs four channels.
/// Bound: memory; 16 bytes read and 16 written, with next to no arithmetic.
/// Block: nothing is shared, so the size only has to fill whole warps.
/// Layout: neighbouring threads read 8 bytes of k and of v each and write 16 contiguous bytes.
__global__ void PackRowsKernel(std::int64_t groups, const std::uint16_t* k, const std::uint16_t* v,
                               float epsilon, uint4* packed) {
  const std::int64_t x = GlobalThread();
  if (x >= groups) return;
  float key[kChannelsOfALane], value[kChannelsOfALane];
  LoadFour(k + kChannelsOfALane * x, key);
  LoadFour(v + kChannelsOfALane * x, value);
  for (float& channel : key) channel = ReluFeature(channel, epsilon);
  packed[x] = uint4{RoundPair(key[0], key[1]), RoundPair(key[2], key[3]),
                    RoundPair(value[0], value[1]), RoundPair(value[2], value[3])};
}

/// Inputs and outputs of both forms.
struct Attention {
  PackedGrfShape shape;
  GrfPackedPairs<float> pairs;
  const std::uint16_t* q;
  const uint4* packed;
  float epsilon;
  float delta;
  std::uint16_t* out;
  float* normalizer;
};

__device__ void LoadTable(const float* table, float* shared) {
  for (int code = static_cast<int>(threadIdx.x); code < kWalkCodes; code += kThreads) {
    shared[code] = table[code];
  }
}

/// Each warp attends for one query at a time; a block handles kPlainQueries of them.
/// Bound: gathers of packed rows; each loaded number serves one multiply-add.
/// Block: 8 warps with 4 queries each amortise loading the table of weights.
/// Layout: 8 or 16 lanes share a row; each 16-byte load holds four channels of key and value.
template <typename Form>
__global__ void __launch_bounds__(kThreads) PlainKernel(Attention a) {
  __shared__ float table[kWalkCodes];
  LoadTable(a.pairs.table, table);
  __syncthreads();
  const std::int64_t first = a.shape.query_begin + blockIdx.x * kPlainQueries;
  for (int turn = 0; turn < kPlainQueries / kWarps; ++turn) {
    const std::int64_t i = first + turn * kWarps + threadIdx.x / kWarpLanes;
    if (i >= a.shape.query_end) return;
    AttendForQuery<Form>(i, a.pairs.offsets[i], a.pairs.offsets[i + 1],
                         {a.pairs.entries, nullptr, table}, a.q, a.epsilon, a.delta,
                         RowsInMemory<Form>{a.packed}, a.out, a.normalizer);
  }
}

/// Each block handles one tile of queries: it copies the tile's rows into shared memory, then each
/// warp attends for every kWarps-th query.
/// Bound: the copy of the tile's distinct rows, then reads of shared memory, one row a pair.
/// Block: two share a multiprocessor, so that one can copy while the other attends.
/// Layout: staged rows keep their packed order; lanes share a row as in the plain form.
template <typename Form>
__global__ void __launch_bounds__(kThreads, kTiledBlocks)
    TiledKernel(Attention a, GrfTiles tiles, int staged_rows) {
  __shared__ float table[kWalkCodes];
  uint4* const staged = LaunchedShared<uint4>();
  const std::int64_t tile = a.shape.query_begin / kGrfTileQueries + blockIdx.x;
  const std::int32_t* const rows = tiles.rows + a.pairs.offsets[tile * kGrfTileQueries];
  const int count = tiles.row_counts[tile] < staged_rows ? tiles.row_counts[tile] : staged_rows;
  for (int x = static_cast<int>(threadIdx.x); x < count * Form::kVectors; x += kThreads) {
    const std::int64_t node = rows[x / Form::kVectors];
    BeginCopy16(staged + x, a.packed + node * Form::kVectors + x % Form::kVectors);
  }
  // Loaded while the copies are under way.
  LoadTable(a.pairs.table, table);
  AwaitCopies();
  __syncthreads();
  const auto attend = [&](const auto& found) {
    for (int turn = 0; turn < kGrfTileQueries / kWarps; ++turn) {
      const std::int64_t i = tile * kGrfTileQueries + turn * kWarps + threadIdx.x / kWarpLanes;
      if (i < a.shape.query_begin || i >= a.shape.query_end) continue;
      AttendForQuery<Form>(i, a.pairs.offsets[i], a.pairs.offsets[i + 1],
                           {a.pairs.entries, tiles.places, table}, a.q, a.epsilon, a.delta, found,
                           a.out, a.normalizer);
    }
  };
  // Rows beyond the shared memory are read from global memory; the test is once a tile, not a pair.
  const StagedRows<Form> in_tile = {staged};
  if (tiles.row_counts[tile] == count) {
    attend(in_tile);
  } else {
    attend(PartlyStagedRows<Form>{in_tile, {a.packed}, count});
  }
}

/// Calls function.template operator()<Form>() with the form for this width.
template <typename Function>
int ByWidth(int width, const Function& function) {
  switch (width) {
    case 32:
      return function.template operator()<PackedGrf<1, 8>>();
    case 64:
      return function.template operator()<PackedGrf<2, 8>>();
    case 128:
      return function.template operator()<PackedGrf<4, 8>>();
    case 256:
      return function.template operator()<PackedGrf<4, 16>>();
    default:
      return static_cast<int>(cudaErrorInvalidValue);
  }
}

bool AreQueriesValid(const PackedGrfShape& shape) {
  return shape.query_begin >= 0 && shape.query_begin <= shape.query_end &&
         shape.query_end <= shape.n;
}

Attention MakeAttention(const PackedGrfShape& shape, const GrfPackedPairs<float>& pairs,
                        const PackedGrfInputs& inputs, const GrfEpsilons& epsilons,
                        const PackedGrfOutputs& outputs) {
  return {shape,
          pairs,
          inputs.q,
          reinterpret_cast<const uint4*>(inputs.packed),
          static_cast<float>(epsilons.feature),
          static_cast<float>(epsilons.normalizer),
          outputs.out,
          outputs.normalizer};
}

}  // namespace

bool FitsPackedGrf(int width) {
  return ByWidth(width, [&]<typename Form>() { return Form::kWidth == width ? 0 : 1; }) == 0;
}

int LaunchPackGrfRows(std::int64_t n, int width, const std::uint16_t* k, const std::uint16_t* v,
                      const GrfEpsilons& epsilons, std::uint16_t* packed, void* stream) {
  if (n < 0 || !FitsPackedGrf(width)) return static_cast<int>(cudaErrorInvalidValue);
  const std::int64_t groups = n * width / kChannelsOfALane;
  return LaunchBlocks(PackRowsKernel, BlocksFor(groups, kThreads), kThreads,
                      static_cast<cudaStream_t>(stream), groups, k, v,
                      static_cast<float>(epsilons.feature), reinterpret_cast<uint4*>(packed));
}

int LaunchPackedGrf(const PackedGrfShape& shape, const GrfPackedPairs<float>& pairs,
                    const PackedGrfInputs& inputs, const GrfEpsilons& epsilons,
                    const PackedGrfOutputs& outputs, void* stream) {
  if (!AreQueriesValid(shape)) return static_cast<int>(cudaErrorInvalidValue);
  const Attention a = MakeAttention(shape, pairs, inputs, epsilons, outputs);
  return ByWidth(shape.width, [&]<typename Form>() {
    return LaunchBlocks(PlainKernel<Form>,
                        BlocksFor(shape.query_end - shape.query_begin, kPlainQueries), kThreads,
                        static_cast<cudaStream_t>(stream), a);
  });
}

int GrfStagedRows(int width, int* staged_rows) {
  int device = 0, multiprocessor_bytes = 0, block_bytes = 0;
  INTERLACER_CUDA_RETURN_IF_ERROR(cudaGetDevice(&device));
  INTERLACER_CUDA_RETURN_IF_ERROR(cudaDeviceGetAttribute(
      &multiprocessor_bytes, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device));
  INTERLACER_CUDA_RETURN_IF_ERROR(BlockSharedBytes(&block_bytes));
  const int share = multiprocessor_bytes / kTiledBlocks;
  const int most = (share < block_bytes ? share : block_bytes) - kOtherSharedBytes;
  return ByWidth(width, [&]<typename Form>() {
    *staged_rows = most / static_cast<int>(Form::kVectors * sizeof(uint4));
    return 0;
  });
}

int LaunchTiledGrf(const PackedGrfShape& shape, const GrfPackedPairs<float>& pairs,
                   const GrfTiles& tiles, int staged_rows, const PackedGrfInputs& inputs,
                   const GrfEpsilons& epsilons, const PackedGrfOutputs& outputs, void* stream) {
  if (!AreQueriesValid(shape) || staged_rows < 0) return static_cast<int>(cudaErrorInvalidValue);
  const Attention a = MakeAttention(shape, pairs, inputs, epsilons, outputs);
  return ByWidth(shape.width, [&]<typename Form>() {
    if (shape.query_begin == shape.query_end) return 0;
    const std::int64_t tile_count =
        BlocksFor(shape.query_end, kGrfTileQueries) - shape.query_begin / kGrfTileQueries;
    const std::int64_t shared_bytes = std::int64_t{staged_rows} * Form::kVectors * sizeof(uint4);
    return LaunchBlocks(TiledKernel<Form>, tile_count, BlockShape{kThreads, shared_bytes},
                        static_cast<cudaStream_t>(stream), a, tiles, staged_rows);
  });
}

}  // namespace interlacer
