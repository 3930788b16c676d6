#include "bench/peers/knn_libraries.h"

#if INTERLACER_WITH_OPEN3D
#include <open3d/geometry/KDTreeFlann.h>

#include "common/thread_pool.h"

namespace interlacer::bench {
namespace {

constexpr std::int64_t kQueriesAtOnce = 1024;

std::vector<std::int32_t> Search(std::span<const float> positions_m, int k) {
  const auto n = static_cast<std::int64_t>(positions_m.size() / 3);
  const Eigen::MatrixXd points =
      Eigen::Map<const Eigen::MatrixXf>(positions_m.data(), 3, n).cast<double>();
  open3d::geometry::KDTreeFlann tree;
  tree.SetMatrixData(points);
  std::vector<std::int32_t> neighbors(n * k);
  ParallelFor(n, kQueriesAtOnce, [&](std::int64_t begin, std::int64_t end) {
    std::vector<int> found(k + 1);
    std::vector<double> sq_dist_m2(k + 1);
    for (std::int64_t i = begin; i < end; ++i) {
      const Eigen::Vector3d point = points.col(i);
      const int count = tree.SearchKNN(point, k + 1, found, sq_dist_m2);
      for (int e = 0, kept = 0; e < count && kept < k; ++e) {
        if (found[e] != i) neighbors[i * k + kept++] = found[e];
      }
    }
  });
  return neighbors;
}

}  // namespace

KnnLibrary Open3dTree() {
  return {"open3d", "open3d " INTERLACER_BENCH_OPEN3D_VERSION, &Search, ""};
}

}  // namespace interlacer::bench

#else

namespace interlacer::bench {

KnnLibrary Open3dTree() { return {"open3d", "", nullptr, "built without Open3D"}; }

}  // namespace interlacer::bench

#endif
