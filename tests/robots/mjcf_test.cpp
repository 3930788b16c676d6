#include <mujoco/mujoco.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "common/random.h"
#include "common/transforms.h"
#include "robots/forward_kinematics.h"
#include "robots/joint_values.h"
#include "robots/make_robot.h"
#include "robots/robot_folder.h"
#include "tests/support/matchers.h"
#include "tests/support/must.h"
#include "tests/support/temp_folder.h"

namespace interlacer {
namespace {

using ::testing::Contains;

constexpr double kPositionToleranceM = 1e-6;
constexpr int kPoseCount = 50;

/// MuJoCo's own model and state of a file.
class Reference {
 public:
  explicit Reference(const std::string& path) {
    char error[1000] = "";
    model_ = mj_loadXML(path.c_str(), nullptr, error, sizeof error);
    INTERLACER_CHECK(model_ != nullptr, error);
    data_ = mj_makeData(model_);
  }
  ~Reference() {
    mj_deleteData(data_);
    mj_deleteModel(model_);
  }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;

  void Set(const std::string& joint, double value) {
    const int id = mj_name2id(model_, mjOBJ_JOINT, joint.c_str());
    INTERLACER_CHECK(id >= 0, joint);
    data_->qpos[model_->jnt_qposadr[id]] = value;
  }
  void Forward() { mj_kinematics(model_, data_); }
  int body_count() const { return model_->nbody; }
  std::string BodyName(int body) const {
    const char* const name = mj_id2name(model_, mjOBJ_BODY, body);
    return name != nullptr ? name : "body_" + std::to_string(body);
  }
  Transform Pose(int body) const {
    const mjtNum* const p = data_->xpos + 3 * body;
    const mjtNum* const q = data_->xquat + 4 * body;
    return {{p[0], p[1], p[2]}, {q[1], q[2], q[3], q[0]}};
  }

