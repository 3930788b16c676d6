// The traps of the foreign formats, on tiny recordings made here.

#include "data/importers/importers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <stop_token>

#include "common/file_io.h"
#include "common/image_codec.h"
#include "common/transforms.h"
#include "data/episode_reader.h"
#include "data/importers/apc.h"
#include "data/importers/frame_pairs.h"
#include "data/importers/intrinsics.h"
#include "data/importers/redwood.h"
#include "data/importers/scene_extent.h"
#include "data/importers/tum.h"
#include "data/importers/write_recording.h"
#include "tests/data/synthetic_scene.h"
#include "tests/support/temp_folder.h"

namespace interlacer {
namespace {

namespace fs = std::filesystem;

constexpr char kIdentityRows[] = "1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n";

class ImportTest : public testing::Test {
 protected:
  ImportTest() {
    options_.source_dir = folder_.File("source");
    options_.episode_dir = folder_.File("imported");
    options_.intrinsics = "20,20,7.5,5.5";
    fs::create_directories(options_.source_dir);
  }

  void WriteText(const std::string& name, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomic(options_.source_dir + "/" + name, text).ok());
  }

  /// 16 x 12 pixels; depth grows to the right, `first` at pixel 0.
  void WriteFrame(const std::string& color, const std::string& depth, std::uint16_t first) {
    const RgbImage image{16, 12, std::vector<std::uint8_t>(3 * 16 * 12, 90)};
    DepthImage16 raw{16, 12, 1, {}};
    for (int i = 0; i < 16 * 12; ++i) raw.pixels.push_back(first + 8 * (i % 16));
    for (const std::string& name : {color, depth}) {
      fs::create_directories(fs::path(options_.source_dir + "/" + name).parent_path());
    }
    ASSERT_TRUE(WritePngFile(image, options_.source_dir + "/" + color).ok());
    ASSERT_TRUE(WritePngFile(raw, options_.source_dir + "/" + depth).ok());
  }

  float DepthAtFirstPixel(int step, int camera) {
    const auto episode = EpisodeReader::Open(options_.episode_dir);
    return episode->ReadDepth(step, camera)->pixels_m[0];
  }

  TempFolder folder_;
  ImportOptions options_;
};

// ---- Intrinsics --------------------------------------------------------------------------------

TEST_F(ImportTest, IntrinsicsAreNeverGuessed) {
  EXPECT_EQ(ParseIntrinsics("").status().reason(), "NO_CALIBRATION");
  EXPECT_EQ(ParseIntrinsics("525,525,319.5").status().reason(), "CALIBRATION_INVALID");
  EXPECT_EQ(ParseIntrinsics("/no/such.json").status().reason(), "FILE_NOT_FOUND");
  EXPECT_EQ(ParseIntrinsics("525, 526, 319.5, 239.5")->fy_px, 526);
}

TEST_F(ImportTest, LensModelsComeAsNumbersOrByTheCamerasName) {
  const auto plain = ParseIntrinsics("tum-fr3");
  EXPECT_EQ(plain->distortion_model, DistortionModel::kNone);
  EXPECT_EQ(plain->fy_px, 539.2);
  const auto named = ParseIntrinsics("tum-fr1");
  const auto given =
      ParseIntrinsics("517.3,516.5,318.6,255.3,0.2624,-0.9531,-0.0054,0.0026,1.1633");
  ASSERT_TRUE(named.ok() && given.ok());
  for (const Camera& camera : {*named, *given}) {
    EXPECT_EQ(camera.distortion_model, DistortionModel::kPlumbBob);
    EXPECT_EQ(camera.distortion_coefficients,
              (std::vector<double>{0.2624, -0.9531, -0.0054, 0.0026, 1.1633}));
  }
  for (const char* name : {"tum-fr1", "tum-fr2"}) {  // rays of all of the image can be undone
    Camera camera = *ParseIntrinsics(name);
    camera.width_px = 640;
    camera.height_px = 480;
    EXPECT_TRUE(ValidateCamera(camera).ok()) << ValidateCamera(camera).ToString();
  }
  const auto rational = ParseIntrinsics("20,20,7.5,5.5,.1,.2,.001,.002,.3,.4,.5,.6");
  EXPECT_EQ(rational->distortion_model, DistortionModel::kRationalPolynomial);
  EXPECT_EQ(ParseIntrinsics("20,20,7.5,5.5,.1").status().metadata().at("got"), "5");
}

TEST_F(ImportTest, Open3DMatricesAreColumnMajor) {
  WriteText("good.json", R"({"width": 640, "height": 480,
      "intrinsic_matrix": [525, 0, 0, 0, 526, 0, 319.5, 239.5, 1]})");
  const auto camera = ParseIntrinsics(options_.source_dir + "/good.json");
  ASSERT_TRUE(camera.ok()) << camera.status().ToString();
  EXPECT_EQ(camera->cx_px, 319.5);
  EXPECT_EQ(camera->width_px, 640);
  WriteText("rows.json", R"({"width": 640, "height": 480,
      "intrinsic_matrix": [525, 0, 319.5, 0, 526, 239.5, 0, 0, 1]})");
  EXPECT_EQ(ParseIntrinsics(options_.source_dir + "/rows.json").status().reason(),
            "CALIBRATION_INVALID");
}

