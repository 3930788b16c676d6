// The traps of the Redwood format, on tiny recordings made here.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "data/importers/frame_pairs.h"
#include "data/importers/redwood.h"
#include "tests/data/import_fixture.h"
#include "tests/support/must.h"

namespace interlacer {
namespace {

namespace fs = std::filesystem;

TEST_F(ImportTest, RedwoodLogIsCameraToWorldAndMayHaveFewerPoses) {
  for (int i = 0; i < 4; ++i) {
    const std::string name = "/0000" + std::to_string(i) + ".png";
    WriteFrame("image" + name, "depth" + name, static_cast<std::uint16_t>(1000 + 100 * i));
  }
  WriteText("trajectory.log", std::string("0 0 1\n") + kIdentityRows +
                                  "2 2 3\n1 0 0 0.5\n0 1 0 0\n0 0 1 0\n0 0 0 1\n");
  const auto report = Must(ImportRecording("redwood", options_));
  EXPECT_EQ(report.frame_count, 2);
  EXPECT_EQ(report.skipped_count, 2);
  EXPECT_FLOAT_EQ(DepthAtFirstPixel(0, 1), 1.2f);  // the pose of frame 2 goes with frame 2
  const auto episode = EpisodeReader::Open(options_.episode_dir);
  // Cameras look along +z with y down, so source -y is up; their right stays horizontal.
  const Vec3d moved = episode->CameraAt(0, 1).world_from_camera.translation_m;
  EXPECT_NEAR(std::hypot(moved[0], moved[1]), 0.5, 1e-12);
  EXPECT_NEAR(moved[2], 0, 1e-12);
  const Vec3d below = Unproject(episode->CameraAt(0, 0), 7.5, 11, 1);
  EXPECT_LT(below[2], 0);  // a pixel in the lower half is below the camera
}

TEST_F(ImportTest, RedwoodJsonExtrinsicIsTheInverse) {
  const auto trajectory = Must(ParseOpen3DTrajectory(R"({"parameters": [{
      "extrinsic": [0, 1, 0, 0,  -1, 0, 0, 0,  0, 0, 1, 0,  1, 2, 3, 1],
      "intrinsic": {"width": 16, "height": 12,
                    "intrinsic_matrix": [20, 0, 0, 0, 21, 0, 7.5, 5.5, 1]}}]})",
                                                     "cameras.json"));
  // camera = R world + t with x of the world on y of the camera: the camera's centre is -R' t.
  const Vec3d center = trajectory.world_from_camera.at(0).translation_m;
  EXPECT_NEAR(center[0], -2, 1e-12);
  EXPECT_NEAR(center[1], 1, 1e-12);
  EXPECT_NEAR(center[2], -3, 1e-12);
  EXPECT_EQ(trajectory.intrinsics->fy_px, 21);
  const auto rows = Must(ParseOpen3DTrajectory(R"({"parameters": [{
      "extrinsic": [[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]]}]})",
                                               "cameras.json"));
  EXPECT_EQ(rows.world_from_camera, trajectory.world_from_camera);
  const Status flat_rows =
      ParseOpen3DTrajectory(
          R"({"parameters": [{"extrinsic": [1,0,0,1, 0,1,0,2, 0,0,1,3, 0,0,0,1]}]})",
          "cameras.json")
          .status();
  EXPECT_NE(flat_rows.message().find("column by column"), std::string::npos);
  const Status other = ParseOpen3DTrajectory(R"({"nodes": []})", "graph.json").status();
  EXPECT_NE(other.message().find("PinholeCameraTrajectory"), std::string::npos);
}

TEST_F(ImportTest, RedwoodRefusesBrokenSources) {
  EXPECT_EQ(ParseRedwoodLog("0 0 1\n1 0 0 0\n", "a.log").status().reason(), "SCHEMA_INVALID");
  EXPECT_EQ(ParseRedwoodLog("0 0\n", "a.log").status().field(), "a.log:1");
  EXPECT_EQ(ParseRedwoodLog("", "a.log").status().reason(), "NO_CALIBRATION");
  const std::string block = std::string("0 0 1\n") + kIdentityRows;
  EXPECT_TRUE(ParseRedwoodLog("# by hand\n" + block, "a.log").ok());
  EXPECT_EQ(ParseRedwoodLog(block + block, "a.log").status().reason(), "SCHEMA_INVALID");
  WriteText("trajectory.log", block);
  EXPECT_EQ(ImportRedwood(options_).status().reason(), "FILE_NOT_FOUND");
  WriteFrame("color/0.png", "depth/0.png", 1000);
  options_.intrinsics = "";
  EXPECT_EQ(ImportRedwood(options_).status().reason(), "NO_CALIBRATION");
  options_.intrinsics = "20,20,7.5,5.5";
  fs::copy(options_.source_dir + "/color/0.png", options_.source_dir + "/depth/0.png",
           fs::copy_options::overwrite_existing);
  EXPECT_EQ(ImportRedwood(options_).status().reason(), "PIXEL_ENCODING_UNSUPPORTED");
  EXPECT_FALSE(fs::exists(options_.episode_dir));
  fs::remove_all(options_.source_dir + "/depth");
  EXPECT_EQ(ImportRedwood(options_).status().reason(), "FILE_NOT_FOUND");
  fs::create_directories(options_.source_dir + "/depth");
  EXPECT_EQ(ImportRedwood(options_).status().reason(), "NO_DEPTH");
}

