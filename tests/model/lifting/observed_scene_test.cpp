/// Observed pixels of a scene: which are carried, what carries them, and where the field fills in.

#include "model/lifting/observed_scene.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/transforms.h"
#include "data/rectified_view.h"
#include "robots/forward_kinematics.h"
#include "tests/robots/small_robot.h"
#include "tests/support/must.h"
#include "tests/support/painted_plane.h"

namespace interlacer::testing {
namespace {

constexpr float kNoDepth = std::numeric_limits<float>::quiet_NaN();
/// Left half of an image: without depth; a corner: measured outside the box.
constexpr int kWidth = 32, kHeight = 24;

const LiftRegion kRegion{{{-0.4, -0.4, -0.1}, {0.4, 0.4, 1}}, 0.1, 3};

RgbdView PlaneView(int index, int width_px = kWidth, int height_px = kHeight) {
  const PaintedPlane plane{width_px, height_px, 2, 0.0001};
  RgbdView view;
  view.camera_name = index == 0 ? "left" : "right";
  view.camera = PlaneCamera(plane, index);
  DepthImage16 depth;
  RenderPlane(plane, view.camera, &view.color, &depth);
  view.depth = DepthToMeters(depth);
  return view;
}

std::vector<float> PointsOf(const std::vector<RgbdView>& views) {
  return UnprojectViews(views, kRegion).positions_m;
}

ObservedScene MakeObserved(const std::vector<RgbdView>& views,
                           const std::vector<float>& particles_m) {
  return Must(ObservedScene::Make(views, kRegion, {particles_m, {}}));
}

ObservedPicture Draw(const ObservedScene& scene, const Camera& camera,
                     const std::vector<float>& positions_m) {
  return Must(scene.Render(camera, positions_m, {}));
}

/// What a true frame shows: white where something outside the region was measured.
RgbImage PaintedFrame(const RgbdView& view) {
  RgbImage color = view.color;
  PaintOutsideWhite(ClassifyPixels(view.camera, view.depth, kRegion), &color);
  return color;
}

TEST(ObservedScene, StepZeroOfARecordedCameraIsItsFrame) {
  std::vector<RgbdView> views{PlaneView(0), PlaneView(1)};
  for (int i = 0; i < kWidth; ++i) views[0].depth.pixels_m[5 * kWidth + i] = kNoDepth;
  const std::vector<float> particles_m = PointsOf(views);
  const ObservedScene scene = MakeObserved(views, particles_m);
  const std::vector<float> start_m = scene.PositionsAt({particles_m, {}});
  EXPECT_EQ(start_m, scene.renderer().positions_m());
  for (const RgbdView& view : views) {
    const ObservedPicture picture = Draw(scene, view.camera, start_m);
    const auto classes = ClassifyPixels(view.camera, view.depth, kRegion);
    ASSERT_GT(std::count(classes.begin(), classes.end(), PixelClass::kOutside), 10);
    EXPECT_EQ(QuantizeRgb(picture.color).pixels, PaintedFrame(view).pixels);
    for (std::size_t i = 0; i < classes.size(); ++i) {
      ASSERT_EQ(picture.coverage[i], 1);
      if (classes[i] == PixelClass::kValid) {
        ASSERT_EQ(picture.depth.pixels_m[i], view.depth.pixels_m[i]);
      } else if (classes[i] == PixelClass::kOutside) {
        const Vec3d at = Unproject(view.camera, static_cast<double>(i % kWidth),
                                   static_cast<double>(i / kWidth), picture.depth.pixels_m[i]);
        const Vec3d& eye = view.camera.world_from_camera.translation_m;
        ASSERT_NEAR(std::hypot(at[0] - eye[0], at[1] - eye[1], at[2] - eye[2]), kRegion.far_m,
                    1e-5);
      } else {
        ASSERT_TRUE(std::isnan(picture.depth.pixels_m[i]));
      }
    }
    EXPECT_TRUE(FieldPixels(picture, 0, kHeight, /*needs_depth=*/false).empty());
    EXPECT_EQ(
        FieldPixels(picture, 0, kHeight, /*needs_depth=*/true).size(),
        static_cast<std::size_t>(std::count_if(
            classes.begin(), classes.end(), [](PixelClass c) { return c == PixelClass::kHole; })));
  }
}

TEST(ObservedScene, AFrameOfAnotherSizeIsUsedAsItWasSent) {
  const std::vector<RgbdView> views{PlaneView(0, 96, 72)};
  const std::vector<float> particles_m = PointsOf(views);
  const ObservedScene scene = MakeObserved(views, particles_m);
  const auto classes = ClassifyPixels(views[0].camera, views[0].depth, kRegion);
  EXPECT_EQ(scene.renderer().count(),
            static_cast<std::int64_t>(classes.size()) -
                std::count(classes.begin(), classes.end(), PixelClass::kHole));
  const Camera camera = ResizedCamera(views[0].camera, kWidth, kHeight);
  const RgbImage got = QuantizeRgb(Draw(scene, camera, scene.renderer().positions_m()).color);
  const RgbImage expected = ResizeArea(PaintedFrame(views[0]), kWidth, kHeight);
  ASSERT_EQ(got.pixels.size(), expected.pixels.size());
  for (std::size_t i = 0; i < got.pixels.size(); ++i) {
    ASSERT_NEAR(got.pixels[i], expected.pixels[i], 1) << i;  // ties of the rounding
  }
  // At its own size, reached by resizing it to that size, every byte.
  const ObservedPicture own =
      Draw(scene, ResizedCamera(views[0].camera, 96, 72), scene.renderer().positions_m());
  EXPECT_EQ(QuantizeRgb(own.color).pixels, PaintedFrame(views[0]).pixels);
}

TEST(ObservedScene, AFrameOfALensIsRectified) {
  RgbdView view = PlaneView(0);
  view.camera.distortion_model = DistortionModel::kPlumbBob;
  view.camera.distortion_coefficients = {-0.2, 0.02, 0, 0, 0};
  const std::vector<float> particles_m = PointsOf({view});
  const ObservedScene scene = MakeObserved({view}, particles_m);
  const RgbdView rectified = RectifiedView(view);
  const ObservedPicture picture =
      Draw(scene, RectifiedCamera(view.camera), scene.renderer().positions_m());
  EXPECT_EQ(QuantizeRgb(picture.color).pixels, PaintedFrame(rectified).pixels);
}

/// A pixel of which no particle has moved keeps its place and its colour.
TEST(ObservedScene, OnlyPixelsOfMovedParticlesMove) {
  const std::vector<RgbdView> views{PlaneView(0), PlaneView(1)};
  const std::vector<float> particles_m = PointsOf(views);
  const ObservedScene scene = MakeObserved(views, particles_m);
  std::vector<float> now_m = particles_m;
  for (std::size_t i = 0; i < now_m.size(); i += 3) {
    if (now_m[i] > 0.1f && now_m[i + 1] > 0) now_m[i + 2] += 0.05f;
  }
  const std::vector<float> positions_m = scene.PositionsAt({now_m, {}});
  const std::vector<float>& start_m = scene.renderer().positions_m();
  std::size_t still = 0, raised = 0, outside = 0;
  for (std::size_t i = 0; i < start_m.size(); i += 3) {
    if (start_m[i] < 0.04f) {
      ASSERT_EQ(positions_m[i], start_m[i]);
      ASSERT_EQ(positions_m[i + 2], start_m[i + 2]);
      ++still;
    } else if (!Contains(kRegion.workspace, {start_m[i], start_m[i + 1], start_m[i + 2]})) {
      // No particle lies out there.
      ASSERT_EQ(positions_m[i + 2], start_m[i + 2]);
      ++outside;
    } else if (start_m[i] > 0.16f && start_m[i + 1] > 0.06f) {
      ASSERT_NEAR(positions_m[i + 2], start_m[i + 2] + 0.05f, 1e-5);
      ++raised;
    }
  }
  ASSERT_GT(still, 100u);
  ASSERT_GT(raised, 20u);
  ASSERT_GT(outside, 5u);
  const ObservedPicture before = Draw(scene, views[0].camera, start_m);
  const ObservedPicture after = Draw(scene, views[0].camera, positions_m);
  const auto classes = ClassifyPixels(views[0].camera, views[0].depth, kRegion);
  std::size_t equal = 0;
  for (std::size_t i = 0; i < before.coverage.size(); ++i) {
    equal += before.color.pixels[3 * i] == after.color.pixels[3 * i];
    // Next to what moves too, the field is not asked for what was seen to be far.
    if (classes[i] == PixelClass::kOutside) {
      ASSERT_EQ(after.coverage[i], 1);
      ASSERT_FALSE(std::isnan(after.depth.pixels_m[i]));
    }
  }
  EXPECT_GT(equal, before.coverage.size() / 2);
  EXPECT_LT(equal, before.coverage.size());
}

TEST(ObservedScene, ThreeParticlesWeighByTheInverseOfTheirSquaredDistance) {
  RgbdView view = PlaneView(0);
  for (std::size_t i = 1; i < view.depth.pixels_m.size(); ++i) view.depth.pixels_m[i] = kNoDepth;
  const LiftRegion everywhere{{{-9, -9, -9}, {9, 9, 9}}, 0.1, 9};
  const LiftedPoints point = UnprojectViews(std::vector<RgbdView>{view}, everywhere);
  ASSERT_EQ(point.count(), 1);
  std::vector<float> particles_m;
  for (const float offset_m : {0.01f, 0.02f, 0.04f, 0.05f}) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      particles_m.push_back(point.positions_m[axis] + (axis == 0 ? offset_m : 0));
    }
  }
  const auto scene =
      ObservedScene::Make(std::vector<RgbdView>{view}, everywhere, {particles_m, {}});
  ASSERT_TRUE(scene.ok());
  std::vector<float> now_m = particles_m;
  for (std::size_t i = 0; i < 4; ++i) now_m[3 * i + 1] += 0.1f * static_cast<float>(i + 1);
  const double w[] = {1 / 1e-4, 1 / 4e-4, 1 / 16e-4};
  const double moved_m = (w[0] * 0.1 + w[1] * 0.2 + w[2] * 0.3) / (w[0] + w[1] + w[2]);
  const std::vector<float> positions_m = scene->PositionsAt({now_m, {}});
  EXPECT_NEAR(positions_m[1], point.positions_m[1] + moved_m, 1e-4);
  EXPECT_EQ(positions_m[0], point.positions_m[0]);
}