TEST_F(ImportTest, TwoNegativeFocalLengthsAreARollOneIsAMirror) {
  Camera camera = SyntheticCamera(true);
  const Vec3d before = Unproject(camera, 10, 50, 1.5);
  // The same camera, described with both axes turned.
  Camera turned = camera;
  turned.world_from_camera = Compose(camera.world_from_camera, Transform{{0, 0, 0}, {0, 0, 1, 0}});
  turned.fx_px = -turned.fx_px;
  turned.fy_px = -turned.fy_px;
  ASSERT_TRUE(NormalizeFocalSigns(&turned).ok());
  EXPECT_GT(turned.fx_px, 0);
  const Vec3d after = Unproject(turned, 10, 50, 1.5);
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(after[i], before[i], 1e-12);
  Camera lens = camera;
  lens.distortion_model = DistortionModel::kPlumbBob;
  lens.distortion_coefficients = {0.1, -0.05, 0.01, -0.02, 0};
  Camera turned_lens = lens;
  turned_lens.world_from_camera = Compose(lens.world_from_camera, {{0, 0, 0}, {0, 0, 1, 0}});
  turned_lens.fx_px = -lens.fx_px;
  turned_lens.fy_px = -lens.fy_px;
  turned_lens.distortion_coefficients = {0.1, -0.05, -0.01, 0.02, 0};
  ASSERT_TRUE(NormalizeFocalSigns(&turned_lens).ok());
  EXPECT_EQ(turned_lens.distortion_coefficients, lens.distortion_coefficients);
  camera.fx_px = -camera.fx_px;
  EXPECT_EQ(NormalizeFocalSigns(&camera).reason(), "CALIBRATION_INVALID");
}

// ---- APC ---------------------------------------------------------------------------------------

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
  const auto report = ImportRecording("apc", options_);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->frame_count, 2);
  EXPECT_EQ(report->skipped_count, 2);  // frame 1 has no pose, pose 7 no frame
  EXPECT_TRUE(report->validation.ok());
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

// ---- Redwood -----------------------------------------------------------------------------------

TEST_F(ImportTest, RedwoodLogIsCameraToWorldAndMayHaveFewerPoses) {
  for (int i = 0; i < 4; ++i) {
    const std::string name = "/0000" + std::to_string(i) + ".png";
    WriteFrame("image" + name, "depth" + name, static_cast<std::uint16_t>(1000 + 100 * i));
  }
  WriteText("trajectory.log", std::string("0 0 1\n") + kIdentityRows +
                                  "2 2 3\n1 0 0 0.5\n0 1 0 0\n0 0 1 0\n0 0 0 1\n");
  const auto report = ImportRecording("redwood", options_);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->frame_count, 2);
  EXPECT_EQ(report->skipped_count, 2);
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
  const auto trajectory = ParseOpen3DTrajectory(R"({"parameters": [{
      "extrinsic": [0, 1, 0, 0,  -1, 0, 0, 0,  0, 0, 1, 0,  1, 2, 3, 1],
      "intrinsic": {"width": 16, "height": 12,
                    "intrinsic_matrix": [20, 0, 0, 0, 21, 0, 7.5, 5.5, 1]}}]})",
                                                "cameras.json");
  ASSERT_TRUE(trajectory.ok()) << trajectory.status().ToString();
  // camera = R world + t with x of the world on y of the camera: the camera's centre is -R' t.
  const Vec3d center = trajectory->world_from_camera.at(0).translation_m;
  EXPECT_NEAR(center[0], -2, 1e-12);
  EXPECT_NEAR(center[1], 1, 1e-12);
  EXPECT_NEAR(center[2], -3, 1e-12);
  EXPECT_EQ(trajectory->intrinsics->fy_px, 21);
}

