#include "evaluation/tracked_particles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numbers>
#include <set>

#include "common/check.h"
#include "common/image_codec.h"
#include "common/npy.h"
#include "tests/support/must.h"
#include "tests/support/painted_plane.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tolerances.h"

namespace interlacer {
namespace {

constexpr int kBlockLabel = 4;
constexpr int kArmLabel = 2;
constexpr float kNotMeasured = std::numeric_limits<float>::quiet_NaN();

/// Two steps of a plane whose left third is an object that slides by 3 cm and turns by 90 degrees
/// about the vertical through the origin, whose middle third is an arm, and whose rest is the
/// table.
class TrackedParticlesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    EpisodeManifest manifest;
    manifest.episode_id = "tracked";
    manifest.kind = EpisodeKind::kMovingCamera;
    manifest.created_time = "2026-01-01T00:00:00Z";
    manifest.source.kind = "simulate";
    manifest.source.tool = "test";
    manifest.task_name = "slide";
    manifest.step_count = 2;
    manifest.world_frame_name = "table";
    manifest.workspace = {{-1, -1, -0.1}, {1, 1, 1}};
    EpisodeCamera camera;
    camera.name = "left";
    camera.camera = testing::PlaneCamera(plane_, 1);
    camera.depth_unit_m = plane_.depth_unit_m;
    manifest.cameras.push_back(camera);
    auto writer = Must(EpisodeWriter::Create(folder_.File("tracked"), manifest));
    RgbImage color;
    DepthImage16 depth;
    testing::RenderPlane(plane_, camera.camera, &color, &depth);
    DepthImage16 mask{plane_.width_px, plane_.height_px, 1, {}};
    for (int i = 0; i < plane_.width_px * plane_.height_px; ++i) {
      mask.pixels.push_back(static_cast<std::uint16_t>(Label(i % plane_.width_px)));
    }
    for (int step = 0; step < 2; ++step) {
      ASSERT_TRUE(writer->WriteFrame(step, 0, color, depth).ok());
      ASSERT_TRUE(
          writer
              ->WriteExtra("truth/mask/left/00000" + std::to_string(step) + ".png", EncodePng(mask))
              .ok());
    }
    const double half = std::numbers::sqrt2 / 2;
    const std::vector<double> poses{0, 0, 0, 0, 0, 0, 1, 0.03, 0, 0, 0, 0, half, half};
    const std::int64_t shape[] = {2, 1, 7};
    ASSERT_TRUE(writer->WriteExtra("truth/object_poses.npy", EncodeNpy(poses, shape)).ok());
    const std::string objects =
        R"({"objects": ["block"], "mask_labels": {"left_arm": 2, "right_arm": 3, "first_object": 4}})";
    ASSERT_TRUE(writer
                    ->WriteExtra("truth/objects.json",
                                 std::vector<std::uint8_t>(objects.begin(), objects.end()))
                    .ok());
    ASSERT_TRUE(writer->Finish().ok());
    frame_ = {camera.camera, color, DepthToMeters(depth)};
  }

  int Label(int column) const {
    if (column < plane_.width_px / 3) return kBlockLabel;
    return column < 2 * plane_.width_px / 3 ? kArmLabel : 1;
  }

  /// The particles of every pixel of one row.
  std::vector<float> RowParticles(int row) const {
    std::vector<float> particles_m;
    for (int u = 0; u < plane_.width_px; ++u) {
      const float z = frame_.depth.pixels_m[static_cast<std::size_t>(row) * plane_.width_px + u];
      for (const double x : Unproject(frame_.camera, u, row, z)) {
        particles_m.push_back(static_cast<float>(x));
      }
    }
    return particles_m;
  }

  /// Of the two steps of the episode.
  struct Truth {
    std::unique_ptr<const EpisodeReader> episode;  // which the simulation reads from
    SimulationTruth simulation;
    PredictionTask task;
    BodyMotion motion;
  };
  std::unique_ptr<Truth> Open() const {
    auto opened = EpisodeReader::Open(folder_.File("tracked"));
    INTERLACER_CHECK(opened.ok(), opened.status().ToString());
    auto episode = std::make_unique<const EpisodeReader>(*std::move(opened));
    auto truth = SimulationTruth::Open(*episode);
    INTERLACER_CHECK(truth.ok() && truth->has_value(), truth.status().ToString());
    PredictionTask task;
    task.step_count = 1;
    BodyMotion motion = *TrueMotion(*episode, task, **truth);
    return std::make_unique<Truth>(
        Truth{std::move(episode), **std::move(truth), std::move(task), std::move(motion)});
  }
  StatusOr<TrackedParticles> Track(const Truth& truth, std::span<const float> particles_m) const {
    const TargetView target{"left", 0, true, plane_.width_px, plane_.height_px};
    return TrackedParticles::Start(truth.simulation, truth.motion, truth.task, target, frame_,
                                   particles_m);
  }

