#include "data/sim/world.h"

#include <gtest/gtest.h>
#include <mujoco/mujoco.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "data/sim/assets.h"
#include "data/sim/mjcf.h"
#include "data/sim/simulator.h"
#include "data/sim/tools.h"
#include "tests/data/sim/arm_points.h"
#include "tests/support/must.h"

namespace interlacer::sim {
namespace {

constexpr double kKinematicsM = 1e-6;  // MJCF text carries nine digits
constexpr double kTrackingRad = 0.01;
constexpr double kRestM = 5e-4;

Scene MakeScene(const ArmStates& first_state, const RobotSetup& robot = {}) {
  RandomSequence random(5, RandomStream::kDataGeneration);
  Scene scene = DrawRoom(random, Split::kTrain, 64, 48);
  scene.robot = robot;
  scene.first_state = first_state;
  return scene;
}

StatusOr<World> MakeWorld(const Scene& scene) {
  INTERLACER_ASSIGN_OR_RETURN(std::vector<Asset> assets,
                              LoadArmMeshes(DefaultAssetFolder(), *scene.robot.model));
  for (const std::string& name : {scene.table_texture, scene.floor_texture}) {
    INTERLACER_ASSIGN_OR_RETURN(Asset texture, LoadTexture(DefaultAssetFolder(), name));
    assets.push_back(std::move(texture));
  }
  return World::Create(scene, ComposeMjcf(scene), assets);
}

/// World positions of the bodies of the kinematic points, in their order.
std::vector<Vec3d> KinematicBodies(const World& world) {
  std::vector<Vec3d> positions;
  const auto add = [&](const std::string& name) {
    const mjtNum* const p =
        world.data()->xpos + 3 * mj_name2id(world.model(), mjOBJ_BODY, name.c_str());
    positions.push_back({p[0], p[1], p[2]});
  };
  for (int arm = 0; arm < kArmCount; ++arm) {
    for (int j = 1; j <= kJointCount; ++j) add(ArmBodyPrefix(arm) + "link_" + std::to_string(j));
    add(ArmBodyPrefix(arm) + "gripper");
    for (int finger = 0; finger < 2; ++finger) add(FingerBodyName(arm, finger));
  }
  return positions;
}

TEST(WorldTest, ForwardKinematicsEqualsMujoco) {
  RandomSequence random(7, RandomStream::kDataGeneration);
  for (int trial = 0; trial < 5; ++trial) {
    ArmStates state(kStateColumns);
    for (int c = 0; c < kStateColumns; ++c) {
      state[c] = random.Uniform(StateColumnsOf({})[c].min, StateColumnsOf({})[c].max);
    }
    const auto world = Must(MakeWorld(MakeScene(state)));
    const std::vector<Vec3d> bodies = KinematicBodies(world);
    const KinematicPoints points = ForwardKinematics(std::span<const double, kStateColumns>(state));
    ASSERT_EQ(bodies.size(), points.size());
    for (std::size_t p = 0; p < points.size(); ++p) {
      for (int i = 0; i < 3; ++i) {
        EXPECT_NEAR(bodies[p][i], points[p][i], kKinematicsM) << KinematicPointNames()[p];
      }
    }
  }
}

TEST(WorldTest, HeldToolsLeaveTheKinematicsAlone) {
  Scene scene = MakeScene(ArmStates(kStateColumns));
  scene.objects = {MakeDustpan(KukaIiwa(), 0, {1, 0, 0}), MakeBrush(KukaIiwa(), 1, {0, 1, 0})};
  RandomSequence random(8, RandomStream::kDataGeneration);
  for (int c = 0; c < kStateColumns; ++c) {
    scene.first_state[c] = random.Uniform(StateColumnsOf({})[c].min, StateColumnsOf({})[c].max);
  }
  const auto world = Must(MakeWorld(scene));
  const std::vector<Vec3d> bodies = KinematicBodies(world);
  const KinematicPoints points =
      ForwardKinematics(std::span<const double, kStateColumns>(scene.first_state));
  ASSERT_EQ(bodies.size(), points.size());
  for (std::size_t p = 0; p < points.size(); ++p) {
    for (int i = 0; i < 3; ++i) EXPECT_NEAR(bodies[p][i], points[p][i], kKinematicsM);
  }
}

ArmStates Resting() {
  ArmStates state(kStateColumns);
  for (int arm = 0; arm < kArmCount; ++arm) {
    const ArmJoints rest_rad = {0, 0.3, 0, -1.5, 0, 1.0, 0};
    std::copy(rest_rad.begin(), rest_rad.end(), state.begin() + arm * kArmColumns);
  }
  return state;
}

TEST(WorldTest, ServosArriveAtTheirTargets) {
  auto world = Must(MakeWorld(MakeScene(Resting())));
  ArmStates target = Resting();
  for (int c = 0; c < kStateColumns; ++c) {
    target[c] += c % kArmColumns == kJointCount ? 0.03 : 0.2;
  }
  world.Advance(target, 0.5);
  const ArmStates measured = world.Measured();
  for (int c = 0; c < kStateColumns; ++c) {
    EXPECT_NEAR(measured[c], target[c], kTrackingRad) << StateColumnsOf({})[c].name;
  }
  EXPECT_EQ(world.Commanded(), target);
  EXPECT_FALSE(world.ArmCollided());
}

TEST(WorldTest, AnArmThatReachesIntoTheTableIsNoticed) {
  auto world = Must(MakeWorld(MakeScene(Resting())));
  ArmStates target = Resting();
  target[1] = 1.6;  // shoulder of the left arm, forwards and down
  world.Advance(target, 1.0);
  EXPECT_TRUE(world.ArmCollided());
}

TEST(WorldTest, OverlapIsMeasured) {
  Scene scene = MakeScene(Resting());
  SceneObject box;
  box.name = "box";
  box.half_size_m = {0.03, 0.03, 0.03};
  box.world_from_object.translation_m = {0, 0, 0.03 - 0.007};  // 7 mm into the table
  scene.objects = {box};
  const auto world = Must(MakeWorld(scene));
  EXPECT_NEAR(world.DeepestContactM(), 0.007, 1e-4);
}

/// MuJoCo's own contact of an upright cylinder with a plane goes out now and then for a few steps:
/// without their feet some of these fall 3 cm into the table and come back.
TEST(WorldTest, CylindersRestForAQuarterOfAMinute) {
  Scene scene = MakeScene(Resting());
  RandomSequence random(11, RandomStream::kDataGeneration);
  for (int i = 0; i < 12; ++i) {
    SceneObject cylinder;
    cylinder.name = "cylinder_" + std::to_string(i);
    cylinder.shape = ObjectShape::kCylinder;
    const double radius_m = random.Uniform(0.025, 0.04);
    cylinder.half_size_m = {radius_m, radius_m, random.Uniform(0.02, 0.06)};
    cylinder.rolling_friction_m = i % 2 == 0 ? 0.003 : 0;
    cylinder.world_from_object.translation_m = {0.1 * (i % 6) - 0.25, -0.35 - 0.1 * (i / 6),
                                                cylinder.half_size_m[2]};
    const double half_yaw_rad = random.Uniform(0.0, 3.0);
    cylinder.world_from_object.rotation_xyzw = {0, 0, std::sin(half_yaw_rad),
                                                std::cos(half_yaw_rad)};
    scene.objects.push_back(cylinder);
  }
  auto world = Must(MakeWorld(scene));
  world.Advance(Resting(), 1.0);
  const std::vector<Transform> rested = world.ObjectPoses();
  double farthest_m = 0;
  for (int moment = 0; moment < 15 / 0.02; ++moment) {
    world.Advance(Resting(), 0.02);
    const std::vector<Transform> poses = world.ObjectPoses();
    for (std::size_t o = 0; o < poses.size(); ++o) {
      for (int i = 0; i < 3; ++i) {
        const double moved_m = poses[o].translation_m[i] - rested[o].translation_m[i];
        farthest_m = std::max(farthest_m, std::abs(moved_m));
      }
    }
  }
  EXPECT_LT(farthest_m, kRestM);
}

TEST(WorldTest, BrokenModelIsAStatus) {
  const StatusOr<World> world = World::Create(MakeScene(Resting()), "<mujoco><nonsense/>", {});
  ASSERT_FALSE(world.ok());
  EXPECT_NE(world.status().message().find("MuJoCo"), std::string::npos);
}

}  // namespace
}  // namespace interlacer::sim
