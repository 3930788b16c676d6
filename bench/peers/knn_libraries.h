#pragma once

/// Nearest-neighbour searches of other libraries, each with the options that are fastest here. Each
/// builds its index, finds the k nearest other points of every point and returns them [n,k].
/// Threads: the pool's (common/thread_pool.h), or the same number of OpenMP threads.

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
      build_and_query;  ///< empty if not in this build
  std::string missing;
};

std::vector<KnnLibrary> KnnLibraries();

// One file per library.
KnnLibrary Nanoflann();
/// kFaissFlat or kFaissIvf, as a model can choose them.
KnnLibrary Faiss(KnnBackend index);
KnnLibrary Open3dTree();

}  // namespace interlacer::bench
