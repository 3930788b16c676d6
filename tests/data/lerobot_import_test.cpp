/// LeRobot data sets as episodes: codes of depth in metres and those that are no measurement, the
/// right frames of a video that several episodes share, joints by name and unit; what the format
/// lacks is asked for, and what a file claims is not taken on trust.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <numbers>
#include <stop_token>

#include "common/file_io.h"
#include "common/image_codec.h"
#include "data/importers/video.h"
#include "data/parquet/parquet_table.h"
#include "robots/robot_folder.h"
#include "tests/data/import_fixture.h"
#include "tests/data/lerobot_writer.h"
#include "tests/robots/one_joint_robot.h"
#include "tests/support/test_data.h"

namespace interlacer {
namespace {

constexpr int kWidth = 64, kHeight = 48, kPixels = kWidth * kHeight;
constexpr int kFirstLength = 7, kLength = 12;  // of episodes 0 and 1, at 10 Hz
constexpr char kSize[] = "64x48";
constexpr char kLogCoding[] =
    R"("video.depth_min": 0.01, "video.depth_max": 10.0, "video.shift": 3.5, "video.use_log": true)";
const std::vector<std::string> kHevc = {"-c:v",     "libx265",      "-pix_fmt",
                                        "gray12le", "-x265-params", "lossless=1:log-level=error"};
const std::vector<std::string> kH264 = {"-c:v", "libx264rgb", "-qp", "0"};

class LerobotImportTest : public RecordingTest {
 protected:
  LerobotImportTest() : RecordingTest("lerobot", "set") {
    options_.overwrite = true;
    options_.lerobot.joint_unit = "deg";
    MakeRobot();
    Calibrate(kWidth);
  }

  std::string Set(const std::string& name) const { return options_.source_dir + "/" + name; }

