// The recordings, of which livingroom1 is rendered (ICL-NUIM) and the others are real: import,
// validation, and what is known about their surfaces.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "data/episode_reader.h"
#include "data/importers/importers.h"
#include "tests/support/must.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_data.h"

namespace interlacer {
namespace {

namespace fs = std::filesystem;

constexpr char kPrimeSense[] = "525,525,319.5,239.5";

struct Recording {
  const char* name;
  const char* format;
  const char* folder;
  const char* intrinsics;
  int frame_count;
  double max_cross_camera_distance_m;
};

class RealRecordingTest : public ::testing::TestWithParam<Recording> {};

TEST_P(RealRecordingTest, ImportsAndValidates) {
  const Recording& recording = GetParam();
  const std::string source = testing::TestData(recording.folder);
  if (!fs::is_directory(source)) GTEST_SKIP() << "no recording at " << source;
  const TempFolder output;
  ImportOptions options;
  options.source_dir = source;
  options.episode_dir = output.path() + "/" + recording.name;
  options.intrinsics = recording.intrinsics;
  const auto report = Must(ImportRecording(recording.format, options));
  EXPECT_EQ(report.frame_count, recording.frame_count);
  EXPECT_TRUE(report.validation.errors.empty()) << report.validation.errors.front().ToString();
  for (const Finding& finding : report.validation.findings) {
    EXPECT_NE(finding.reason, "CALIBRATION_SUSPECT") << finding.field << ": " << finding.message;
    EXPECT_NE(finding.reason, "DEPTH_UNIT_SUSPECT") << finding.message;
    EXPECT_NE(finding.reason, "DEPTH_IMPLAUSIBLE") << finding.field << ": " << finding.message;
  }
  EXPECT_GT(report.validation.cross_camera_distance_m, 0);
  EXPECT_LT(report.validation.cross_camera_distance_m, recording.max_cross_camera_distance_m);
  const auto episode = Must(EpisodeReader::Open(options.episode_dir));
  EXPECT_EQ(episode.camera_count(), recording.frame_count);
  // The box computed from the data holds most of what was measured.
  const CameraCheck& first = report.validation.cameras.front();
  EXPECT_GT(first.workspace_ratio, 0.8 * first.valid_depth_ratio);
}

// Bounds: twice the 4 to 5 mm at which neighbouring clouds of the RealSense sets are known to
// agree; PrimeSense depth at 2 m has steps of about 1 cm.
INSTANTIATE_TEST_SUITE_P(
    All, RealRecordingTest,
    ::testing::Values(Recording{"scene-0000", "apc", "realsense-apc/scene-0000", "", 15, 0.010},
                      Recording{"tote", "apc", "realsense-apc/tote", "", 18, 0.010},
                      Recording{"shelf-A", "apc", "realsense-apc/shelf-A", "", 15, 0.010},
                      Recording{"RGBD", "redwood", "redwood-rgbd/RGBD", kPrimeSense, 5, 0.020},
                      Recording{"livingroom1", "redwood", "redwood-rgbd/livingroom1", kPrimeSense,
                                211, 0.020}),
    [](const auto& test) {
      std::string name = test.param.name;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

}  // namespace
}  // namespace interlacer
