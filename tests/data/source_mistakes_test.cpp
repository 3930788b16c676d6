// Recordings whose poses or colours are not what their format says: what views say of it together.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <string>

#include "common/transforms.h"
#include "tests/data/import_fixture.h"
#include "tests/data/synthetic_scene.h"
#include "tests/support/must.h"

namespace interlacer {
namespace {

namespace fs = std::filesystem;

/// A pattern of the world, the same in all views.
void PaintWaves(RgbdView* view) {
  for (int pixel = 0; pixel < view->depth.width_px * view->depth.height_px; ++pixel) {
    const Vec3d point_m = Unproject(view->camera, pixel % view->depth.width_px,
                                    pixel / view->depth.width_px, view->depth.pixels_m[pixel]);
    const double wave = std::sin(31 * point_m[0]) + std::cos(23 * point_m[1] + 7 * point_m[0]);
    const auto grey = static_cast<std::uint8_t>(std::isnan(wave) ? 0 : 120 + 50 * wave);
    std::fill_n(&view->color.pixels[3 * pixel], 3, grey);
  }
}

using Spoil = std::function<void(RgbdView*)>;

class SourceMistakesTest : public ImportTest {
 protected:
  SourceMistakesTest() {
    options_.intrinsics = "72,72,39.5,29.5";
    options_.depth_unit_m = kSyntheticDepthUnitM;
    options_.overwrite = true;
  }

  /// The i-th view of the table, `step_m` beside the one before, with its pictures on the disk.
  RgbdView WriteView(int i, double step_m, const std::string& color_folder, const Spoil& spoil) {
    Camera camera = SyntheticCamera(true);
    camera.world_from_camera = LookAt({step_m * (i - 2), -0.7, 0.6 + 0.08 * i}, {0.05, 0, 0.05});
    RgbdView view = SyntheticView(camera);
    PaintWaves(&view);
    if (spoil) spoil(&view);
    const std::string name = "/" + std::to_string(i) + ".png";
    for (const std::string& folder : {color_folder, std::string("depth")}) {
      fs::create_directories(options_.source_dir + "/" + folder);
    }
    EXPECT_TRUE(WritePngFile(view.color, options_.source_dir + "/" + color_folder + name).ok());
    EXPECT_TRUE(WritePngFile(ToIntegers(view.depth), options_.source_dir + "/depth" + name).ok());
    return view;
  }

  StatusOr<ImportReport> ImportMoving(const Spoil& spoil) {
    std::string color, depth, poses;
    for (int i = 0; i < 5; ++i) {
      const std::string n = std::to_string(i);
      const RgbdView view = WriteView(i, 0.1, "rgb", spoil);
      color += "10." + n + " rgb/" + n + ".png\n";
      depth += "10." + n + " depth/" + n + ".png\n";
      poses += "10." + n;
      const auto& [translation_m, rotation_xyzw] = view.camera.world_from_camera;
      for (const double value : translation_m) poses += " " + std::to_string(value);
      for (const double value : rotation_xyzw) poses += " " + std::to_string(value);
      poses += "\n";
    }
    WriteText("rgb.txt", color);
    WriteText("depth.txt", depth);
    WriteText("groundtruth.txt", poses);
    return ImportRecording("tum", options_);
  }
};

Transform& PoseOf(RgbdView* view) { return view->camera.world_from_camera; }

void Invert(RgbdView* view) { PoseOf(view) = Inverse(PoseOf(view)); }

Spoil Scale(double factor) {
  return [factor](RgbdView* view) {
    for (double& x : PoseOf(view).translation_m) x *= factor;
  };
}

/// Rows, and with `are_columns` the pixels of each row, the other way round.
Spoil TurnColorsOver(bool are_columns) {
  return [are_columns](RgbdView* view) {
    const RgbImage seen = view->color;
    for (int v = 0; v < seen.height_px; ++v) {
      for (int u = 0; u < seen.width_px; ++u) {
        const int from = are_columns ? v * seen.width_px + seen.width_px - 1 - u
                                     : (seen.height_px - 1 - v) * seen.width_px + u;
        std::copy_n(&seen.pixels[3 * from], 3, &view->color.pixels[3 * (v * seen.width_px + u)]);
      }
    }
  };
}

TEST_F(SourceMistakesTest, ThoseOfAMovingCameraAreNamed) {
  EXPECT_FALSE(HasFinding(Must(ImportMoving({})).validation.findings, "CALIBRATION_SUSPECT"));
  struct {
    Spoil spoil;
    const char* words;
  } const cases[] = {
      {Invert, "are they camera_from_world?"},
      {[](RgbdView* view) {
         PoseOf(view) = Compose(PoseOf(view), {{0, 0, 0}, {1, 0, 0, 0}});
       },
       "OpenGL's cameras"},
      {TurnColorsOver(false), "is the top row of the colour images the last?"},
      {TurnColorsOver(true), "neither turned over"},
      {Scale(10), "divided by 10 they"},
      {Scale(30), "times the median depth, and none can be compared: are the poses in metres?"},
      {[](RgbdView* view) {
         auto& q = PoseOf(view).rotation_xyzw;
         q = {q[3], q[0], q[1], q[2]};
       },
       "with x y z w"},
  };
  for (const auto& [spoil, words] : cases) {
    const auto findings = Must(ImportMoving(spoil)).validation.findings;
    EXPECT_TRUE(HasFinding(findings, "CALIBRATION_SUSPECT", words))
        << words << (findings.empty() ? "" : ": " + findings.front().message);
  }
}

TEST_F(SourceMistakesTest, PosesInMillimetresAreNamedWhereTheBoxIsTooLarge) {
  const Status status = ImportMoving(Scale(1000)).status();
  ExpectSays(status, "WORKSPACE_INVALID", "is --depth-unit right, and are the poses in metres?");
}

/// The importer turns the world so that z is up: what it inverts is what the file says.
TEST_F(SourceMistakesTest, InvertedPosesOfViewsAreNamedThroughATurnOfTheWorld) {
  std::string log;
  for (int i = 0; i < 5; ++i) {
    const Matrix4d m = ToMatrix(WriteView(i, 0.2, "color", Invert).camera.world_from_camera);
    log += std::to_string(i) + " " + std::to_string(i) + " 9\n";
    for (int k = 0; k < 16; ++k) log += std::to_string(m[k]) + (k % 4 == 3 ? "\n" : " ");
  }
  WriteText("trajectory.log", log);
  const auto report = Must(ImportRecording("redwood", options_));
  EXPECT_TRUE(
      HasFinding(report.validation.findings, "CALIBRATION_SUSPECT", "are they camera_from_world?"));
}

}  // namespace
}  // namespace interlacer
