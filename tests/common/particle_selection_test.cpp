#include "common/particle_selection.h"

#include <gtest/gtest.h>

#include <vector>

namespace interlacer {
namespace {

using Indices = std::vector<std::uint32_t>;

TEST(SelectParticles, TakesEveryOneUnasked) {
  EXPECT_EQ(SelectParticles(3, nullptr, {}), (Indices{0, 1, 2}));
  EXPECT_EQ(SelectParticles(0, nullptr, {}), Indices{});
}

TEST(SelectParticles, StridesFromTheFirst) {
  OutputOptions output;
  output.stride = 3;
  EXPECT_EQ(SelectParticles(7, nullptr, output), (Indices{0, 3, 6}));
  output.stride = 0;
  EXPECT_EQ(SelectParticles(2, nullptr, output), (Indices{0, 1}));
}

TEST(SelectParticles, StridesInsideTheRegion) {
  std::vector<float> positions_m;
  for (int i = 0; i < 6; ++i) positions_m.insert(positions_m.end(), {0.1f * i, 0, 0});
  OutputOptions output;
  output.initial_region = Box{{0.05, -1, -1}, {0.45, 1, 1}};
  EXPECT_EQ(SelectParticles(6, positions_m.data(), output), (Indices{1, 2, 3, 4}));
  output.stride = 2;
  EXPECT_EQ(SelectParticles(6, positions_m.data(), output), (Indices{1, 3}));
}

}  // namespace
}  // namespace interlacer