  static double ValueOf(const std::vector<ViewScore>& scores, std::string_view metric) {
    for (const ViewScore& score : scores) {
      if (score.metric == metric) return score.value.value_or(-1);
    }
    return -2;
  }

  const testing::PaintedPlane plane_{48, 36, 1, 0.0001};
  const TempFolder folder_;
  TrueFrame frame_;
};

TEST_F(TrackedParticlesTest, FollowsTheRigidMotionOfObjectsAndSkipsArms) {
  const auto truth = Open();
  std::vector<float> particles_m = RowParticles(20);
  const std::size_t seen = particles_m.size() / 3;
  particles_m.insert(particles_m.end(), {0.1f, 0.1f, 0.3f});  // of another camera
  const auto tracked = Must(Track(*truth, particles_m));
  const std::set<int> moved = tracked.MovedObjects();
  EXPECT_EQ(moved, std::set<int>{0});

  // By hand: (x, y) of the object goes to (0.03 - y, x).
  double moved_m = 0;
  std::vector<float> carried_m = particles_m;
  for (std::size_t i = 0; i < seen / 3; ++i) {
    const double x = particles_m[3 * i], y = particles_m[3 * i + 1];
    carried_m[3 * i] = static_cast<float>(0.03 - y);
    carried_m[3 * i + 1] = static_cast<float>(x);
    moved_m += std::hypot(0.03 - y - x, x - y);
  }
  const auto moving_count = static_cast<double>(seen) / 3;
  const auto still = tracked.Score(kCopyLast, particles_m, 1, moved);
  EXPECT_NEAR(ValueOf(still, kL2Moved), moved_m / moving_count, testing::kFloatPlaceToleranceM);
  EXPECT_NEAR(ValueOf(still, ObjectMetric("block")), moved_m / moving_count,
              testing::kFloatPlaceToleranceM);
  EXPECT_EQ(ValueOf(still, kL2Static), 0);
  EXPECT_EQ(ValueOf(still, kL2Robot), -1);         // no folder says how the arms move
  EXPECT_EQ(ValueOf(still, kL2MovedTouched), -1);  // the episode holds no contacts
  const auto exact = tracked.Score(kModelSubject, carried_m, 1, moved);
  EXPECT_NEAR(ValueOf(exact, kL2Moved), 0, testing::kFloatPlaceToleranceM);
  EXPECT_EQ(ValueOf(exact, kL2Static), 0);
  EXPECT_TRUE(tracked.Score(kModelSubject, particles_m, 0, moved).empty());
  EXPECT_TRUE(tracked.Score(kModelSubject, particles_m, 2, moved).empty());  // beyond the recording

  // An object that counts as still in this rollout is part of what stands still.
  const auto at_rest = tracked.Score(kCopyLast, particles_m, 1, {});
  EXPECT_EQ(ValueOf(at_rest, kL2Moved), -1);
  EXPECT_NEAR(ValueOf(at_rest, kL2Static), moved_m / (2 * moving_count),
              testing::kFloatPlaceToleranceM);
  EXPECT_NEAR(ValueOf(at_rest, kL2StillObjects), moved_m / moving_count,
              testing::kFloatPlaceToleranceM);
  EXPECT_EQ(ValueOf(still, kL2StillObjects), -1);  // the only object moves

  Vec3d mean_m{};
  for (std::size_t i = 0; i < seen / 3; ++i) {
    for (int axis = 0; axis < 2; ++axis) {
      mean_m[axis] += (carried_m[3 * i + axis] - particles_m[3 * i + axis]) / moving_count;
    }
  }
  const ObjectMove move = tracked.MoveOf(0, particles_m, 1);
  EXPECT_EQ(move.particle_count, static_cast<int>(seen / 3));
  const ObjectMove carried = tracked.MoveOf(0, carried_m, 1);
  for (int axis = 0; axis < 3; ++axis) {
    EXPECT_NEAR(move.predicted_m[axis], 0, testing::kFloatPlaceToleranceM) << axis;
    EXPECT_NEAR(move.true_m[axis], mean_m[axis], testing::kFloatPlaceToleranceM) << axis;
    EXPECT_NEAR(carried.predicted_m[axis], mean_m[axis], testing::kFloatPlaceToleranceM) << axis;
  }
}

