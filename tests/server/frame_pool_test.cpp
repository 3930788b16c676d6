/// Memory of frames that goes from call to call.

#include "server/calls/frame_pool.h"

#include <gtest/gtest.h>

namespace interlacer {
namespace {

SceneInput SceneOfPixels(std::size_t pixels) {
  SceneInput scene;
  scene.observations.resize(1);
  scene.observations[0].views.resize(1);
  scene.observations[0].views[0].depth.pixels_m.resize(pixels);
  return scene;
}

const float* DepthOf(const SceneInput& scene) {
  return scene.observations[0].views[0].depth.pixels_m.data();
}

TEST(FramePoolTest, TheLastGivenIsTakenFirst) {
  FramePool pool(2, 1000);
  SceneInput first = SceneOfPixels(10), second = SceneOfPixels(10);
  const float *first_depth = DepthOf(first), *second_depth = DepthOf(second);
  pool.Give(std::move(first));
  pool.Give(std::move(second));
  EXPECT_EQ(DepthOf(pool.Take()), second_depth);
  EXPECT_EQ(DepthOf(pool.Take()), first_depth);
  EXPECT_TRUE(pool.Take().observations.empty());
}

TEST(FramePoolTest, KeepsFewScenesOfModerateSize) {
  FramePool pool(1, 1000);
  pool.Give(SceneOfPixels(251));  // 1004 bytes
  EXPECT_TRUE(pool.Take().observations.empty());
  pool.Give(SceneOfPixels(250));
  pool.Give(SceneOfPixels(250));
  EXPECT_FALSE(pool.Take().observations.empty());
  EXPECT_TRUE(pool.Take().observations.empty());
}

}  // namespace
}  // namespace interlacer
