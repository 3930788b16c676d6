// The traps of the TUM format, on tiny recordings made here.

#include <gtest/gtest.h>

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "data/importers/tum.h"
#include "data/importers/write_recording.h"
#include "tests/data/import_fixture.h"

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

}  // namespace
}  // namespace interlacer
