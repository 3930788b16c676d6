// What recordings have beside images and poses, and depths that are none.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "common/file_io.h"
#include "common/transforms.h"
#include "data/episode_writer.h"
#include "data/importers/intrinsics.h"
#include "data/importers/no_measurement.h"
#include "data/importers/redwood.h"
#include "data/system_files.h"
#include "data/validate.h"
#include "tests/data/import_fixture.h"
#include "tests/data/synthetic_scene.h"
#include "tests/support/must.h"

namespace interlacer {
namespace {

namespace fs = std::filesystem;

TEST(SystemFilesTest, HiddenNamesOfEverySystemAreKnown) {
  for (const char* name :
       {"._000001.png", ".DS_Store", "Thumbs.db", "THUMBS.DB", "desktop.ini", "__MACOSX", "@eaDir",
        ".directory", "a.png:Zone.Identifier", "~$a.png"}) {
    EXPECT_TRUE(IsSystemFile(name)) << name;
  }
  for (const char* name : {"000001.png", "_1.png", "thumbs.png", "a..png"}) {
    EXPECT_FALSE(IsSystemFile(name)) << name;
  }
  EXPECT_TRUE(IsInSystemFiles("color/@eaDir/000001.png"));
  EXPECT_FALSE(IsInSystemFiles("./color/000001.png"));
}

/// Views of the synthetic table in the layout of Redwood.
class RedwoodSceneTest : public ImportTest {
 protected:
  RedwoodSceneTest() { options_.intrinsics = "72,72,39.5,29.5"; }