TEST_F(TrackedParticlesTest, AnObjectThatDriftsOnItsTableIsSeen) {
  constexpr double kDriftM = 0.02;
  constexpr std::size_t kOfObject = 6;
  const auto truth = Open();
  std::vector<float> particles_m = RowParticles(20), drifted_m;
  particles_m.resize(3 * kOfObject);
  // By hand as above, and off by the drift.
  for (std::size_t i = 0; i < kOfObject; ++i) {
    const float* p = particles_m.data() + 3 * i;
    drifted_m.insert(drifted_m.end(), {0.03f - p[1], p[0], p[2] + static_cast<float>(kDriftM)});
  }
  const auto first_of_table = static_cast<std::ptrdiff_t>(3 * (2 * plane_.width_px / 3));
  for (int row = 0; row < plane_.height_px; ++row) {
    const std::vector<float> all_m = RowParticles(row);
    particles_m.insert(particles_m.end(), all_m.begin() + first_of_table, all_m.end());
    drifted_m.insert(drifted_m.end(), all_m.begin() + first_of_table, all_m.end());
  }
  const auto tracked = Must(Track(*truth, particles_m));
  const auto scores = tracked.Score(kModelSubject, drifted_m, 1, {});
  const auto count = static_cast<double>(particles_m.size() / 3);
  EXPECT_GT(count, 500);
  EXPECT_NEAR(ValueOf(scores, kL2StillObjects), kDriftM, testing::kFloatPlaceToleranceM);
  EXPECT_NEAR(ValueOf(scores, kL2Static), kDriftM * kOfObject / count,
              testing::kFloatPlaceToleranceM);
}

TEST_F(TrackedParticlesTest, CountsWhatEachParticleIs) {
  const auto truth = Open();
  std::vector<float> particles_m = RowParticles(20);
  const std::size_t seen = particles_m.size() / 3;
  particles_m.insert(particles_m.end(), {0.1f, 0.1f, 0.3f});
  const auto tracked = Track(*truth, particles_m);
  std::map<ParticleKind, std::size_t> counts;
  for (const ParticleKind kind : tracked->KindsOf({0})) ++counts[kind];
  EXPECT_EQ(counts[ParticleKind::kMoved], seen / 3);
  EXPECT_EQ(counts[ParticleKind::kStatic], seen / 3);
  EXPECT_EQ(counts[ParticleKind::kUntracked], seen / 3 + 1);  // arms without a folder too
  EXPECT_EQ(counts[ParticleKind::kRobot], 0u);
}

TEST_F(TrackedParticlesTest, PixelsWithoutDepthAndFewParticlesHaveNoScore) {
  const auto truth = Open();
  std::vector<float> particles_m = RowParticles(20);
  for (int u = 4; u < plane_.width_px / 3; ++u) {
    frame_.depth.pixels_m[static_cast<std::size_t>(20) * plane_.width_px + u] = kNotMeasured;
  }
  const auto tracked = Must(Track(*truth, particles_m));
  const auto scores = tracked.Score(kModelSubject, particles_m, 1, tracked.MovedObjects());
  EXPECT_EQ(ValueOf(scores, kL2Moved), -1);  // four are left
  EXPECT_EQ(ValueOf(scores, kL2Static), 0);
  for (const ViewScore& score : scores) EXPECT_EQ(score.value.has_value(), score.reason.empty());
  EXPECT_TRUE(Track(*truth, {})->Score(kModelSubject, {}, 1, {}).size() > 0);
}

TEST(SimulationTruth, IsAbsentWithoutItsFiles) {
  const TempFolder folder;
  const auto path = Must(testing::WritePaintedPlane(folder.File("plane")));
  const auto episode = Must(EpisodeReader::Open(path));
  const auto truth = Must(SimulationTruth::Open(episode));
  EXPECT_FALSE(truth.has_value());
}

}  // namespace
}  // namespace interlacer
