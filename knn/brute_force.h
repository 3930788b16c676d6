#pragma once

/// Nearest neighbours by brute force over all pairs: the reference for the other back ends.
///
/// Contract of knn/knn_index.h, in O(n^2 log k); for tests and small clouds.

#include "knn/knn_index.h"

namespace interlacer {

class BruteForceIndex : public KnnIndex {
 public:
  StatusOr<KnnGraph> Graph(std::span<const float> positions_m, int k) const override;
};

/// Squared distance of two points as every exact back end rounds it.
float SquaredDistance(const float* a_m, const float* b_m);

}  // namespace interlacer
