#pragma once

/// Nearest-neighbour searches of other libraries, each in the setting in which it is quickest here.
/// Every one builds its index, finds the k nearest points of every point without the point itself
/// and returns them [n,k]. Threads: the pool's (common/thread_pool.h) or OpenMP's, as many.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "knn/knn_index.h"

namespace interlacer::bench {

struct KnnLibrary {
  std::string name;
  std::string version;
  std::function<std::vector<std::int32_t>(std::span<const float> positions_m, int k)>
      build_and_query;  ///< empty when not in this build
  std::string missing;
};

std::vector<KnnLibrary> KnnLibraries();

// One file each.
KnnLibrary Nanoflann();
/// kFaissFlat or kFaissIvf, as a model may choose them.
KnnLibrary Faiss(KnnBackend index);
KnnLibrary Open3dTree();

}  // namespace interlacer::bench
