#include "bench/peers/knn_libraries.h"

#if __has_include(<nanoflann.hpp>)
#include <cstdio>

#include "bench/peers/nanoflann_tree.h"
#include "common/thread_pool.h"

namespace interlacer::bench {
namespace {

constexpr std::int64_t kQueriesAtOnce = 1024;

std::vector<std::int32_t> Search(std::span<const float> positions_m, int k) {
  const PointsView points{positions_m};
  const auto n = static_cast<std::int64_t>(points.kdtree_get_point_count());
  const NanoflannTree tree(3, points, NanoflannParams());
  std::vector<std::int32_t> neighbors(n * k);
  ParallelFor(n, kQueriesAtOnce, [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::uint32_t> found(k + 1);
    std::vector<float> sq_dist_m2(k + 1);
    for (std::int64_t i = begin; i < end; ++i) {
      tree.knnSearch(&positions_m[3 * i], k + 1, found.data(), sq_dist_m2.data());
      std::int32_t* row = &neighbors[i * k];
      for (int e = 0, kept = 0; e <= k && kept < k; ++e) {
        if (found[e] != static_cast<std::uint32_t>(i)) row[kept++] = static_cast<int>(found[e]);
      }
    }
  });
  return neighbors;
}

}  // namespace

KnnLibrary Nanoflann() {
  char version[32];
  std::snprintf(version, sizeof(version), "nanoflann %x.%x.%x", NANOFLANN_VERSION >> 8,
                (NANOFLANN_VERSION >> 4) & 15, NANOFLANN_VERSION & 15);
  return {"nanoflann", version, &Search, ""};
}

}  // namespace interlacer::bench

#else

namespace interlacer::bench {

KnnLibrary Nanoflann() { return {"nanoflann", "", nullptr, "built without nanoflann.hpp"}; }

}  // namespace interlacer::bench

#endif