/// Pixels near the robot follow its link, and its particles move nothing else.
TEST(ObservedScene, PixelsOfTheRobotFollowTheirLink) {
  const Robot robot = SmallRobot();
  const std::vector<Transform> start = LinkPoses(robot, std::vector<double>{0, 0, 0.01});
  const std::vector<Transform> now = LinkPoses(robot, std::vector<double>{0.3, 0, 0.01});
  const PosedSurface surface = PoseSurface(robot, start);
  // One pixel on the arm, the others far from the robot, a particle on each.
  const Vec3d on_arm = surface.positions_m[3];
  ASSERT_EQ(robot.surface.links[3], 1);
  RgbdView view = PlaneView(0);
  view.camera.world_from_camera = LookAt({on_arm[0] + 0.8, on_arm[1], on_arm[2]}, on_arm);
  std::fill(view.depth.pixels_m.begin(), view.depth.pixels_m.end(), 1.3f);
  view.camera.cx_px = 16;
  view.camera.cy_px = 12;
  view.depth.pixels_m[12 * kWidth + 16] = 0.8f;
  const LiftRegion everywhere{{{-9, -9, -9}, {9, 9, 9}}, 0.1, 9};
  const std::vector<RgbdView> views{view};
  const std::vector<float> particles_m = UnprojectViews(views, everywhere).positions_m;
  const std::vector<std::int32_t> particle_links = AttachPoints(robot, start, particles_m);
  const auto scene = Must(ObservedScene::Make(views, everywhere, {particles_m, start},
                                              {&robot, AttachOptions(), particle_links}));
  std::vector<float> now_m = particles_m;
  const std::size_t arm = 12 * kWidth + 16;
  now_m[3 * arm] += 1;  // a particle of the robot that drifts
  const std::vector<float> positions_m = scene.PositionsAt({now_m, now});
  const Vec3d carried =
      Apply(Compose(now[1], Inverse(start[1])),
            {particles_m[3 * arm], particles_m[3 * arm + 1], particles_m[3 * arm + 2]});
  for (std::size_t axis = 0; axis < 3; ++axis) {
    EXPECT_NEAR(positions_m[3 * arm + axis], carried[axis], 1e-5);
  }
  for (std::size_t i = 0; i < positions_m.size(); ++i) {
    if (i / 3 == arm) continue;
    ASSERT_EQ(positions_m[i], scene.renderer().positions_m()[i]) << i;
  }
}

