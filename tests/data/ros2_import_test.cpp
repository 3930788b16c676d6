/// Bags as episodes: one pixel's depth in metres, joints by name, poses of tf; what is missing is
/// named; an episode that was exported comes back.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>

#include "common/file_io.h"
#include "common/image_codec.h"
#include "common/npy.h"
#include "common/transforms.h"
#include "data/episode_reader.h"
#include "data/episode_record.h"
#include "data/exporters/mcap_export.h"
#include "data/exporters/recording_file.h"
#include "data/importers/bag_index.h"
#include "data/importers/importers.h"
#include "data/manifest.h"
#include "data/mcap/compression.h"
#include "robots/forward_kinematics.h"
#include "robots/robot_folder.h"
#include "tests/data/bag_writer.h"
#include "tests/data/import_fixture.h"
#include "tests/data/synthetic_scene.h"
#include "tests/robots/one_joint_robot.h"
#include "tests/robots/seven_joint_robot.h"
#include "tests/support/matchers.h"
#include "tests/support/must.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_data.h"

namespace interlacer::testing {
namespace {

using ::testing::Contains;

constexpr int kWidth = 32, kHeight = 24;
constexpr std::int64_t kStart = 100'000'000'000, kFrame = 100'000'000;  // ns
constexpr char kFrameId[] = "left_optical";

class Ros2ImportTest : public RecordingTest {
 protected:
  Ros2ImportTest() : RecordingTest("ros2", "bag.mcap") {
    options_.bag.world_frame = "world";
    EXPECT_TRUE(WriteRobot(OneJointRobot(), folder_.File("robot")).ok());
  }

  static std::vector<std::uint8_t> Rgb(int first) {
    std::vector<std::uint8_t> pixels(3 * kWidth * kHeight);
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      pixels[i] = static_cast<std::uint8_t>(first + 7 * i + i / 96);
    }
    return pixels;
  }
  static std::vector<std::uint8_t> Depth(int first_mm) {
    std::vector<std::uint8_t> bytes;
    for (int i = 0; i < kWidth * kHeight; ++i) {
      const int mm = first_mm + 3 * (i % kWidth) + i / kWidth;
      bytes.push_back(static_cast<std::uint8_t>(mm & 255));
      bytes.push_back(static_cast<std::uint8_t>(mm >> 8));
    }
    return bytes;
  }

  /// 21 frames at 10 Hz for two seconds; depth of 1234 mm + frame at pixel 0; joint 0.1 rad/s x t
  /// at 40 Hz, 10 ms beside the frames; the camera 1 m above the world.
  void Fill() {
    messages_.clear();
    AddTransform("/tf_static", kStart, "/world", kFrameId, {0, 0, 1, 0, 1, 0, 0});
    for (int i = 0; i <= 20; ++i) {
      const std::int64_t t = kStart + i * kFrame;
      AddImage("/left/color/image_raw", t, "rgb8", Rgb(i));
      AddImage("/left/depth/image_raw", t + 4'000'000, "16UC1", Depth(1234 + i));
      AddInfo("/left/color/camera_info", t, 30);
    }
    for (int i = -1; i <= 81; ++i) {
      const std::int64_t t = kStart + i * 25'000'000 + 10'000'000;
      const double seconds = 1e-9 * static_cast<double>(t - kStart);
      messages_.push_back({"/joint_states", "JointState", t,
                           JointsCdr(t, {"gripper", "elbow"}, {7, 0.1 * seconds}, i % 2 == 0)});
    }
  }
  void AddImage(const char* topic, std::int64_t time_ns, const char* encoding,
                const std::vector<std::uint8_t>& data, const char* frame = kFrameId) {
    const auto row_bytes = static_cast<std::uint32_t>(data.size() / kHeight);
    messages_.push_back({topic, "Image", time_ns,
                         ImageCdr(time_ns, frame, kWidth, kHeight, encoding, row_bytes, data)});
  }
  void AddInfo(const char* topic, std::int64_t time_ns, double f_px, const char* frame = kFrameId) {
    messages_.push_back(
        {topic, "CameraInfo", time_ns,
         CameraInfoCdr(time_ns, frame, kWidth, kHeight, f_px, 15.5, 11.5, {0, 0, 0, 0, 0})});
  }
  void AddTransform(const char* topic, std::int64_t time_ns, const char* parent, const char* child,
                    const std::vector<double>& xyz_qxyzw) {
    messages_.push_back({topic, "tf2_msgs/msg/TFMessage", time_ns,
                         TransformCdr(time_ns, parent, child, xyz_qxyzw)});
  }
  /// Three frames of depth in metres in place of those in millimetres.
  void SetMetres(const std::vector<float>& metres) {
    Remove("/left/depth/image_raw");
    std::vector<std::uint8_t> bytes(metres.size() * 4);
    std::memcpy(bytes.data(), metres.data(), bytes.size());
    for (int i = 0; i < 3; ++i) {
      AddImage("/left/depth/image", kStart + i * kFrame, "32FC1", bytes);
    }
  }
  /// An arm of seven joints, its gripper alone in the joint states; `add_tool` says where the tool
  /// is at a time.
  template <typename AddTool>
  void FillArm(const AddTool& add_tool) {
    Fill();
    Remove("/joint_states");
    options_.bag.robot_dir = folder_.File("arm");
    options_.bag.joints = {"/gripper"};
    ASSERT_TRUE(WriteRobot(arm_, options_.bag.robot_dir).ok());
    for (int i = 0; i <= 20; ++i) {
      const std::int64_t t = kStart + i * kFrame;
      const Transform tool = ToolAt(0.1 * i);
      add_tool(t, tool.translation_m, tool.rotation_xyzw);
      messages_.push_back({"/gripper", "JointState", t, JointsCdr(t, {"grip"}, {0.02})});
    }
  }
  Transform ToolAt(double time_s) const { return LinkPoses(arm_, SevenJointMotion(time_s))[8]; }
  /// In five steps of half a second.
  void ExpectToolReached(const EpisodeReader& episode) const {
    ASSERT_EQ(episode.step_count(), 5);
    for (int step = 0; step < 5; ++step) {
      const auto begin = episode.states().values.begin() + 8 * step;
      const Transform reached = LinkPoses(arm_, std::vector<double>(begin, begin + 8))[8];
      EXPECT_LT(DistanceM(reached.translation_m, ToolAt(0.5 * step).translation_m), 1e-4) << step;
    }
  }
  BagMessage* Find(const std::string& topic) {
    for (BagMessage& message : messages_) {
      if (message.topic == topic) return &message;
    }
    return nullptr;
  }
  void Remove(const std::string& topic) {
    std::erase_if(messages_, [&](const BagMessage& m) { return m.topic == topic; });
  }
  void Write() override { WriteMcapBag(folder_.File("bag.mcap"), messages_); }

