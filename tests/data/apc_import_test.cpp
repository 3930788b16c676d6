// The traps of the APC format, on tiny recordings made here.

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "data/importers/apc.h"
#include "tests/data/import_fixture.h"

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

}  // namespace
}  // namespace interlacer