/// What a link carries into the workspace has the colours that were seen outside; out there it is
/// white and far.
TEST(ObservedScene, ALinkFromOutsideTheWorkspaceHasItsColours) {
  const Robot robot = SmallRobot();
  const std::vector<Transform> start = LinkPoses(robot, std::vector<double>{0, 0, 0.01});
  const PosedSurface surface = PoseSurface(robot, start);
  const Vec3d on_arm = surface.positions_m[3];
  RgbdView view = PlaneView(0);
  view.camera.world_from_camera = LookAt({on_arm[0] + 0.8, on_arm[1], on_arm[2]}, on_arm);
  view.camera.cx_px = 16;
  view.camera.cy_px = 8;
  const std::size_t at = 8 * kWidth + 16;
  std::fill(view.color.pixels.begin(), view.color.pixels.end(), std::uint8_t{40});
  std::fill_n(view.color.pixels.begin() + 3 * at, 3, std::uint8_t{200});
  std::fill(view.depth.pixels_m.begin(), view.depth.pixels_m.end(), kNoDepth);
  view.depth.pixels_m[at] = 0.8f;
  // Down by a whole number of pixels, from above the workspace into it.
  constexpr int kDownPx = 4;
  const double down_m = kDownPx * 0.8 / view.camera.fy_px;
  std::vector<Transform> now = start;
  now[1] = Compose(Transform{{0, 0, -down_m}, {0, 0, 0, 1}}, start[1]);
  const LiftRegion below{{{-9, -9, -9}, {9, 9, on_arm[2] - down_m / 2}}, 0.1, 9};
  const auto scene = Must(ObservedScene::Make(std::vector<RgbdView>{view}, below, {{}, start},
                                              {&robot, AttachOptions(), {}}));
  const auto before = scene.Render(view.camera, scene.renderer().positions_m(), start);
  const auto after = scene.Render(view.camera, scene.PositionsAt({{}, now}), now);
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_EQ(before->color.pixels[3 * at], 1);
  EXPECT_GT(before->depth.pixels_m[at], 8.f);
  const std::size_t there = at + static_cast<std::size_t>(kDownPx * kWidth);
  EXPECT_NEAR(after->color.pixels[3 * there], 200 / 255.f, 1e-3f);
  EXPECT_NEAR(after->depth.pixels_m[there], 0.8f, 1e-3f);
}

