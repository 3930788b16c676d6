#include "data/sim/split.h"

#include <gtest/gtest.h>

#include <cmath>

#include "data/sim/scene.h"

namespace interlacer::sim {
namespace {

/// Smallest distance in RGB between a colour of one set and one of the other.
constexpr double kColorSetGap = 0.15;

std::vector<NamedColor> AllColors(ColorSet set) {
  std::vector<NamedColor> all;
  for (const auto colors : {BlockColors(set), ObjectColors(set), DistractorColors(set)}) {
    all.insert(all.end(), colors.begin(), colors.end());
  }
  return all;
}

double ColorDistance(const Rgb& a, const Rgb& b) {
  return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

TEST(SplitTest, NamesThereAndBack) {
  for (const Split split : {Split::kTrain, Split::kVal, Split::kTest}) {
    const StatusOr<Split> parsed = ParseSplit(NameOf(split));
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(*parsed, split);
  }
  EXPECT_EQ(ParseSplit("exam").status().field(), "split");
}

TEST(SplitTest, TestColorsAreFarFromTrainingColors) {
  for (const NamedColor& seen : AllColors(ColorsOf(Split::kTrain))) {
    for (const NamedColor& unseen : AllColors(ColorsOf(Split::kTest))) {
      EXPECT_GT(ColorDistance(seen.color, unseen.color), kColorSetGap)
          << seen.name << " " << unseen.name;
      EXPECT_STRNE(seen.name, unseen.name);
    }
  }
  EXPECT_EQ(ColorsOf(Split::kVal), ColorsOf(Split::kTrain));
}

TEST(SplitTest, TestCamerasStandWhereTrainingCamerasNeverDo) {
  for (std::uint32_t draw = 0; draw < 50; ++draw) {
    for (const Split split : {Split::kTrain, Split::kVal, Split::kTest}) {
      RandomSequence random(1, RandomStream::kDataGeneration, draw);
      const Scene scene = DrawRoom(random, split, 64, 48);
      for (std::size_t c = 0; c < scene.cameras.size(); ++c) {
        const Vec3d& eye_m = scene.cameras[c].camera.world_from_camera.translation_m;
        for (int i = 0; i < 3; ++i) {
          const double offset_m = std::abs(eye_m[i] - kCameraPlacesM[c][i]);
          if (split == Split::kTest) {
            EXPECT_GE(offset_m, kHeldOutCameraMinM - 1e-9);
            EXPECT_LE(offset_m, kHeldOutCameraMaxM + 1e-9);
          } else {
            EXPECT_LE(offset_m, kCameraJitterM + 1e-9);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace interlacer::sim
