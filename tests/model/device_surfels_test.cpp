/// Observed pixels drawn on a device (tests/model/test_device.h) against the host's, bit by bit.

#include "model/ops/device_surfels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "tests/model/test_device.h"
#include "tests/support/observed_frames.h"

namespace interlacer::testing {
namespace {

void ExpectEqual(const ObservedPicture& got, const ObservedPicture& expected) {
  EXPECT_EQ(got.color.pixels, expected.color.pixels);
  EXPECT_EQ(got.coverage, expected.coverage);
  ASSERT_EQ(got.depth.pixels_m.size(), expected.depth.pixels_m.size());
  for (std::size_t i = 0; i < got.depth.pixels_m.size(); ++i) {
    const float got_m = got.depth.pixels_m[i], expected_m = expected.depth.pixels_m[i];
    EXPECT_TRUE(std::isnan(expected_m) ? std::isnan(got_m) : got_m == expected_m) << "pixel " << i;
  }
}

/// The same pictures of both, in recorded and free cameras, of still, moved and lost surfels.
void ExpectSamePictures(const std::vector<ObservedFrame>& frames) {
  const TestDevice device;
  const ObservedRenderer on_host = MakeRenderer(frames);
  ObservedRenderer on_device = MakeRenderer(frames);
  on_device.DrawBy(std::make_shared<DeviceSurfels>(on_device, *device.cuda(), device.place()));
  std::vector<Camera> cameras{SmallCamera({0.3, -0.9, 0.5})};
  for (const ObservedFrame& frame : frames) cameras.push_back(frame.camera);
  std::vector<float> lost_m = Moved(on_host.positions_m(), 3, 0.03F);
  for (std::size_t i = 0; i < lost_m.size(); i += 12) lost_m[i] = std::nanf("");
  for (const std::vector<float>& positions_m :
       {on_host.positions_m(), Moved(on_host.positions_m(), 2, 0.05F), lost_m}) {
    for (const Camera& camera : cameras) {
      ExpectEqual(*on_device.RenderNearestFirst(camera, positions_m),
                  *on_host.RenderNearestFirst(camera, positions_m));
    }
  }
}

TEST(DeviceSurfels, DrawWhatTheHostDraws) {
  INTERLACER_SKIP_WITHOUT_TEST_DEVICE();
  ExpectSamePictures({RandomFrame({0, -1, 0.4}, 1), RandomFrame({0.5, -0.8, 0.4}, 2)});
}

TEST(DeviceSurfels, WithoutAPixelOfDepth) {
  INTERLACER_SKIP_WITHOUT_TEST_DEVICE();
  ExpectSamePictures({RandomFrame({0, -1, 0.4}, 3, /*hole_ratio=*/2)});
}

}  // namespace
}  // namespace interlacer::testing
