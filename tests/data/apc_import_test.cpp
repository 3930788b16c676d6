// The traps of the APC format, on tiny recordings made here.

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "common/transforms.h"
#include "data/importers/apc.h"
#include "tests/data/import_fixture.h"
#include "tests/data/synthetic_scene.h"

namespace interlacer {
namespace {

std::string ApcInfo(const std::string& poses) {
  return "# Environment: shelf\n\n# Color camera intrinsic matrix\n 20\t0\t7.5\t\n 0 20 5.5\n"
         " 0 0 1\n\n# Depth camera intrinsic matrix\n 99 0 1\n 0 99 1\n 0 0 1\n\n" +
         poses;
}

std::string ApcPose(int frame, const std::string& rows = kIdentityRows) {
  char title[96];
  std::snprintf(title, sizeof(title),
                "# Camera-to-world extrinsic matrix (camera pose) for frame-%06d\n", frame);
  return title + rows + "\n";
}

TEST_F(ImportTest, ApcDepthBitsAreRotated) {
  EXPECT_EQ(UnrotateApcDepth(8), 1);
  EXPECT_EQ(UnrotateApcDepth(1), 1 << 13);
  EXPECT_EQ(UnrotateApcDepth(0), 0);
}

TEST_F(ImportTest, ApcTakesTheColourMatrixAndFramesWithPoses) {
  WriteText("cam.info.txt", ApcInfo(ApcPose(0) + ApcPose(2) + ApcPose(7)));
  for (int i : {0, 1, 2}) {
    const std::string stem = "frame-00000" + std::to_string(i);
    WriteFrame(stem + ".color.png", stem + ".depth.png", 40000);
  }
  const auto report = Must(ImportRecording("apc", options_));
  EXPECT_EQ(report.frame_count, 2);
  EXPECT_EQ(report.skipped_count, 2);  // frame 1 has no pose, pose 7 no frame
  EXPECT_TRUE(report.validation.ok());
  EXPECT_FLOAT_EQ(DepthAtFirstPixel(0, 1), 0.5f);  // 40000 / 8 = 5000 units of 0.1 mm
  const auto episode = EpisodeReader::Open(options_.episode_dir);
  EXPECT_EQ(episode->manifest().kind, EpisodeKind::kStaticViews);
  EXPECT_EQ(episode->manifest().cameras[1].name, "view_0001");
  EXPECT_EQ(episode->CameraAt(0, 0).fx_px, 20);
  EXPECT_EQ(episode->manifest().source.kind, "import");
}

TEST_F(ImportTest, ApcRefusesMirrorsAndMissingParts) {
  EXPECT_EQ(ImportApc(options_).status().reason(), "FILE_NOT_FOUND");
  EXPECT_EQ(ParseApcCameraInfo(ApcInfo(""), "info").status().reason(), "NO_CALIBRATION");
  EXPECT_EQ(ParseApcCameraInfo(ApcPose(0), "info").status().reason(), "NO_CALIBRATION");
  const std::string mirror = "-1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n";
  const Status status = ParseApcCameraInfo(ApcInfo(ApcPose(0, mirror)), "info").status();
  EXPECT_EQ(status.reason(), "CALIBRATION_INVALID");
  EXPECT_EQ(status.field(), "info:14.matrix.rotation");
  EXPECT_FALSE(ParseApcCameraInfo(ApcInfo(ApcPose(0, "1 0 0 0\n0 1 0\n")), "info").ok());
}

TEST_F(ImportTest, ApcRefusesTwoPosesOfAFrame) {
  const std::string other = "1 0 0 0.1\n0 1 0 0\n0 0 1 0\n0 0 0 1\n";
  EXPECT_TRUE(ParseApcCameraInfo(ApcInfo(ApcPose(3) + ApcPose(3)), "info").ok());
  ExpectSays(ParseApcCameraInfo(ApcInfo(ApcPose(3) + ApcPose(3, other)), "info").status(),
             "SCHEMA_INVALID", "frame 3 again, with another pose");
}

TEST_F(ImportTest, ApcFramesOfOtherNamesAreNamed) {
  WriteText("cam.info.txt", ApcInfo(ApcPose(0)));
  WriteFrame("frame-0000.color.png", "frame-0000.depth.png", 40000);
  const Status status = ImportRecording("apc", options_).status();
  ExpectSays(status, "NO_DEPTH", "frame-000000.color.png and frame-000000.depth.png");
  EXPECT_EQ(status.metadata().at("got"), "frame-0000.color.png, frame-0000.depth.png");
}

TEST_F(ImportTest, ApcHasOneDepthUnit) {
  options_.depth_unit_m = 0.001;
  ExpectSays(ImportRecording("apc", options_).status(), "ARGUMENT_INVALID", "0.1 mm");
}

/// Depths whose bits stand right already are turned wrong: the views say so.
TEST_F(ImportTest, ApcDepthsThatWereRotatedBackBeforeAreFound) {
  std::string info = "# Color camera intrinsic matrix\n72 0 39.5\n0 72 29.5\n0 0 1\n";
  for (int i = 0; i < 5; ++i) {
    Camera camera = SyntheticCamera(true);
    camera.world_from_camera = LookAt({0.2 * i - 0.4, -0.7, 0.6 + 0.08 * i}, {0.05, 0, 0.05});
    const RgbdView view = SyntheticView(camera);
    const std::string stem = options_.source_dir + "/frame-00000" + std::to_string(i);
    ASSERT_TRUE(WritePngFile(view.color, stem + ".color.png").ok());
    ASSERT_TRUE(WritePngFile(ToIntegers(view.depth), stem + ".depth.png").ok());
    const Matrix4d m = ToMatrix(camera.world_from_camera);
    std::string rows;
    for (int k = 0; k < 16; ++k) rows += std::to_string(m[k]) + (k % 4 == 3 ? "\n" : " ");
    info += ApcPose(i, rows);
  }
  WriteText("cam.info.txt", info);
  const auto report = Must(ImportRecording("apc", options_));
  EXPECT_TRUE(
      HasFinding(report.validation.findings, "CALIBRATION_SUSPECT", "rotated back before?"));
}

}  // namespace
}  // namespace interlacer