  /// Depth integers are those of 0.1 mm over `units_per_integer`; pixels without depth become
  /// `empty`.
  void WriteScene(int units_per_integer, std::uint16_t empty = 0) {
    fs::create_directories(options_.source_dir + "/color");
    fs::create_directories(options_.source_dir + "/depth");
    std::string log;
    for (int i = 0; i < 5; ++i) {
      Camera camera = SyntheticCamera(true);
      camera.world_from_camera = LookAt({0.2 * i - 0.4, -0.7, 0.6 + 0.08 * i}, {0.05, 0, 0.05});
      const RgbdView view = SyntheticView(camera);
      DepthImage16 depth = ToIntegers(view.depth);
      for (auto& value : depth.pixels) {
        value = value == 0 ? empty : static_cast<std::uint16_t>(value / units_per_integer);
      }
      const std::string name = "/" + std::to_string(i) + ".png";
      ASSERT_TRUE(WritePngFile(view.color, options_.source_dir + "/color" + name).ok());
      ASSERT_TRUE(WritePngFile(depth, options_.source_dir + "/depth" + name).ok());
      log += std::to_string(i) + "\t" + std::to_string(i) + ",9\n";
      const Matrix4d m = ToMatrix(camera.world_from_camera);
      for (int k = 0; k < 16; ++k) log += std::to_string(m[k]) + (k % 4 == 3 ? "\n" : ", ");
    }
    WriteText("trajectory.log", log);
  }
};

TEST_F(RedwoodSceneTest, HiddenTwinsAreNoImagesAndNoEpisodeFiles) {
  WriteScene(10);
  for (const char* name :
       {"color/._0.png", "color/.DS_Store", "depth/._0.png", "depth/Thumbs.db"}) {
    WriteText(name, "\x05\x16\x07 no image");
  }
  const auto report = Must(ImportRecording("redwood", options_));
  EXPECT_EQ(report.frame_count, 5);
  EXPECT_TRUE(report.validation.findings.empty());
  for (const char* name : {"/.DS_Store", "/color/._x.png"}) {
    ASSERT_TRUE(WriteFileAtomic(options_.episode_dir + name, std::string_view("x")).ok());
  }
  EXPECT_TRUE(ValidateEpisode(options_.episode_dir)->findings.empty());
  ASSERT_TRUE(WriteFileAtomic(options_.episode_dir + "/note.txt", std::string_view("x")).ok());
  EXPECT_TRUE(HasFinding(ValidateEpisode(options_.episode_dir)->findings, "FILE_UNLISTED"));
}

TEST_F(RedwoodSceneTest, FoldersMayHaveAnyName) {
  const std::string source = folder_.File("my rec=1, \xc3\xa9 \xfc");
  options_.episode_dir = folder_.File(".ep isode=\xfc");
  WriteScene(10);
  fs::rename(options_.source_dir, source);
  options_.source_dir = source;
  Must(ImportRecording("redwood", options_));
  EXPECT_EQ(EpisodeReader::Open(options_.episode_dir)->manifest().episode_id, "_ep_isode__");
}

TEST_F(RedwoodSceneTest, TheLargestIntegerIsNoMeasurement) {
  WriteScene(10, 65535);
  const auto report = Must(ImportRecording("redwood", options_));
  EXPECT_TRUE(HasFinding(report.validation.findings, "DEPTH_NO_MEASUREMENT_VALUE", "65535"));
  const auto episode = EpisodeReader::Open(options_.episode_dir);
  EXPECT_LT(episode->manifest().cameras[0].far_m, 3);
  EXPECT_TRUE(std::isnan(episode->ReadDepth(0, 0)->pixels_m[0]));
}

TEST_F(RedwoodSceneTest, OtherCodesAreFoundAndTakenWhenNamed) {
  WriteScene(10, 8191);
  options_.workspace = Box{{-20, -20, -20}, {20, 20, 20}};
  const auto report = Must(ImportRecording("redwood", options_));
  EXPECT_TRUE(
      HasFinding(report.validation.findings, "DEPTH_CODE_SUSPECT", "--no-depth-value 8191"));
  options_.no_depth_value = 8191;
  options_.overwrite = true;
  const auto named = Must(ImportRecording("redwood", options_));
  EXPECT_FALSE(HasFinding(named.validation.findings, "DEPTH_CODE_SUSPECT"));
  EXPECT_LT(EpisodeReader::Open(options_.episode_dir)->manifest().cameras[0].far_m, 3);
}

TEST(NoMeasurementTest, DepthsOfAnOrdinarySceneAreNoCode) {
  DepthImage16 depth{4, 1, 0.001, {4000, 3500, 0, 65535}};
  const DepthCodes codes = RemoveNoMeasurement({}, &depth);
  EXPECT_EQ(depth.pixels, (std::vector<std::uint16_t>{4000, 3500, 0, 0}));
  EXPECT_EQ(codes.saturated_count, 1);
  EXPECT_TRUE(codes.suspects.empty());
  DepthImage16 clipped{4, 1, 0.001, {10000, 2000, 10000, 1000}};
  EXPECT_EQ(RemoveNoMeasurement({}, &clipped).suspects.at(10000), 2);
  // No end of a range that we know, but far above the scene and in most of the pixels.
  DepthImage16 odd{6, 2, 0.001, std::vector<std::uint16_t>(12, 30000)};
  odd.pixels[0] = 1000;
  EXPECT_EQ(RemoveNoMeasurement({}, &odd).suspects.at(30000), 11);
  // Not above the scene, but the end of a range and in most of the pixels.
  DepthImage16 near{6, 2, 0.001, std::vector<std::uint16_t>(12, 2047)};
  near.pixels[0] = 2000;
  EXPECT_EQ(RemoveNoMeasurement({}, &near).suspects.at(2047), 11);
  near.pixels[0] = 0;
  EXPECT_TRUE(RemoveNoMeasurement({}, &near).suspects.empty());
  DepthImage16 constant{2, 1, 0.001, {4000, 4000}};
  EXPECT_TRUE(RemoveNoMeasurement({}, &constant).suspects.empty());
}

TEST_F(RedwoodSceneTest, TheUnitThatThePosesContradictIsFound) {
  WriteScene(2);  // 5000 units a metre
  const auto wrong = Must(ImportRecording("redwood", options_));
  EXPECT_TRUE(HasFinding(wrong.validation.findings, "DEPTH_UNIT_SUSPECT", "--depth-unit 0.0002"));
  options_.overwrite = true;
  options_.depth_unit_m = 0.0002;
  const auto right = Must(ImportRecording("redwood", options_));
  EXPECT_TRUE(right.validation.findings.empty());
  options_.depth_unit_m = 1.0 / 65536 / 65536;
  const Status tiny = ImportRecording("redwood", options_).status();
  EXPECT_NE(tiny.message().find("--depth-unit"), std::string::npos) << tiny.message();
}

/// A table of one height seen by cameras of one height: scaled depths give a plane in both, and
/// only its colours tell.
TEST_F(RedwoodSceneTest, TheUnitOfAPlaneIsFoundByItsColours) {
  std::string log;
  for (int i = 0; i < 5; ++i) {
    Camera camera = SyntheticCamera(true);
    camera.world_from_camera = LookAt({0.2 * i - 0.4, -0.7, 0.6}, {0.1 * i - 0.2, 0, 0});
    RgbdView view = SyntheticView(camera, 9);  // the block is out of sight
    for (int pixel = 0; pixel < 80 * 60; ++pixel) {
      const Vec3d point_m = Unproject(camera, pixel % 80, pixel / 80, view.depth.pixels_m[pixel]);
      const double wave = std::sin(31 * point_m[0]) + std::cos(23 * point_m[1] + 7 * point_m[0]);
      const auto grey = static_cast<std::uint8_t>(std::isnan(wave) ? 0 : 120 + 50 * wave);
      std::fill_n(&view.color.pixels[3 * pixel], 3, grey);
    }
    DepthImage16 depth = ToIntegers(view.depth);  // of 0.1 mm
    const std::string name = "/" + std::to_string(i) + ".png";
    for (const char* kind : {"/color", "/depth"})
      fs::create_directories(options_.source_dir + kind);
    ASSERT_TRUE(WritePngFile(view.color, options_.source_dir + "/color" + name).ok());
    ASSERT_TRUE(WritePngFile(depth, options_.source_dir + "/depth" + name).ok());
    log += std::to_string(i) + " " + std::to_string(i) + " 9\n";
    const Matrix4d m = ToMatrix(camera.world_from_camera);
    for (int k = 0; k < 16; ++k) log += std::to_string(m[k]) + (k % 4 == 3 ? "\n" : " ");
  }
  WriteText("trajectory.log", log);
  options_.overwrite = true;
  for (const double unit_m : {1.0 / 5000, 1.0 / 4000, 0.0001}) {
    options_.depth_unit_m = unit_m;
    const auto report = Must(ImportRecording("redwood", options_));
    EXPECT_EQ(HasFinding(report.validation.findings, "DEPTH_UNIT_SUSPECT", "--depth-unit 0.0001"),
              unit_m != 0.0001)
        << unit_m;
  }
}

TEST_F(RedwoodSceneTest, TheUnitThatTheIntrinsicsNameHolds) {
  WriteScene(2);  // 5000 units a metre
  WriteText("intrinsic.json", R"({"color_format": "RGB8", "depth_scale": 5000.0, "width": 80.0,
      "height": 60, "intrinsic_matrix": [72,0,0, 0,72,0, 39.5,29.5,1]})");
  options_.intrinsics = options_.source_dir + "/intrinsic.json";
  options_.overwrite = true;
  const auto unit_m = [&] {
    Must(ImportRecording("redwood", options_));
    return EpisodeReader::Open(options_.episode_dir)->manifest().cameras[0].depth_unit_m;
  };
  EXPECT_EQ(unit_m(), 1.0 / 5000);
  options_.depth_unit_m = 0.001;
  EXPECT_EQ(unit_m(), 0.001);
  WriteText("intrinsic.json", R"({"depth_scale": 0, "width": 80, "height": 60,
      "intrinsic_matrix": [72,0,0, 0,72,0, 39.5,29.5,1]})");
  EXPECT_NE(ParseIntrinsics(options_.intrinsics).status().field().find("depth_scale"),
            std::string::npos);
}

