#include "data/sim/assets.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>

#include "common/file_io.h"

namespace interlacer::sim {
namespace {

// Binary STL: 80 bytes of header, triangle count, then per triangle a normal, three corners
// (float32) and two bytes of attributes.
constexpr std::size_t kStlHeaderBytes = 80;
constexpr std::size_t kStlTriangleBytes = 50;
constexpr std::size_t kStlCornerOffset = 12;

using Cell = std::array<int, 3>;
using Corner = Vec3f;

struct Cluster {
  std::array<double, 3> sum{};
  int count = 0;
};

Cell CellOf(const Corner& corner, double cell_m) {
  Cell cell;
  for (int i = 0; i < 3; ++i) cell[i] = static_cast<int>(std::floor(corner[i] / cell_m));
  return cell;
}

}  // namespace

StatusOr<std::vector<std::array<Vec3f, 3>>> ReadStl(const std::string& stl_bytes) {
  std::uint32_t count = 0;
  if (stl_bytes.size() >= kStlHeaderBytes + 4) {
    std::memcpy(&count, stl_bytes.data() + kStlHeaderBytes, 4);
  }
  const std::size_t expected = kStlHeaderBytes + 4 + std::size_t{count} * kStlTriangleBytes;
  if (count == 0 || stl_bytes.size() != expected) {
    return Mismatch(reason::FILE_UNREADABLE, "stl",
                    std::to_string(expected) + " bytes of binary STL",
                    std::to_string(stl_bytes.size()) + " bytes");
  }
  std::vector<std::array<Corner, 3>> triangles(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = kStlHeaderBytes + 4 + i * kStlTriangleBytes + kStlCornerOffset;
    std::memcpy(triangles[i].data(), stl_bytes.data() + at, sizeof triangles[i]);
  }
  return triangles;
}

StatusOr<std::string> SimplifyStl(const std::string& stl_bytes, double cell_m) {
  INTERLACER_ASSIGN_OR_RETURN(const auto triangles, ReadStl(stl_bytes));
  std::map<Cell, Cluster> clusters;
  for (const auto& triangle : triangles) {
    for (const Corner& corner : triangle) {
      Cluster& cluster = clusters[CellOf(corner, cell_m)];
      for (int i = 0; i < 3; ++i) cluster.sum[i] += corner[i];
      ++cluster.count;
    }
  }
  std::string out(stl_bytes.data(), kStlHeaderBytes);
  std::uint32_t kept = 0;
  out.append(4, '\0');
  for (const auto& triangle : triangles) {
    std::array<Cell, 3> cells;
    for (int k = 0; k < 3; ++k) cells[k] = CellOf(triangle[k], cell_m);
    if (cells[0] == cells[1] || cells[1] == cells[2] || cells[2] == cells[0]) continue;
    std::array<char, kStlTriangleBytes> record{};
    for (int k = 0; k < 3; ++k) {
      const Cluster& cluster = clusters[cells[k]];
      Corner mean;
      for (int i = 0; i < 3; ++i) mean[i] = static_cast<float>(cluster.sum[i] / cluster.count);
      std::memcpy(record.data() + kStlCornerOffset + k * sizeof mean, mean.data(), sizeof mean);
    }
    out.append(record.data(), record.size());
    ++kept;
  }
  std::memcpy(out.data() + kStlHeaderBytes, &kept, 4);
  return out;
}

StatusOr<std::vector<Asset>> LoadArmMeshes(const std::filesystem::path& asset_folder,
                                           const ArmModel& model) {
  std::vector<std::string> names;
  for (int link = 0; link <= kJointCount; ++link) names.push_back(model.LinkMeshFile(link));
  for (const std::string_view mesh : model.gripper_meshes) {
    names.push_back(std::string(mesh) + ".stl");
  }
  std::vector<Asset> meshes;
  for (const std::string& name : names) {
    const std::filesystem::path path = asset_folder / model.mesh_folder / name;
    INTERLACER_ASSIGN_OR_RETURN(std::string bytes, ReadTextFile(path.string()));
    INTERLACER_ASSIGN_OR_RETURN(const auto triangles, ReadStl(bytes));
    if (triangles.size() > kMaxKeptTriangles) {
      INTERLACER_ASSIGN_OR_RETURN(bytes, SimplifyStl(bytes, kMeshCellM));
    }
    meshes.push_back({name, std::move(bytes)});
  }
  return meshes;
}

StatusOr<Asset> LoadTexture(const std::filesystem::path& asset_folder, const std::string& name) {
  INTERLACER_ASSIGN_OR_RETURN(std::string bytes,
                              ReadTextFile((asset_folder / "textures" / name).string()));
  return Asset{name, std::move(bytes)};
}

}  // namespace interlacer::sim
