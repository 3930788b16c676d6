#pragma once

/// A mesh file (STL, DAE, OBJ, glTF and what else assimp reads) as triangles, in metres where the
/// file says its unit; the only door of assimp.
///
/// The axes are the file's own: as every reader of URDF does, COLLADA's up direction is ignored.
/// Errors: INVALID_ARGUMENT FILE_UNREADABLE with assimp's words. Thread-safe; a stream, one thread.

#include <string>

#include "common/status.h"
#include "robots/surface_sampler.h"

namespace interlacer {

/// More triangles than this are refused, instances of one mesh counted each.
inline constexpr std::int64_t kMaxMeshTriangles = 4'000'000;

StatusOr<TriangleStream> ReadMesh(const std::string& path);

}  // namespace interlacer