TEST_F(RedwoodSceneTest, RefusalsNameWhatIsThere) {
  WriteScene(10);
  fs::copy(options_.source_dir + "/color/1.png", options_.source_dir + "/color/1 copy.png");
  const auto message = [&] { return ImportRecording("redwood", options_).status().message(); };
  EXPECT_NE(message().find("1 copy.png, which seems to be a copy"), std::string::npos) << message();
  fs::remove_all(options_.source_dir + "/depth");
  fs::create_directories(options_.source_dir + "/depth");
  WriteText("depth/0.tiff", "II*");
  EXPECT_NE(message().find("0.tiff"), std::string::npos) << message();
}

TEST_F(ImportTest, RedwoodRowsOfALostTrackerAreLeftOutAndCounted) {
  const std::string lost = "1 1 2\n0 0 0 0\n0 0 0 0\n0 0 0 0\n0 0 0 1\n";
  const std::string infinite = "2 2 3\n-inf 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n";
  const auto log =
      Must(ParseRedwoodLog(std::string("0 0 1\n") + kIdentityRows + lost + infinite, "a.log"));
  EXPECT_EQ(log.world_from_camera.size(), 1u);
  EXPECT_EQ(log.lost_count, 2);
}

TEST_F(ImportTest, Open3DsCalibrationIsReadInEveryForm) {
  const std::string intrinsic =
      R"({"width": 64, "height": 48, "intrinsic_matrix": [60,0,0, 0,61,0, 31.5,23.5,1]})";
  const std::string view =
      R"({"class_name": "PinholeCameraParameters", "extrinsic": [1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1],
          "intrinsic": )" +
      intrinsic + "}";
  const std::string other = R"({"intrinsic": {"width": 64, "height": 48,
          "intrinsic_matrix": [70,0,0, 0,61,0, 31.5,23.5,1]}})";
  fs::create_directories(options_.source_dir + "/a, b=c \xc3\xa9");
  const std::string name = "a, b=c \xc3\xa9/camera.json";
  const std::string path = options_.source_dir + "/" + name;
  for (const std::string& text :
       {intrinsic, "\xEF\xBB\xBF" + intrinsic, view,
        "{\"parameters\": [" + view + "," + view + "]}",
        std::string(R"({"color_mode": "MJPG_720P", "serial_number_": "1", "width": 64, "height": 48,
            "intrinsic_matrix": [[60,0,31.5],[0,61,23.5],[0,0,1]]})")}) {
    WriteText(name, text);
    const auto camera = ParseIntrinsics(path);
    ASSERT_TRUE(camera.ok()) << text << camera.status().ToString();
    EXPECT_EQ(camera->fy_px, 61) << text;
    EXPECT_EQ(camera->cx_px, 31.5) << text;
    EXPECT_EQ(camera->width_px, 64) << text;
  }
  for (const std::string& text :
       {"{\"parameters\": [" + view + "," + other + "]}", std::string("{\"width\": 64}"),
        std::string(R"({"width": -1, "height": -1, "intrinsic_matrix": [60,0,0,0,61,0,3,2,1]})"),
        std::string(R"({"width": 64, "height": 48, "intrinsic_matrix": [60,0,0,5,61,0,3,2,1]})"),
        std::string(R"({"width": 64, "height": 48, "intrinsic_matrix": [[60,0],[0,61]]})")}) {
    WriteText(name, text);
    EXPECT_EQ(ParseIntrinsics(path).status().reason(), "CALIBRATION_INVALID") << text;
  }
  WriteText(name, "60 0 31.5\n0 61 23.5\n0 0 1\n");
  EXPECT_NE(ParseIntrinsics(path).status().message().find("fx,fy,cx,cy"), std::string::npos);
  WriteText(name, "{\"camera_matrix\": []}");
  EXPECT_NE(ParseIntrinsics(path).status().message().find("PinholeCameraIntrinsic"),
            std::string::npos);
  EXPECT_EQ(ParseIntrinsics("525 526 319.5 239.5")->fy_px, 526);
  EXPECT_NE(ParseIntrinsics("tum-fr9").status().message().find("tum-fr1"), std::string::npos);
}