TEST(ObservedScene, AFreeCameraGetsPixelsOfBothFrames) {
  std::vector<RgbdView> views{PlaneView(0), PlaneView(1)};
  for (int row = 0; row < kHeight; ++row) {
    for (int column = 0; column < kWidth; ++column) {
      views[column < kWidth / 2 ? 0 : 1].depth.pixels_m[row * kWidth + column] = kNoDepth;
    }
  }
  const std::vector<float> particles_m = PointsOf(views);
  const ObservedScene scene = MakeObserved(views, particles_m);
  Camera camera = views[0].camera;
  camera.world_from_camera = LookAt({0.5, -0.07, 0.7}, {0, 0, 0});
  const ObservedPicture picture = Draw(scene, camera, scene.renderer().positions_m());
  int left = 0, right = 0;
  for (int column = 4; column < kWidth - 4; ++column) {
    const bool is_seen = picture.coverage[12 * kWidth + column] >= 0.5f;
    (column < kWidth / 2 ? left : right) += is_seen;
  }
  EXPECT_GT(left, 8);
  EXPECT_GT(right, 8);
}

TEST(ObservedScene, WithoutAValidPixelAFrameIsShownInItsOwnCameraAlone) {
  RgbdView view = PlaneView(0);
  std::fill(view.depth.pixels_m.begin(), view.depth.pixels_m.end(), kNoDepth);
  const ObservedScene scene = MakeObserved({view}, PointsOf({PlaneView(1)}));
  EXPECT_EQ(scene.renderer().count(), 0);
  const ObservedPicture own = Draw(scene, view.camera, {});
  EXPECT_EQ(QuantizeRgb(own.color).pixels, view.color.pixels);
  const ObservedPicture other = Draw(scene, PlaneView(1).camera, {});
  EXPECT_EQ(FieldPixels(other, 0, kHeight, false).size(), std::size_t{kWidth * kHeight});
}