  const Robot arm_ = SevenJointRobot();
  std::vector<BagMessage> messages_;
};

TEST_F(Ros2ImportTest, AMovieWithoutRobot) {
  Fill();
  const auto report = Must(Import());
  EXPECT_EQ(report.frame_count, 21);
  ASSERT_EQ(report.choices.size(), 1u);
  EXPECT_NE(report.choices[0].find("/left/depth/image_raw"), std::string::npos);
  const auto episode = EpisodeReader::Open(options_.episode_dir);
  EXPECT_EQ(episode->manifest().kind, EpisodeKind::kMovingCamera);
  EXPECT_EQ(episode->manifest().cameras[0].name, "left");
  EXPECT_NEAR(episode->manifest().step_duration_s, 0.1, 1e-9);
  EXPECT_EQ(episode->ReadDepth(3, 0)->pixels_m[0], 1.237f);
  EXPECT_EQ(episode->ReadColor(3, 0)->pixels, Rgb(3));
  EXPECT_EQ(episode->CaptureTimeNs(3, 0), kStart + 3 * kFrame);
  // The camera looks down from 1 m: its middle's point lies under it.
  EXPECT_NEAR(Unproject(episode->CameraAt(0, 0), 15.5, 11.5, 1)[2], 0, 1e-9);
  EXPECT_TRUE(episode->manifest().cameras[0].poses_file.empty());
}

TEST_F(Ros2ImportTest, ARobotsRecordingInSteps) {
  Fill();
  options_.bag.robot_dir = folder_.File("robot");
  const EpisodeReader episode = Imported();
  EXPECT_EQ(episode.manifest().kind, EpisodeKind::kManipulation);
  EXPECT_EQ(episode.step_count(), 5);
  EXPECT_EQ(episode.manifest().step_duration_s, 0.5);
  EXPECT_EQ(episode.manifest().states->columns[0].name, "elbow_rad");
  for (int step = 0; step < 5; ++step) {
    EXPECT_NEAR(episode.states().values[step], 0.05 * step, 1e-12);
    EXPECT_EQ(episode.actions().values[step], episode.states().values[step]);
    EXPECT_NEAR(episode.ReadDepth(step, 0)->pixels_m[0], 1.234 + 0.005 * step, 1e-6);
  }
}

TEST_F(Ros2ImportTest, CommandsHoldUntilTheNext) {
  Fill();
  for (const auto& [offset_ns, value] :
       {std::pair{0, 0.5}, std::pair{600'000'000, 1.5}, std::pair{1'500'000'000, 2.5}}) {
    messages_.push_back({"/commands", "JointState", kStart + offset_ns,
                         JointsCdr(kStart + offset_ns, {"elbow"}, {value})});
  }
  options_.bag.robot_dir = folder_.File("robot");
  options_.bag.commands = "/commands";
  EXPECT_EQ(Imported().actions().values, (std::vector<double>{0.5, 0.5, 1.5, 2.5, 2.5}));
}

TEST_F(Ros2ImportTest, SqliteAndAFolderOfFilesGiveTheSame) {
  Fill();
  ASSERT_TRUE(Import().ok());
  const auto from_mcap = EpisodeReader::Open(options_.episode_dir);
  const std::string bag = folder_.File("bag");
  std::filesystem::create_directories(bag);
  const auto middle = messages_.begin() + 40;
  WriteSqliteBag(bag + "/bag_0.db3", {messages_.begin(), middle});
  WriteSqliteBag(bag + "/bag_1.db3", {middle, messages_.end()});
  options_.source_dir = bag;
  options_.episode_dir = folder_.File("from_sqlite");
  Must(ImportRecording("ros2", options_));
  const auto from_sqlite = EpisodeReader::Open(options_.episode_dir);
  ASSERT_EQ(from_sqlite->step_count(), 21);
  for (int step = 0; step < 21; ++step) {
    EXPECT_EQ(from_sqlite->ReadColor(step, 0)->pixels, from_mcap->ReadColor(step, 0)->pixels);
    EXPECT_EQ(from_sqlite->ReadRawDepth(step, 0)->pixels, from_mcap->ReadRawDepth(step, 0)->pixels);
  }
}

/// SQLite reads zeros beyond the end.
TEST_F(Ros2ImportTest, ACutFileOfSqliteIsRefusedWithAWayOut) {
  Fill();
  options_.source_dir = folder_.File("cut.db3");
  WriteSqliteBag(options_.source_dir, messages_);
  ASSERT_TRUE(ImportRecording("ros2", options_).ok());
  const auto whole = std::filesystem::file_size(options_.source_dir);
  options_.overwrite = true;
  for (const double share : {0.99, 0.6}) {
    std::filesystem::resize_file(options_.source_dir,
                                 static_cast<std::uintmax_t>(share * static_cast<double>(whole)));
    const Status status = ImportRecording("ros2", options_).status();
    EXPECT_EQ(status.reason(), reason::FILE_UNREADABLE);
    for (const std::string& part : {std::to_string(whole), std::string(".recover")}) {
      EXPECT_NE(status.ToString().find(part), std::string::npos) << status.ToString();
    }
  }
}

TEST_F(Ros2ImportTest, AFileOfSqliteWithChangesBesideItIsNotTakenForCut) {
  Fill();
  const std::string written = folder_.File("written.db3");
  WriteSqliteBag(written, messages_);
  sqlite3* base = nullptr;
  ASSERT_EQ(sqlite3_open(written.c_str(), &base), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(base,
                         "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; CREATE TABLE "
                         "more(x BLOB); INSERT INTO more VALUES(zeroblob(500000));"
                         "DELETE FROM messages WHERE timestamp > 101500000000",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);
  // As a recorder that was killed leaves them.
  options_.source_dir = folder_.File("recorded.db3");
  for (const std::string end : {"", "-wal"}) {
    std::filesystem::copy_file(written + end, options_.source_dir + end);
  }
  sqlite3_close(base);
  const auto report = Must(ImportRecording("ros2", options_));
  EXPECT_EQ(report.frame_count, 15);
}

TEST_F(Ros2ImportTest, ACutFileIsReadAsFarAsItGoes) {
  Fill();
  // So much that there are several chunks.
  std::uint32_t random = 1;
  for (std::size_t i = 0; i < 20; ++i) {
    std::vector<std::uint8_t> noise(std::size_t{1} << 19);
    for (std::uint8_t& byte : noise) byte = static_cast<std::uint8_t>((random *= 69069) >> 24);
    messages_.insert(messages_.begin() + static_cast<std::ptrdiff_t>(4 * i),
                     {"/noise", "LaserScan", kStart, std::move(noise)});
  }
  WriteMcapBag(folder_.File("bag.mcap"), messages_);
  std::filesystem::resize_file(folder_.File("bag.mcap"),
                               std::filesystem::file_size(folder_.File("bag.mcap")) * 6 / 10);
  const auto report = Must(ImportRecording("ros2", options_));
  EXPECT_EQ(report.validation.findings.front().reason, "FILE_CUT");
  EXPECT_GT(report.frame_count, 5);
  EXPECT_LT(report.frame_count, 21);
}

TEST_F(Ros2ImportTest, MetresCompressedAndPaddedImages) {
  Fill();
  Remove("/left/color/image_raw");
  std::vector<float> metres(kWidth * kHeight, 1.23456f);
  metres[0] = std::nanf("");
  metres[1] = 2.5f;
  SetMetres(metres);
  const RgbImage color{kWidth, kHeight, Rgb(9)};
  for (int i = 0; i < 3; ++i) {
    const std::int64_t t = kStart + i * kFrame;
    messages_.push_back({"/left/color/image_raw/compressed", "CompressedImage", t,
                         CompressedCdr(t, kFrameId, "rgb8; png compressed", EncodePng(color))});
  }
  const EpisodeReader episode = Imported();
  EXPECT_EQ(episode.manifest().cameras[0].depth_unit_m, 0.0001);
  const auto depth = episode.ReadRawDepth(0, 0);
  EXPECT_EQ(depth->pixels[0], 0);
  EXPECT_EQ(depth->pixels[1], 25000);
  EXPECT_EQ(depth->pixels[2], 12346);
  EXPECT_EQ(episode.ReadColor(2, 0)->pixels, color.pixels);
}

TEST_F(Ros2ImportTest, CompressedDepthHasAHeadOfTwelveBytes) {
  Fill();
  Remove("/left/depth/image_raw");
  DepthImage16 image{kWidth, kHeight, 0.001, std::vector<std::uint16_t>(kWidth * kHeight, 1500)};
  // Inverse depth: 100 / (1500 - 1400) m.
  for (const bool is_metric : {false, true}) {
    std::vector<std::uint8_t> data(12);
    const float a = 100, b = 1400;
    std::memcpy(data.data() + 4, &a, 4);
    std::memcpy(data.data() + 8, &b, 4);
    const auto png = EncodePng(image);
    data.insert(data.end(), png.begin(), png.end());
    Remove("/left/depth/compressedDepth");
    for (int i = 0; i < 3; ++i) {
      const std::int64_t t = kStart + i * kFrame;
      messages_.push_back(
          {"/left/depth/compressedDepth", "CompressedImage", t,
           CompressedCdr(t, kFrameId,
                         is_metric ? "32FC1; compressedDepth png" : "16UC1; compressedDepth png",
                         data)});
    }
    options_.overwrite = true;
    const EpisodeReader episode = Imported();
    EXPECT_NEAR(episode.ReadDepth(0, 0)->pixels_m[5], is_metric ? 1.0 : 1.5, 1e-6);
  }
}

TEST_F(Ros2ImportTest, ColourOrders) {
  for (const auto& [encoding, channels, red] :
       {std::tuple{"bgr8", 3, 2}, std::tuple{"rgba8", 4, 0}, std::tuple{"bgra8", 4, 2},
        std::tuple{"mono8", 1, 0}}) {
    Fill();
    Remove("/left/color/image_raw");
    // Rows with padding; the first pixel's channels count from 10.
    const std::uint32_t row_bytes = channels * kWidth + 5;
    std::vector<std::uint8_t> data(row_bytes * kHeight, 200);
    for (int c = 0; c < channels; ++c) data[c] = static_cast<std::uint8_t>(10 + c);
    AddImage("/left/color/image_raw", kStart, encoding, data);
    options_.overwrite = true;
    const EpisodeReader episode = Imported();
    EXPECT_EQ(episode.manifest().kind, EpisodeKind::kStaticViews);
    EXPECT_EQ(episode.ReadColor(0, 0)->pixels[0], 10 + red) << encoding;
  }
}

TEST_F(Ros2ImportTest, DepthOfAnotherFrameSizeOrKIsNotRegistered) {
  Fill();
  for (BagMessage& message : messages_) {
    if (message.topic != "/left/depth/image_raw") continue;
    message.data = ImageCdr(message.time_ns, "depth_optical", kWidth, kHeight, "16UC1", 2 * kWidth,
                            Depth(1000));
  }
  ExpectRefused(reason::NOT_REGISTERED, "depth_optical", "/left/color/image_raw");
  Fill();
  AddInfo("/left/depth/camera_info", kStart, 29);
  ExpectRefused(reason::NOT_REGISTERED, "/left/depth/camera_info", "another K");
}

TEST_F(Ros2ImportTest, WhatIsMissingIsNamed) {
  Fill();
  options_.bag.world_frame = "";
  ExpectRefused(reason::ARGUMENT_INVALID, "--world-frame", "root: world");
  options_.bag.world_frame = "map";
  ExpectRefused(reason::ARGUMENT_INVALID, "--world-frame", "left_optical");
  options_.bag.world_frame = "world";
  options_.bag.color = {{"left", "/right/color"}};
  ExpectRefused(reason::ARGUMENT_INVALID, "--color", "/left/color/image_raw");
  options_.bag.color.clear();
  options_.bag.commands = "/joint_states";
  ExpectRefused(reason::ARGUMENT_INVALID, "--robot", "");
  options_.bag.commands = "";
  Remove("/left/color/camera_info");
  ExpectRefused(reason::NO_CALIBRATION, "--camera-info", kFrameId);
}

TEST_F(Ros2ImportTest, MissingJointsAreNamed) {
  Fill();
  Robot robot = OneJointRobot();
  robot.links[1].joint.name = "shoulder";
  ASSERT_TRUE(WriteRobot(robot, folder_.File("other")).ok());
  options_.bag.robot_dir = folder_.File("other");
  ExpectRefused(reason::ACTION_SHAPE, "without shoulder", "elbow, gripper");
}

TEST_F(Ros2ImportTest, ARobotThatStandsElsewhereIsRefused) {
  Fill();
  AddTransform("/tf_static", kStart, "world", "base", {0.3, 0, 0, 0, 0, 0, 1});
  options_.bag.robot_dir = folder_.File("robot");
  ExpectRefused(reason::CALIBRATION_INVALID, "base", "0.3 m");
}

TEST_F(Ros2ImportTest, AMovingCameraIsWhereTransformsSayBetweenThem) {
  Fill();
  Remove("/tf_static");
  // 5 Hz, up by 0.2 m/s: frames of odd numbers lie between transforms.
  for (int i = 0; i <= 10; ++i) {
    AddTransform("/tf", kStart + 2 * i * kFrame, "world", kFrameId,
                 {0, 0, 1 + 0.04 * i, 0, 1, 0, 0});
  }
  const EpisodeReader episode = Imported();
  EXPECT_EQ(episode.step_count(), 21);
  EXPECT_NEAR(episode.CameraAt(7, 0).world_from_camera.translation_m[2], 1.14, 1e-12);
}

TEST_F(Ros2ImportTest, RectifiedImagesHaveThePinholeOfP) {
  Fill();
  for (BagMessage& message : messages_) {
    if (message.topic == "/left/color/image_raw") message.topic = "/left/color/image_rect_color";
  }
  EXPECT_EQ(Imported().manifest().cameras[0].camera.fx_px, 15);
}

TEST_F(Ros2ImportTest, CalibrationsOfPartsOfImagesAreFoundOrRefused) {
  const auto calibrate = [&](int scale, const std::array<std::uint32_t, 6>& part) {
    Fill();
    for (BagMessage& message : messages_) {
      if (message.topic != "/left/color/camera_info") continue;
      message.data = CameraInfoCdr(message.time_ns, kFrameId, scale * kWidth, scale * kHeight, 30,
                                   15.5, 11.5, {0, 0, 0, 0, 0}, part);
    }
    options_.overwrite = true;
  };
  const auto has_finding = [&](const char* words) {
    return HasFinding(Must(Import()).validation.findings, "CALIBRATION_SUSPECT", words);
  };
  for (const auto& part : {std::array<std::uint32_t, 6>{0, 0, 0, 0, 0, 0},
                           std::array<std::uint32_t, 6>{1, 1, 0, 0, kHeight, kWidth}}) {
    calibrate(1, part);
    EXPECT_FALSE(has_finding("says "));
  }
  calibrate(1, {2, 2, 0, 0, 0, 0});
  EXPECT_TRUE(has_finding("binning of 2x2"));
  calibrate(1, {0, 0, 4, 2, kHeight, kWidth});
  EXPECT_TRUE(has_finding("a region of interest of 32x24 at 4,2"));
  calibrate(2, {2, 2, 0, 0, 0, 0});
  ExpectRefused(reason::CALIBRATION_SIZE_MISMATCH, "64x48 with binning of 2x2", "--calibration");
}

TEST_F(Ros2ImportTest, IntrinsicsOfAnotherSizeAreFound) {
  Fill();
  for (BagMessage& message : messages_) {
    if (message.topic != "/left/color/camera_info") continue;
    message.data =
        CameraInfoCdr(message.time_ns, kFrameId, kWidth, kHeight, 60, 31, 23, {0, 0, 0, 0, 0});
  }
  const auto report = Must(Import());
  EXPECT_TRUE(HasFinding(report.validation.findings, "PRINCIPAL_POINT_OFF_CENTER",
                         "cx,cy 31,23 is far from the middle of images of 32x24"));
}

TEST_F(Ros2ImportTest, AnExportedEpisodeIsTheSameEpisodeAgain) {
  Fill();
  options_.bag.robot_dir = folder_.File("robot");
  ASSERT_TRUE(Import().ok());
  const std::string original = options_.episode_dir;
  const auto before = EpisodeReader::Open(original);
  options_.bag.joints = {"/joint_states"};
  options_.bag.commands = "/joint_commands";
  for (const McapProfile profile : {McapProfile::kFoxglove, McapProfile::kRos2}) {
    const std::string name = profile == McapProfile::kRos2 ? "ros2" : "foxglove";
    SCOPED_TRACE(name);
    McapExportOptions export_options;
    export_options.profile = profile;
    options_.source_dir = folder_.File(name + ".mcap");
    options_.episode_dir = folder_.File(name);
    ASSERT_TRUE(ExportEpisodeAsMcap(original, options_.source_dir, export_options).ok());
    Must(ImportRecording("ros2", options_));
    const auto after = EpisodeReader::Open(options_.episode_dir);
    ASSERT_EQ(after->step_count(), before->step_count());
    EXPECT_EQ(after->manifest().kind, before->manifest().kind);
    EXPECT_EQ(after->manifest().step_duration_s, before->manifest().step_duration_s);
    EXPECT_EQ(after->manifest().robot->folder_sha256, before->manifest().robot->folder_sha256);
    EXPECT_EQ(after->states().values, before->states().values);
    EXPECT_EQ(after->actions().values, before->actions().values);
    for (int step = 0; step < before->step_count(); ++step) {
      EXPECT_EQ(after->ReadColor(step, 0)->pixels, before->ReadColor(step, 0)->pixels);
      EXPECT_EQ(after->ReadRawDepth(step, 0)->pixels, before->ReadRawDepth(step, 0)->pixels);
      EXPECT_EQ(after->CameraAt(step, 0), before->CameraAt(step, 0));
      EXPECT_EQ(after->CaptureTimeNs(step, 0), before->CaptureTimeNs(step, 0));
    }
  }
}

TEST_F(Ros2ImportTest, AnotherRobotThanTheExportedOneIsAChange) {
  Fill();
  options_.bag.robot_dir = folder_.File("robot");
  ASSERT_TRUE(Import().ok());
  const std::string original = options_.episode_dir;
  options_.source_dir = folder_.File("exported.mcap");
  ASSERT_TRUE(ExportEpisodeAsMcap(original, options_.source_dir).ok());
  Robot other = OneJointRobot();
  other.name = "other";
  options_.bag.robot_dir = folder_.File("other");
  ASSERT_TRUE(WriteRobot(other, options_.bag.robot_dir).ok());
  options_.episode_dir = folder_.File("again");
  ASSERT_TRUE(ImportRecording("ros2", options_).ok());
  const EpisodeManifest manifest = *ReadManifest(options_.episode_dir);
  EXPECT_EQ(manifest.robot->model, "other");
  const auto& notes = manifest.source.notes;
  EXPECT_THAT(notes, Contains(HasSubstr("with changes")));
}

TEST_F(Ros2ImportTest, JointsThatAnExportHasLostAreSaid) {
  Fill();
  options_.bag.robot_dir = folder_.File("robot");
  ASSERT_TRUE(Import().ok());
  const EpisodeManifest original = *ReadManifest(options_.episode_dir);
  Remove("/joint_states");
  WriteMcapBag(options_.source_dir, messages_,
               {{kEpisodeRecordName, MakeEpisodeRecord({original})}});
  options_.bag.robot_dir.clear();
  options_.overwrite = true;
  const auto report = Must(ImportRecording("ros2", options_));
  EXPECT_THAT(report.choices,
              Contains(AllOf(HasSubstr("joints of robot"), HasSubstr("/joint_states"))));
  const auto notes = ReadManifest(options_.episode_dir)->source.notes;
  EXPECT_THAT(notes, Contains(HasSubstr("with changes")));
}

TEST_F(Ros2ImportTest, OneMomentOfTwoCamerasIsAnEpisode) {
  Fill();
  Remove("/joint_states");
  constexpr std::int64_t kLag = 3'000'000;
  std::erase_if(messages_, [](const BagMessage& m) { return m.time_ns > kStart + kFrame / 2; });
  constexpr char kRightId[] = "right_optical";
  AddTransform("/tf_static", kStart, "world", kRightId, {1, 0, 1, 0, 1, 0, 0});
  AddImage("/right/color/image_raw", kStart + kLag, "rgb8", Rgb(1), kRightId);
  AddImage("/right/depth/image_raw", kStart + kLag, "16UC1", Depth(900), kRightId);
  AddInfo("/right/color/camera_info", kStart, 30, kRightId);
  const EpisodeReader episode = Imported();
  EXPECT_EQ(episode.step_count(), 1);
  ASSERT_EQ(episode.camera_count(), 2);
  EXPECT_EQ(episode.CaptureTimeNs(0, 1), kStart + kLag);
}

TEST_F(Ros2ImportTest, TheManifestOfAnExportedEpisodeComesBack) {
  const std::string original = folder_.File("synthetic");
  WriteSyntheticEpisode(original);
  options_.source_dir = folder_.File("synthetic.mcap");
  ASSERT_TRUE(ExportEpisodeAsMcap(original, options_.source_dir).ok());
  options_.bag.world_frame = "";  // that of the episode
  auto report = Must(ImportRecording("ros2", options_));
  const EpisodeManifest before = *ReadManifest(original);
  EpisodeManifest after = *ReadManifest(options_.episode_dir);
  EXPECT_EQ(after.episode_id, before.episode_id);
  EXPECT_EQ(after.created_time, before.created_time);
  // Without a robot its tables are left out, which is said.
  EXPECT_THAT(report.choices, Contains(HasSubstr("states and actions")));
  EXPECT_GT(after.source.notes.size(), before.source.notes.size());
  after.source.notes = before.source.notes;
  EXPECT_EQ(after.source, before.source);
  EXPECT_EQ(after.task_name, before.task_name);
  EXPECT_EQ(after.step_count, before.step_count);
  EXPECT_EQ(after.step_duration_s, before.step_duration_s);
  EXPECT_EQ(after.world_frame_name, before.world_frame_name);
  EXPECT_EQ(after.workspace.min_m, before.workspace.min_m);
  EXPECT_EQ(after.workspace.max_m, before.workspace.max_m);
  ASSERT_EQ(after.cameras.size(), before.cameras.size());
  const auto old = EpisodeReader::Open(original), again = EpisodeReader::Open(options_.episode_dir);
  for (int camera = 0; camera < 2; ++camera) {
    const auto index = static_cast<std::size_t>(camera);
    EXPECT_EQ(after.cameras[index].name, before.cameras[index].name);
    EXPECT_EQ(after.cameras[index].depth_unit_m, before.cameras[index].depth_unit_m);
    EXPECT_EQ(after.cameras[index].near_m, before.cameras[index].near_m);
    EXPECT_EQ(after.cameras[index].far_m, before.cameras[index].far_m);
    EXPECT_EQ(again->ReadRawDepth(3, camera)->pixels, old->ReadRawDepth(3, camera)->pixels);
    EXPECT_EQ(again->CameraAt(3, camera), old->CameraAt(3, camera));
  }
  EXPECT_THAT(report.choices, Contains(AllOf(HasSubstr(before.episode_id), HasSubstr("range"))));

  // Options win over what the file says of itself.
  options_.overwrite = true;
  options_.episode_id = "other";
  options_.license = "CC0";
  options_.far_m = 1.5;
  ASSERT_TRUE(ImportRecording("ros2", options_).ok());
  after = *ReadManifest(options_.episode_dir);
  EXPECT_EQ(after.episode_id, "other");
  EXPECT_EQ(after.source.license, "CC0");
  EXPECT_EQ(after.source.seed, before.source.seed);
  EXPECT_EQ(after.cameras[1].far_m, 1.5);
  EXPECT_EQ(after.workspace.min_m, before.workspace.min_m);

  // In another frame its box would lie elsewhere.
  options_.bag.world_frame = "left_optical_frame";
  report = Must(ImportRecording("ros2", options_));
  after = *ReadManifest(options_.episode_dir);
  EXPECT_NE(after.workspace.min_m, before.workspace.min_m);
  EXPECT_EQ(after.source.seed, std::nullopt);
  EXPECT_NE(report.choices[0].find("left out"), std::string::npos) << report.choices[0];
}

TEST_F(Ros2ImportTest, WhatAnExportSaysWronglyOfItsEpisodeIsLeftOut) {
  const std::string original = folder_.File("synthetic");
  WriteSyntheticEpisode(original);
  options_.source_dir = folder_.File("synthetic.mcap");
  ASSERT_TRUE(ExportEpisodeAsMcap(original, options_.source_dir).ok());
  std::string bytes = *ReadTextFile(options_.source_dir);
  const std::size_t at = bytes.find("\"interlacer.episode\"");
  ASSERT_NE(at, std::string::npos);
  bytes[at + 1] = 'X';
  std::ofstream(options_.source_dir, std::ios::binary) << bytes;
  options_.bag.world_frame = SyntheticManifest().world_frame_name;
  const auto report = Must(ImportRecording("ros2", options_));
  EXPECT_TRUE(HasFinding(report.validation.findings, "EPISODE_RECORD_INVALID"));
  EXPECT_EQ(ReadManifest(options_.episode_dir)->source.seed, std::nullopt);
}

TEST(McapExport, APredictionHasPicturesParticlesAndTheirCameras) {
  const TempFolder folder;
  const std::string prediction = folder.File("prediction"), path = folder.File("out.mcap");
  for (const char* name : {"/views/left", "/truth/left", "/particles"}) {
    std::filesystem::create_directories(prediction + name);
  }
  std::ofstream(prediction + "/prediction.json")
      << R"({"step_count": 1, "step_duration_s": 0.5, "cameras": [{"name": "left", "width_px": 4,
             "height_px": 3, "fx_px": 5, "fy_px": 6, "cx_px": 1.5, "cy_px": 1, "world_from_camera":
             {"translation_m": [1, 2, 3], "rotation_xyzw": [0, 0, 0, 1]}}]})";
  const RgbImage picture{4, 3, std::vector<std::uint8_t>(36, 7)};
  for (const std::string step : {"step_000", "step_001"}) {
    ASSERT_TRUE(WritePngFile(picture, prediction + "/views/left/" + step + ".png").ok());
    ASSERT_TRUE(WritePngFile(picture, prediction + "/truth/left/" + step + ".png").ok());
    const std::vector<float> points(6, 0.25f);
    const std::int64_t shape[] = {2, 3};
    ASSERT_TRUE(WriteFileAtomic(prediction + "/particles/" + step + ".npy",
                                EncodeNpy(std::span<const float>(points), shape))
                    .ok());
  }
  for (const McapProfile profile : {McapProfile::kFoxglove, McapProfile::kRos2}) {
    McapExportOptions options;
    options.profile = profile;
    ASSERT_TRUE(ExportPredictionAsMcap(prediction, path, options).ok());
    const auto bag = Must(BagIndex::Read(path, {}));
    for (const char* topic :
         {"/prediction/left", "/truth/left", "/prediction/particles", "/left/calibration", "/tf"}) {
      ASSERT_NE(bag.Find(topic), nullptr) << topic;
      EXPECT_EQ(bag.Find(topic)->message_count, 2) << topic;
    }
    EXPECT_EQ(bag.Find("/left/calibration")->info->k[4], 6);
    EXPECT_EQ(bag.Find("/left/calibration")->info->frame_id,
              bag.Find("/prediction/left")->frame_id);
    const auto pose = Must(bag.frames().At("world", "left_optical_frame", 500'000'000, 0));
    EXPECT_EQ(pose.translation_m, (Vec3d{1, 2, 3}));
  }
}

