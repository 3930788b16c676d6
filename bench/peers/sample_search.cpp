#include "bench/peers/sample_search.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "bench/child_peer.h"

#if __has_include(<nanoflann.hpp>)
#include "bench/peers/nanoflann_tree.h"
#include "common/thread_pool.h"

namespace interlacer::bench {

bool SampleSearchAvailable() { return true; }

struct SampleSearch::Tree {
  explicit Tree(std::span<const float> positions_m)
      : points{positions_m}, index(3, points, NanoflannParams()) {}
  PointsView points;
  NanoflannTree index;
};

SampleSearch::SampleSearch(std::span<const float> positions_m)
    : tree_(std::make_unique<Tree>(positions_m)) {}
SampleSearch::~SampleSearch() = default;

at::Tensor SampleSearch::Nearest(const at::Tensor& points_m, int k) const {
  constexpr std::int64_t kQueriesAtOnce = 256;
  const at::Tensor points = points_m.detach().contiguous();
  const at::Tensor found = at::empty({points.size(0), points.size(1), k}, at::kLong);
  const float* queries = points.const_data_ptr<float>();
  std::int64_t* rows = found.mutable_data_ptr<std::int64_t>();
  ParallelFor(points.numel() / 3, kQueriesAtOnce, [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::uint32_t> indices(k);
    std::vector<float> sq_dist_m2(k);
    for (std::int64_t i = begin; i < end; ++i) {
      tree_->index.knnSearch(queries + 3 * i, k, indices.data(), sq_dist_m2.data());
      for (int e = 0; e < k; ++e) rows[i * k + e] = indices[e];
    }
  });
  return found;
}

}  // namespace interlacer::bench

#else

namespace interlacer::bench {

bool SampleSearchAvailable() { return false; }

struct SampleSearch::Tree {};
SampleSearch::SampleSearch(std::span<const float>) {
  throw PeerError("built without nanoflann.hpp");
}
SampleSearch::~SampleSearch() = default;
at::Tensor SampleSearch::Nearest(const at::Tensor&, int) const { return {}; }

}  // namespace interlacer::bench

#endif
