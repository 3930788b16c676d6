#include "server/convert/responses.h"

#include <gtest/gtest.h>

#include <limits>

namespace interlacer::testing {
namespace {

/// Of all particles, not only of those that are sent.
TEST(PackParticles, RefusesPositionsThatAreNotFinite) {
  Particles particles{2, {1, 2, 3, 4, 5, 6}, {0, 0, 0, 255, 255, 255}};
  OutputOptions output;
  output.include_positions = true;
  const Box box{{0, 0, 0}, {10, 10, 10}};
  wire::ParticleCloud cloud;
  ASSERT_TRUE(PackParticles(particles, 4, {0}, output, box, &cloud).ok());
  EXPECT_EQ(cloud.particle_count(), 1);

  particles.positions_m[5] = std::numeric_limits<float>::infinity();
  wire::ParticleCloud untouched;
  const Status status = PackParticles(particles, 4, {0}, output, box, &untouched);
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_EQ(status.reason(), reason::PREDICTION_NOT_FINITE);
  EXPECT_EQ(status.metadata().at("step"), "4");
  EXPECT_EQ(untouched.ByteSizeLong(), 0u);
}

}  // namespace
}  // namespace interlacer::testing