TEST_F(Ros2ImportTest, ARefusalSaysThatTheFileIsCut) {
  Fill();
  WriteMcapBag(options_.source_dir, messages_);
  const std::string whole = *ReadTextFile(options_.source_dir);
  std::ofstream(options_.source_dir, std::ios::binary) << whole.substr(0, 300);
  const Status report = ImportRecording("ros2", options_).status();
  EXPECT_EQ(report.reason(), reason::NO_DEPTH);
  EXPECT_NE(report.message().find("the file ends in the middle"), std::string::npos)
      << report.ToString();
}

TEST_F(Ros2ImportTest, ARobotThatStandsStillIsFound) {
  Fill();
  options_.bag.robot_dir = folder_.File("robot");
  const auto has_finding = [&] {
    options_.overwrite = true;
    return HasFinding(Must(Import()).validation.findings, "MOTION_COVERAGE_LOW");
  };
  EXPECT_FALSE(has_finding());  // 0.2 rad
  for (BagMessage& message : messages_) {
    if (message.topic != "/joint_states") continue;
    message.data = JointsCdr(message.time_ns, {"elbow"}, {0.5});
  }
  EXPECT_TRUE(has_finding());
}

TEST_F(Ros2ImportTest, JointsInDegreesAreFound) {
  Fill();
  options_.bag.robot_dir = folder_.File("robot");
  for (BagMessage& message : messages_) {
    if (message.topic != "/joint_states") continue;
    message.data = JointsCdr(message.time_ns, {"elbow"}, {40});
  }
  const auto report = Must(Import());
  EXPECT_TRUE(HasFinding(report.validation.findings, "JOINT_UNIT_SUSPECT"));
}

