#include "data/sim/assets.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>

#include "data/sim/simulator.h"
#include "tests/support/must.h"

namespace interlacer::sim {
namespace {

using Triangle = std::array<float, 9>;

std::string MakeStl(const std::vector<Triangle>& triangles) {
  std::string stl(80, '\0');
  const auto count = static_cast<std::uint32_t>(triangles.size());
  stl.append(reinterpret_cast<const char*>(&count), 4);
  for (const Triangle& triangle : triangles) {
    stl.append(12, '\0');
    stl.append(reinterpret_cast<const char*>(triangle.data()), sizeof triangle);
    stl.append(2, '\0');
  }
  return stl;
}

std::uint32_t TriangleCount(const std::string& stl) {
  std::uint32_t count = 0;
  std::memcpy(&count, stl.data() + 80, 4);
  return count;
}

TEST(SimplifyStlTest, DropsTrianglesSmallerThanACell) {
  const Triangle large = {0, 0, 0, 1, 0, 0, 0, 1, 0};
  const Triangle tiny = {0, 0, 0, 0.001f, 0, 0, 0, 0.001f, 0};
  const auto simple = Must(SimplifyStl(MakeStl({large, tiny}), 0.01));
  EXPECT_EQ(TriangleCount(simple), 1u);
}

TEST(SimplifyStlTest, RefusesWhatIsNotABinaryStl) {
  std::string cut = MakeStl({{0, 0, 0, 1, 0, 0, 0, 1, 0}});
  cut.pop_back();
  for (const std::string& bad : {std::string(), std::string("solid x"), cut}) {
    EXPECT_EQ(SimplifyStl(bad, 0.01).status().reason(), reason::FILE_UNREADABLE);
  }
}

TEST(LoadArmMeshesTest, NamesTheMissingFile) {
  const Status meshes = LoadArmMeshes("/nonexistent", KukaIiwa()).status();
  EXPECT_EQ(meshes.reason(), reason::FILE_NOT_FOUND);
  EXPECT_NE(meshes.ToString().find("link_0.stl"), std::string::npos);
}

TEST(LoadArmMeshesTest, ReadsTheRobot) {
  const auto meshes = Must(LoadArmMeshes(DefaultAssetFolder(), KukaIiwa()));
  ASSERT_EQ(meshes.size(), 8u);
  // Enough that the smallest link, the flange, stays round; few enough to draw twenty views a
  // second.
  std::uint32_t total = 0;
  for (const Asset& mesh : meshes) {
    EXPECT_GT(TriangleCount(mesh.bytes), 400u) << mesh.name;
    total += TriangleCount(mesh.bytes);
  }
  EXPECT_LT(total, 12000u);
}

}  // namespace
}  // namespace interlacer::sim
