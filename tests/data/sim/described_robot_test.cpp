#include "data/sim/described_robot.h"

#include <gtest/gtest.h>
#include <mujoco/mujoco.h>

#include <algorithm>
#include <cmath>

#include "common/transforms.h"
#include "data/sim/mjcf.h"
#include "data/sim/robot.h"
#include "data/sim/simulator.h"
#include "data/sim/world.h"
#include "robots/forward_kinematics.h"
#include "robots/joint_values.h"
#include "robots/robot_folder.h"
#include "tests/data/sim/arm_points.h"
#include "tests/support/must.h"
#include "tests/support/temp_folder.h"

namespace interlacer::sim {
namespace {

constexpr double kLinkPoseM = 1e-6;  // MJCF text carries nine digits
constexpr int kRandomPoses = 5;

StatusOr<Robot> Describe(const RobotSetup& setup) {
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<Asset> meshes,
                              LoadArmMeshes(DefaultAssetFolder(), *setup.model));
  return DescribeRobot(setup, meshes);
}

ArmStates RandomState(const RobotSetup& setup, RandomSequence& random) {
  ArmStates state;
  for (const StateColumn& column : StateColumnsOf(setup)) {
    state.push_back(random.Uniform(column.min, column.max));
  }
  return state;
}

StatusOr<World> WorldOf(const RobotSetup& setup, const ArmStates& state) {
  RandomSequence random(5, RandomStream::kDataGeneration);
  Scene scene = DrawRoom(random, Split::kTrain, 64, 48);
  scene.robot = setup;
  scene.first_state = state;
  INTERLACER_ASSIGN_OR_RETURN(std::vector<Asset> assets,
                              LoadArmMeshes(DefaultAssetFolder(), *setup.model));
  for (const std::string& name : {scene.table_texture, scene.floor_texture}) {
    INTERLACER_ASSIGN_OR_RETURN(Asset texture, LoadTexture(DefaultAssetFolder(), name));
    assets.push_back(std::move(texture));
  }
  return World::Create(scene, ComposeMjcf(scene), assets);
}

/// "left_link_1" for the body "left/link_1".
std::string LinkOfBody(std::string body) {
  std::replace(body.begin(), body.end(), '/', '_');
  return body;
}

class DescribedRobots : public ::testing::TestWithParam<RobotSetup> {};

TEST_P(DescribedRobots, ColumnsAreThoseOfTheEpisodes) {
  const auto robot = Must(Describe(GetParam()));
  const std::vector<StateColumn> columns = StateColumnsOf(GetParam());
  const std::vector<std::string> names = ColumnNames(robot);
  ASSERT_EQ(names.size(), columns.size());
  for (std::size_t c = 0; c < columns.size(); ++c) {
    EXPECT_EQ(names[c], columns[c].name);
    const JointLimits& limits = *robot.links[robot.columns[c]].joint.limits;
    EXPECT_EQ(limits.min, columns[c].min);
    EXPECT_EQ(limits.max, columns[c].max);
    EXPECT_TRUE(robot.links[robot.columns[c]].joint.max_speed);
  }
  EXPECT_NE(robot.source.find("MIT"), std::string::npos);
}

TEST_P(DescribedRobots, EveryBodyOfMujocoIsTheLinkOfItsName) {
  const auto robot = Must(Describe(GetParam()));
  RandomSequence random(7, RandomStream::kDataGeneration);
  for (int trial = 0; trial < kRandomPoses; ++trial) {
    const ArmStates state = RandomState(GetParam(), random);
    const auto world = Must(WorldOf(GetParam(), state));
    const std::vector<Transform> poses = LinkPoses(robot, state);
    int compared = 0;
    for (int body = 1; body < world.model()->nbody; ++body) {
      const std::string name = LinkOfBody(mj_id2name(world.model(), mjOBJ_BODY, body));
      const int link = FindLink(robot, name);
      ASSERT_GE(link, 0) << name;
      const mjtNum* const p = world.data()->xpos + 3 * body;
      const mjtNum* const q = world.data()->xquat + 4 * body;
      const Transform pose = {{p[0], p[1], p[2]}, {q[1], q[2], q[3], q[0]}};
      // A point 1 m away from the link's frame shows its rotation as well.
      for (const Vec3d& point : {Vec3d{0, 0, 0}, Vec3d{0.6, 0, 0.8}, Vec3d{0, 0.6, -0.8}}) {
        const Vec3d ours = Apply(poses[link], point), theirs = Apply(pose, point);
        for (int i = 0; i < 3; ++i) EXPECT_NEAR(ours[i], theirs[i], kLinkPoseM) << name;
      }
      ++compared;
    }
    EXPECT_EQ(compared, GetParam().arm_count * (1 + kArmPoints));
  }
}

TEST_P(DescribedRobots, SurfacePointsLieOnWhatIsDrawn) {
  const auto robot = Must(Describe(GetParam()));
  for (std::size_t i = 1; i < robot.links.size(); ++i) {
    const auto count = std::count(robot.surface.links.begin(), robot.surface.links.end(),
                                  static_cast<std::int64_t>(i));
    EXPECT_EQ(count, kSurfacePointsPerLink) << robot.links[i].name;
  }
  // A ray from outside along the inverted normal meets the drawn geom at the point.
  RandomSequence random(9, RandomStream::kDataGeneration);
  const ArmStates state = RandomState(GetParam(), random);
  const auto world = Must(WorldOf(GetParam(), state));
  const std::vector<Transform> poses = LinkPoses(robot, state);
  const PosedSurface surface = PoseSurface(robot, poses);
  constexpr double kAboveM = 2e-4;
  constexpr mjtByte kDrawnGroups[mjNGROUP] = {1, 1, 1, 0, 0, 0};
  int missed = 0;
  for (std::size_t p = 0; p < surface.positions_m.size(); ++p) {
    Vec3d from, along;
    for (int i = 0; i < 3; ++i) {
      along[i] = -surface.normals[p][i];
      from[i] = surface.positions_m[p][i] + kAboveM * surface.normals[p][i];
    }
    int geom = -1;
    const double distance_m =
        mj_ray(world.model(), world.data(), from.data(), along.data(), kDrawnGroups, 1, -1, &geom);
    const bool is_there = distance_m >= 0 && std::abs(distance_m - kAboveM) < kAboveM / 2;
    missed += is_there ? 0 : 1;
  }
  // Where another surface lies within the ray's start, the ray meets that one.
  EXPECT_LT(missed, 0.01 * static_cast<double>(surface.positions_m.size()));
}

INSTANTIATE_TEST_SUITE_P(Setups, DescribedRobots,
                         ::testing::Values(RobotSetup{&KukaIiwa(), 2}, RobotSetup{&KukaIiwa(), 1},
                                           RobotSetup{&Panda(), 2}, RobotSetup{&Panda(), 1}),
                         [](const auto& setup) { return RobotNameOf(setup.param); });

TEST(DescribedRobotTest, TheTwoKukasHaveTheKinematicPointsOfOlderCheckpoints) {
  const RobotSetup setup{&KukaIiwa(), 2};
  const auto robot = Must(Describe(setup));
  RandomSequence random(11, RandomStream::kDataGeneration);
  for (int trial = 0; trial < kRandomPoses; ++trial) {
    const ArmStates state = RandomState(setup, random);
    const std::vector<Transform> poses = LinkPoses(robot, state);
    const KinematicPoints points = ForwardKinematics(std::span<const double, kStateColumns>(state));
    for (int p = 0; p < kKinematicPoints; ++p) {
      const int link = FindLink(robot, KinematicPointNames()[p]);
      ASSERT_GE(link, 0) << KinematicPointNames()[p];
      for (int i = 0; i < 3; ++i)
        EXPECT_NEAR(poses[link].translation_m[i], points[p][i], kLinkPoseM);
    }
  }
}

/// The folder that checkpoints of the two arms hold; `interlacer simulate` makes it anew in every
/// episode.
TEST(DescribedRobotTest, TheFolderOfTheSourcesIsWhatIsMadeAnew) {
  const auto made = Must(Describe({&KukaIiwa(), 2}));
  const auto encoded = Must(EncodeRobot(made));
  const auto committed =
      Must(ReadRobot(std::string(INTERLACER_SOURCE_DIR) + "/robots/kuka_iiwa_bimanual"));
  EXPECT_EQ(committed.sha256, encoded.sha256);
}

}  // namespace
}  // namespace interlacer::sim