TEST_F(Ros2ImportTest, TheEndEffectorAloneIsRefused) {
  Fill();
  Remove("/joint_states");
  options_.bag.robot_dir = folder_.File("robot");
  ExpectRefused(reason::ARGUMENT_INVALID, "end effector", "inverse kinematics");
}

/// The tool in the transforms.
TEST_F(Ros2ImportTest, JointsByInverseKinematicsFromTransforms) {
  FillArm([this](std::int64_t t, const Vec3d& p, const auto& q) {
    AddTransform("/tf", t, "world", "tcp", {p[0], p[1], p[2], q[0], q[1], q[2], q[3]});
  });
  options_.bag.commands = "";
  ExpectRefused(reason::ACTION_SHAPE, "without joint_1", "grip");
  options_.bag.end_effectors = {"hand=tool"};
  ExpectRefused(reason::ARGUMENT_INVALID, "--inverse-kinematics", "hand");
  options_.bag.end_effectors = {"tcp=tool"};
  options_.bag.joints = {};
  ExpectRefused(reason::ACTION_SHAPE, "--joints", "grip");
  options_.bag.joints = {"/gripper"};
  const EpisodeReader episode = Imported();
  ExpectToolReached(episode);
  ASSERT_EQ(episode.states().values.size(), 40u);
  for (int step = 0; step < 5; ++step) EXPECT_EQ(episode.states().values[8 * step + 7], 0.02);
}

