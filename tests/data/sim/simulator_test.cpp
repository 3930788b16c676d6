#include "data/sim/simulator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "common/sha256.h"
#include "common/transforms.h"
#include "tests/data/sim/arm_points.h"

namespace interlacer::sim {
namespace {

constexpr double kSurfaceM = 0.003;      // recorded depth against known geometry
constexpr double kSurfaceShare = 0.995;  // the rest are pixels on a silhouette
constexpr double kTrackingRad = 0.01;
constexpr double kRestM = 1e-4;  // travel of things that nobody touches
constexpr double kPushedM = 0.08;

SimulateOptions Options(std::uint64_t seed, int step_count) {
  SimulateOptions options;
  options.seed = seed;
  options.step_count = step_count;
  return options;
}

SimulatedEpisode Simulate(const SimulateOptions& options) {
  StatusOr<SimulatedEpisode> episode = SimulateEpisode(options);
  EXPECT_TRUE(episode.ok()) << episode.status().ToString();
  return episode.ok() ? *std::move(episode) : SimulatedEpisode{};
}

std::string Hash(const SimulatedEpisode& episode) {
  Sha256 hash;
  hash.Update(episode.mjcf);
  for (const SimulatedStep& step : episode.steps) {
    for (const SimulatedView& view : step.views) {
      hash.Update(view.color.pixels);
      hash.Update({reinterpret_cast<const std::uint8_t*>(view.depth.pixels.data()),
                   2 * view.depth.pixels.size()});
      hash.Update(view.mask);
    }
    hash.Update({reinterpret_cast<const std::uint8_t*>(step.measured.data()),
                 sizeof(double) * step.measured.size()});
  }
  return hash.HexDigest();
}

double Distance(const Vec3d& a, const Vec3d& b) {
  return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

KinematicPoints PointsOfState(const ArmStates& state) {
  return ForwardKinematics(std::span<const double, kStateColumns>(state));
}

/// World points of the pixels with a label.
std::vector<Vec3d> PointsOf(const SimulatedView& view, const Camera& camera, int label) {
  std::vector<Vec3d> points;
  for (int v = 0; v < view.color.height_px; ++v) {
    for (int u = 0; u < view.color.width_px; ++u) {
      const std::size_t at = static_cast<std::size_t>(v) * view.color.width_px + u;
      if (view.mask[at] != label) continue;
      const double depth_m = view.depth.pixels[at] * view.depth.unit_m;
      points.push_back(Unproject(camera, u, v, depth_m));
    }
  }
  return points;
}

TEST(SimulatorTest, SameSeedSameBytesAndShortIsAPrefix) {
  const SimulatedEpisode once = Simulate(Options(11, 3));
  const SimulatedEpisode again = Simulate(Options(11, 3));
  EXPECT_EQ(Hash(once), Hash(again));
  EXPECT_NE(Hash(once), Hash(Simulate(Options(12, 3))));
  SimulatedEpisode longer = Simulate(Options(11, 5));
  longer.steps.resize(3);
  EXPECT_EQ(Hash(once), Hash(longer));
}

TEST(SimulatorTest, AnotherThreadDrawsTheSameBytes) {
  // This thread's drawing context has served another episode, the new thread's none.
  Simulate(Options(12, 2));
  const std::string here = Hash(Simulate(Options(11, 2)));
  std::string there;
  std::thread([&] { there = Hash(Simulate(Options(11, 2))); }).join();
  EXPECT_EQ(here, there);
}

TEST(SimulatorTest, PushMovesTheBlockAndBothArms) {
  const SimulatedEpisode episode = Simulate(Options(21, 24));
  ASSERT_EQ(episode.steps.size(), 24u);
  EXPECT_EQ(episode.cameras.at(0).name, "left");
  EXPECT_EQ(episode.cameras.at(1).name, "right");
  double block_travel_m = 0;
  double tool_travel_m[kArmCount] = {0, 0};
  for (std::size_t s = 0; s < episode.steps.size(); ++s) {
    const SimulatedStep& step = episode.steps[s];
    for (int c = 0; c < kStateColumns; ++c) {
      EXPECT_NEAR(step.measured[c], step.commanded[c], kTrackingRad) << s << " " << c;
      EXPECT_GE(step.commanded[c], StateColumnsOf({})[c].min);
      EXPECT_LE(step.commanded[c], StateColumnsOf({})[c].max);
    }
    if (s == 0) continue;
    const SimulatedStep& before = episode.steps[s - 1];
    block_travel_m += Distance(before.world_from_object.front().translation_m,
                               step.world_from_object.front().translation_m);
    const KinematicPoints from = PointsOfState(before.measured);
    const KinematicPoints to = PointsOfState(step.measured);
    for (int arm = 0; arm < kArmCount; ++arm) {
      const int gripper = arm * kArmPoints + kJointCount;
      tool_travel_m[arm] += Distance(from[gripper], to[gripper]);
    }
  }
  EXPECT_GT(block_travel_m, kPushedM);
  // Only an arm that touches it moves the block.
  for (std::size_t s = 1; s < episode.steps.size(); ++s) {
    const SimulatedStep& step = episode.steps[s];
    const std::size_t object_count = episode.object_names.size();
    const bool touched =
        step.arm_touches_object[0] != 0 || step.arm_touches_object[object_count] != 0;
    const double moved_m = Distance(episode.steps[s - 1].world_from_object.front().translation_m,
                                    step.world_from_object.front().translation_m);
    EXPECT_TRUE(touched || moved_m < 0.01) << s;
  }
  for (const double travel_m : tool_travel_m) EXPECT_GT(travel_m / 23, 0.04);
}

class MotionSeedTest : public ::testing::TestWithParam<const char*> {};

TEST_P(MotionSeedTest, MotionsShareTheSceneAndItsFirstTwoSteps) {
  SimulateOptions options = Options(21, 8);
  options.task = GetParam();
  options.motion_seed = 1;
  const SimulatedEpisode one = Simulate(options);
  EXPECT_EQ(Hash(one), Hash(Simulate(options)));
  options.motion_seed = 2;
  const SimulatedEpisode two = Simulate(options);
  ASSERT_EQ(one.steps.size(), 8u);
  ASSERT_EQ(two.steps.size(), 8u);
  EXPECT_EQ(one.mjcf, two.mjcf);
  for (int step = 0; step < 2; ++step) {
    const SimulatedStep &a = one.steps[step], &b = two.steps[step];
    EXPECT_EQ(a.commanded, one.steps[0].commanded) << step;
    EXPECT_EQ(a.commanded, b.commanded) << step;
    EXPECT_EQ(a.views.at(0).color.pixels, b.views.at(0).color.pixels) << step;
    EXPECT_EQ(a.views.at(1).depth.pixels, b.views.at(1).depth.pixels) << step;
  }
  EXPECT_NE(one.steps[2].commanded, two.steps[2].commanded);
}
INSTANTIATE_TEST_SUITE_P(Tasks, MotionSeedTest, ::testing::Values("push_block", "grasp_can"),
                         [](const auto& test) { return std::string(test.param); });

TEST(SimulatorTest, AMotionSeedNeedsATaskThatDrawsItsMotion) {
  SimulateOptions options = Options(21, 3);
  options.task = "lift_can";
  options.motion_seed = 1;
  const Status episode = SimulateEpisode(options).status();
  EXPECT_EQ(episode.reason(), reason::ARGUMENT_INVALID);
  EXPECT_NE(episode.ToString().find("motion_seed"), std::string::npos);
}

TEST(SimulatorTest, StillControlStandsStill) {
  SimulateOptions options = Options(21, 6);
  const SimulatedEpisode moving = Simulate(options);
  options.still = true;
  const SimulatedEpisode still = Simulate(options);
  ASSERT_EQ(still.steps.size(), 6u);
  EXPECT_EQ(still.mjcf, moving.mjcf);
  EXPECT_EQ(still.steps.front().views.front().color.pixels,
            moving.steps.front().views.front().color.pixels);
  const SimulatedStep& first = still.steps.front();
  const SimulatedStep& last = still.steps.back();
  EXPECT_EQ(first.commanded, last.commanded);
  for (std::size_t o = 0; o < first.world_from_object.size(); ++o) {
    EXPECT_LT(
        Distance(first.world_from_object[o].translation_m, last.world_from_object[o].translation_m),
        kRestM);
  }
  const KinematicPoints from = PointsOfState(first.measured);
  const KinematicPoints to = PointsOfState(last.measured);
  for (int p = 0; p < kKinematicPoints; ++p) EXPECT_LT(Distance(from[p], to[p]), kRestM);
}

TEST(SimulatorTest, DepthLiftsOntoTheTableAndTheBlock) {
  const SimulatedEpisode episode = Simulate(Options(31, 2));
  const SimulatedStep& step = episode.steps.front();
  for (std::size_t c = 0; c < step.views.size(); ++c) {
    const Camera& camera = episode.cameras[c].camera;
    const std::vector<Vec3d> table = PointsOf(step.views[c], camera, kMaskTable);
    ASSERT_GT(table.size(), 5000u);
    // Pixels on the side of the board lie below its top.
    const auto on_top = std::count_if(table.begin(), table.end(),
                                      [](const Vec3d& p) { return std::abs(p[2]) < kSurfaceM; });
    const auto below = std::count_if(table.begin(), table.end(),
                                     [](const Vec3d& p) { return p[2] <= -kSurfaceM; });
    EXPECT_EQ(on_top + below, static_cast<std::ptrdiff_t>(table.size()));
    EXPECT_GT(on_top, 9 * below);

    // A block constrains all three axes: its points lie on its faces.
    const std::vector<Vec3d> block = PointsOf(step.views[c], camera, kMaskFirstObject);
    ASSERT_GT(block.size(), 50u);
    const Transform block_from_world = Inverse(step.world_from_object.front());
    Vec3d reach{};
    for (const Vec3d& point : block) {
      const Vec3d local = Apply(block_from_world, point);
      for (int i = 0; i < 3; ++i) reach[i] = std::max(reach[i], std::abs(local[i]));
    }
    std::size_t on_a_face = 0;
    for (const Vec3d& point : block) {
      const Vec3d local = Apply(block_from_world, point);
      double inside_m = 1;
      for (int i = 0; i < 3; ++i) inside_m = std::min(inside_m, reach[i] - std::abs(local[i]));
      on_a_face += inside_m < kSurfaceM ? 1 : 0;
    }
    EXPECT_GT(on_a_face, kSurfaceShare * block.size());
    EXPECT_NEAR(2 * step.world_from_object.front().translation_m[2], 2 * reach[2], kSurfaceM);
  }
}

TEST(SimulatorTest, ArmsAreInViewAndInsideTheWorkspace) {
  const SimulatedEpisode episode = Simulate(Options(41, 1));
  for (std::size_t c = 0; c < episode.cameras.size(); ++c) {
    const SimulatedView& view = episode.steps.front().views[c];
    for (const int label : {kMaskLeftArm, kMaskRightArm}) {
      const std::vector<Vec3d> arm = PointsOf(view, episode.cameras[c].camera, label);
      EXPECT_GT(arm.size(), 2000u);
      const auto inside = std::count_if(arm.begin(), arm.end(), [&](const Vec3d& p) {
        return Contains(episode.workspace, {static_cast<float>(p[0]), static_cast<float>(p[1]),
                                            static_cast<float>(p[2])});
      });
      EXPECT_GT(inside, 0.97 * arm.size());
      const Vec3d& eye_m = episode.cameras[c].camera.world_from_camera.translation_m;
      for (const Vec3d& p : arm) EXPECT_LT(Distance(p, eye_m), episode.far_m);
    }
  }
}

/// Whether noise took each pixel of the first view nearer.
std::vector<bool> Nearer(SimulateOptions options) {
  const SimulatedEpisode exact = Simulate(options);
  options.depth_noise_m = 0.01;
  const SimulatedEpisode noisy = Simulate(options);
  std::vector<bool> nearer;
  for (std::size_t i = 0; i < exact.steps[0].views[0].depth.pixels.size(); ++i) {
    nearer.push_back(noisy.steps[0].views[0].depth.pixels[i] <
                     exact.steps[0].views[0].depth.pixels[i]);
  }
  return nearer;
}

TEST(SimulatorTest, TwinsOfASceneHaveNoiseOfTheirOwn) {
  SimulateOptions options = Options(3, 1);
  options.width_px = 64;
  options.height_px = 48;
  SimulateOptions val = options, still = options, motion = options;
  val.split = Split::kVal;
  still.still = true;
  motion.motion_seed = 1;
  const std::vector<bool> train = Nearer(options);
  for (const SimulateOptions& twin : {val, still, motion}) {
    const std::vector<bool> other = Nearer(twin);
    ASSERT_EQ(other.size(), train.size());
    int equal = 0;
    for (std::size_t i = 0; i < train.size(); ++i) equal += train[i] == other[i];
    // Half by chance, with a standard deviation of 0.01; silhouettes lose their depth more often.
    EXPECT_NEAR(static_cast<double>(equal) / static_cast<double>(train.size()), 0.5, 0.15);
  }
}

TEST(SimulatorTest, BadOptionsNameTheField) {
  SimulateOptions options = Options(1, 0);
  EXPECT_EQ(SimulateEpisode(options).status().field(), "step_count");
  options = Options(1, 1);
  options.width_px = 100000;
  EXPECT_EQ(SimulateEpisode(options).status().field(), "width_px");
  options = Options(1, 1);
  options.depth_noise_m = -1;
  EXPECT_EQ(SimulateEpisode(options).status().field(), "depth_noise_m");
  options = Options(1, 1);
  options.task = "juggle";
  EXPECT_EQ(SimulateEpisode(options).status().field(), "task");
  options = Options(1, 1);
  options.asset_folder = "/nonexistent";
  EXPECT_EQ(SimulateEpisode(options).status().reason(), reason::FILE_NOT_FOUND);
}

}  // namespace
}  // namespace interlacer::sim
