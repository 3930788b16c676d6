// The traps of the TUM format, on tiny recordings made here.

#include <gtest/gtest.h>

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "data/importers/tum.h"
#include "tests/data/import_fixture.h"
#include "tests/support/must.h"

namespace interlacer {
namespace {

namespace fs = std::filesystem;

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

TEST_F(ImportTest, TumPosesOfOtherDigitsAreOfTheSameMoment) {
  // Poses every 100 ms in two decimals, images in six: too far apart to interpolate.
  const std::vector<TumImage> images = {{0.9962, "a"}, {1.1012, "b"}, {1.1512, "c"}, {1.2048, "d"}};
  std::vector<TumPose> poses;
  for (const double time_s : {1.00, 1.10, 1.20}) {
    poses.push_back({time_s, {{time_s, 0, 0}, {0, 0, 0, 1}}});
  }
  const auto matches = MatchTumFrames(images, images, poses);
  ASSERT_EQ(matches.size(), 3u);
  EXPECT_EQ(matches[0].world_from_camera.translation_m[0], 1.00);
  EXPECT_EQ(matches[1].world_from_camera.translation_m[0], 1.10);
  EXPECT_EQ(matches[2].color, 3);
}

TEST_F(ImportTest, TumUsesEachDepthImageOnce) {
  const std::vector<TumPose> poses = {{0.98, {}}, {1.0, {}}, {1.02, {}}};
  const auto matches = MatchTumFrames({{1.000, "c0"}, {1.010, "c1"}}, {{1.006, "d0"}}, poses);
  ASSERT_EQ(matches.size(), 1u);
  EXPECT_EQ(matches[0].color, 1);  // the closer of the two
}

TEST_F(ImportTest, TumQuaternionsAreNormalisedAndReported) {
  const auto trajectory =
      Must(ParseTumTrajectory("# comment\n1.0 1 2 3 0 0 0 1.004\n0.5 0 0 0 0 0 1 0\n", "gt.txt"));
  EXPECT_NEAR(trajectory.largest_norm_error, 0.004, 1e-12);
  EXPECT_EQ(trajectory.poses[0].time_s, 0.5);  // sorted
  EXPECT_EQ(trajectory.poses[1].world_from_camera.rotation_xyzw[3], 1);
  EXPECT_EQ(ParseTumTrajectory("1 0 0 0 0 0 0 0.5\n", "gt.txt").status().reason(),
            "QUATERNION_NOT_UNIT");
  EXPECT_EQ(ParseTumTrajectory("1 0 0 0\n", "gt.txt").status().field(), "gt.txt:1");
  EXPECT_FALSE(ParseTumImageList("1.0 ../../etc/passwd\n", "rgb.txt").ok());
}

TEST_F(ImportTest, TumTablesAreReadAsTheirToolsReadThem) {
  for (const char* text :
       {"1.5 rgb/a b.png\n2.5 rgb/c.png\n", "1.5,rgb/a b.png\r\n2.5,rgb/c.png",
        "# time\n1.5\trgb/a b.png\t\n2.5\trgb/c.png\n", "1.5, rgb/a b.png, 3\r2.5, rgb/c.png, 4\r",
        "timestamp,filename\n\"1.5\",\"rgb/a b.png\"\n2.5,\"rgb/c.png\"\n",
        "1.5 rgb\\a b.png\n2.5 rgb\\c.png\n"}) {
    const auto list = ParseTumImageList(text, "rgb.txt");
    ASSERT_TRUE(list.ok()) << text << list.status().ToString();
    ASSERT_EQ(list->images.size(), 2u) << text;
    EXPECT_EQ(list->images[0].path, "rgb/a b.png") << text;
    EXPECT_EQ(list->images[1].time_s, 2.5);
  }
  for (const char* text : {"1305031102,175304 rgb/0.png\n", "1.5;rgb/0.png\n", "rgb/0.png 1.5\n",
                           "1.5 /etc/passwd\n", "1.5 a/../../b.png\n", "nan rgb/0.png\n"}) {
    const Status status = ParseTumImageList(text, "rgb.txt").status();
    EXPECT_EQ(status.reason(), "SCHEMA_INVALID") << text;
    EXPECT_EQ(status.field(), "rgb.txt:1") << text;
  }
  const std::string wide(
      "\xFF\xFE"
      "1\0",
      4);
  EXPECT_EQ(ParseTumImageList(wide, "rgb.txt").status().field(), "rgb.txt");
  EXPECT_NE(ParseTumImageList(wide, "rgb.txt").status().message().find("UTF-16"),
            std::string::npos);
  EXPECT_EQ(ParseTumImageList(std::string("1 a\n2\0", 6), "rgb.txt").status().field(), "rgb.txt:2");
}

TEST_F(ImportTest, TumEntriesThatNameNoFileAreLeftOutAndCounted) {
  const auto list = Must(ParseTumImageList("1.5\n2.5 a.png\n3.5,\n", "rgb.txt"));
  EXPECT_EQ(list.images.size(), 1u);
  EXPECT_EQ(list.nameless_count, 2);
}

TEST_F(ImportTest, TumPosesComeByTheNamesOfTheirColumns) {
  const Transform expected{{1, 2, 3}, {0.5, 0.5, 0.5, -0.5}};
  for (const char* text :
       {"1.5 1 2 3 .5 .5 .5 -.5\n", "# timestamp tx ty tz qx qy qz qw\n1.5,1,2,3,.5,.5,.5,-.5\n",
        "# format: timestamp tx ty tz qw qx qy qz\n1.5 1 2 3 -.5 .5 .5 .5\n",
        "timestamp,tx,ty,tz,qw,qx,qy,qz\n1.5,1,2,3,-.5,.5,.5,.5\n",
        "#timestamp [s], p_RS_R_x [m], p_RS_R_y [m], p_RS_R_z [m], q_RS_w [], q_RS_x [], q_RS_y "
        "[], "
        "q_RS_z [], v_RS_R_x [m s^-1]\n1.5,1,2,3,-.5,.5,.5,.5,9\n",
        "%time,field.header.seq,field.pose.position.x,field.pose.position.y,"
        "field.pose.position.z,field.pose.orientation.x,field.pose.orientation.y,"
        "field.pose.orientation.z,field.pose.orientation.w\n1.5,7,1,2,3,.5,.5,.5,-.5\n"}) {
    const auto trajectory = ParseTumTrajectory(text, "gt.txt");
    ASSERT_TRUE(trajectory.ok()) << text << trajectory.status().ToString();
    ASSERT_EQ(trajectory->poses.size(), 1u) << text;
    EXPECT_EQ(trajectory->poses[0].time_s, 1.5);
    EXPECT_EQ(trajectory->poses[0].world_from_camera, expected) << text;
  }
  const auto refused = [](const char* text) {
    return ParseTumTrajectory(text, "gt.txt").status().field();
  };
  EXPECT_EQ(refused("timestamp,tx,ty,tz,roll,pitch,yaw\n1,0,0,0,0,0,0\n"), "gt.txt:1");
  EXPECT_EQ(refused("# t x y z qx qy qz qw qw\n1 0 0 0 0 0 0 1 1\n"), "gt.txt:1");
  EXPECT_EQ(refused("1,5 0,1 0,2 0,3 0,5 0,5 0,5 0,5\n"), "gt.txt:1");  // decimal commas
}

TEST_F(ImportTest, TumRowsOfALostTrackerAreLeftOutAndCounted) {
  const auto trajectory = Must(
      ParseTumTrajectory("1.0 1 0 0 0 0 0 1\n1.1 0 0 0 0 0 0 0\n1.2 nan nan nan nan nan nan nan\n"
                         "1.3 inf 0 0 0 0 0 1\n1.4 -nan(ind) 0 0 0 0 0 1\n1.5 -1.#IND 0 0 0 0 0 1\n"
                         "1.55 None None None None None None None\n1.56\n1.6 2 0 0 0 0 0 1\n",
                         "gt.txt"));
  EXPECT_EQ(trajectory.poses.size(), 2u);
  EXPECT_EQ(trajectory.lost_count, 7);
}

TEST_F(ImportTest, TumStampsTellTheirUnitOrAreRefused) {
  const auto first_and_last = [](const std::string& text, const std::string& unit = "") {
    const auto list = ParseTumImageList(text, "rgb.txt", unit);
    EXPECT_TRUE(list.ok()) << text << list.status().ToString();
    return list.ok() ? list->images.back().time_s - list->images.front().time_s : -1;
  };
  EXPECT_NEAR(first_and_last("1403636579763555584 a\n1403636579796888917 b\n"), 0.033333, 1e-6);
  EXPECT_NEAR(first_and_last("1403636579763555.5 a\n1403636579796888.9 b\n"), 0.033333, 1e-6);
  EXPECT_NEAR(first_and_last("1403636579763 a\n1403636579797 b\n"), 0.034, 1e-6);
  EXPECT_NEAR(first_and_last("1403636579.763 a\n1403636579.797 b\n"), 0.034, 1e-6);
  EXPECT_NEAR(first_and_last("0.0 a\n0.033 b\n"), 0.033, 1e-9);
  EXPECT_NEAR(first_and_last("0 a\n33333333 b\n", "ns"), 0.033333333, 1e-12);
  EXPECT_NEAR(first_and_last("0 a\n60 b\n", "s"), 60, 1e-12);  // said, not guessed
  for (const char* text :
       {"0 a\n33333333 b\n", "0 a\n33333 b\n", "0 a\n33 b\n", "123456789012 a\n123490122345 b\n"}) {
    SCOPED_TRACE(text);
    ExpectSays(ParseTumImageList(text, "rgb.txt").status(), "TIMESTAMP_INVALID", "--time-unit");
  }
  EXPECT_EQ(ParseTumImageList("0 a\n", "rgb.txt", "h").status().reason(), "ARGUMENT_INVALID");
}

TEST_F(ImportTest, TumStampsThatLookWrongAreFound) {
  const auto times = [](const std::string& text) {
    return ParseTumImageList(text, "rgb.txt")->times;
  };
  EXPECT_EQ(times("8.9 a\n8.96 b\n8.33 c\n8.66 d\n").backward_count, 1);
  EXPECT_EQ(times("1.0 a\n1.1 b\n1.1 b\n").backward_count, 0);
  EXPECT_TRUE(times("3 a\n4 b\n5 c\n").are_counts);
  EXPECT_TRUE(times("1 a\n2 b\n3 c\n5 d\n6 e\n").are_counts) << "a frame was left out";
  EXPECT_TRUE(times("0 a\n5 b\n10 c\n15 d\n20 e\n").are_counts) << "every fifth frame";
  EXPECT_FALSE(times("0 a\n5 b\n12 c\n").are_counts);
  EXPECT_FALSE(times("3 a\n5 b\n5.5 c\n").are_counts);
  EXPECT_FALSE(times("3.5 a\n4.5 b\n").are_counts);
  EXPECT_FALSE(times("1305031102 a\n1305031103 b\n").are_counts);
}

TEST_F(ImportTest, TumStepsOfRoundedStampsAreTheirMean) {
  std::string color, depth, poses;
  for (const char* stamp : {"1.00", "1.03", "1.07", "1.10", "1.13", "1.20"}) {  // one was lost
    const std::string name = std::string("/") + stamp + ".png";
    WriteFrame("rgb" + name, "depth" + name, 5000);
    color += std::string(stamp) + " rgb" + name + "\n";
    depth += std::string(stamp) + " depth" + name + "\n";
    poses += std::string(stamp) + " 0 0 1 0 0 0 1\n";
  }
  WriteText("rgb.txt", color);
  WriteText("depth.txt", depth);
  WriteText("groundtruth.txt", poses);
  Must(ImportTum(options_));
  EXPECT_NEAR(EpisodeReader::Open(options_.episode_dir)->manifest().step_duration_s, 0.13 / 4,
              1e-9);
}

TEST_F(ImportTest, TumStampsOfTooFewDigitsAreRefusedAndRepeatedRowsAreNot) {
  std::string coarse, one;
  for (int i = 0; i < 30; ++i) {
    coarse += std::to_string(1305031102 + i / 10) + " rgb/" + std::to_string(i) + ".png\n";
    one += std::to_string(i == 7 ? 6 : i) + " rgb/" + std::to_string(i) + ".png\n";
  }
  ExpectSays(ParseTumImageList(coarse, "rgb.txt").status(), "TIMESTAMP_INVALID", "digits");
  const auto single = Must(ParseTumImageList(one, "rgb.txt"));
  EXPECT_EQ(single.times.same_count, 1);
  EXPECT_EQ(single.images.size(), 29u);
  const auto repeated = Must(ParseTumImageList("1 a\n2 b\n2 b\n", "rgb.txt"));
  EXPECT_EQ(repeated.times.same_count, 0);
  EXPECT_EQ(repeated.images.size(), 2u);
  EXPECT_EQ(ParseTumTrajectory("1.3e+09 0 0 0 0 0 0 1\n1.3e+09 1 0 0 0 0 0 1\n", "gt.txt")
                .status()
                .reason(),
            "TIMESTAMP_INVALID");
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
  const auto report = Must(ImportRecording("tum", options_));
  EXPECT_EQ(report.frame_count, 3);
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
  const auto report = Must(ImportRecording("tum", options_));
  EXPECT_EQ(report.frame_count, 2);
  EXPECT_EQ(report.skipped_count, 1);
  ASSERT_FALSE(report.validation.findings.empty());
  EXPECT_EQ(report.validation.findings[0].reason, "FILE_MISSING");
  EXPECT_NE(report.validation.findings[0].message.find("1.png"), std::string::npos);
  fs::remove_all(options_.source_dir + "/rgb");
  options_.overwrite = true;
  EXPECT_EQ(ImportRecording("tum", options_).status().reason(), "FILE_NOT_FOUND");
}

TEST_F(TumImportTest, ListsInNanosecondsGoWithPosesInSeconds) {
  const std::string rgb =
      "timestamp,filename\n1403636579000000000,rgb/0.png\n1403636579100000000,rgb/1.png,\n";
  const std::string depth = "1403636579.004\tdepth/0.png\n1403636579.104\tdepth/1.png\n";
  std::string poses;
  for (int i = 0; i < 8; ++i) {
    poses += "14036365" + std::to_string(78.98 + 0.03 * i) + " 0 0 1 0 0 0 1\n";
  }
  WriteText("rgb.txt", rgb);
  WriteText("depth.txt", depth);
  WriteText("groundtruth.txt", poses);
  const auto report = Must(ImportRecording("tum", options_));
  EXPECT_EQ(report.frame_count, 2);
  EXPECT_NEAR(EpisodeReader::Open(options_.episode_dir)->manifest().step_duration_s, 0.1, 1e-6);
}

TEST_F(TumImportTest, RecordingsThatShareNoTimeShowTheirTimes) {
  WriteText("depth.txt", "20.015 depth/0.png\n20.115 depth/1.png\n");
  ExpectSays(ImportRecording("tum", options_).status(), "NO_DEPTH",
             "depth 20.015000 to 20.115000 s");
}

TEST_F(TumImportTest, AFileThatWasCutToNothingCostsItsFrame) {
  WriteText("depth/2.png", "");
  const auto report = Must(ImportRecording("tum", options_));
  EXPECT_EQ(report.frame_count, 2);
  EXPECT_EQ(report.validation.findings[0].reason, "FILE_MISSING");
  EXPECT_NE(report.validation.findings[0].message.find("2.png"), std::string::npos);
}

TEST_F(TumImportTest, AnotherLayoutIsAnsweredWithWhatIsThere) {
  fs::remove(options_.source_dir + "/groundtruth.txt");
  ExpectSays(ImportRecording("tum", options_).status(), "FILE_NOT_FOUND", "--trajectory");
  fs::remove(options_.source_dir + "/rgb.txt");
  const Status list = ImportRecording("tum", options_).status();
  EXPECT_NE(list.message().find("depth.txt"), std::string::npos) << list.message();
}

TEST_F(TumImportTest, LostPosesCostTheirFramesAlone) {
  std::string poses;
  for (int i = 0; i < 10; ++i) {
    const std::string time = std::to_string(9.99 + 0.04 * i);
    poses += time + (i == 3 ? " 0 0 0 0 0 0 0\n" : " 0 0 1 0 0 0 1\n");
  }
  WriteText("groundtruth.txt", poses);
  const auto report = Must(ImportRecording("tum", options_));
  EXPECT_EQ(report.frame_count, 2);  // 10.1 s lies between 10.07 and 10.15 s
  EXPECT_EQ(report.skipped_count, 1);
  EXPECT_EQ(report.validation.findings[0].reason, "POSES_LOST");
}

TEST_F(TumImportTest, NamedCamerasHaveASize) {
  options_.intrinsics = "tum-fr3";
  const Status status = ImportRecording("tum", options_).status();
  ExpectSays(status, "CALIBRATION_SIZE_MISMATCH", "640x480");
  EXPECT_NE(status.message().find("13.385,13.48,"), std::string::npos) << status.message();
  options_.intrinsics = "20,20,15.5,11.5";  // of 32 x 24 pixels
  const auto report = Must(ImportRecording("tum", options_));
  EXPECT_EQ(report.validation.findings[0].reason, "PRINCIPAL_POINT_OFF_CENTER");
}

TEST_F(TumImportTest, ListsMayBeginWithAByteOrderMark) {
  WriteText("depth.txt", "\xEF\xBB\xBF# depth\n10.015 depth/0.png\n");
  const auto report = Must(ImportRecording("tum", options_));
  EXPECT_EQ(report.frame_count, 1);
}

TEST_F(TumImportTest, ANameInOtherCapitalsIsShown) {
  fs::rename(options_.source_dir + "/rgb/0.png", options_.source_dir + "/rgb/0.PNG");
  const auto report = Must(ImportRecording("tum", options_));
  EXPECT_TRUE(
      HasFinding(report.validation.findings, "FILE_MISSING", "0.PNG is there: capitals count"));
}

TEST_F(TumImportTest, AListInAnotherEncodingIsNamedAsSuch) {
  fs::rename(options_.source_dir + "/rgb/0.png", options_.source_dir + "/rgb/m\xC3\xA4rz.png");
  WriteText("rgb.txt", "10.0 rgb/m\xE4rz.png\n");  // Latin-1
  ExpectSays(ImportRecording("tum", options_).status(), "FILE_NOT_FOUND", "iconv");
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

}  // namespace
}  // namespace interlacer
