#include "render/particle_preview.h"

#include <gtest/gtest.h>

#include <cmath>

namespace interlacer {
namespace {

/// Looks along +z from the origin; a particle at (x, y, 1) projects to (16 + 10 x, 12 + 10 y).
Camera ForwardCamera() {
  Camera camera;
  camera.width_px = 32;
  camera.height_px = 24;
  camera.fx_px = camera.fy_px = 10;
  camera.cx_px = 16;
  camera.cy_px = 12;
  return camera;
}

int Red(const ParticlePreview& preview, int u, int v) {
  return preview.color.pixels[3 * (v * 32 + u)];
}

TEST(ParticlePreviewTest, DiscOfTheStatedRadius) {
  const std::vector<float> positions{0.f, 0.f, 1.f};
  const std::vector<std::uint8_t> colors{10, 20, 30};
  const ParticlePreview preview = *RenderParticlePreview(ForwardCamera(), positions, colors);
  for (int v = 0; v < 24; ++v) {
    for (int u = 0; u < 32; ++u) {
      const bool covered = (u - 16) * (u - 16) + (v - 12) * (v - 12) <= 1.5 * 1.5;
      EXPECT_EQ(Red(preview, u, v), covered ? 10 : 255) << u << "," << v;
      EXPECT_EQ(std::isnan(preview.depth.pixels_m[v * 32 + u]), !covered);
    }
  }
  EXPECT_EQ(preview.depth.pixels_m[12 * 32 + 16], 1.f);
}

TEST(ParticlePreviewTest, NearestWinsInAnyOrderAndTiesGoToTheSmallerIndex) {
  const std::vector<float> positions{0, 0, 2, 0, 0, 1, 0, 0, 1};
  const std::vector<std::uint8_t> colors{50, 0, 0, 60, 0, 0, 70, 0, 0};
  EXPECT_EQ(Red(*RenderParticlePreview(ForwardCamera(), positions, colors), 16, 12), 60);
}

TEST(ParticlePreviewTest, LeavesOutWhatCannotBeSeen) {
  // The last three: rows and columns that no int counts.
  const std::vector<float> positions{0, 0, -1,   NAN, 0,     1, 0, 0,     0,     900, 0,
                                     1, 0, 1e9f, 1,   1e15f, 0, 1, -1e9f, -1e9f, 1};
  const std::vector<std::uint8_t> colors(positions.size(), 0);
  const ParticlePreview preview = *RenderParticlePreview(ForwardCamera(), positions, colors);
  for (const std::uint8_t value : preview.color.pixels) EXPECT_EQ(value, 255);
}

TEST(ParticlePreviewTest, ClipsDiscsAtTheBorder) {
  const std::vector<float> positions{-1.6f, -1.2f, 1.f};
  const std::vector<std::uint8_t> colors{1, 1, 1};
  const ParticlePreview preview =
      *RenderParticlePreview(ForwardCamera(), positions, colors, {.disc_radius_px = 3.1});
  EXPECT_EQ(Red(preview, 0, 0), 1);
  EXPECT_EQ(Red(preview, 3, 0), 1);
  EXPECT_EQ(Red(preview, 4, 0), 255);
  EXPECT_EQ(Red(preview, 31, 0), 255);
}

TEST(ParticlePreviewTest, RefusesWrongShapesAndRadii) {
  const std::vector<float> positions{0, 0, 1};
  const std::vector<std::uint8_t> two{1, 2}, three{1, 2, 3};
  EXPECT_EQ(RenderParticlePreview(ForwardCamera(), positions, two).status().reason(),
            reason::SHAPE_MISMATCH);
  EXPECT_EQ(RenderParticlePreview(ForwardCamera(), positions, three, {.disc_radius_px = 0})
                .status()
                .reason(),
            reason::ARGUMENT_INVALID);
}

}  // namespace
}  // namespace interlacer