TEST_F(ImportTest, NamesAreInNaturalOrder) {
  EXPECT_TRUE(NaturalLess("2.png", "10.png"));
  EXPECT_FALSE(NaturalLess("10.png", "2.png"));
  EXPECT_TRUE(NaturalLess("a1b9", "a1b10"));
  EXPECT_TRUE(NaturalLess("007", "8"));
  EXPECT_TRUE(NaturalLess("a", "a1"));
  EXPECT_FALSE(NaturalLess("x", "x"));
}

class RedwoodNamesTest : public ImportTest {
 protected:
  /// Frame i has depth 1 + 0.01 i at its first pixel and stands at x = 0.1 i.
  void WriteNumbered(int i, const std::string& color, const std::string& depth) {
    WriteFrame(color, depth, static_cast<std::uint16_t>(1000 + 10 * i));
  }
  static std::string Pose(int key, int i) {
    const std::string k = std::to_string(key);
    return k + " " + k + " " + std::to_string(key + 1) + "\n1 0 0 " + std::to_string(0.1 * i) +
           "\n0 1 0 0\n0 0 1 0\n0 0 0 1\n";
  }
  /// Frames 0 ... count - 1 under the names that `name_of` gives, and a log of their poses.
  template <typename NameOf>
  void WriteSeries(int count, const std::string& color, const std::string& depth, NameOf name_of) {
    std::string log;
    for (int i = 0; i < count; ++i) {
      WriteNumbered(i, color + name_of(i) + ".png", depth + name_of(i) + ".png");
      log += Pose(i, i);
    }
    WriteText("trajectory.log", log);
  }
  /// Every frame has the depth and the pose of one number.
  void ExpectTrueFrames(const std::vector<int>& numbers) {
    const auto report = Must(ImportRecording("redwood", options_));
    for (const Finding& finding : report.validation.findings) findings_[finding.reason] = finding;
    const auto episode = EpisodeReader::Open(options_.episode_dir);
    ASSERT_EQ(report.frame_count, static_cast<int>(numbers.size()));
    for (std::size_t view = 0; view < numbers.size(); ++view) {
      const int camera = static_cast<int>(view);
      EXPECT_NEAR(DepthAtFirstPixel(0, camera), 1 + 0.01 * numbers[view], 1e-6);
      const Vec3d at = episode->CameraAt(0, camera).world_from_camera.translation_m;
      EXPECT_NEAR(std::hypot(at[0], at[1], at[2]), 0.1 * numbers[view], 1e-9);
    }
  }

  std::map<std::string, Finding> findings_;
};

