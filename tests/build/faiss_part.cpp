#include <faiss/IndexFlat.h>

#include <array>

#include "tests/build/parts.h"

namespace interlacer::one_process {

long FaissNearestToSeven() {
  std::array<float, 30> points{};
  for (int i = 0; i < 10; ++i) points[3 * i] = static_cast<float>(i);
  faiss::IndexFlatL2 index(3);
  index.add(10, points.data());

  const std::array<float, 3> query{7.0F, 0.0F, 0.0F};
  float sq_dist = -1.0F;
  faiss::Index::idx_t nearest = -1;
  index.search(1, query.data(), 1, &sq_dist, &nearest);
  return static_cast<long>(nearest);
}

}  // namespace interlacer::one_process