  void MakeRobot() {
    Robot robot = testing::OneJointRobot();
    robot.name = "two_joints";
    robot.links.resize(3);
    robot.links[2].name = "hand";
    robot.links[2].parent = 1;
    robot.links[2].joint.name = "finger";
    robot.links[2].joint.type = JointType::kPrismatic;
    robot.links[2].joint.limits = JointLimits{0, 0.1};
    robot.columns = {1, 2};
    ASSERT_TRUE(WriteRobot(robot, folder_.File("robot")).ok());
    options_.bag.robot_dir = folder_.File("robot");
  }
  void Calibrate(int width) {
    options_.calibration = folder_.File("calibration.json");
    testing::WriteText(options_.calibration,
                       R"({"schema": "interlacer.calibration", "schema_version": 1, "cameras": [
          {"name": "left", "width_px": )" +
                           std::to_string(width) +
                           R"(, "height_px": 48, "fx_px": 60, "fy_px": 60, "cx_px": 32, "cy_px": 24,
           "world_from_camera": {"translation_m": [0, 0, 1], "rotation_xyzw": [1, 0, 0, 0]}}]})");
  }
  void Info(const std::string& version, const std::string& dtype, const std::string& depth_info) {
    const bool is_v3 = version == "v3.0";
    const std::string data = is_v3 ? "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
                                   : "data/chunk-{episode_chunk:03d}/"
                                     "episode_{episode_index:06d}.parquet";
    const std::string video =
        is_v3 ? "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
              : "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4";
    const std::string joints = R"({"dtype": "float32", "shape": [2], "names": )" +
                               std::string(is_v3 ? R"(["elbow.pos", "finger.pos"])"
                                                 : R"({"motors": ["elbow", "finger"]})") +
                               "}";
    testing::WriteText(Set("meta/info.json"),
                       R"({"codebase_version": ")" + version + R"(", "fps": 10, "total_episodes": 2,
        "chunks_size": 1000, "data_path": ")" +
                           data + R"(", "video_path": ")" + video +
                           R"(", "features": {"observation.state": )" + joints + R"(, "action": )" +
                           joints + R"(, "observation.images.left": {"dtype": ")" + dtype +
                           R"(", "info": {"is_depth_map": false}},
        "observation.images.left_depth": {"dtype": ")" +
                           dtype + R"(", "info": {"is_depth_map": true, )" + depth_info + "}}}}");
  }
  /// Of the frames [first, end) of all episodes: no measurement, beyond the range, 0.4997 m, and a
  /// code that tells the frame.
  static std::vector<std::uint16_t> Codes(int first, int end) {
    std::vector<std::uint16_t> codes;
    for (int frame = first; frame < end; ++frame) {
      std::vector<std::uint16_t> image(kPixels, 789);
      image[0] = 0;
      image[1] = 4095;
      image[2] = 397;
      image[kWidth] = static_cast<std::uint16_t>(700 + 10 * frame);
      codes.insert(codes.end(), image.begin(), image.end());
    }
    return codes;
  }
  /// Red is 10 times the frame.
  static std::vector<std::uint8_t> Colors(int first, int end) {
    std::vector<std::uint8_t> pixels;
    for (int frame = first; frame < end; ++frame) {
      for (int i = 0; i < kPixels; ++i) {
        pixels.insert(pixels.end(), {static_cast<std::uint8_t>(10 * frame), 100, 30});
      }
    }
    return pixels;
  }
  /// Rows of both episodes, or of the second.
  static testing::TableWriter Rows(bool is_fixed, bool has_first) {
    testing::TableWriter table;
    std::vector<std::int64_t> episodes, frames;
    std::vector<double> times_s;
    std::vector<float> states, actions;
    for (const int episode : {0, 1}) {
      if (episode == 0 && !has_first) continue;
      for (int i = 0; i < (episode == 0 ? kFirstLength : kLength); ++i) {
        episodes.push_back(episode);
        frames.push_back(i);
        times_s.push_back(0.1 * i);
        states.insert(states.end(),
                      {10.0F * static_cast<float>(i), 0.005F * static_cast<float>(i)});
        actions.insert(actions.end(), {10.0F * static_cast<float>(i) + 5, 0.02F});
      }
    }
    table.Integers("episode_index", episodes);
    table.Integers("frame_index", frames);
    table.Numbers("timestamp", times_s);
    table.Lists("observation.state", states, 2, is_fixed);
    table.Lists("action", actions, 2, is_fixed);
    return table;
  }
  void EpisodesTable(std::int64_t length) {
    testing::TableWriter table;
    table.Integers("episode_index", {0, 1});
    table.Integers("length", {kFirstLength, length});
    table.Texts("tasks", {"rest", "push"});
    for (const std::string prefix :
         {"data/", "videos/observation.images.left/", "videos/observation.images.left_depth/"}) {
      table.Integers(prefix + "chunk_index", {0, 0});
      table.Integers(prefix + "file_index", {0, 0});
      if (prefix != "data/") table.Numbers(prefix + "from_timestamp", {0, 0.1 * kFirstLength});
    }
    table.Write(Set("meta/episodes/chunk-000/file-000.parquet"));
  }
  std::string Video(const std::string& camera) const {
    return Set("videos/observation.images." + camera + "/chunk-000/file-000.mp4");
  }
  /// Both episodes in one table and one video a camera.
  void WriteV3(const std::vector<std::string>& depth_encoder = kHevc) {
    Info("v3.0", "video", kLogCoding);
    EpisodesTable(kLength);
    Rows(true, true).Write(Set("data/chunk-000/file-000.parquet"));
    constexpr int kEnd = kFirstLength + kLength;
    testing::EncodeFrames(Colors(0, kEnd), "rgb24", kSize, kH264, Video("left"));
    testing::EncodeFrames(testing::BytesOf(Codes(0, kEnd)), "gray12le", kSize, depth_encoder,
                          Video("left_depth"));
    options_.lerobot.episode = 1;
  }
  /// Images in the table; depths of frame i are 1000 + i mm, and 0.
  void WriteImages(bool is_tiff, const std::string& depth_info) {
    Info("v2.1", "image", depth_info);
    testing::WriteText(Set("meta/episodes.jsonl"),
                       R"({"episode_index": 0, "tasks": ["rest"], "length": 7})"
                       "\n"
                       R"({"episode_index": 1, "tasks": ["push"], "length": 12})");
    std::vector<std::vector<std::uint8_t>> colors, depths;
    for (int i = 0; i < kLength; ++i) {
      colors.push_back(EncodePng(RgbImage{kWidth, kHeight, Colors(i, i + 1)}));
      std::vector<std::uint16_t> depth(kPixels, static_cast<std::uint16_t>(1000 + i));
      depth[0] = 0;
      if (is_tiff) {
        const std::string file = folder_.File("depth.tif");
        testing::EncodeFrames(testing::BytesOf(depth), "gray16le", kSize, {}, file);
        depths.push_back(testing::ReadBytes(file));
      } else {
        depths.push_back(EncodePng(DepthImage16{kWidth, kHeight, 0.001, depth}));
      }
    }
    testing::TableWriter rows = Rows(false, false);
    rows.Images("observation.images.left", colors);
    rows.Images("observation.images.left_depth", depths);
    rows.Write(Set("data/chunk-000/episode_000001.parquet"));
    options_.lerobot.episode = 1;
  }
};

