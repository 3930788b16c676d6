#include "render/surface_shell.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "common/transforms.h"

namespace interlacer {
namespace {

constexpr int kWidth = 64, kHeight = 48;
constexpr float kNotMeasured = std::numeric_limits<float>::quiet_NaN();

/// Looks down the z axis of the world from above: column along x, row along -y.
Camera CameraAbove() {
  Camera camera{kWidth, kHeight, 60, 60, 31.5, 23.5, DistortionModel::kNone, {}, {}};
  camera.world_from_camera = LookAt({0, 0, 1}, {0, 0, 0}, {0, 1, 0});
  return camera;
}

/// A square plate of 20 cm, points 2 cm apart, that faces up in the frame of piece 0.
struct Plate {
  std::vector<Vec3f> positions_m, normals;
  std::vector<std::int64_t> pieces;

  Plate() {
    for (int i = 0; i < 121; ++i) {
      positions_m.push_back(
          {0.02f * static_cast<float>(i % 11 - 5), 0.02f * static_cast<float>(i / 11 - 5), 0});
      normals.push_back({0, 0, 1});
      pieces.push_back(0);
    }
  }
  ShellPoints points() const { return {positions_m, normals, pieces}; }
};

/// Sees a grey table at z = 0 and, where `is_plate`, a red plate at its height.
ObservedRenderer Seen(float plate_z_m) {
  ObservedFrame frame{CameraAbove(),
                      {kWidth, kHeight, std::vector<std::uint8_t>(3 * kWidth * kHeight, 100)},
                      {kWidth, kHeight, std::vector<float>(kWidth * kHeight, 1)}};
  for (int i = 0; i < kWidth * kHeight; ++i) {
    const bool is_plate = std::abs(i % kWidth - 31.5) < 7 && std::abs(i / kWidth - 23.5) < 7;
    if (!is_plate) continue;
    frame.depth.pixels_m[i] = 1 - plate_z_m;
    frame.color.pixels[3 * i] = 200;
  }
  return *ObservedRenderer::Make({frame});
}

std::vector<std::int32_t> PiecesOf(const ObservedRenderer& seen) {
  std::vector<std::int32_t> pieces;
  for (std::int64_t i = 0; i < seen.count(); ++i)
    pieces.push_back(seen.rgb()[3 * i] == 200 ? 0 : -1);
  return pieces;
}

constexpr float kPlateZM = 0.1f;
const std::vector<Transform> kStart{{{0, 0, kPlateZM}, {0, 0, 0, 1}}};
const std::vector<Transform> kMoved{{{0.1, 0, kPlateZM}, {0, 0, 0, 1}}};
constexpr std::size_t kBesideCentre = 24 * kWidth + 42;  // above the plate once it has moved

TEST(SurfaceShell, CoversWhatLiesBehindAMovedPieceInTheColoursSeenOnIt) {
  const ObservedRenderer seen = Seen(kPlateZM);
  const SurfaceShell shell = SurfaceShell::Make(Plate().points(), kStart, seen, PiecesOf(seen));
  // The pixels of the plate are left out, as if it had never been seen from here: a torn piece.
  std::vector<float> positions_m = seen.positions_m();
  for (std::int64_t i = 0; i < seen.count(); ++i) {
    if (seen.rgb()[3 * i] == 200) positions_m[3 * i] = kNotMeasured;
  }
  ObservedPicture picture = *seen.Render(CameraAbove(), positions_m);
  EXPECT_NEAR(picture.depth.pixels_m[kBesideCentre], 1, 1e-3);
  ASSERT_TRUE(shell.FillGaps(CameraAbove(), kMoved, &picture).ok());
  EXPECT_NEAR(picture.depth.pixels_m[kBesideCentre], 1 - kPlateZM, 1e-3);
  EXPECT_NEAR(picture.color.pixels[3 * kBesideCentre], 200.0 / 255, 0.01);
  EXPECT_NEAR(picture.color.pixels[3 * kBesideCentre + 1], 100.0 / 255, 0.01);
  // No farther than the plate reaches.
  EXPECT_NEAR(picture.depth.pixels_m[24 * kWidth + 50], 1, 1e-3);
}

TEST(SurfaceShell, UnmovedPiecesAndWhatIsInFrontChangeNothing) {
  const ObservedRenderer seen = Seen(kPlateZM);
  const SurfaceShell shell = SurfaceShell::Make(Plate().points(), kStart, seen, PiecesOf(seen));
  const ObservedPicture before = *seen.Render(CameraAbove(), seen.positions_m());
  ObservedPicture picture = before;
  ASSERT_TRUE(shell.FillGaps(CameraAbove(), kStart, &picture).ok());
  EXPECT_EQ(picture.color.pixels, before.color.pixels);

  const std::vector<Transform> below{{{0, 0, -0.2}, {0, 0, 0, 1}}};
  ASSERT_TRUE(shell.FillGaps(CameraAbove(), below, &picture).ok());
  EXPECT_EQ(picture.color.pixels, before.color.pixels);
}

TEST(SurfaceShell, ShowsNoBackAndNothingWithoutASeenColour) {
  const ObservedRenderer seen = Seen(kPlateZM);
  const SurfaceShell shell = SurfaceShell::Make(Plate().points(), kStart, seen, PiecesOf(seen));
  const std::vector<Transform> turned{{{0, 0, 0.3}, {1, 0, 0, 0}}};
  const ObservedPicture back = *shell.Render(CameraAbove(), turned);
  EXPECT_THAT(back.coverage, ::testing::Each(0));
  const SurfaceShell unseen = SurfaceShell::Make(Plate().points(), kStart, seen,
                                                 std::vector<std::int32_t>(seen.count(), -1));
  EXPECT_THAT(unseen.Render(CameraAbove(), kMoved)->coverage, ::testing::Each(0));
}

TEST(SurfaceShell, PointsThatNobodySawTakeTheColourOfTheNearestSeenOne) {
  const ObservedRenderer seen = Seen(kPlateZM);
  std::vector<std::int32_t> half = PiecesOf(seen);
  for (std::int64_t i = 0; i < seen.count(); ++i) {
    if (seen.positions_m()[3 * i] > 0) half[i] = -1;
  }
  const SurfaceShell shell = SurfaceShell::Make(Plate().points(), kStart, seen, half);
  const ObservedPicture picture = *shell.Render(CameraAbove(), kMoved);
  EXPECT_NEAR(picture.color.pixels[3 * (24 * kWidth + 42)], 200.0 / 255, 0.01);
}

}  // namespace
}  // namespace interlacer
