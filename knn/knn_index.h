#pragma once

/// The k nearest other points of every point of a cloud.
///   positions_m  [n,3] float32, world frame, finite
/// Ties: smaller squared distance, then smaller index; squared distance is
/// fma(dz,dz,fma(dy,dy,dx*dx)) in fp32 in every exact back end, so they agree to the bit. Self is
/// excluded by index, never by distance: coincident points are each other's neighbours.
/// Errors: those of knn/cloud_checks.h.
/// n <= k gives out-degree n-1; n = 0 an empty graph. Threads: const methods may run together.
/// Source: grf-masking, App. C.3 (k = 3).

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "common/status.h"
#include "knn/knn_graph.h"

namespace interlacer {

enum class KnnBackend {
  kGrid,       ///< exact uniform grid
  kFaissFlat,  ///< exact up to FAISS's own distance arithmetic
  kFaissIvf,   ///< approximate
};

constexpr std::string_view KnnBackendName(KnnBackend backend) {
  switch (backend) {
    case KnnBackend::kGrid:
      return "grid";
    case KnnBackend::kFaissFlat:
      return "faiss_flat";
    case KnnBackend::kFaissIvf:
      return "faiss_ivf";
  }
  return "unknown";
}
/// False when not compiled in.
bool KnnBackendAvailable(KnnBackend backend);

class KnnIndex {
 public:
  virtual ~KnnIndex() = default;
  virtual StatusOr<KnnGraph> Graph(std::span<const float> positions_m, int k) const = 0;
};

/// UNIMPLEMENTED FEATURE_NOT_BUILT when the back end is not available.
StatusOr<std::unique_ptr<KnnIndex>> MakeKnnIndex(KnnBackend backend);

}  // namespace interlacer
