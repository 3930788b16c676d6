#include "common/kernels/launch.h"
#include "model/kernels/packed_grf_cuda.h"
#include "model/kernels/packed_grf_rows.h"

namespace interlacer {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarpLanes;
/// Queries of a block; enough to amortise loading the table of weights.
constexpr std::int64_t kQueries = 4 * kWarps;

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

/// Each warp attends for one query at a time; a block handles kQueries of them.
/// Bound: gathers of packed rows; each loaded number serves one multiply-add.
/// Block: 8 warps with 4 queries each amortise loading the table of weights.
/// Layout: 8 or 16 lanes share a row; each 16-byte load holds four channels of key and value.
template <typename Form>
__global__ void __launch_bounds__(kThreads) AttendKernel(Attention a) {
  __shared__ float table[kWalkCodes];
  for (int code = static_cast<int>(threadIdx.x); code < kWalkCodes; code += kThreads) {
    table[code] = a.pairs.table[code];
  }
  __syncthreads();
  const std::int64_t first = a.shape.queries.begin + blockIdx.x * kQueries;
  for (int turn = 0; turn < kQueries / kWarps; ++turn) {
    const std::int64_t i = first + turn * kWarps + threadIdx.x / kWarpLanes;
    if (i >= a.shape.queries.end) return;
    AttendForQuery<Form>(i, a.pairs.offsets[i], a.pairs.offsets[i + 1], {a.pairs.entries, table},
                         a.q, a.packed, a.epsilon, a.delta, a.out, a.normalizer);
  }
}

/// Calls function.template operator()<Form>() with the form for this width.
template <typename Function>
CudaError ByWidth(int width, const Function& function) {
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
      return cudaErrorInvalidValue;
  }
}

}  // namespace

bool FitsPackedGrf(int width) {
  return ByWidth(width, []<typename Form>() { return CudaError(); }).ok();
}

CudaError LaunchPackedGrf(const PackedGrfShape& shape, const GrfPackedPairs<float>& pairs,
                          const PackedGrfInputs& inputs, const GrfEpsilons& epsilons,
                          const PackedGrfOutputs& outputs, CudaStream stream) {
  if (shape.queries.begin < 0 || shape.queries.begin > shape.queries.end ||
      shape.queries.end > shape.n) {
    return cudaErrorInvalidValue;
  }
  const Attention a{shape,
                    pairs,
                    inputs.q,
                    reinterpret_cast<const uint4*>(inputs.packed),
                    static_cast<float>(epsilons.feature),
                    static_cast<float>(epsilons.normalizer),
                    outputs.out,
                    outputs.normalizer};
  return ByWidth(shape.width, [&]<typename Form>() {
    return LaunchBlocks(AttendKernel<Form>,
                        BlocksFor(shape.queries.end - shape.queries.begin, kQueries), kThreads,
                        stream, a);
  });
}

}  // namespace interlacer
