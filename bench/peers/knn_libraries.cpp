#include "bench/peers/knn_libraries.h"

namespace interlacer::bench {

std::vector<KnnLibrary> KnnLibraries() { return {Nanoflann(), FaissFlat(), Open3dTree()}; }

}  // namespace interlacer::bench