/// A code of the defaults, by the formula written out.
double MetresOf(int code) {
  return std::exp(code / 4095.0 * (std::log(13.5) - std::log(3.51)) + std::log(3.51)) - 3.5;
}

void ExpectCodedDepths(const EpisodeReader& episode, int first_frame) {
  ASSERT_EQ(episode.step_count(), 3);
  for (const int step : {0, 1, 2}) {
    const auto depth_m = episode.ReadDepth(step, 0)->pixels_m;
    EXPECT_TRUE(std::isnan(depth_m[0]));  // nearest is not 0.01 m
    EXPECT_TRUE(std::isnan(depth_m[1]));  // nor 10 m
    EXPECT_NEAR(depth_m[2], 0.4997, 1e-4);
    EXPECT_NEAR(depth_m[kPixels - 1], 1.0502, 1e-4);
    const int frame = first_frame + 5 * step;
    EXPECT_NEAR(depth_m[kWidth], MetresOf(700 + 10 * frame), 6e-5) << step;
    EXPECT_NEAR(episode.ReadColor(step, 0)->pixels[0], 10 * frame, 1) << step;
  }
}

TEST_F(LerobotImportTest, AnEpisodeInTheMiddleOfAVideo) {
  WriteV3();
  const EpisodeReader episode = Imported();
  ExpectCodedDepths(episode, kFirstLength);
  EXPECT_EQ(episode.manifest().task_text, "push");
  EXPECT_EQ(episode.manifest().step_duration_s, 0.5);
  EXPECT_EQ(episode.CaptureTimeNs(2, 0) - episode.CaptureTimeNs(0, 0), 1'000'000'000);
  EXPECT_NEAR(episode.states().values[2], 50 * std::numbers::pi / 180, 1e-6);  // step 1
  EXPECT_NEAR(episode.states().values[3], 0.025, 1e-6);                        // metres are metres
  EXPECT_EQ(episode.actions().values, episode.states().values);
  options_.lerobot.episode = 0;
  EXPECT_NEAR(Imported().ReadDepth(1, 0)->pixels_m[kWidth], MetresOf(750), 6e-5);
}

TEST_F(LerobotImportTest, TheOtherTwelveBitFormatKeepsItsCodes) {
  WriteV3();
  std::vector<std::uint16_t> frames;
  for (int frame = 0; frame < kFirstLength + kLength; ++frame) {
    const std::vector<std::uint16_t> codes = Codes(frame, frame + 1);
    frames.insert(frames.end(), codes.begin(), codes.end());
    frames.insert(frames.end(), kPixels / 2, 2048);  // both planes of colour
  }
  testing::EncodeFrames(testing::BytesOf(frames), "yuv420p12le", kSize,
                        {"-c:v", "libx265", "-x265-params", "lossless=1:log-level=error"},
                        Video("left_depth"));
  ExpectCodedDepths(Imported(), kFirstLength);
}

TEST_F(LerobotImportTest, ColorOfAv1) {
  WriteV3();
  testing::EncodeFrames(Colors(0, kFirstLength + kLength), "rgb24", kSize,
                        {"-c:v", "libaom-av1", "-cpu-used", "8", "-crf", "10"}, Video("left"));
  const EpisodeReader episode = Imported();
  for (const int step : {0, 1, 2}) {
    const auto pixels = episode.ReadColor(step, 0)->pixels;
    EXPECT_NEAR(pixels[0], 10 * (kFirstLength + 5 * step), 4) << step;
    EXPECT_NEAR(pixels[1], 100, 4);
  }
  const auto& notes = episode.manifest().source.notes;
  EXPECT_THAT(notes, ::testing::Contains(::testing::HasSubstr("decoded video (av1): lossy")));
}

TEST_F(LerobotImportTest, CodesWithoutLogarithmAreLinear) {
  WriteV3();
  Info("v3.0", "video",
       R"("video.depth_min": 0.0, "video.depth_max": 4.095, "video.use_log": false)");
  const auto depth_m = Imported().ReadDepth(0, 0)->pixels_m;
  EXPECT_TRUE(std::isnan(depth_m[0]) && std::isnan(depth_m[1]));
  EXPECT_NEAR(depth_m[2], 0.397, 1e-5);
}

TEST_F(LerobotImportTest, VersionTwoHasFilesForEachEpisode) {
  WriteV3();
  Info("v2.1", "video", kLogCoding);
  testing::WriteText(Set("meta/episodes.jsonl"),
                     R"({"episode_index": 1, "tasks": ["push", "pull"], "length": 12})");
  Rows(false, false).Write(Set("data/chunk-000/episode_000001.parquet"));
  for (const char* const camera : {"left", "left_depth"}) {
    const std::string path =
        Set(std::string("videos/chunk-000/observation.images.") + camera + "/episode_000001.mp4");
    testing::MakeFoldersOf(path);
    std::filesystem::copy_file(Video(camera), path);
  }
  const EpisodeReader episode = Imported();
  ExpectCodedDepths(episode, 0);
  EXPECT_EQ(episode.manifest().task_text, "push; pull");
}

TEST_F(LerobotImportTest, ImagesInTheTable) {
  for (const bool is_tiff : {false, true}) {
    WriteImages(is_tiff, R"("depth_unit": "mm")");
    const EpisodeReader episode = Imported();
    EXPECT_FLOAT_EQ(episode.ReadDepth(2, 0)->pixels_m[1], 1.01F) << is_tiff;
    EXPECT_TRUE(std::isnan(episode.ReadDepth(2, 0)->pixels_m[0]));
    EXPECT_EQ(episode.ReadColor(2, 0)->pixels[0], 100);
  }
  options_.bag.step_duration_s = std::numeric_limits<double>::infinity();
  std::filesystem::remove_all(options_.episode_dir);
  ExpectRefused(reason::ARGUMENT_INVALID, "--step-duration", "0.1 s");
  options_.bag.step_duration_s.reset();
  WriteImages(false, R"("x": 0)");
  std::filesystem::remove_all(options_.episode_dir);
  ExpectRefused(reason::DEPTH_UNIT_MISSING, "--depth-unit", "left_depth");
}

TEST_F(LerobotImportTest, WhatTheFormatLacksIsAskedFor) {
  WriteV3();
  const ImportOptions all = options_;
  options_.lerobot.joint_unit.clear();
  ExpectRefused(reason::ARGUMENT_INVALID, "--joint-unit", "rad or deg");
  options_ = all;
  options_.bag.robot_dir.clear();
  ExpectRefused(reason::ARGUMENT_INVALID, "--robot", "robot make");
  options_ = all;
  options_.calibration.clear();
  ExpectRefused(reason::NO_CALIBRATION, "--calibration", "neither lenses nor poses");
  options_ = all;
  options_.lerobot.episode.reset();
  ExpectRefused(reason::ARGUMENT_INVALID, "--episode", "0 to 1");
  options_.lerobot.episode = 2;
  ExpectRefused(reason::ARGUMENT_INVALID, "--episode", "got 2");
  options_ = all;
  options_.no_depth_value = 5;
  ExpectRefused(reason::ARGUMENT_INVALID, "--no-depth-value", "4095");
  options_ = all;
  Calibrate(32);
  ExpectRefused(reason::CALIBRATION_SIZE_MISMATCH, "64x48", "32x48");
}

TEST_F(LerobotImportTest, JointsAndCommandsByName) {
  WriteV3();
  options_.bag.commands = "action";
  EXPECT_NEAR(Imported().actions().values[2], 55 * std::numbers::pi / 180, 1e-6);
  options_.bag.joints = {"observation.state=-,finger", "action=elbow,-"};
  const auto states = Imported().states().values;
  EXPECT_NEAR(states[2], 55 * std::numbers::pi / 180, 1e-6);
  EXPECT_NEAR(states[3], 0.025, 1e-6);
  std::filesystem::remove_all(options_.episode_dir);
  options_.bag.joints = {"observation.state=shoulder,finger"};
  ExpectRefused(reason::ACTION_SHAPE, "elbow", "shoulder");
  options_.bag.joints = {"observation.state=elbow,finger,wrist"};
  ExpectRefused(reason::ACTION_SHAPE, "3 columns", "got 2");
  options_.bag.joints = {"pose"};
  ExpectRefused(reason::ACTION_SHAPE, "action, observation.state", "pose");
}

TEST_F(LerobotImportTest, CamerasByName) {
  WriteV3();
  options_.bag.color = {{"left", "observation.images.left"}};
  ExpectCodedDepths(Imported(), kFirstLength);
  std::filesystem::remove_all(options_.episode_dir);
  options_.bag.depth = {{"left", "observation.images.none"}};
  ExpectRefused(reason::NO_DEPTH, "observation.images.left_depth", "images.none");
  options_.bag.color = {{"right", "observation.images.left"}};
  options_.bag.depth.clear();
  ExpectRefused(reason::CAMERA_UNKNOWN, "a camera named right", "left");
}

TEST_F(LerobotImportTest, WhatFilesClaimIsChecked) {
  WriteV3();
  EpisodesTable(kLength + 1);
  ExpectRefused(reason::SCHEMA_INVALID, "13 rows of episode 1", "got 12");
  EpisodesTable(kLength);
  testing::EncodeFrames(Colors(0, 12), "rgb24", kSize, kH264, Video("left"));
  ExpectRefused(reason::FILE_UNREADABLE, "left/chunk-000", "expected 11 frames, got 5");
  testing::EncodeFrames(Colors(0, 19), "rgb24", kSize,
                        {"-vf", "setpts=N/20/TB", "-r", "20", "-c:v", "libx264rgb", "-qp", "0"},
                        Video("left"));
  ExpectRefused(reason::TIMESTAMP_INVALID, "10 frames a second", "got 20");
  testing::WriteText(Video("left"), "#EXTM3U\nhttp://127.0.0.1:9/x\n");
  ExpectRefused(reason::FILE_UNREADABLE, "left/chunk-000", "ffprobe failed");
  std::filesystem::remove(Video("left"));
  ExpectRefused(reason::FILE_NOT_FOUND, "left/chunk-000", "no such file");
  testing::WriteText(Set("data/chunk-000/file-000.parquet"), "PAR1 and no more PAR1");
  ExpectRefused(reason::FILE_UNREADABLE, "file-000.parquet", "Parquet");
  Info("v2.0", "video", kLogCoding);
  ExpectRefused(reason::SCHEMA_VERSION_UNSUPPORTED, "v2.1", "v2.0");
  Info("v3.0", "video", R"("depth_unit": "mm")");
  EpisodesTable(kLength);
  Rows(true, true).Write(Set("data/chunk-000/file-000.parquet"));
  ExpectRefused(reason::SCHEMA_INVALID, "video.depth_min", "left_depth");
}

TEST_F(LerobotImportTest, DepthInEightBitsIsRefused) {
  WriteV3({"-c:v", "libx264", "-pix_fmt", "yuv420p"});
  ExpectRefused(reason::PIXEL_ENCODING_UNSUPPORTED, "gray12le", "h264 yuv420p");
}

TEST_F(LerobotImportTest, WidthsThatDecodersPad) {
  const auto sized = [this](int width, const std::string& name) {
    const std::string size = std::to_string(width) + "x48";
    const std::vector<std::string> scale = {"-vf", "scale=" + size + ":flags=neighbor"};
    const auto encode = [&](const std::string& camera, std::vector<std::string> encoder) {
      encoder.insert(encoder.begin(), scale.begin(), scale.end());
      const bool is_color = camera == "left";
      testing::EncodeFrames(is_color ? Colors(0, 19) : testing::BytesOf(Codes(0, 19)),
                            is_color ? "rgb24" : "gray12le", kSize, encoder, Video(camera));
    };
    WriteV3();
    encode("left", {"-c:v", name, "-pix_fmt", "yuv420p"});
    encode("left_depth", kHevc);
    Calibrate(width);
  };
  for (const int width : {72, 100, 224}) {
    for (const std::string codec : {"libx264", "libx265"}) {
      sized(width, codec);
      const EpisodeReader episode = Imported();
      EXPECT_EQ(episode.ReadColor(2, 0)->width_px, width) << codec;
      EXPECT_NEAR(episode.ReadDepth(0, 0)->pixels_m.back(), MetresOf(789), 6e-5) << codec;
    }
  }
}

TEST_F(LerobotImportTest, TiffOfAWidthThatDecodersPad) {
  const std::string file = folder_.File("depth.tif");
  testing::EncodeFrames(testing::BytesOf(std::vector<std::uint16_t>(100 * 72, 1234)), "gray16le",
                        "100x72", {}, file);
  const auto depth =
      DecodeTiffDepth(testing::ReadBytes(file), 0.001, 100, 72, folder_.path(), std::stop_token());
  ASSERT_TRUE(depth.ok()) << depth.status().ToString();
  EXPECT_EQ(depth->pixels, std::vector<std::uint16_t>(100 * 72, 1234));
}

/// The average rate stays what it was.
TEST_F(LerobotImportTest, FramesOffTheirTimesAreRefused) {
  WriteV3();
  const auto shift_some = [this](const std::string& frames) {
    testing::EncodeFrames(
        Colors(0, 19), "rgb24", kSize,
        {"-vf", "settb=1/1000,setpts='100*(N+" + frames + "*between(N,9,12))'", "-fps_mode",
         "passthrough", "-enc_time_base", "1:1000", "-c:v", "libx264rgb", "-qp", "0"},
        Video("left"));
  };
  shift_some("0.7");
  ExpectRefused(reason::FILE_UNREADABLE, "left/chunk-000", "half a frame");
  shift_some("0.3");
  ExpectCodedDepths(Imported(), kFirstLength);
}

TEST_F(LerobotImportTest, UnitsTooFineForTheDeepestAreRefused) {
  WriteV3();
  options_.depth_unit_m = 0.00001;  // 65534 units are 0.66 m
  ExpectRefused(reason::ARGUMENT_INVALID, "--depth-unit", "such as 0.0001");
  options_.depth_unit_m = 0.001;
  EXPECT_NEAR(Imported().ReadDepth(0, 0)->pixels_m[2], 0.4997, 6e-4);
}

TEST_F(LerobotImportTest, FilesOfOperatingSystemsAreNoTables) {
  WriteV3();
  testing::WriteText(Set("meta/episodes/chunk-000/._file-000.parquet"), "not a table");
  testing::WriteText(Set("meta/episodes/.trash/file-000.parquet"), "nor this");
  std::filesystem::create_directories(Set("meta/episodes/chunk-000/folder.parquet"));
  ExpectCodedDepths(Imported(), kFirstLength);
}

TEST_F(LerobotImportTest, GrippersInDegreesAreNamed) {
  WriteV3();
  Robot robot = *ReadRobot(options_.bag.robot_dir);
  robot.links[1].joint.name = "gripper";
  ASSERT_TRUE(WriteRobot(robot, folder_.File("gripper_robot")).ok());
  options_.bag.robot_dir = folder_.File("gripper_robot");
  std::string info = *ReadTextFile(Set("meta/info.json"));
  for (std::size_t at = 0; (at = info.find("elbow", at)) != std::string::npos;) {
    info.replace(at, 5, "gripper");
  }
  testing::WriteText(Set("meta/info.json"), info);
  ExpectRefused(reason::ACTION_SHAPE, "--joints observation.state=NAME", "percent");
  options_.bag.joints = {"observation.state=gripper,finger"};
  EXPECT_NEAR(Imported().states().values[2], 50 * std::numbers::pi / 180, 1e-6);
  std::filesystem::remove_all(options_.episode_dir);
  options_.bag.commands = "action";
  ExpectRefused(reason::ACTION_SHAPE, "--commands action=NAME", "percent");
  options_.bag.commands.clear();
  options_.bag.joints.clear();
  options_.lerobot.joint_unit = "rad";
  EXPECT_NEAR(Imported().states().values[2], 50, 1e-6);
}

TEST_F(LerobotImportTest, PathsStayInsideTheSet) {
  WriteV3();
  std::string info = *ReadTextFile(Set("meta/info.json"));
  info.replace(info.find("\"data/chunk"), 6, "\"../x/");
  testing::WriteText(Set("meta/info.json"), info);
  ExpectRefused(reason::SCHEMA_INVALID, "paths inside the set", "../x");
}

TEST_F(LerobotImportTest, DamagedTablesAreRefusedAndCutOnesToo) {
  WriteImages(false, R"("depth_unit": "mm")");
  const std::string name = Set("data/chunk-000/episode_000001.parquet");
  const std::vector<std::uint8_t> bytes = testing::ReadBytes(name);
  ASSERT_GT(bytes.size(), 1000U);
  const auto read_all = [&](const std::vector<std::uint8_t>& file) -> Status {
    INTERLACER_RETURN_IF_ERROR(WriteFileAtomic(name, std::span<const std::uint8_t>(file)));
    INTERLACER_ASSIGN_OR_RETURN(const ParquetTable table, ParquetTable::Open(name));
    for (const char* const column : {"episode_index", "timestamp", "observation.state"}) {
      INTERLACER_RETURN_IF_ERROR(table.ReadRows(column, 0, table.row_count()).status());
    }
    return table.VisitBytes("observation.images.left", 0, table.row_count(),
                            [](std::span<const std::uint8_t>) { return Status::Ok(); });
  };
  EXPECT_TRUE(read_all(bytes).ok());
  int refused = 0, tried = 0;
  for (std::size_t back = 1; back < bytes.size(); back += 1 + back / 25, ++tried) {
    std::vector<std::uint8_t> damaged = bytes;
    damaged[bytes.size() - back] ^= 0x55;
    refused += read_all(damaged).ok() ? 0 : 1;
    damaged.resize(bytes.size() - back);
    EXPECT_FALSE(read_all(damaged).ok()) << back;
  }
  EXPECT_GT(refused, tried / 4) << tried;
}

TEST_F(LerobotImportTest, RowsBeyondTheTableAreRefused) {
  const std::string path = folder_.File("table.parquet");
  Rows(true, true).Write(path);
  const ParquetTable table = *ParquetTable::Open(path);
  for (const std::int64_t first : {table.row_count() - 1, table.row_count()}) {
    EXPECT_EQ(table.ReadRows("action", first, 2).status().reason(), reason::SCHEMA_INVALID);
  }
}

/// Nothing reads on in the background into memory that went with the table.
TEST_F(LerobotImportTest, TablesMayGoAsSoonAsTheyAreRead) {
  const std::string path = folder_.File("table.parquet");
  Rows(true, true).Write(path);
  for (int i = 0; i < 2000; ++i) {
    const auto rows = Must(ParquetTable::Open(path)->ReadRows("action", 0, 2));
    ASSERT_EQ(rows.values, (std::vector<double>{5, 0.02F, 15, 0.02F}));
  }
}

TEST_F(LerobotImportTest, StoppedImportsLeaveNothing) {
  WriteV3();
  std::stop_source stop;
  stop.request_stop();
  options_.stop = stop.get_token();
  const Status report = Import().status();
  EXPECT_EQ(report.code(), StatusCode::kCancelled) << report.ToString();
  EXPECT_FALSE(std::filesystem::exists(options_.episode_dir));
}

TEST_F(LerobotImportTest, WithoutTheProgramItsPackageIsNamed) {
  WriteV3();
  const std::string path = std::getenv("PATH");
  setenv("PATH", folder_.path().c_str(), 1);
  ExpectRefused(reason::FILE_NOT_FOUND, "ffprobe", "package ffmpeg");
  setenv("PATH", path.c_str(), 1);
}

/// Of LeRobot's own writer: colour as AV1, joints of seven columns.
TEST_F(LerobotImportTest, SetsOfItsOwnWriter) {
  options_.source_dir = testing::TestData("formats/lr3");
  if (!std::filesystem::exists(options_.source_dir)) {
    GTEST_SKIP() << "no recording at " << options_.source_dir;
  }
  options_.lerobot.episode = 1;
  options_.bag.joints = {"observation.state=finger,elbow,-,-,-,-,-"};
  const EpisodeReader episode = Imported();
  ASSERT_EQ(episode.step_count(), 3);
  const auto depth_m = episode.ReadDepth(1, 0)->pixels_m;  // frame 5: 1050 mm
  EXPECT_TRUE(std::isnan(depth_m[2 * kWidth]) && std::isnan(depth_m[10 * kWidth]));
  EXPECT_NEAR(depth_m[18 * kWidth], 0.4997, 1e-4);
  EXPECT_NEAR(depth_m[30 * kWidth], 1.0502, 1e-4);
  const auto color = episode.ReadColor(1, 0)->pixels;
  EXPECT_NEAR(color[0], 200, 3);
  EXPECT_NEAR(color[1], 100, 3);
  EXPECT_NEAR(color[2], 30, 3);
  EXPECT_NEAR(episode.states().values[2], 6 * std::numbers::pi / 180, 1e-6);
}

}  // namespace
}  // namespace interlacer
