/// `interlacer robot` as a process, with descriptions that the test writes.

#include "common/image_codec.h"
#include "common/json.h"
#include "tests/cli/program_support.h"
#include "tests/support/matchers.h"
#include "tests/support/temp_folder.h"

namespace interlacer {
namespace {

using testing::RunVerb;

constexpr char kArm[] = R"(<robot name="arm">
  <link name="base"><visual><geometry><box size="0.2 0.2 0.1"/></geometry></visual></link>
  <link name="upper"><visual><origin xyz="0 0 0.2"/>
    <geometry><cylinder radius="0.04" length="0.4"/></geometry></visual></link>
  <link name="hand"><collision><geometry><sphere radius="0.06"/></geometry></collision></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="2" effort="1" velocity="1"/></joint>
  <joint name="wrist" type="continuous"><parent link="upper"/><child link="hand"/>
    <origin xyz="0 0 0.4"/><axis xyz="0 0 1"/></joint>
</robot>)";

class RobotVerb : public ::testing::Test {
 protected:
  RobotVerb() : urdf_(folder_.File("arm.urdf")), robot_(folder_.File("robots/arm")) {
    std::ofstream(urdf_) << kArm;
  }
  const TempFolder folder_;
  const std::string urdf_;
  const std::string robot_;
};

TEST_F(RobotVerb, MakesAFolderThatShowDescribesAndDraws) {
  const auto made = RunVerb(
      {"robot", "make", urdf_, "-o", robot_, "--gripper", "hand", "--points-per-link", "200"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(made.out, robot_ + "\n");
  EXPECT_THAT(made.err, HasSubstr("link 'hand' has no visual"));

  const std::string picture = folder_.File("arm.png");
  const auto shown = RunVerb(
      {"robot", "show", robot_, "-o", picture, "--joints", "shoulder=-0.5", "--size", "200"});
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  for (const char* const part :
       {"shoulder", "revolute", "-1", "2", "rad", "upper", "gripper", "200"}) {
    EXPECT_THAT(shown.out, HasSubstr(part));
  }
  const auto image = ReadRgbFile(picture);
  ASSERT_TRUE(image.ok()) << image.status().ToString();
  EXPECT_EQ(image->width_px, 200);

  const auto as_json = RunVerb({"robot", "show", robot_, "--json"});
  const auto json = ParseJson(as_json.out, "stdout");
  ASSERT_TRUE(json.ok()) << as_json.err;
  EXPECT_EQ((*json)["column_names"], (nlohmann::json{"shoulder_rad", "wrist_rad"}));
  EXPECT_EQ((*json)["surface_point_count"], 600);
}

TEST_F(RobotVerb, TwoArmsStandWhereTheyArePut) {
  const auto made = RunVerb({"robot", "make", urdf_, urdf_, "-o", robot_ + "/", "--prefix", "left_",
                             "right_", "--base-pose", "-0.5,0,0,0,0,0,1,0.5,0,0,0,0,1,0"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const auto shown = RunVerb({"robot", "show", robot_});
  EXPECT_THAT(shown.out, AllOf(HasSubstr("left_shoulder"), HasSubstr("right_wrist")));
  const auto json = ParseJson(RunVerb({"robot", "show", robot_, "--json"}).out, "stdout");
  EXPECT_EQ((*json)["name"], "arm") << "after the folder";
}

TEST_F(RobotVerb, NothingIsReplacedUnasked) {
  ASSERT_EQ(RunVerb({"robot", "make", urdf_, "-o", robot_}).exit_code, 0);
  EXPECT_EQ(RunVerb({"robot", "make", urdf_, "-o", robot_}).exit_code, 8);
  EXPECT_EQ(RunVerb({"robot", "make", urdf_, "-o", robot_, "--force"}).exit_code, 0);
  const std::string inside = robot_ + "/arm.urdf";
  std::ofstream(inside) << kArm;
  EXPECT_EQ(RunVerb({"robot", "make", inside, "-o", robot_, "--force"}).exit_code, 2);
  EXPECT_TRUE(std::filesystem::exists(inside));
  const std::string picture = folder_.File("arm.png");
  EXPECT_EQ(RunVerb({"robot", "show", robot_, "-o", picture}).exit_code, 0);
  EXPECT_EQ(RunVerb({"robot", "show", robot_, "-o", picture}).exit_code, 8);
}

TEST_F(RobotVerb, RefusalsNameWhatIsWrongAndLeaveNothing) {
  std::ofstream(urdf_) << R"(<robot name="arm"><link name="elbow"><visual><geometry>
    <mesh filename="part.stl"/></geometry></visual></link></robot>)";
  const auto made = RunVerb({"robot", "make", urdf_, "-o", robot_});
  EXPECT_EQ(made.exit_code, 3);
  EXPECT_THAT(made.err, AllOf(HasSubstr("part.stl"), HasSubstr("link 'elbow'")));
  EXPECT_FALSE(std::filesystem::exists(robot_));
  std::ofstream(urdf_) << kArm;
  EXPECT_EQ(RunVerb({"robot", "make", urdf_, urdf_, "-o", robot_}).exit_code, 2);
  EXPECT_EQ(RunVerb({"robot", "make", urdf_, "-o", robot_, "--base-pose", "1,2"}).exit_code, 2);
  ASSERT_EQ(RunVerb({"robot", "make", urdf_, "-o", robot_}).exit_code, 0);
  const auto shown = RunVerb({"robot", "show", robot_, "--joints", "shoulder=2.1"});
  EXPECT_EQ(shown.exit_code, 3);
  EXPECT_THAT(shown.err, AllOf(HasSubstr("shoulder"), HasSubstr("from -1 to 2"), HasSubstr("2.1")));
  const std::string picture = folder_.File("arm.png");
  const testing::Words draw = {"robot", "show", robot_, "-o", picture};
  for (const testing::Words& view : std::vector<testing::Words>{
           {"--azimuth", "nan"}, {"--azimuth", "inf"}, {"--elevation", "90.5"}}) {
    testing::Words refused = draw;
    refused.insert(refused.end(), view.begin(), view.end());
    EXPECT_EQ(RunVerb(refused).exit_code, 2) << view[0] << " " << view[1];
  }
  EXPECT_FALSE(std::filesystem::exists(picture));
  const auto between = RunVerb(
      {"robot", "show", robot_, "-o", picture, "--elevation", "22.5", "--azimuth", "-30.5"});
  EXPECT_EQ(between.exit_code, 0) << between.err;
}

}  // namespace
}  // namespace interlacer
