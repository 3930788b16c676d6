/// The robot that the joints of an episode put into its pictures: attachment against the masks, and
/// the check that joints and pictures agree.

#include <cstdlib>
#include <string>

#include "data/attachment_check.h"
#include "data/episode_joints.h"
#include "data/robot_agreement.h"
#include "data/sim/episode_export.h"
#include "data/validate.h"
#include "tests/support/matchers.h"
#include "tests/support/must.h"
#include "tests/support/temp_folder.h"

namespace interlacer::sim {
namespace {

using ::testing::Each;
using ::testing::Field;
using ::testing::SizeIs;

constexpr double kMinPrecision = 0.98;
constexpr double kMinRecall = 0.99;
constexpr double kMaxHeldShare = 0.05;
constexpr char kDisagreement[] = "ROBOT_NOT_WHERE_JOINTS_SAY";
constexpr double kOffsetM = 0.02;
constexpr double kOffsetToleranceM = 0.006;
constexpr double kJointOffsetRad = 0.1;
constexpr double kDepthNoiseM = 0.003;

struct Drawn {
  std::string task;
  RobotSetup robot = {};
  double depth_noise_m = 0;
  std::uint64_t seed = 61;
  int step_count = 24;
};

/// An episode on disk.
class Recording {
 public:
  explicit Recording(const Drawn& drawn) {
    SimulateOptions options;
    options.task = drawn.task;
    options.robot = drawn.robot;
    options.seed = drawn.seed;
    options.step_count = drawn.step_count;
    options.depth_noise_m = drawn.depth_noise_m;
    const StatusOr<SimulatedEpisode> episode = SimulateEpisode(options);
    INTERLACER_CHECK(episode.ok(), episode.status().ToString());
    const Status written = WriteSimulatedEpisode(*episode, path(), {.command = "simulate"});
    INTERLACER_CHECK(written.ok(), written.ToString());
  }
  std::string path() const { return folder_.File("episode"); }
  EpisodeReader Open() const {
    StatusOr<EpisodeReader> reader = EpisodeReader::Open(path());
    INTERLACER_CHECK(reader.ok(), reader.status().ToString());
    return *std::move(reader);
  }

 private:
  TempFolder folder_;
};

std::vector<RgbdView> ViewsOf(const EpisodeReader& episode, int step) {
  std::vector<RgbdView> views;
  for (int camera = 0; camera < episode.camera_count(); ++camera) {
    views.push_back(*episode.ReadView(step, camera));
  }
  return views;
}

std::vector<Finding> Check(const EpisodeReader& episode, const std::vector<RgbdView>& views,
                           const std::vector<double>& joints) {
  const auto findings = CheckRobotAgreement(views, *episode.robot(), joints);
  INTERLACER_CHECK(findings.ok(), findings.status().ToString());
  return *findings;
}

/// The distance in a finding's message.
double StatedDistanceM(const Finding& finding) {
  const std::size_t unit = finding.message.find(" cm");
  const std::size_t blank = finding.message.rfind(' ', unit - 1);
  return std::atof(finding.message.c_str() + blank) / 100;
}

class RobotInPictures : public ::testing::TestWithParam<Drawn> {};

TEST_P(RobotInPictures, AttachmentIsTheRobotAndJointsAgreeWithThePictures) {
  const Recording recording(GetParam());
  const auto report = Must(ValidateEpisode(recording.path()));
  EXPECT_THAT(report.errors, IsEmpty());
  for (const Finding& finding : report.findings) {
    EXPECT_NE(finding.reason, kDisagreement) << finding.field << ": " << finding.message;
  }

  const EpisodeReader episode = recording.Open();
  ASSERT_NE(episode.robot(), nullptr);
  const auto truth = SimulationTruth::Open(episode);
  ASSERT_TRUE(truth.ok() && truth->has_value());
  AttachmentScore score;
  for (int step = 0; step < episode.step_count(); ++step) {
    const auto of_step = Must(ScoreAttachment(episode, **truth, step));
    score += of_step;
  }
  EXPECT_GT(score.robot_pixels, 10000);
  EXPECT_GT(score.held_pixels, 0);
  EXPECT_GE(score.precision(), kMinPrecision);
  EXPECT_GE(score.recall(), kMinRecall);
  EXPECT_LE(score.held_share(), kMaxHeldShare);
}

INSTANTIATE_TEST_SUITE_P(
    Episodes, RobotInPictures,
    ::testing::Values(Drawn{"push_block"}, Drawn{"lift_can"}, Drawn{"drop_can"}, Drawn{"sweep"},
                      Drawn{"push_block", {&Panda(), 2}}, Drawn{"push_block", {&Panda(), 1}},
                      Drawn{"lift_can", {&Panda(), 2}}, Drawn{"push_block", {&KukaIiwa(), 1}}),
    [](const auto& drawn) { return drawn.param.task + "_" + RobotNameOf(drawn.param.robot); });

class RobotAgreement : public ::testing::TestWithParam<double> {
 protected:
  RobotAgreement()
      : recording_({.task = "push_block", .depth_noise_m = GetParam(), .step_count = 4}),
        episode_(recording_.Open()) {}

