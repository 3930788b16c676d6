#include "bench/peers/knn_libraries.h"

#if INTERLACER_WITH_FAISS
#include <faiss/Index.h>
#include <faiss/IndexFlat.h>

#define INTERLACER_TEXT_(x) #x
#define INTERLACER_TEXT(x) INTERLACER_TEXT_(x)

namespace interlacer::bench {
namespace {

std::vector<std::int32_t> Search(std::span<const float> positions_m, int k) {
  const auto n = static_cast<faiss::Index::idx_t>(positions_m.size() / 3);
  faiss::IndexFlatL2 index(3);
  index.add(n, positions_m.data());
  std::vector<faiss::Index::idx_t> found(n * (k + 1));
  std::vector<float> sq_dist_m2(n * (k + 1));
  index.search(n, positions_m.data(), k + 1, sq_dist_m2.data(), found.data());
  std::vector<std::int32_t> neighbors(n * k);
  for (faiss::Index::idx_t i = 0; i < n; ++i) {
    for (int e = 0, kept = 0; e <= k && kept < k; ++e) {
      const faiss::Index::idx_t j = found[i * (k + 1) + e];
      if (j != i) neighbors[i * k + kept++] = static_cast<std::int32_t>(j);
    }
  }
  return neighbors;
}

}  // namespace

KnnLibrary FaissFlat() {
  return {"faiss",
          "faiss " INTERLACER_TEXT(FAISS_VERSION_MAJOR) "." INTERLACER_TEXT(
              FAISS_VERSION_MINOR) "." INTERLACER_TEXT(FAISS_VERSION_PATCH),
          &Search, ""};
}

}  // namespace interlacer::bench

#else

namespace interlacer::bench {

KnnLibrary FaissFlat() { return {"faiss", "", nullptr, "built without FAISS"}; }

}  // namespace interlacer::bench

#endif