TEST_F(RedwoodNamesTest, NumbersWithoutPaddingKeepTheirPoses) {
  WriteSeries(12, "image/", "depth/", [](int i) { return std::to_string(i); });
  ExpectTrueFrames({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
}

TEST_F(RedwoodNamesTest, MissingPartnersAreNamedAndNeverReplaced) {
  WriteSeries(10, "color/", "depth/", [](int i) { return "0000" + std::to_string(i); });
  fs::remove(options_.source_dir + "/color/00003.png");
  fs::remove(options_.source_dir + "/depth/00007.png");
  ExpectTrueFrames({0, 1, 2, 4, 5, 6, 8, 9});
  ASSERT_EQ(findings_.count("FRAME_UNPAIRED"), 1u);
  EXPECT_NE(findings_["FRAME_UNPAIRED"].message.find("00003.png"), std::string::npos);
  EXPECT_NE(findings_["FRAME_UNPAIRED"].message.find("00007.png"), std::string::npos);
}

TEST_F(RedwoodNamesTest, NamesMayCountFromOneWhereTheLogCountsFromZero) {
  WriteSeries(4, "rgb/rgb_", "depth/depth_", [](int i) { return std::to_string(i + 1); });
  fs::remove(options_.source_dir + "/rgb/rgb_1.png");  // the first is absent on one side only
  ExpectTrueFrames({1, 2, 3});
}

TEST_F(RedwoodNamesTest, BothMayCountFromOne) {
  std::string log;
  for (int i = 1; i < 4; ++i) {
    const std::string n = std::to_string(i) + ".png";
    WriteNumbered(i, "color/" + n, "depth/" + n);
    if (i < 3) log += Pose(i, i);
  }
  WriteText("trajectory.log", log);
  ExpectTrueFrames({1, 2});
}

TEST_F(RedwoodNamesTest, ATrajectoryMayCountFromOneWhereTheNamesCountFromZero) {
  std::string log;
  for (int i = 0; i < 4; ++i) {
    const std::string n = std::to_string(i) + ".png";
    WriteNumbered(i, "color/" + n, "depth/" + n);
    log += Pose(i + 1, i);
  }
  WriteText("trajectory.log", log);
  ExpectTrueFrames({0, 1, 2, 3});
  ASSERT_EQ(findings_.count("POSES_SHIFTED"), 1u);
  EXPECT_NE(findings_["POSES_SHIFTED"].message.find("counts from 1 and the images from 0"),
            std::string::npos);
}

TEST_F(RedwoodNamesTest, OneImageMoreThanPosesIsNoShift) {
  std::string log;
  for (int i = 0; i < 5; ++i) {
    const std::string n = std::to_string(i) + ".png";
    WriteNumbered(i, "color/" + n, "depth/" + n);
    if (i > 0) log += Pose(i, i);
  }
  WriteText("trajectory.log", log);
  ExpectTrueFrames({1, 2, 3, 4});
  EXPECT_EQ(findings_.count("POSES_SHIFTED"), 0u);
}

TEST_F(RedwoodNamesTest, EveryFifthImageWithAFullLogIsByPositionAndSaysSo) {
  WriteSeries(4, "color/", "depth/", [](int i) { return std::to_string(5 * i); });
  ExpectTrueFrames({0, 1, 2, 3});
  EXPECT_EQ(findings_.count("POSES_BY_POSITION"), 1u);
}

TEST_F(RedwoodNamesTest, TimeStampsBehindTheNumberDoNotDisturb) {
  std::string log;
  for (int i = 0; i < 3; ++i) {
    const std::string n = "000000" + std::to_string(i + 1) + "-00000";
    WriteNumbered(i, "image/" + n + std::to_string(3 * i) + "7.png",
                  "depth/" + n + std::to_string(3 * i) + "1.png");
    log += Pose(i, i);
  }
  WriteText("camera_trajectory.log", log);
  ExpectTrueFrames({0, 1, 2});
}

TEST_F(RedwoodNamesTest, TimeStampsAloneNeedEqualCounts) {
  std::string log;
  for (int i = 0; i < 3; ++i) {
    const std::string n = std::to_string(10 + i);
    WriteNumbered(i, "color/" + n + ".25.png", "depth/" + n + "00.5.png");
    log += Pose(i, i);
  }
  WriteText("trajectory.log", log);
  ExpectTrueFrames({0, 1, 2});
  fs::remove(options_.source_dir + "/depth/1100.5.png");
  options_.overwrite = true;
  ExpectSays(ImportRecording("redwood", options_).status(), "SCHEMA_INVALID", "depth");
}

TEST_F(RedwoodNamesTest, FoldersTrajectoryAndCapitalsByOption) {
  std::string log;
  for (int i = 0; i < 2; ++i) {
    const std::string n = std::to_string(i);
    WriteNumbered(i, "room-color/" + n + ".PNG", "room-depth-clean/" + n + ".png");
    log += Pose(i, i);
  }
  WriteText("trajectory.txt", log);
  fs::rename(options_.source_dir + "/trajectory.txt", folder_.File("room-traj.txt"));
  const Status absent = ImportRecording("redwood", options_).status();
  EXPECT_NE(absent.message().find("--trajectory"), std::string::npos) << absent.message();
  options_.trajectory = folder_.File("room-traj.txt");  // absolute
  const Status unnamed = ImportRecording("redwood", options_).status();
  EXPECT_NE(unnamed.message().find("--color-folder"), std::string::npos) << unnamed.message();
  options_.color_folder = "room-color";
  options_.depth_folder = "room-depth-clean";
  ExpectTrueFrames({0, 1});
}

TEST_F(RedwoodNamesTest, APrincipalPointFarFromTheImageIsASlip) {
  WriteNumbered(0, "color/0.png", "depth/0.png");
  WriteText("trajectory.log", Pose(0, 0));
  options_.intrinsics = "20,20,75,5.5";  // for 7.5 in 16 pixels
  const Status status = ImportRecording("redwood", options_).status();
  EXPECT_EQ(status.reason(), "CALIBRATION_INVALID");
  EXPECT_EQ(status.metadata().at("got"), "75, 5.5");
}

TEST_F(RedwoodNamesTest, SizesThatDifferNameTheSourcesFile) {
  WriteNumbered(0, "color/0.png", "depth/0.png");
  WriteNumbered(1, "color/1.png", "depth/1.png");
  const DepthImage16 small{8, 6, 0.001, std::vector<std::uint16_t>(48, 1000)};
  ASSERT_TRUE(WritePngFile(small, options_.source_dir + "/depth/1.png").ok());
  WriteText("trajectory.log", Pose(0, 0) + Pose(1, 1));
  const Status status = ImportRecording("redwood", options_).status();
  EXPECT_EQ(status.reason(), "IMAGE_SIZE_MISMATCH");
  EXPECT_EQ(status.field(), options_.source_dir + "/depth/1.png");
  EXPECT_EQ(status.metadata().at("got"), "8 x 6");
}

}  // namespace
}  // namespace interlacer