  const Recording recording_;
  const EpisodeReader episode_;
};

TEST_P(RobotAgreement, FindsACameraThatIsTwoCentimetresOff) {
  for (int step = 0; step < episode_.step_count(); ++step) {
    const std::vector<double> joints = *MeasuredJoints(episode_, step);
    EXPECT_THAT(Check(episode_, ViewsOf(episode_, step), joints), IsEmpty());
    for (int axis = 0; axis < 3; ++axis) {
      for (const double offset_m : {-kOffsetM, kOffsetM}) {
        std::vector<RgbdView> views = ViewsOf(episode_, step);
        views[1].camera.world_from_camera.translation_m[axis] += offset_m;
        const std::vector<Finding> findings = Check(episode_, views, joints);
        ASSERT_THAT(findings, SizeIs(1)) << step << " " << axis;
        EXPECT_EQ(findings[0].reason, kDisagreement);
        EXPECT_EQ(findings[0].field, "views[1].calibration");
        EXPECT_NEAR(StatedDistanceM(findings[0]), kOffsetM, kOffsetToleranceM)
            << findings[0].message;
      }
    }
  }
}

TEST_P(RobotAgreement, FindsAJointThatIsOff) {
  for (int step = 0; step < episode_.step_count(); ++step) {
    for (const int column : {0, 1, 3, 8, 9, 11}) {
      std::vector<double> joints = *MeasuredJoints(episode_, step);
      joints[column] += kJointOffsetRad;
      const std::vector<Finding> findings = Check(episode_, ViewsOf(episode_, step), joints);
      ASSERT_FALSE(findings.empty()) << step << " " << column;
      EXPECT_THAT(findings, Each(Field(&Finding::reason, kDisagreement)));
      EXPECT_GT(StatedDistanceM(findings[0]), kMaxRobotShiftM) << findings[0].message;
    }
  }
}

TEST_P(RobotAgreement, FindsARobotThatIsElsewhere) {
  std::vector<double> joints = *MeasuredJoints(episode_, 0);
  joints[0] += 1;
  const std::vector<Finding> findings = Check(episode_, ViewsOf(episode_, 0), joints);
  ASSERT_FALSE(findings.empty());
  EXPECT_THAT(findings[0].message, HasSubstr("more than"));
}

INSTANTIATE_TEST_SUITE_P(Depth, RobotAgreement, ::testing::Values(0.0, kDepthNoiseM),
                         [](const auto& noise) { return noise.param == 0 ? "exact" : "noisy"; });

TEST(RobotAgreementTest, NoiseIsNoDisagreement) {
  for (const std::string& task : TaskNames()) {
    const Recording recording(
        {.task = task, .depth_noise_m = kDepthNoiseM, .seed = 71, .step_count = 24});
    const EpisodeReader episode = recording.Open();
    for (int step = 0; step < episode.step_count(); ++step) {
      const auto findings = Check(episode, ViewsOf(episode, step), *MeasuredJoints(episode, step));
      EXPECT_THAT(findings, IsEmpty()) << task << " " << step << " " << findings[0].message;
    }
  }
}

TEST(RobotAgreementTest, ViewsWithoutDepthOrRobotSayNothing) {
  const Recording recording({.task = "push_block", .step_count = 1});
  const EpisodeReader episode = recording.Open();
  const std::vector<double> joints = *MeasuredJoints(episode, 0);
  std::vector<RgbdView> views = ViewsOf(episode, 0);
  for (RgbdView& view : views) {
    std::fill(view.depth.pixels_m.begin(), view.depth.pixels_m.end(), 0.0f);
  }
  EXPECT_THAT(Check(episode, views, joints), IsEmpty());
  EXPECT_THAT(Check(episode, {}, joints), IsEmpty());
  // Cameras that look away.
  views = ViewsOf(episode, 0);
  for (RgbdView& view : views) view.camera.world_from_camera.translation_m[1] = 5;
  EXPECT_THAT(Check(episode, views, joints), IsEmpty());
}

TEST(RobotAgreementTest, JointsAndSizesThatDoNotFitAreRefused) {
  const Recording recording({.task = "push_block", .step_count = 1});
  const EpisodeReader episode = recording.Open();
  const std::vector<double> short_by_one(episode.robot()->columns.size() - 1, 0.0);
  EXPECT_EQ(CheckRobotAgreement({}, *episode.robot(), short_by_one).status().reason(),
            reason::ACTION_SHAPE);
  std::vector<RgbdView> views = ViewsOf(episode, 0);
  views[1].camera.width_px /= 2;
  EXPECT_EQ(
      CheckRobotAgreement(views, *episode.robot(), *MeasuredJoints(episode, 0)).status().field(),
      "views[1].depth");
}

}  // namespace
}  // namespace interlacer::sim
