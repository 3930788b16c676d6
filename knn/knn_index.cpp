#include "knn/knn_index.h"

#include <array>
#include <string>

#include "knn/brute_force.h"
#include "knn/faiss_index.h"
#include "knn/grid_index.h"

namespace interlacer {
namespace {

struct BackendName {
  KnnBackend backend;
  std::string_view name;
};
constexpr std::array<BackendName, 4> kBackendNames = {{
    {KnnBackend::kBruteForce, "brute_force"},
    {KnnBackend::kGrid, "grid"},
    {KnnBackend::kFaissFlat, "faiss_flat"},
    {KnnBackend::kFaissIvf, "faiss_ivf"},
}};

}  // namespace

std::string_view KnnBackendName(KnnBackend backend) {
  for (const BackendName& entry : kBackendNames) {
    if (entry.backend == backend) return entry.name;
  }
  return "unknown";
}

StatusOr<KnnBackend> ParseKnnBackend(std::string_view name) {
  std::string names;
  for (const BackendName& entry : kBackendNames) {
    if (entry.name == name) return entry.backend;
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  return Mismatch(reason::ARGUMENT_INVALID, "knn_backend", "one of " + names, std::string(name));
}

bool KnnBackendAvailable(KnnBackend backend) {
  switch (backend) {
    case KnnBackend::kBruteForce:
    case KnnBackend::kGrid:
      return true;
    case KnnBackend::kFaissFlat:
    case KnnBackend::kFaissIvf:
      return FaissAvailable();
  }
  return false;
}

StatusOr<std::unique_ptr<KnnIndex>> MakeKnnIndex(KnnBackend backend) {
  if (!KnnBackendAvailable(backend)) {
    return Unimplemented(
        reason::FEATURE_NOT_BUILT,
        "neighbour back end " + std::string(KnnBackendName(backend)) + ": not in this build");
  }
  std::unique_ptr<KnnIndex> index;
  switch (backend) {
    case KnnBackend::kBruteForce:
      index = std::make_unique<BruteForceIndex>();
      break;
    case KnnBackend::kGrid:
      index = std::make_unique<GridIndex>();
      break;
    case KnnBackend::kFaissFlat:
      index = MakeFaissIndex(FaissKind::kFlat);
      break;
    case KnnBackend::kFaissIvf:
      index = MakeFaissIndex(FaissKind::kIvf);
      break;
  }
  return index;
}

}  // namespace interlacer
