#include "robots/mesh_file.h"

#include <assimp/config.h>
#include <assimp/postprocess.h>
#include <assimp/scene.h>

#include <assimp/Importer.hpp>
#include <cmath>
#include <memory>

namespace interlacer {
namespace {

/// One mesh at one place of the scene.
struct Instance {
  const aiMesh* mesh;
  aiMatrix4x4 file_from_mesh;
};

struct Scene {
  Assimp::Importer importer;
  std::vector<Instance> instances;
};

Status Refused(const std::string& problem) {
  return InvalidArgument(reason::FILE_UNREADABLE, problem);
}

/// Lists the meshes below `node`; false when there are more triangles than may be.
bool ListInstances(const aiScene& scene, const aiNode& node, const aiMatrix4x4& file_from_parent,
                   std::int64_t* triangle_count, std::vector<Instance>* instances) {
  const aiMatrix4x4 file_from_node = file_from_parent * node.mTransformation;
  for (unsigned i = 0; i < node.mNumMeshes; ++i) {
    const aiMesh* const mesh = scene.mMeshes[node.mMeshes[i]];
    *triangle_count += mesh->mNumFaces;
    instances->push_back({mesh, file_from_node});
  }
  for (unsigned i = 0; i < node.mNumChildren; ++i) {
    if (*triangle_count > kMaxMeshTriangles ||
        !ListInstances(scene, *node.mChildren[i], file_from_node, triangle_count, instances)) {
      return false;
    }
  }
  return *triangle_count <= kMaxMeshTriangles;
}

/// Whether every corner of every face is a vertex with finite coordinates.
bool IsSound(const aiMesh& mesh) {
  for (unsigned i = 0; i < mesh.mNumVertices; ++i) {
    const aiVector3D& v = mesh.mVertices[i];
    if (!std::isfinite(v.x) || !std::isfinite(v.y) || !std::isfinite(v.z)) return false;
  }
  for (unsigned i = 0; i < mesh.mNumFaces; ++i) {
    const aiFace& face = mesh.mFaces[i];
    for (unsigned k = 0; k < face.mNumIndices; ++k) {
      if (face.mIndices[k] >= mesh.mNumVertices) return false;
    }
  }
  return true;
}

void StreamInstance(const Instance& instance, const TriangleSink& sink) {
  for (unsigned i = 0; i < instance.mesh->mNumFaces; ++i) {
    const aiFace& face = instance.mesh->mFaces[i];
    if (face.mNumIndices != 3) continue;  // points and lines have no surface
    Triangle triangle;
    for (int k = 0; k < 3; ++k) {
      const aiVector3D p = instance.file_from_mesh * instance.mesh->mVertices[face.mIndices[k]];
      triangle[k] = {p.x, p.y, p.z};
    }
    sink(triangle);
  }
}

}  // namespace

StatusOr<TriangleStream> ReadMesh(const std::string& path) {
  const auto scene = std::make_shared<Scene>();
  scene->importer.SetPropertyBool(AI_CONFIG_IMPORT_COLLADA_IGNORE_UP_DIRECTION, true);
  const aiScene* const read = scene->importer.ReadFile(path, aiProcess_Triangulate);
  if (read == nullptr) return Refused(scene->importer.GetErrorString());
  if (read->mRootNode == nullptr || read->mNumMeshes == 0) return Refused("no mesh in it");
  std::int64_t triangle_count = 0;
  if (!ListInstances(*read, *read->mRootNode, aiMatrix4x4(), &triangle_count, &scene->instances)) {
    return Refused("expected at most " + std::to_string(kMaxMeshTriangles) +
                   " triangles, got more");
  }
  for (unsigned i = 0; i < read->mNumMeshes; ++i) {
    if (!IsSound(*read->mMeshes[i])) {
      return Refused("expected faces of finite vertices, got others");
    }
  }
  return TriangleStream([scene](const TriangleSink& sink) {
    for (const Instance& instance : scene->instances) StreamInstance(instance, sink);
  });
}

}  // namespace interlacer