/// The tool by a topic of poses in a frame of its own, half a metre beside the world's origin.
TEST_F(Ros2ImportTest, JointsByInverseKinematicsFromPoses) {
  FillArm([this](std::int64_t t, const Vec3d& p, const auto& q) {
    messages_.push_back({"/arm/current_pose", "geometry_msgs/msg/PoseStamped", t,
                         PoseCdr(t, "/bench", {p[0] - 0.5, p[1], p[2], q[0], q[1], q[2], q[3]})});
  });
  AddTransform("/tf_static", kStart, "world", "bench", {0.5, 0, 0, 0, 0, 0, 1});
  ExpectRefused(reason::ACTION_SHAPE, "without joint_1", "grip");
  options_.bag.end_effectors = {"/arm/pose=tool"};
  ExpectRefused(reason::ARGUMENT_INVALID, "/arm/pose", "a topic of poses: /arm/current_pose");
  options_.bag.end_effectors = {"/arm/current_pose=tool"};
  const EpisodeReader episode = Imported();
  ExpectToolReached(episode);
  const auto& notes = episode.manifest().source.notes;
  EXPECT_THAT(notes, Contains(HasSubstr("inverse kinematics from /arm/current_pose")));
}

TEST_F(Ros2ImportTest, PosesAloneAreRefusedAndNamed) {
  Fill();
  Remove("/joint_states");
  options_.bag.robot_dir = folder_.File("robot");
  messages_.push_back({"/ee_pose", "geometry_msgs/msg/PoseStamped", kStart,
                       PoseCdr(kStart, "world", {0, 0, 1, 0, 0, 0, 1})});
  ExpectRefused(reason::ARGUMENT_INVALID, "--inverse-kinematics TOPIC=LINK", "/ee_pose");
}