TEST_F(ImportTest, RedwoodRefusesBrokenSources) {
  EXPECT_EQ(ParseRedwoodLog("0 0 1\n1 0 0 0\n", "a.log").status().reason(), "SCHEMA_INVALID");
  EXPECT_EQ(ParseRedwoodLog("0 0\n", "a.log").status().field(), "a.log:1");
  EXPECT_EQ(ParseRedwoodLog("", "a.log").status().reason(), "NO_CALIBRATION");
  const std::string block = std::string("0 0 1\n") + kIdentityRows;
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
  /// Every frame has the depth and the pose of one number.
  void ExpectTrueFrames(const std::vector<int>& numbers) {
    const auto report = ImportRecording("redwood", options_);
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    for (const Finding& finding : report->validation.findings) findings_[finding.reason] = finding;
    const auto episode = EpisodeReader::Open(options_.episode_dir);
    ASSERT_EQ(report->frame_count, static_cast<int>(numbers.size()));
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
  std::string log;
  std::vector<int> all;
  for (int i = 0; i < 12; ++i) {
    const std::string n = std::to_string(i);
    WriteNumbered(i, "image/" + n + ".png", "depth/" + n + ".png");
    log += Pose(i, i);
    all.push_back(i);
  }
  WriteText("trajectory.log", log);
  ExpectTrueFrames(all);
}

TEST_F(RedwoodNamesTest, MissingPartnersAreNamedAndNeverReplaced) {
  std::string log;
  for (int i = 0; i < 10; ++i) {
    const std::string n = "0000" + std::to_string(i) + ".png";
    WriteNumbered(i, "color/" + n, "depth/" + n);
    log += Pose(i, i);
  }
  WriteText("trajectory.log", log);
  fs::remove(options_.source_dir + "/color/00003.png");
  fs::remove(options_.source_dir + "/depth/00007.png");
  ExpectTrueFrames({0, 1, 2, 4, 5, 6, 8, 9});
  ASSERT_EQ(findings_.count("FRAME_UNPAIRED"), 1u);
  EXPECT_NE(findings_["FRAME_UNPAIRED"].message.find("00003.png"), std::string::npos);
  EXPECT_NE(findings_["FRAME_UNPAIRED"].message.find("00007.png"), std::string::npos);
}

TEST_F(RedwoodNamesTest, NamesMayCountFromOneWhereTheLogCountsFromZero) {
  std::string log;
  for (int i = 0; i < 4; ++i) {
    const std::string n = std::to_string(i + 1) + ".png";
    WriteNumbered(i, "rgb/rgb_" + n, "depth/depth_" + n);
    log += Pose(i, i);
  }
  WriteText("trajectory.log", log);
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

TEST_F(RedwoodNamesTest, EveryFifthImageWithAFullLogIsByPositionAndSaysSo) {
  std::string log;
  for (int i = 0; i < 4; ++i) {
    const std::string n = std::to_string(5 * i) + ".png";
    WriteNumbered(i, "color/" + n, "depth/" + n);
    log += Pose(i, i);
  }
  WriteText("trajectory.log", log);
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
  const Status status = ImportRecording("redwood", options_).status();
  EXPECT_EQ(status.reason(), "SCHEMA_INVALID");
  EXPECT_NE(status.message().find("depth"), std::string::npos);
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

// ---- TUM ---------------------------------------------------------------------------------------

TEST_F(ImportTest, TumHasThreeTimeBases) {
  const std::vector<TumImage> color = {
      {1.000, "c0"}, {1.033, "c1"}, {1.066, "c2"}, {1.100, "c3"}, {1.300, "c4"}};
  const std::vector<TumImage> depth = {
      {1.010, "d0"}, {1.030, "d1"}, {1.052, "d2"}, {1.130, "d3"}, {1.301, "d4"}};
  std::vector<TumPose> poses;
  for (double time_s : {0.99, 1.03, 1.07, 1.11, 1.25, 1.35}) {
    poses.push_back({time_s, {{time_s, 0, 0}, {0, 0, 0, 1}}});
  }
  const auto matches = MatchTumFrames(color, depth, poses);
  // c3 has no depth within 20 ms; c4's neighbouring poses are 100 ms apart.
  ASSERT_EQ(matches.size(), 3u);
  EXPECT_EQ(matches[0].depth, 0);
  EXPECT_EQ(matches[1].depth, 1);
  EXPECT_EQ(matches[2].depth, 2);
  EXPECT_NEAR(matches[1].world_from_camera.translation_m[0], 1.033, 1e-9);  // interpolated
}

TEST_F(ImportTest, TumUsesEachDepthImageOnce) {
  const std::vector<TumPose> poses = {{0.98, {}}, {1.0, {}}, {1.02, {}}};
  const auto matches = MatchTumFrames({{1.000, "c0"}, {1.010, "c1"}}, {{1.006, "d0"}}, poses);
  ASSERT_EQ(matches.size(), 1u);
  EXPECT_EQ(matches[0].color, 1);  // the closer of the two
}

TEST_F(ImportTest, TumQuaternionsAreNormalisedAndReported) {
  const auto trajectory =
      ParseTumTrajectory("# comment\n1.0 1 2 3 0 0 0 1.004\n0.5 0 0 0 0 0 1 0\n", "gt.txt");
  ASSERT_TRUE(trajectory.ok()) << trajectory.status().ToString();
  EXPECT_NEAR(trajectory->largest_norm_error, 0.004, 1e-12);
  EXPECT_EQ(trajectory->poses[0].time_s, 0.5);  // sorted
  EXPECT_EQ(trajectory->poses[1].world_from_camera.rotation_xyzw[3], 1);
  EXPECT_EQ(ParseTumTrajectory("1 0 0 0 0 0 0 0.5\n", "gt.txt").status().reason(),
            "QUATERNION_NOT_UNIT");
  EXPECT_EQ(ParseTumTrajectory("1 0 0 0\n", "gt.txt").status().field(), "gt.txt:1");
  EXPECT_FALSE(ParseTumImageList("1.0 ../../etc/passwd\n", "rgb.txt").ok());
}

class TumImportTest : public ImportTest {
 protected:
  TumImportTest() {
    std::string rgb = "# color images\n", depth = "# depth\n", poses;
    for (int i = 0; i < 3; ++i) {
      const std::string n = std::to_string(i);
      WriteFrame("rgb/" + n + ".png", "depth/" + n + ".png", 5000);
      rgb += "10." + n + "00 rgb/" + n + ".png\n";
      depth += "10." + n + "15 depth/" + n + ".png\n";
    }
    for (int i = 0; i < 10; ++i) {
      poses += std::to_string(9.99 + 0.04 * i) + " 0." + std::to_string(i) + " 0 1 0 0 0 1\n";
    }
    WriteText("rgb.txt", rgb);
    WriteText("depth.txt", depth);
    WriteText("groundtruth.txt", poses);
  }
};

TEST_F(TumImportTest, MakesAMovingCameraWithKnownDepth) {
  const auto report = ImportRecording("tum", options_);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->frame_count, 3);
  EXPECT_FLOAT_EQ(DepthAtFirstPixel(1, 0), 1.0f);  // 5000 units are a metre
  const auto episode = EpisodeReader::Open(options_.episode_dir);
  EXPECT_EQ(episode->manifest().kind, EpisodeKind::kMovingCamera);
  EXPECT_NEAR(episode->manifest().step_duration_s, 0.1, 1e-9);
  EXPECT_EQ(episode->CaptureTimeNs(2, 0), 200'000'000);
  EXPECT_NEAR(episode->CameraAt(1, 0).world_from_camera.translation_m[0], 0.275, 1e-9);
  options_.intrinsics = "";
  options_.overwrite = true;
  EXPECT_EQ(ImportRecording("tum", options_).status().reason(), "NO_CALIBRATION");
}

TEST_F(TumImportTest, ListedImagesThatAreAbsentAreCountedAndNamed) {
  fs::remove(options_.source_dir + "/depth/1.png");
  const auto report = ImportRecording("tum", options_);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->frame_count, 2);
  EXPECT_EQ(report->skipped_count, 1);
  ASSERT_FALSE(report->validation.findings.empty());
  EXPECT_EQ(report->validation.findings[0].reason, "FILE_MISSING");
  EXPECT_NE(report->validation.findings[0].message.find("1.png"), std::string::npos);
  fs::remove_all(options_.source_dir + "/rgb");
  options_.overwrite = true;
  EXPECT_EQ(ImportRecording("tum", options_).status().reason(), "FILE_NOT_FOUND");
}

TEST_F(TumImportTest, ListsMayBeginWithAByteOrderMark) {
  WriteText("depth.txt", "\xEF\xBB\xBF# depth\n10.015 depth/0.png\n");
  const auto report = ImportRecording("tum", options_);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->frame_count, 1);
}