 private:
  mjModel* model_ = nullptr;
  mjData* data_ = nullptr;
};

/// Every body of MuJoCo's model is the link of its name, where MuJoCo has it, for random values.
void ExpectMujocoPoses(const Robot& robot, Reference* reference) {
  RandomSequence random(33, RandomStream::kDataGeneration);
  for (int i = 0; i < kPoseCount; ++i) {
    std::vector<double> values;
    for (const int link : robot.columns) {
      const RobotJoint& joint = robot.links[link].joint;
      const JointLimits range = joint.limits.value_or(JointLimits{-3, 3});
      values.push_back(random.Uniform(range.min, range.max));
      reference->Set(joint.name, values.back());
    }
    for (const RobotLink& link : robot.links) {
      if (!link.joint.mimic) continue;
      const auto followed =
          std::find(robot.columns.begin(), robot.columns.end(), link.joint.mimic->link);
      reference->Set(link.joint.name,
                     link.joint.mimic->factor * values[followed - robot.columns.begin()] +
                         link.joint.mimic->offset);
    }
    reference->Forward();
    const std::vector<Transform> poses = LinkPoses(robot, values);
    for (int body = 0; body < reference->body_count(); ++body) {
      const std::string name = reference->BodyName(body);
      const int link = FindLink(robot, name);
      ASSERT_GE(link, 0) << name;
      // A point 1 m away from the link's frame shows its rotation as well.
      for (const Vec3d& point : {Vec3d{0, 0, 0}, Vec3d{0.6, 0, 0.8}, Vec3d{0, 0.6, -0.8}}) {
        const Vec3d ours = Apply(poses[link], point), theirs = Apply(reference->Pose(body), point);
        for (int k = 0; k < 3; ++k) ASSERT_NEAR(ours[k], theirs[k], kPositionToleranceM) << name;
      }
    }
  }
}

struct ArmCase {
  std::string folder;
  int column_count;
};

class PinnedRobots : public ::testing::TestWithParam<ArmCase> {};

TEST_P(PinnedRobots, MoveAsInMujocoAndComeBackFromTheirFolder) {
  const std::string path =
      std::string(INTERLACER_ROBOT_ASSETS) + "/robots/" + GetParam().folder + "/robot.xml";
  const auto made = Must(MakeRobot(path, {}));
  EXPECT_EQ(static_cast<int>(made.robot.columns.size()), GetParam().column_count);
  Reference reference(path);
  ExpectMujocoPoses(made.robot, &reference);

  const TempFolder folder;
  ASSERT_TRUE(WriteRobot(made.robot, folder.path()).ok());
  const auto read = Must(ReadRobot(folder.path()));
  ExpectMujocoPoses(read, &reference);
  const std::vector<double> rest = RestValues(read);
  EXPECT_EQ(LinkPoses(read, rest), LinkPoses(made.robot, rest));
  EXPECT_EQ(read.surface, made.robot.surface);
}

INSTANTIATE_TEST_SUITE_P(Robosuite, PinnedRobots,
                         ::testing::Values(ArmCase{"iiwa", 7}, ArmCase{"panda", 7},
                                           ArmCase{"ur5e", 6}, ArmCase{"xarm7", 7},
                                           ArmCase{"kinova3", 7}, ArmCase{"jaco", 7},
                                           ArmCase{"sawyer", 7}, ArmCase{"baxter", 14},
                                           ArmCase{"spot_arm", 6}, ArmCase{"spot", 12},
                                           ArmCase{"tiago", 15}, ArmCase{"gr1", 32}),
                         [](const auto& arm) { return arm.param.folder; });

StatusOr<MadeRobot> Make(const TempFolder& folder, const std::string& content,
                         const MakeRobotOptions& options = {}) {
  std::ofstream(folder.File("robot.xml")) << "<mujoco model='tested'>" << content << "</mujoco>";
  return MakeRobot(folder.File("robot.xml"), options);
}

constexpr char kOddJoints[] = R"(
  <compiler angle='radian'/>
  <worldbody>
    <geom type='plane' size='1 1 1'/>
    <body name='base' pos='0.1 0.2 0.3' euler='0.3 0.2 0.1'>
      <geom size='0.1'/>
      <body name='gantry' pos='0 0 0.2'>
        <joint name='x' type='slide' axis='1 0 0' range='-1 1' ref='0.2'/>
        <joint name='y' type='slide' axis='0 1 0' range='-1 1'/>
        <joint name='yaw' type='hinge' axis='0 0 1' pos='0.05 0.02 0' ref='0.4'/>
        <geom type='capsule' size='0.05 0.2'/>
        <body name='lever' pos='0.3 0 0' quat='0.9 0.1 0.2 0.3'>
          <joint name='swing' axis='0 1 1' pos='0.1 -0.2 0.3' range='-2 2'/>
          <joint name='twist' axis='1 0 0' range='-2 2'/>
          <geom type='ellipsoid' size='0.1 0.05 0.02'/>
        </body>
      </body>
      <body name='finger' pos='0 0.1 0'>
        <joint name='grip' type='slide' axis='0 1 0' range='0 0.04'/>
        <geom type='cylinder' size='0.01 0.05'/>
      </body>
      <body name='finger_too' pos='0 -0.1 0'>
        <joint name='grip_too' type='slide' axis='0 1 0' range='-0.04 0'/>
        <geom type='box' size='0.01 0.02 0.03' contype='0' conaffinity='0'/>
        <geom type='sphere' size='5'/>
      </body>
    </body>
  </worldbody>
  <equality><joint name='same' joint1='grip_too' joint2='grip' polycoef='0.001 -1 0 0 0'/>%s
  </equality>)";

std::string OddJoints(const std::string& equality = "") {
  std::string text = kOddJoints;
  return text.replace(text.find("%s"), 2, equality);
}

TEST(Mjcf, JointsAroundPointsWithReferencesSlidesAndSeveralOnABody) {
  const TempFolder folder;
  const auto made = Must(Make(folder, OddJoints()));
  EXPECT_EQ(made.robot.name, "tested");
  EXPECT_THAT(ColumnNames(made.robot),
              ElementsAre("x_m", "y_m", "yaw_rad", "swing_rad", "twist_rad", "grip_m"));
  EXPECT_EQ(made.robot.links[FindJoint(made.robot, "yaw")].joint.type, JointType::kContinuous);
  Reference reference(folder.File("robot.xml"));
  ExpectMujocoPoses(made.robot, &reference);
}

TEST(Mjcf, LinearEqualitiesOfJointsAreFollowedAndOthersNamed) {
  const TempFolder folder;
  const auto made =
      Must(Make(folder, OddJoints("<weld name='glue' body1='finger' body2='lever'/>")));
  const auto& mimic = made.robot.links[FindJoint(made.robot, "grip_too")].joint.mimic;
  ASSERT_TRUE(mimic);
  EXPECT_EQ(made.robot.links[mimic->link].joint.name, "grip");
  EXPECT_DOUBLE_EQ(mimic->factor, -1);
  EXPECT_DOUBLE_EQ(mimic->offset, 0.001);
  EXPECT_THAT(made.notes, Contains(AllOf(HasSubstr("'glue'"), HasSubstr("left out"))));
}

TEST(Mjcf, EqualitiesThatAreNotActiveAreNotFollowed) {
  const TempFolder folder;
  const auto made = Must(
      Make(folder, OddJoints("<joint name='off' joint1='twist' joint2='swing' active='false'/>")));
  EXPECT_FALSE(made.robot.links[FindJoint(made.robot, "twist")].joint.mimic);
  EXPECT_THAT(made.notes, Contains(AllOf(HasSubstr("'off'"), HasSubstr("not active"))));
}

TEST(Mjcf, VisualGeomsComeBeforeThoseThatCollide) {
  const TempFolder folder;
  const auto made = Must(Make(folder, OddJoints()));
  const Robot& robot = made.robot;
  const int visual = FindLink(robot, "finger_too");
  std::size_t of_visual = 0;
  for (std::size_t i = 0; i < robot.surface.size(); ++i) {
    EXPECT_NE(robot.surface.links[i], 0) << "the plane of the world is no robot";
    if (robot.surface.links[i] != visual) continue;
    ++of_visual;
    EXPECT_LT(std::abs(robot.surface.positions_m[i][0]), 0.0101f);
  }
  EXPECT_EQ(of_visual, 300u);
  EXPECT_THAT(made.notes, Contains(AllOf(HasSubstr("'lever'"), HasSubstr("collision"))));
}

TEST(Mjcf, GeomsOfAnInvisibleMaterialHaveNoPoints) {
  const TempFolder folder;
  const auto farthest_m = [&](const std::string& color) {
    const auto made =
        Must(Make(folder,
                  "<asset><material name='glass' rgba='1 0 0 0'/></asset><worldbody><body name='b'>"
                  "<geom size='0.1'/><geom size='0.1' pos='5 0 0' material='glass' " +
                      color + "/></body></worldbody>"));
    float most_m = 0;
    for (const Vec3f& p : made.robot.surface.positions_m) most_m = std::max(most_m, p[0]);
    return most_m;
  };
  EXPECT_LT(farthest_m(""), 1);
  EXPECT_GT(farthest_m("rgba='0 1 0 1'"), 4) << "a colour of its own counts";
}

TEST(Mjcf, BallJointsAreRefusedAndFreeOnesHeld) {
  const TempFolder folder;
  EXPECT_THAT(Make(folder,
                   "<worldbody><body name='b'><joint name='j' type='ball'/>"
                   "<geom size='0.1'/></body></worldbody>")
                  .status()
                  .ToString(),
              AllOf(HasSubstr("joint 'j'"), HasSubstr("ball"), HasSubstr("robot.xml")));
  const auto made = Must(Make(folder,
                              "<worldbody><body name='b' pos='1 0 0'><freejoint/><geom size='0.1'/>"
                              "</body></worldbody>"));
  EXPECT_EQ(LinkPoses(made.robot, {})[1].translation_m, (Vec3d{1, 0, 0}));
  EXPECT_THAT(made.notes, Contains(HasSubstr("'b' moves freely")));
}

TEST(Mjcf, BrokenAndHugeMeshesAreNamedWithLinkAndFile) {
  const TempFolder folder;
  const std::string content =
      "<asset><mesh name='m' file='part.stl'/></asset>"
      "<worldbody><body name='elbow'><geom type='mesh' mesh='m'/></body></worldbody>";
  const auto error = [&] { return Make(folder, content).status().ToString(); };
  const auto names_both = AllOf(HasSubstr("part.stl"), HasSubstr("link 'elbow'"));
  EXPECT_THAT(error(), names_both);
  std::ofstream(folder.File("part.stl")) << "no mesh";
  EXPECT_THAT(error(), names_both);
  std::filesystem::resize_file(folder.File("part.stl"), std::uintmax_t{4} << 30);
  EXPECT_THAT(error(), AllOf(names_both, HasSubstr("bytes")));
}

TEST(Mjcf, BrokenFilesAndModelsWithoutSurfaceAreRefused) {
  const TempFolder folder;
  EXPECT_THAT(Make(folder, "<worldbody><body/><oops/></worldbody>").status().ToString(),
              AllOf(HasSubstr("robot.xml"), HasSubstr("oops")));
  EXPECT_THAT(Make(folder, "<worldbody><body name='b'/></worldbody>").status().ToString(),
              HasSubstr("surface_points"));
}

}  // namespace
}  // namespace interlacer