TEST(ObservedScene, ACameraThatLooksAwayAsksTheFieldForEverything) {
  const std::vector<RgbdView> views{PlaneView(0), PlaneView(1)};
  const ObservedScene scene = MakeObserved(views, PointsOf(views));
  Camera camera = views[0].camera;
  camera.world_from_camera = LookAt({0.5, 0, 0.7}, {2, 0, 2});
  const ObservedPicture picture = Draw(scene, camera, scene.renderer().positions_m());
  EXPECT_EQ(FieldPixels(picture, 0, kHeight, false).size(), std::size_t{kWidth * kHeight});
  EXPECT_EQ(FieldPixels(picture, 3, 5, false).size(), std::size_t{2 * kWidth});
  EXPECT_EQ(FieldPixels(picture, 3, 5, false).front(), 3 * kWidth);
}

TEST(ObservedScene, WithoutParticlesPixelsStay) {
  const std::vector<RgbdView> views{PlaneView(0)};
  const ObservedScene scene = MakeObserved(views, {});
  EXPECT_EQ(scene.PositionsAt({}), scene.renderer().positions_m());
}

TEST(BlendRows, FadesIntoTheFieldBelowHalfOfCoverage) {
  ObservedPicture picture{{4, 2, 3, std::vector<float>(24, 0.8f)},
                          {4, 2, {1, 1, 1, 1, 2, 2, kNoDepth, kNoDepth}},
                          {1, 1, 1, 1, 0.5f, 0.25f, 0, 1}};
  const std::vector<std::int64_t> pixels = FieldPixels(picture, 1, 2, true);
  ASSERT_EQ(pixels, (std::vector<std::int64_t>{5, 6, 7}));
  EXPECT_EQ(FieldPixels(picture, 1, 2, false), (std::vector<std::int64_t>{5, 6}));
  FloatImage color;
  DepthImage depth;
  BlendRows(picture, 1, 2, pixels, std::vector<float>(9, 0.4f), std::vector<float>{5, 6, 7}, &color,
            &depth);
  ASSERT_EQ(color.height_px, 1);
  EXPECT_EQ(color.pixels[0], 0.8f);
  EXPECT_FLOAT_EQ(color.pixels[3], 0.6f);
  EXPECT_EQ(color.pixels[6], 0.4f);
  EXPECT_EQ(color.pixels[9], 0.8f);
  EXPECT_EQ(depth.pixels_m, (std::vector<float>{2, 5, 6, 7}));
}

}  // namespace
}  // namespace interlacer::testing