TEST_F(ImportTest, AnglesThatWrapAreFound) {
  EpisodeManifest manifest = SyntheticManifest();
  for (auto* table : {&*manifest.actions, &*manifest.states}) {
    table->columns[0].min_value = -2 * 3.1415927;
    table->columns[0].max_value = 2 * 3.1415927;
  }
  auto writer = Must(EpisodeWriter::Create(options_.episode_dir, manifest));
  for (int step = 0; step < kSyntheticStepCount; ++step) {
    for (int camera = 0; camera < 2; ++camera) {
      const RgbdView view = SyntheticView(SyntheticCamera(camera == 0));
      DepthImage16 depth = ToIntegers(view.depth);
      if (step == 3) depth.pixels[0] = 65535;
      ASSERT_TRUE(writer->WriteFrame(step, camera, view.color, depth).ok());
    }
  }
  const NumberTable wrapped{4, 2, {3.10, 0, 3.13, 0, -3.13, 0, -3.10, 0}};
  const NumberTable turning{4, 2, {3.10, 0, 3.13, 0, 3.15, 0, 3.18, 0}};
  ASSERT_TRUE(writer->WriteActions(wrapped).ok() && writer->WriteStates(turning).ok());
  ASSERT_TRUE(writer->Finish().ok());
  const auto report = Must(ValidateEpisode(options_.episode_dir));
  std::vector<std::string> fields;
  for (const Finding& finding : report.findings) {
    if (finding.reason == "ANGLE_WRAPPED") fields.push_back(finding.field);
  }
  // The jump itself, then the two rows whose state has gone on.
  EXPECT_EQ(fields, (std::vector<std::string>{"actions.npy row 2, joint_1_rad",
                                              "actions.npy row 2, joint_1_rad",
                                              "actions.npy row 3, joint_1_rad"}));
  EXPECT_TRUE(HasFinding(report.findings, "DEPTH_SATURATED", "65535"));
}

}  // namespace
}  // namespace interlacer