TEST_F(TumImportTest, AStopLeavesNothingAndProgressIsTold) {
  std::vector<std::int64_t> told;
  options_.on_frame = [&](std::int64_t done, std::int64_t total) {
    EXPECT_EQ(total, 3);
    told.push_back(done);
  };
  ASSERT_TRUE(ImportRecording("tum", options_).ok());
  EXPECT_EQ(told, (std::vector<std::int64_t>{1, 2, 3}));
  fs::remove_all(options_.episode_dir);

  std::stop_source source;
  options_.stop = source.get_token();
  options_.on_frame = [&](std::int64_t, std::int64_t) { source.request_stop(); };
  EXPECT_EQ(ImportRecording("tum", options_).status().code(), StatusCode::kCancelled);
  EXPECT_FALSE(fs::exists(options_.episode_dir));
  EXPECT_FALSE(fs::exists(folder_.File(".imported.partial")));
}

TEST_F(TumImportTest, ForceReplacesEpisodesAndEmptyFoldersOnly) {
  options_.overwrite = true;
  fs::create_directories(options_.episode_dir);
  ASSERT_TRUE(ImportRecording("tum", options_).ok());
  ASSERT_TRUE(ImportRecording("tum", options_).ok());  // an episode now
  fs::remove(options_.episode_dir + "/manifest.json");
  EXPECT_EQ(ImportRecording("tum", options_).status().reason(), "OUTPUT_EXISTS");
  EXPECT_TRUE(fs::exists(options_.episode_dir + "/files.sha256"));
}

