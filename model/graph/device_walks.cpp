#include "model/graph/device_walks.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "knn/grid_index.h"
#include "knn/walk_lists.h"
#include "model/cuda/backend.h"
#include "model/runtime/torch_status.h"

namespace interlacer {
namespace {

/// Cells of the search grid: surfaces fill a few percent of them with several tokens each.
constexpr std::int64_t kCellsPerToken = 8;

/// A grid that depends on box and size alone, so that it is the same for every step of a rollout.
CellGrid GridOver(const Box& box, std::int64_t n) {
  CellGrid grid;
  double volume_m3 = 1;
  for (int axis = 0; axis < 3; ++axis) {
    grid.origin_m[axis] = box.min_m[axis];
    volume_m3 *= box.max_m[axis] - box.min_m[axis];
  }
  if (!(volume_m3 > 0)) return grid;
  const std::int64_t most = std::max<std::int64_t>(64, kCellsPerToken * n);
  return GridWithEdge(box, std::cbrt(volume_m3 / static_cast<double>(most)), most);
}

at::TensorOptions Ints(const torch::Tensor& like) { return like.options().dtype(at::kInt); }
at::TensorOptions Longs(const torch::Tensor& like) { return like.options().dtype(at::kLong); }

std::int32_t* MutableInts(const torch::Tensor& tensor) {
  return tensor.mutable_data_ptr<std::int32_t>();
}

/// Adds the lists by end node, for entries that are plain nodes.
void AddTransposed(DeviceWalks* walks) {
  const std::int64_t n = walks->offsets.size(0) - 1, room = walks->entries.size(0);
  const auto ints = walks->offsets.options();
  const torch::Tensor slots = at::arange(room, ints);
  const torch::Tensor behind = at::full({}, n, ints);
  const torch::Tensor nodes =
      at::where(slots < walks->offsets.narrow(0, n, 1), walks->entries, behind);
  const auto [sorted, order] = at::sort(nodes, /*stable=*/true, 0, /*descending=*/false);
  const torch::Tensor roots = at::searchsorted(walks->offsets.narrow(0, 1, n), slots,
                                               /*out_int32=*/true, /*right=*/true);
  walks->transposed_roots = roots.index_select(0, order);
  walks->transposed_entry_index = order.to(at::kInt);
  walks->transposed_offsets = at::searchsorted(sorted, at::arange(n + 1, ints), /*out_int32=*/true);
}

/// Edges sorted by start node. Arrays are longer than the number of edges; the rest of their
/// entries is arbitrary but within range.
struct Edges {
  torch::Tensor offsets;   ///< [n+1] int32
  torch::Tensor from, to;  ///< [capacity] int64
};

Edges DirectedEdges(const torch::Tensor& neighbors) {
  const std::int64_t n = neighbors.size(0), degree = neighbors.size(1);
  return {at::arange(n + 1, Ints(neighbors)) * degree,
          at::arange(n, Longs(neighbors)).unsqueeze(1).expand({n, degree}).flatten(),
          neighbors.flatten().to(at::kLong)};
}

/// Every undirected edge i - j with i -> j or j -> i once, in ascending order.
Edges UndirectedEdges(const Edges& directed) {
  const std::int64_t n = directed.offsets.size(0) - 1, room = 2 * directed.from.size(0);
  const torch::Tensor pairs =
      at::cat({directed.from * n + directed.to, directed.to * n + directed.from}, 0);
  const torch::Tensor sorted = std::get<0>(at::sort(pairs));
  torch::Tensor is_first = at::ones_like(sorted);
  if (room > 1) {
    is_first.narrow(0, 1, room - 1)
        .copy_(sorted.narrow(0, 1, room - 1) != sorted.narrow(0, 0, room - 1));
  }
  // Duplicates are moved to one slot behind all others.
  const torch::Tensor place =
      at::where(is_first == 1, is_first.cumsum(0) - 1, at::full({}, room, sorted.options()));
  const torch::Tensor once =
      at::zeros({room + 1}, sorted.options()).scatter_(0, place, sorted).narrow(0, 0, room);
  const torch::Tensor sizes =
      at::zeros({n + 1}, sorted.options()).index_add_(0, at::floor_divide(sorted, n) + 1, is_first);
  return {sizes.cumsum(0).to(at::kInt), at::floor_divide(once, n), at::remainder(once, n)};
}

/// Weights exp(-|x_i - x_j|^2 / (2 s^2)), where s is the median edge length.
torch::Tensor ExpDistanceWeights(const Edges& edges, const torch::Tensor& positions_m) {
  const torch::Tensor sq_m2 =
      (positions_m.index_select(0, edges.from) - positions_m.index_select(0, edges.to))
          .square()
          .sum(1);
  const torch::Tensor count = edges.offsets.narrow(0, edges.offsets.size(0) - 1, 1);
  const torch::Tensor is_edge = at::arange(sq_m2.size(0), Ints(positions_m)) < count;
  const torch::Tensor beyond =
      at::full({}, std::numeric_limits<float>::infinity(), sq_m2.options());
  const torch::Tensor sorted_m = std::get<0>(at::sort(at::where(is_edge, sq_m2.sqrt(), beyond)));
  const torch::Tensor scale_m =
      sorted_m.index_select(0, at::floor_divide(count, 2).to(at::kLong)).to(at::kDouble);
  const torch::Tensor weights = at::exp(-sq_m2 / (2 * scale_m.square()));
  return at::where(scale_m == 0, at::ones_like(weights), weights);
}

/// Weights of edges, [capacity] float64, rounded to float32 as on the host.
torch::Tensor WeightsOf(const Edges& edges, EdgeWeight kind, const torch::Tensor& positions_m) {
  const std::int64_t n = edges.offsets.size(0) - 1;
  const torch::Tensor out_degree =
      (edges.offsets.narrow(0, 1, n) - edges.offsets.narrow(0, 0, n)).to(at::kDouble);
  torch::Tensor weights;
  switch (edges.from.size(0) > 0 ? kind : EdgeWeight::kUniform) {
    case EdgeWeight::kUniform:
      weights = 1 / out_degree.index_select(0, edges.from);
      break;
    case EdgeWeight::kExpDistance:
      weights = ExpDistanceWeights(edges, positions_m);
      break;
    case EdgeWeight::kInverseSqrtDegree: {
      const torch::Tensor count = edges.offsets.narrow(0, n, 1);
      const torch::Tensor is_edge = at::arange(edges.to.size(0), Ints(positions_m)) < count;
      const torch::Tensor in_degree =
          at::zeros_like(out_degree).index_add_(0, edges.to, is_edge.to(at::kDouble));
      weights =
          at::rsqrt(out_degree.index_select(0, edges.from) * in_degree.index_select(0, edges.to));
      break;
    }
  }
  return weights.to(at::kFloat).to(at::kDouble);
}

/// Largest number of entries of a row: the nodes within three hops, or what the walkers can visit.
std::int64_t SampledRowSize(const InterlacerConfig& config, std::int64_t degree) {
  const std::int64_t visits = MaxSampledRowSize(config.network.local.walk_count);
  const std::int64_t reach = 1 + degree + degree * degree + degree * degree * degree;
  return config.graph.symmetrise ? visits : std::min(visits, reach);
}

}  // namespace

torch::Tensor CodeLoads(int out_degree, const torch::Tensor& like) {
  static std::mutex mutex;
  // Never destroyed: at exit the device may already be gone.
  static auto* const cache = new std::map<std::pair<int, std::string>, torch::Tensor>;
  const std::lock_guard lock(mutex);
  torch::Tensor& loads = (*cache)[{out_degree, like.device().str()}];
  if (!loads.defined()) {
    loads = at::tensor(WalkCodeLoads(out_degree), at::kDouble)
                .reshape({-1, kMaxHops + 1})
                .to(like.device(), at::kFloat);
  }
  return loads;
}

torch::Tensor NearestOnDevice(const CudaBackend& cuda, const torch::Tensor& positions_m, int k,
                              const Box& workspace) {
  const std::int64_t n = positions_m.size(0);
  const torch::Tensor neighbors =
      at::empty({n, std::clamp<std::int64_t>(n - 1, 0, k)}, Ints(positions_m));
  WriteNearestOnDevice(cuda, positions_m, {0, n, n, 0}, workspace, neighbors);
  return neighbors;
}

void WriteNearestOnDevice(const CudaBackend& cuda, const torch::Tensor& positions_m,
                          const PointRanges& members, const Box& workspace,
                          const torch::Tensor& neighbors) {
  const int degree = static_cast<int>(neighbors.size(1));
  if (degree > kMaxCudaNeighbors) {
    ThrowIfError(Mismatch(reason::ARGUMENT_INVALID, "k",
                          "at most " + std::to_string(kMaxCudaNeighbors) + " on a device",
                          std::to_string(degree)));
  }
  if (degree == 0) return;
  const torch::Tensor p = positions_m.to(at::kFloat).contiguous();
  const CellGrid grid = GridOver(workspace, members.size());
  const torch::Tensor scratch =
      DeviceScratch(cuda.kernels.GridKnnWorkspaceBytes(grid, members.size()), p);
  cuda.Check(cuda.kernels.LaunchGridKnn(grid, p.const_data_ptr<float>(), members, degree,
                                        scratch.mutable_data_ptr(), MutableInts(neighbors),
                                        cuda.stream_of(p)),
             "grid search");
}

std::shared_ptr<const WalkMask> ExactWalksOnDevice(const CudaBackend& cuda,
                                                   const torch::Tensor& neighbors,
                                                   bool with_transpose) {
  const std::int64_t n = neighbors.size(0), room = n * kMaxWalkRowSize;
  const int degree = static_cast<int>(neighbors.size(1));
  DeviceWalks walks;
  walks.offsets = at::empty({n + 1}, neighbors.options());
  walks.entries = at::empty({room}, neighbors.options());
  auto* const entries = reinterpret_cast<std::uint32_t*>(MutableInts(walks.entries));
  const torch::Tensor scratch = DeviceScratch(cuda.kernels.WalkListsWorkspaceBytes(n), neighbors);
  cuda.Check(cuda.kernels.LaunchWalkLists({neighbors.const_data_ptr<std::int32_t>(), degree}, n,
                                          scratch.mutable_data_ptr(), MutableInts(walks.offsets),
                                          entries, cuda.stream_of(neighbors)),
             "walk lists");
  if (with_transpose) {
    walks.transposed_offsets = at::empty_like(walks.offsets);
    walks.transposed_roots = at::empty_like(walks.entries);
    walks.transposed_entry_index = at::empty_like(walks.entries);
    const torch::Tensor more =
        DeviceScratch(cuda.kernels.TransposeWalkListsWorkspaceBytes(n), neighbors);
    cuda.Check(cuda.kernels.LaunchTransposeWalkLists(
                   n, MutableInts(walks.offsets), entries, more.mutable_data_ptr(),
                   {MutableInts(walks.transposed_offsets), MutableInts(walks.transposed_roots),
                    MutableInts(walks.transposed_entry_index)},
                   cuda.stream_of(neighbors)),
               "transposed walk lists");
  }
  return std::make_shared<WalkMask>(std::move(walks), true, CodeLoads(degree, neighbors));
}

std::shared_ptr<const WalkMask> WeightedWalksOnDevice(const CudaBackend& cuda,
                                                      const InterlacerConfig& config,
                                                      const torch::Tensor& neighbors,
                                                      const torch::Tensor& positions_m,
                                                      bool with_transpose) {
  // Walkers that spread over all walkers with the same past take every walk exactly once.
  InterlacerConfig every_walk = config;
  LocalLayerConfig& local = every_walk.network.local;
  local.sampler = WalkSampler::kRepellingPerPrefix;
  local.walk_count = static_cast<int>(WalkCount(neighbors.size(1)));
  local.halt_probability = 0;
  return SampledWalksOnDevice(cuda, every_walk, neighbors, positions_m, 0, with_transpose);
}

std::shared_ptr<const WalkMask> SampledWalksOnDevice(const CudaBackend& cuda,
                                                     const InterlacerConfig& config,
                                                     const torch::Tensor& neighbors,
                                                     const torch::Tensor& positions_m,
                                                     std::uint64_t seed, bool with_transpose) {
  const LocalLayerConfig& local = config.network.local;
  Edges edges = DirectedEdges(neighbors);
  if (config.graph.symmetrise) edges = UndirectedEdges(edges);
  const torch::Tensor to = edges.to.to(at::kInt);
  const torch::Tensor weights =
      WeightsOf(edges, config.graph.edge_weight, positions_m.to(at::kFloat));
  const std::int64_t n = neighbors.size(0);
  const std::int64_t room = n * SampledRowSize(config, neighbors.size(1));
  DeviceWalks walks;
  walks.offsets = at::empty({n + 1}, neighbors.options());
  walks.entries = at::empty({room}, neighbors.options());
  const torch::Tensor loads =
      at::zeros({room, kMaxHops + 1}, positions_m.options().dtype(at::kFloat));
  const torch::Tensor scratch = DeviceScratch(cuda.kernels.SampleWalksWorkspaceBytes(n), neighbors);
  cuda.Check(
      cuda.kernels.LaunchSampleWalks(
          {edges.offsets.const_data_ptr<std::int32_t>(), to.const_data_ptr<std::int32_t>(),
           weights.const_data_ptr<double>()},
          n, {local.sampler, local.walk_count, kMaxHops, local.halt_probability, seed, 0},
          scratch.mutable_data_ptr(),
          {MutableInts(walks.offsets), MutableInts(walks.entries), loads.mutable_data_ptr<float>()},
          cuda.stream_of(neighbors)),
      "walk sampler");
  if (with_transpose) AddTransposed(&walks);
  return std::make_shared<WalkMask>(std::move(walks), false, loads);
}

}  // namespace interlacer
