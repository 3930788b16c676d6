#pragma once

/// Small frames for the tests of carried pixels (render/observed_renderer.h).

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "common/random.h"
#include "common/transforms.h"
#include "render/observed_renderer.h"

namespace interlacer::testing {

inline constexpr float kNoDepth = std::numeric_limits<float>::quiet_NaN();

inline Camera SmallCamera(const Vec3d& eye_m) {
  Camera camera{24, 18, 20, 20, 11.5, 8.5, DistortionModel::kNone, {}, {}};
  camera.world_from_camera = LookAt(eye_m, {0, 0, 0});
  return camera;
}

/// Random colours on a wavy surface about a metre away, a few pixels without depth.
inline ObservedFrame RandomFrame(const Vec3d& eye_m, std::uint64_t seed, double hole_ratio = 0.1) {
  RandomSequence random(seed, RandomStream::kDataGeneration);
  ObservedFrame frame{SmallCamera(eye_m), {24, 18, {}}, {24, 18, {}}};
  for (int i = 0; i < 24 * 18; ++i) {
    for (int c = 0; c < 3; ++c) {
      frame.color.pixels.push_back(static_cast<std::uint8_t>(random.Below(256)));
    }
    const bool is_hole = random.Uniform(0, 1) < hole_ratio;
    frame.depth.pixels_m.push_back(is_hole ? kNoDepth
                                           : static_cast<float>(1 + 0.1 * std::sin(0.5 * i)));
  }
  return frame;
}

inline ObservedRenderer MakeRenderer(std::vector<ObservedFrame> frames) {
  auto renderer = ObservedRenderer::Make(std::move(frames));
  EXPECT_TRUE(renderer.ok()) << renderer.status().ToString();
  return *std::move(renderer);
}

/// A plane z = 0 with its edge beyond the picture, seen from `eye_m`.
inline ObservedFrame TableFrame(const Vec3d& eye_m, std::uint8_t grey) {
  ObservedFrame frame{{64, 48, 60, 60, 31.5, 23.5, DistortionModel::kNone, {}, {}},
                      {64, 48, std::vector<std::uint8_t>(3 * 64 * 48, grey)},
                      {64, 48, {}}};
  frame.camera.world_from_camera = LookAt(eye_m, {0, 0, 0});
  for (int i = 0; i < 64 * 48; ++i) {
    const Vec3d on_ray = Unproject(frame.camera, i % 64, i / 64, 1);
    const double down = eye_m[2] - on_ray[2];
    frame.depth.pixels_m.push_back(down > 0 ? static_cast<float>(eye_m[2] / down) : kNoDepth);
  }
  return frame;
}

/// NaN where NaN.
inline void ExpectSameDepth(const DepthImage& a, const DepthImage& b) {
  ASSERT_EQ(a.pixels_m.size(), b.pixels_m.size());
  EXPECT_EQ(std::memcmp(a.pixels_m.data(), b.pixels_m.data(), a.pixels_m.size() * sizeof(float)),
            0);
}

inline std::vector<float> Moved(std::vector<float> positions_m, std::size_t every, float by_m) {
  for (std::size_t i = 0; i < positions_m.size(); i += 3 * every) positions_m[i] += by_m;
  return positions_m;
}

}  // namespace interlacer::testing
