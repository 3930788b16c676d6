/// A data set of several episodes: same views, cameras that were moved, joints that hardly move are
/// found, and nothing of a good set is.

#include "data/dataset_coverage.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/transforms.h"
#include "data/episode_writer.h"
#include "tests/data/synthetic_scene.h"
#include "tests/support/must.h"
#include "tests/support/temp_folder.h"

namespace interlacer {
namespace {

constexpr std::int64_t kHourNs = std::int64_t{3600} * 1'000'000'000;
constexpr std::int64_t kTodayNs = 1'700'000'000 * std::int64_t{1'000'000'000};

struct Recorded {
  Vec3d moved_m{};  ///< of the left camera
  double turned_rad = 0;
  double joint_share = 1, grip_share = 1;  ///< of the whole range
  std::int64_t start_ns = kTodayNs;
  const char* kind = "import";
  bool is_on_hand = false;  ///< the left camera moves
};

class DatasetCoverageTest : public ::testing::Test {
 protected:
  void Add(const Recorded& recorded) {
    EpisodeManifest manifest = SyntheticManifest();
    manifest.episode_id = "episode_" + std::to_string(count_);
    manifest.source.kind = recorded.kind;
    Transform& pose = manifest.cameras[0].camera.world_from_camera;
    pose = Compose({recorded.moved_m, YawQuaternion(recorded.turned_rad)}, pose);
    const Transform first = pose;
    auto writer = Must(EpisodeWriter::Create(folder_.File("set/" + manifest.episode_id), manifest));
    NumberTable states{kSyntheticStepCount, 2, {}};
    std::vector<std::int64_t> times_ns;
    std::vector<Transform> poses;
    for (int step = 0; step < kSyntheticStepCount; ++step) {
      for (int camera = 0; camera < 2; ++camera) {
        const RgbdView view = SyntheticView(SyntheticCamera(camera == 0));
        ASSERT_TRUE(writer->WriteFrame(step, camera, view.color, ToIntegers(view.depth)).ok());
        times_ns.push_back(recorded.start_ns + step * 500'000'000);
      }
      const double part = static_cast<double>(step) / (kSyntheticStepCount - 1);
      // Ranges of -3 ... 3 rad and 0 ... 1 m.
      states.values.insert(states.values.end(),
                           {6 * recorded.joint_share * (part - 0.5), recorded.grip_share * part});
      poses.push_back(first);
      poses.back().translation_m[2] += 0.1 * step;
    }
    if (recorded.is_on_hand) {
      ASSERT_TRUE(writer->WritePoses(0, poses).ok());
    }
    ASSERT_TRUE(writer->WriteCaptureTimes(times_ns).ok());
    ASSERT_TRUE(writer->WriteActions(states).ok() && writer->WriteStates(states).ok());
    const Status finished = writer->Finish();
    ASSERT_TRUE(finished.ok()) << finished.ToString();
    const auto episode = Must(EpisodeReader::Open(folder_.File("set/" + manifest.episode_id)));
    check_.Add(episode);
    ++count_;
  }
  /// Reason and field of each finding.
  std::vector<std::string> Findings() const {
    std::vector<std::string> texts;
    const DatasetCoverage result = check_.Result();
    for (const Finding& finding : result.findings) {
      texts.push_back(finding.reason + " at " + finding.field);
    }
    return texts;
  }

  TempFolder folder_;
  DatasetCoverageCheck check_;
  int count_ = 0;
};

using Texts = std::vector<std::string>;

TEST_F(DatasetCoverageTest, AGoodSetHasNoFindings) {
  Add({});
  Add({.moved_m = {0.05, 0, 0}, .turned_rad = 0.1});
  Add({.moved_m = {0.051, 0, 0}, .turned_rad = 0.1, .joint_share = 0.01});
  EXPECT_EQ(Findings(), Texts());
  const DatasetCoverage coverage = check_.Result();
  EXPECT_EQ(coverage.episode_count, 3);
  ASSERT_EQ(coverage.cameras.size(), 2u);
  const CameraSpread& left = coverage.cameras[0];
  EXPECT_EQ(left.camera_name, "left");
  EXPECT_EQ(left.episode_count, 3);
  EXPECT_EQ(left.calibration_count, 2);  // a millimetre is none of its own
  EXPECT_NEAR(left.spread_rad, 0.1, 1e-9);
  EXPECT_GT(left.spread_m, 0.05);
  EXPECT_EQ(coverage.cameras[1].calibration_count, 1);
  ASSERT_EQ(coverage.joints.size(), 2u);
  EXPECT_EQ(coverage.joints[0].column, "grip_m");
  EXPECT_NEAR(coverage.joints[0].range_share, 1, 1e-12);
  EXPECT_NEAR(coverage.joints[1].low, -3, 1e-12);
  EXPECT_NEAR(coverage.joints[1].high, 3, 1e-12);
}

TEST_F(DatasetCoverageTest, OneCalibrationInAllEpisodesIsFound) {
  Add({});
  EXPECT_EQ(Findings(), Texts());  // one episode has one calibration
  Add({});
  Add({.moved_m = {0.001, 0, 0}});
  EXPECT_EQ(Findings(), Texts{"CALIBRATION_SPREAD_LOW at cameras"});
}

TEST_F(DatasetCoverageTest, ACameraOnTheHandSeesOtherViews) {
  Add({.is_on_hand = true});
  Add({.is_on_hand = true});
  EXPECT_EQ(Findings(), Texts());
  EXPECT_TRUE(check_.Result().cameras[0].moves);
}

TEST_F(DatasetCoverageTest, ACameraFarFromWhereItWasIsFoundWithinASession) {
  Add({});
  Add({.moved_m = {0.3, 0, 0}, .start_ns = kTodayNs + kHourNs});
  ASSERT_EQ(Findings(), Texts{"CALIBRATION_DIFFERS at camera left"});
  const std::string message = check_.Result().findings[0].message;
  EXPECT_NE(message.find("30.0 cm and 0.0 deg"), std::string::npos) << message;
  EXPECT_NE(message.find("episode_0 and episode_1"), std::string::npos) << message;
}

TEST_F(DatasetCoverageTest, ATurnIsFoundToo) {
  Add({});
  Add({.turned_rad = 0.3});
  EXPECT_EQ(Findings(), Texts{"CALIBRATION_DIFFERS at camera left"});
}

TEST_F(DatasetCoverageTest, AnotherDayOrASimulationMayHaveOtherViews) {
  Add({});
  Add({.moved_m = {0.5, 0, 0}, .start_ns = kTodayNs + 24 * kHourNs});
  Add({.moved_m = {0, 0.9, 0}, .kind = "simulate"});
  EXPECT_EQ(Findings(), Texts());
}

TEST_F(DatasetCoverageTest, RecordingsThatDoNotSayWhenTheyWereMadeAreOfNoSession) {
  Add({.start_ns = 0});
  Add({.moved_m = {0.5, 0, 0}, .start_ns = 0});
  EXPECT_EQ(Findings(), Texts());
}

TEST_F(DatasetCoverageTest, JointsThatHardlyMoveAreNamed) {
  Add({.joint_share = 0.04});
  Add({.moved_m = {0.1, 0, 0}, .joint_share = 0.03});
  EXPECT_EQ(Findings(), Texts{"MOTION_COVERAGE_LOW at joints joint_1_rad"});
  Add({.joint_share = 0.06});
  EXPECT_EQ(Findings(), Texts());
}

}  // namespace
}  // namespace interlacer