TEST_F(Ros2ImportTest, PosesOfNoFrameOrOfALostOneSayWhatIsMissing) {
  for (const auto& [frame, word] :
       {std::pair{"", "header.frame_id"}, std::pair{"elsewhere", "elsewhere"}}) {
    Fill();
    Remove("/joint_states");
    options_.bag.robot_dir = folder_.File("robot");
    options_.bag.end_effectors = {"/ee_pose=arm"};
    messages_.push_back({"/ee_pose", "geometry_msgs/msg/PoseStamped", kStart,
                         PoseCdr(kStart, frame, {0, 0, 1, 0, 0, 0, 1})});
    ExpectRefused(reason::ARGUMENT_INVALID, "--inverse-kinematics", word);
  }
}

TEST_F(Ros2ImportTest, DepthsBeyondIntegersAreCountedOrRefused) {
  const auto fill = [&](float most_m, float few_m) {
    Fill();
    std::vector<float> metres(kWidth * kHeight, most_m);
    metres[5] = few_m;
    metres[6] = std::numeric_limits<float>::infinity();
    SetMetres(metres);
  };
  fill(2, 80);
  auto report = Must(Import());
  EXPECT_TRUE(HasFinding(report.validation.findings, "DEPTH_BEYOND_UNIT", "3 of 2301 depths"));
  EXPECT_EQ(EpisodeReader::Open(options_.episode_dir)->ReadRawDepth(0, 0)->pixels[5], 0);

  options_.overwrite = true;
  options_.depth_unit_m = 0.002;
  EXPECT_EQ(Imported().ReadRawDepth(0, 0)->pixels[5], 40000);

  options_.episode_dir = folder_.File("none");
  options_.depth_unit_m = 0.001;
  ExpectRefused(reason::ARGUMENT_INVALID, "--depth-unit", "the deepest measurement");
  options_.depth_unit_m = {};
  fill(1500, 1500);
  ExpectRefused(reason::DEPTH_RANGE_INVALID, "/left/depth/image", "are they millimetres?");
}

TEST_F(Ros2ImportTest, TopicsThatCannotBeReadSayWhy) {
  Fill();
  Remove("/left/color/image_raw");
  AddImage("/left/color/image_raw", kStart, "yuv422_yuy2",
           std::vector<std::uint8_t>(2 * kWidth * kHeight));
  ExpectRefused(reason::NO_DEPTH, "not read: /left/color/image_raw", "got yuv422_yuy2");
}