TEST_F(TumImportTest, TheOutputMayNotTouchTheSource) {
  options_.overwrite = true;
  const std::string source = options_.source_dir;
  for (const std::string& output :
       {source, source + "/", source + "/inside", source + "/../source", folder_.File("")}) {
    options_.episode_dir = output;
    EXPECT_EQ(ImportRecording("tum", options_).status().reason(), "ARGUMENT_INVALID") << output;
  }
  EXPECT_TRUE(fs::exists(source + "/rgb/0.png"));
}

// ---- The common end ----------------------------------------------------------------------------

TEST_F(ImportTest, UnknownFormatsAreNamed) {
  EXPECT_EQ(ImportRecording("bridge", options_).status().metadata().at("got"), "bridge");
}

TEST(SceneExtentTest, FindsRangeAndBoxAndKeepsWhatIsGiven) {
  const Camera camera{80, 80, 80, 80, 39.5, 39.5, DistortionModel::kNone, {}, {}};
  DepthImage depth{80, 80, std::vector<float>(6400, 1.0f)};
  depth.pixels_m[0] = 50;  // one wild pixel of a hundred looked at
  SceneExtent extent;
  extent.Add(camera, depth);
  const auto found = extent.Finish({}, {}, {});
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_NEAR(found->far_m, 1.2, 1e-9);  // corners of a square at 1 m: 1.18 m, rounded up
  EXPECT_EQ(found->near_m, 0.1);
  EXPECT_NEAR(found->workspace.min_m[2], 0.98, 1e-6);  // a plane and its least margin
  EXPECT_NEAR(found->workspace.max_m[0], 0.41 + 0.05 * 0.9, 0.02);
  EXPECT_EQ(found->notes.size(), 2u);
  const auto given = extent.Finish(0.2, 2.0, kSyntheticWorkspace);
  EXPECT_EQ(given->far_m, 2.0);
  EXPECT_EQ(given->workspace, kSyntheticWorkspace);
  EXPECT_TRUE(given->notes.empty());
  EXPECT_EQ(extent.Finish(3.0, 2.0, {}).status().reason(), "DEPTH_RANGE_INVALID");
  EXPECT_EQ(SceneExtent().Finish({}, {}, {}).status().reason(), "NO_DEPTH");
  SceneExtent few;
  few.Add(camera, depth, 4);  // every 40th pixel
  EXPECT_NEAR(few.Finish({}, {}, {})->workspace.max_m[0], 0.02, 0.02);
}

TEST(TurnUpAxisTest, NearestSignedAxisBecomesZ) {
  const Transform tilted = LookAt({0, 0, 0}, {1, 0.2, -0.3});  // z is up here
  for (const auto& [source_from_z_up, name] :
       {std::pair{Transform{}, "+z"},
        std::pair{Transform{{0, 0, 0}, {std::sqrt(0.5), 0, 0, std::sqrt(0.5)}}, "-y"},
        std::pair{Transform{{0, 0, 0}, {0, std::sqrt(0.5), 0, std::sqrt(0.5)}}, "+x"}}) {
    std::vector<ImportFrame> frames(1);
    frames[0].world_from_camera = Compose(source_from_z_up, tilted);
    EXPECT_EQ(TurnUpAxisToZ(&frames), name);
    const Vec3d up_in_camera = Apply(Inverse(frames[0].world_from_camera), {0, 0, 1});
    const Vec3d expected = Apply(Inverse(tilted), {0, 0, 1});
    for (int i = 0; i < 3; ++i) EXPECT_NEAR(up_in_camera[i], expected[i], 1e-9);
  }
}

}  // namespace
}  // namespace interlacer