TEST_F(Ros2ImportTest, AClockThatWasSetWhileRecordingIsRefused) {
  Fill();
  const std::int64_t now = 1'700'000'000'000'000'000;
  for (const auto& [topic, encoding, step, data] :
       {std::tuple{"/left/color/image_raw", "rgb8", 3 * kWidth, Rgb(0)},
        std::tuple{"/left/depth/image_raw", "16UC1", 2 * kWidth, Depth(1000)}}) {
    messages_.push_back(
        {topic, "Image", now, ImageCdr(now, kFrameId, kWidth, kHeight, encoding, step, data)});
  }
  options_.bag.step_duration_s = 0.5;
  ExpectRefused(reason::TIMESTAMP_INVALID, "/left/color/image_raw", "clock set");
}

TEST_F(Ros2ImportTest, TimesThatRosCannotSayAreNotExported) {
  const RgbImage image{2, 1, {1, 2, 3, 4, 5, 6}};
  const std::int64_t late = (std::int64_t{1} << 31) * 1'000'000'000;
  for (const McapProfile profile : {McapProfile::kRos2, McapProfile::kFoxglove}) {
    auto file = Must(RecordingFile::Create(folder_.File("late.mcap"), profile));
    const Status status = file.WriteColor("/color", "camera", late, image);
    EXPECT_EQ(status.reason(), profile == McapProfile::kRos2 ? reason::TIMESTAMP_INVALID : "");
    EXPECT_TRUE(file.WriteColor("/color", "camera", late - 1, image).ok());
  }
}

TEST_F(Ros2ImportTest, StampsThatAreNotSetAreRefused) {
  Fill();
  Remove("/left/depth/image_raw");
  for (int i = 0; i < 3; ++i) {
    messages_.push_back({"/left/depth/image_raw", "Image", kStart + i * kFrame,
                         ImageCdr(0, kFrameId, kWidth, kHeight, "16UC1", 2 * kWidth, Depth(1000))});
  }
  ExpectRefused(reason::TIMESTAMP_INVALID, "/left/depth/image_raw", "header.stamp");
  Remove("/left/depth/image_raw");
  for (int i = 0; i < 3; ++i) {
    messages_.push_back(
        {"/left/depth/image_raw", "Image", kStart + i * kFrame,
         ImageCdr(kStart, kFrameId, kWidth, kHeight, "16UC1", 2 * kWidth, Depth(1000))});
  }
  ExpectRefused(reason::TIMESTAMP_INVALID, "/left/depth/image_raw", "100 s in all 3");
}

TEST_F(Ros2ImportTest, StampsThatRepeatOrGoBackAreFound) {
  Fill();
  for (const int frame : {3, 3, 1}) {
    const std::int64_t t = kStart + frame * kFrame + 1;
    messages_.push_back({"/left/color/image_raw", "Image", kStart + 21 * kFrame,
                         ImageCdr(t, kFrameId, kWidth, kHeight, "rgb8", 3 * kWidth, Rgb(9))});
  }
  const auto report = Must(Import());
  std::map<std::string, std::string> found;
  for (const Finding& finding : report.validation.findings) {
    found[finding.reason] = finding.message;
  }
  EXPECT_TRUE(found["TIMESTAMP_DUPLICATE"].starts_with("1 of 24 images")) << found.size();
  EXPECT_TRUE(found["TIMESTAMP_ORDER"].starts_with("2 of 24 images"));
}

TEST_F(Ros2ImportTest, ACalibrationThatIsNoNumberIsNamed) {
  Fill();
  for (BagMessage& message : messages_) {
    if (message.topic != "/left/color/camera_info") continue;
    message.data = CameraInfoCdr(message.time_ns, kFrameId, kWidth, kHeight, std::nan(""), 15.5,
                                 11.5, {0, 0, 0, 0, 0});
  }
  ExpectRefused(reason::CALIBRATION_INVALID, "fx_px", "nan");
}

TEST_F(Ros2ImportTest, MessagesOfSqliteBagsMayBeCompressed) {
  Fill();
  for (BagMessage& message : messages_) message.data = CompressZstd(message.data, 1);
  options_.source_dir = folder_.File("packed.db3");
  WriteSqliteBag(options_.source_dir, messages_);
  Must(ImportRecording("ros2", options_));
  const auto episode = EpisodeReader::Open(options_.episode_dir);
  EXPECT_EQ(episode->step_count(), 21);
  EXPECT_FLOAT_EQ(episode->ReadDepth(3, 0)->pixels_m[0], 1.237f);
}

/// Of two holes, 1500, 1499, 1501 and the rest 1501: numbers 2, n - 2, 3000, 1, 4, 0, 0, ...
TEST_F(Ros2ImportTest, CompressedDepthByRvl) {
  constexpr std::uint32_t kPixels = kWidth * kHeight;
  constexpr std::size_t kHeadBytes = 12 + 8;  // of the transport, and the size
  std::vector<std::uint8_t> nibbles;
  const auto add = [&](std::uint32_t number) {
    for (; number > 7; number >>= 3) nibbles.push_back(static_cast<std::uint8_t>(8 | (number & 7)));
    nibbles.push_back(static_cast<std::uint8_t>(number));
  };
  for (const std::uint32_t number : {2U, kPixels - 2, 3000U, 1U, 4U}) add(number);
  for (std::uint32_t i = 5; i < kPixels; ++i) add(0);
  while (nibbles.size() % 8 != 0) nibbles.push_back(0);
  std::vector<std::uint8_t> data(12);
  for (const std::uint32_t side : {kWidth, kHeight}) {
    for (int shift = 0; shift < 32; shift += 8) {
      data.push_back(static_cast<std::uint8_t>(side >> shift));
    }
  }
  for (std::size_t word = 0; word < nibbles.size(); word += 8) {
    for (std::size_t byte = 0; byte < 4; ++byte) {  // the first nibble is the word's highest
      const std::size_t at = word + 6 - 2 * byte;
      data.push_back(static_cast<std::uint8_t>(nibbles[at] << 4 | nibbles[at + 1]));
    }
  }
  const auto import = [&](const std::vector<std::uint8_t>& code) {
    Fill();
    Remove("/left/depth/image_raw");
    messages_.push_back({"/left/depth/compressedDepth", "CompressedImage", kStart,
                         CompressedCdr(kStart, kFrameId, "16UC1; compressedDepth rvl", code)});
    options_.overwrite = true;
    return Import();
  };
  Must(import(data));
  const auto depth = EpisodeReader::Open(options_.episode_dir)->ReadRawDepth(0, 0);
  EXPECT_EQ(depth->pixels[1], 0);
  EXPECT_EQ(depth->pixels[2], 1500);
  EXPECT_EQ(depth->pixels[3], 1499);
  EXPECT_EQ(depth->pixels[4], 1501);
  EXPECT_EQ(depth->pixels[kPixels - 1], 1501);
  for (std::size_t size = 0; size < data.size(); size += 7) {
    const Status cut =
        import({data.begin(), data.begin() + static_cast<std::ptrdiff_t>(size)}).status();
    const bool has_size = size >= kHeadBytes;
    EXPECT_EQ(cut.reason(), has_size ? reason::IMAGE_UNDECODABLE : reason::NO_DEPTH) << size;
    EXPECT_NE(cut.ToString().find("/left/depth/compressedDepth"), std::string::npos)
        << cut.ToString();
  }
  std::fill(data.begin() + 12, data.begin() + kHeadBytes, 0x7f);
  const Status huge = import(data).status();
  EXPECT_EQ(huge.reason(), reason::NO_DEPTH);
  EXPECT_NE(huge.message().find("2139062143x2139062143"), std::string::npos) << huge.message();
}

class CalibrationTest : public Ros2ImportTest {
 protected:
  CalibrationTest() {
    Fill();
    Remove("/left/color/camera_info");
    options_.calibration = folder_.File("calibration.json");
    options_.bag.robot_dir = folder_.File("robot");
  }
  /// One camera; `more` of its fields behind the focal lengths.
  void Calibrate(const std::string& more, int width = kWidth) {
    const std::string text =
        R"({"schema": "interlacer.calibration", "schema_version": 1, "cameras": [{"name": "left", )"
        R"("width_px": )" +
        std::to_string(width) +
        R"(, "height_px": 24, "cx_px": 15.5, "cy_px": 11.5, "fx_px": 40, )" + R"("fy_px": 41)" +
        more + "}]}";
    ASSERT_TRUE(WriteFileAtomic(options_.calibration, text).ok());
  }
};

TEST_F(CalibrationTest, StandsForCameraInfoAndTransforms) {
  Remove("/tf_static");
  Calibrate(
      R"(, "world_from_camera": {"translation_m": [0, 0, 2], "rotation_xyzw": [1, 0, 0, 0]})");
  const Camera camera = Imported().CameraAt(1, 0);
  EXPECT_EQ(camera.fx_px, 40);
  EXPECT_EQ(camera.fy_px, 41);
  EXPECT_EQ(camera.world_from_camera.translation_m, (Vec3d{0, 0, 2}));
}

TEST_F(CalibrationTest, ALinkCarriesACamera) {
  Calibrate(R"(, "link": "arm", "link_from_camera": {"translation_m": [1, 0, 0], )"
            R"("rotation_xyzw": [1, 0, 0, 0]})");
  const EpisodeReader episode = Imported();
  const double angle_rad = episode.states().values[2];  // turns about z at the base
  EXPECT_GT(angle_rad, 0.05);
  const auto& at_m = episode.CameraAt(2, 0).world_from_camera.translation_m;
  EXPECT_NEAR(at_m[0], std::cos(angle_rad), 1e-6);
  EXPECT_NEAR(at_m[1], std::sin(angle_rad), 1e-6);
}

TEST_F(CalibrationTest, WithoutPoseTransformsPlaceIt) {
  Calibrate(R"(, "distortion": {"model": "plumb_bob", "coefficients": [0.1, 0, 0, 0, 0]})");
  const Camera camera = Imported().CameraAt(1, 0);
  EXPECT_EQ(camera.world_from_camera.translation_m, (Vec3d{0, 0, 1}));
  EXPECT_EQ(camera.distortion_coefficients[0], 0.1);
}

TEST_F(CalibrationTest, WhatContradictsIsRefused) {
  Calibrate("", kWidth / 2);
  ExpectRefused(reason::CALIBRATION_SIZE_MISMATCH, "left", "got 16x24");
  Calibrate(R"(, "fx": 3)");
  ExpectRefused(reason::CALIBRATION_INVALID, "calibration.json", "fx");
  Calibrate(R"(, "distortion": {"model": "equidistant"})");
  ExpectRefused(reason::CALIBRATION_INVALID, "rectified", "equidistant");
  const std::string carried =
      R"(, "link": "hand", "link_from_camera": {"translation_m": [0, 0, 0], )"
      R"("rotation_xyzw": [0, 0, 0, 1]})";
  Calibrate(carried);
  ExpectRefused(reason::CALIBRATION_INVALID, "a link of the robot: base, arm", "hand");
  options_.bag.robot_dir.clear();
  ExpectRefused(reason::ARGUMENT_INVALID, "--robot", "hand");
  options_.bag.color = {{"front", "/left/color/image_raw"}};
  ExpectRefused(reason::CAMERA_UNKNOWN, "front", "left");
  options_.bag.camera_info = {{"front", "/left/color/camera_info"}};
  ExpectRefused(reason::ARGUMENT_INVALID, "--camera-info", "--calibration");
}

/// Every prefix of every kind of message, and each of its bytes replaced: no crash, and the import
/// ends with a status or findings.
TEST_F(Ros2ImportTest, DamagedMessagesAreFoundOrRefused) {
  Fill();
  std::erase_if(messages_, [](const BagMessage& m) { return m.time_ns > kStart + 2 * kFrame; });
  const std::vector<BagMessage> whole = messages_;
  for (const char* topic : {"/tf_static", "/left/color/image_raw", "/left/color/camera_info",
                            "/left/depth/image_raw", "/joint_states"}) {
    for (std::size_t at = 0; at < 96; at += 3) {
      for (const bool is_cut : {true, false}) {
        messages_ = whole;
        auto& data = Find(topic)->data;
        if (at >= data.size()) continue;
        if (is_cut) {
          data.resize(at);
        } else {
          data[at] ^= 0xff;
        }
        options_.overwrite = true;
        const auto report = Import();
        // Behind the positions nothing is read.
        if (is_cut && report.ok() && at < 60) {
          EXPECT_TRUE(HasFinding(report->validation.findings, "MESSAGE_DAMAGED"))
              << topic << " " << at;
        }
      }
    }
  }
}

/// Files of other people's writers.
TEST_F(Ros2ImportTest, FilesOfOtherWriters) {
  const std::string formats = TestData("formats");
  if (!std::filesystem::exists(formats)) GTEST_SKIP() << "no recordings at " << formats;
  options_.bag.world_frame = "left_color_optical_frame";
  for (const char* source : {"/ros_mcap", "/ros_sqlite3", "/foxglove.mcap"}) {
    options_.source_dir = formats + source;
    if (source == std::string("/foxglove.mcap")) options_.bag.world_frame = "world";
    options_.overwrite = true;
    const auto report = ImportRecording("ros2", options_);
    ASSERT_TRUE(report.ok()) << source << report.status().ToString();
    const auto episode = EpisodeReader::Open(options_.episode_dir);
    EXPECT_EQ(episode->step_count(), source[1] == 'f' ? 9 : 5);
    EXPECT_EQ(episode->ReadDepth(1, 0)->pixels_m[7], 1.0f);
    EXPECT_EQ(episode->manifest().cameras[0].camera.fx_px, 60);
    EXPECT_EQ(episode->CameraAt(1, 0).world_from_camera.translation_m[2], source[1] == 'f' ? 1 : 0);
  }
}

}  // namespace
}  // namespace interlacer::testing
