#include "robots/robot_folder.h"

#include <filesystem>
#include <functional>

#include "common/file_io.h"
#include "common/json.h"
#include "common/npy.h"
#include "robots/forward_kinematics.h"
#include "tests/robots/small_robot.h"
#include "tests/support/matchers.h"
#include "tests/support/must.h"
#include "tests/support/temp_folder.h"

namespace interlacer {
namespace {

using testing::SmallRobot;

TEST(RobotFolder, ComesBackAsWritten) {
  const TempFolder folder;
  const Robot robot = SmallRobot();
  ASSERT_TRUE(WriteRobot(robot, folder.File("small")).ok());
  const auto read = Must(ReadRobot(folder.File("small")));
  EXPECT_EQ(read.name, robot.name);
  EXPECT_EQ(read.source, robot.source);
  EXPECT_EQ(read.links, robot.links);
  EXPECT_EQ(read.columns, robot.columns);
  EXPECT_EQ(read.surface, robot.surface);
  EXPECT_EQ(read.sha256.size(), 64u);
  const std::vector<double> values = {0.3, -2.0, 0.02};
  EXPECT_EQ(LinkPoses(read, values), LinkPoses(robot, values));
}

TEST(RobotFolder, ACopyHasTheSameHashAndOtherContentAnother) {
  const TempFolder folder;
  ASSERT_TRUE(WriteRobot(SmallRobot(), folder.File("small")).ok());
  const auto robot = ReadRobot(folder.File("small"));
  const auto copy = CopyRobot(folder.File("small"), folder.File("episode/robot"));
  ASSERT_TRUE(robot.ok() && copy.ok());
  const auto again = Must(ReadRobot(folder.File("episode/robot")));
  EXPECT_EQ(copy->sha256, robot->sha256);
  EXPECT_EQ(again.sha256, robot->sha256);

  Robot other = SmallRobot();
  other.surface.positions_m[0][0] += 1e-4f;
  ASSERT_TRUE(WriteRobot(other, folder.File("other")).ok());
  EXPECT_NE(ReadRobot(folder.File("other"))->sha256, robot->sha256);
}

/// The message about a robot.json after a change by hand.
std::string ErrorAfter(const std::function<void(nlohmann::ordered_json&)>& change) {
  const TempFolder folder;
  const std::string path = folder.File("robot");
  INTERLACER_CHECK(WriteRobot(SmallRobot(), path).ok(), "the small robot is valid");
  nlohmann::ordered_json json = RobotToJson(SmallRobot());
  change(json);
  INTERLACER_CHECK(WriteJsonFile(path + "/robot.json", json).ok(), "a writable folder");
  const Status status = ReadRobot(path).status();
  EXPECT_EQ(status.code(), status.ok() ? StatusCode::kOk : StatusCode::kInvalidArgument);
  return status.ToString();
}

TEST(RobotFolder, UnknownFieldsAreRefusedWithTheirPath) {
  EXPECT_THAT(ErrorAfter([](auto& json) { json["colour"] = 1; }),
              AllOf(HasSubstr("robot.json:colour"), HasSubstr("unknown")));
  EXPECT_THAT(ErrorAfter([](auto& json) { json["links"][1]["joint"]["limits_deg"] = 1; }),
              HasSubstr("robot.json:links[1].joint.limits_deg"));
  EXPECT_THAT(ErrorAfter([](auto& json) { json["links"][4]["joint"]["mimic"]["offset_rad"] = 1; }),
              HasSubstr("links[4].joint.mimic.offset_rad"));
  EXPECT_THAT(ErrorAfter([](auto& json) {
                json["links"][0]["joint"]["axis"] = {0, 0, 1};
              }),
              HasSubstr("links[0].joint.axis"));
}

TEST(RobotFolder, ANewerVersionIsRefused) {
  EXPECT_THAT(ErrorAfter([](auto& json) { json["schema_version"] = 2; }),
              AllOf(HasSubstr("SCHEMA_VERSION_UNSUPPORTED"), HasSubstr("expected 1, got 2")));
}

TEST(RobotFolder, ACycleIsRefusedWithItsLinks) {
  EXPECT_THAT(ErrorAfter([](auto& json) { json["links"][1]["parent"] = "right_finger"; }),
              AllOf(HasSubstr("links[1].parent"), HasSubstr("arm -> right_finger -> hand -> arm")));
}

TEST(RobotFolder, AMissingParentIsRefused) {
  EXPECT_THAT(ErrorAfter([](auto& json) { json["links"][2]["parent"] = "elbow"; }),
              AllOf(HasSubstr("links[2].parent"), HasSubstr("'elbow'"), HasSubstr("'hand'")));
}

TEST(RobotFolder, ASecondRootIsRefused) {
  EXPECT_THAT(ErrorAfter([](auto& json) { json["links"][2].erase("parent"); }),
              AllOf(HasSubstr("links[2].parent"), HasSubstr("one root, 'base'")));
}

TEST(RobotFolder, AChildBeforeItsParentIsRefused) {
  EXPECT_THAT(ErrorAfter([](auto& json) { std::swap(json["links"][3], json["links"][2]); }),
              HasSubstr("parents before their children"));
}

TEST(RobotFolder, ASecondLinkOrJointOfOneNameIsRefused) {
  EXPECT_THAT(ErrorAfter([](auto& json) { json["links"][4]["name"] = "arm"; }),
              HasSubstr("each name once"));
  EXPECT_THAT(ErrorAfter([](auto& json) { json["links"][4]["joint"]["name"] = "turn"; }),
              HasSubstr("each name once"));
}

TEST(RobotFolder, AnAxisThatIsNotUnitIsRefused) {
  EXPECT_THAT(ErrorAfter([](auto& json) {
                json["links"][1]["joint"]["axis"] = {0, 2, 0};
              }),
              AllOf(HasSubstr("links[1].joint.axis"), HasSubstr("length 2 (link 'arm')")));
}

TEST(RobotFolder, LimitsReversedOrMissingAreRefused) {
  EXPECT_THAT(ErrorAfter([](auto& json) {
                json["links"][1]["joint"]["limits_rad"] = {2, -1};
              }),
              AllOf(HasSubstr("links[1].joint.limits_rad"), HasSubstr("min 2, max -1")));
  EXPECT_THAT(ErrorAfter([](auto& json) { json["links"][1]["joint"].erase("limits_rad"); }),
              HasSubstr("the type continuous"));
}

TEST(RobotFolder, SpeedsAreAboveZeroAndInTheUnitOfTheirJoint) {
  EXPECT_THAT(ErrorAfter([](auto& json) { json["links"][1]["joint"]["max_speed_rad_per_s"] = 0; }),
              AllOf(HasSubstr("links[1].joint.max_speed_rad_per_s"), HasSubstr("above 0, got 0")));
  EXPECT_THAT(ErrorAfter([](auto& json) { json["links"][3]["joint"]["max_speed_rad_per_s"] = 1; }),
              AllOf(HasSubstr("links[3].joint.max_speed_rad_per_s"), HasSubstr("unknown")));
  Robot robot = SmallRobot();
  robot.links[0].joint.max_speed = 1;
  EXPECT_THAT(ValidateRobot(robot).ToString(), HasSubstr("fixed joint"));
}

TEST(RobotTree, IsTheSameWithOtherNamesLimitsAndPlace) {
  const Robot robot = SmallRobot();
  Robot other = robot;
  other.name = other.links[1].name = "another";
  other.links[1].joint.limits = JointLimits{-2, 2};
  other.links[1].joint.max_speed.reset();
  other.links[0].joint.parent_from_joint.translation_m[0] = 7;
  for (double& part : other.links[2].joint.parent_from_joint.rotation_xyzw) part = -part;
  EXPECT_TRUE(IsSameTree(robot, other));
  const auto differs = [&](const std::function<void(Robot&)>& change) {
    Robot changed = robot;
    change(changed);
    return !IsSameTree(robot, changed);
  };
  EXPECT_TRUE(
      differs([](Robot& r) { r.links[2].joint.parent_from_joint.translation_m[2] += 0.01; }));
  EXPECT_TRUE(differs([](Robot& r) { r.links[1].joint.axis = {1, 0, 0}; }));
  EXPECT_TRUE(differs([](Robot& r) { r.links[2].joint.type = JointType::kFixed; }));
  EXPECT_TRUE(differs([](Robot& r) { r.links[4].parent = 1; }));
  EXPECT_TRUE(differs([](Robot& r) { r.columns = {2, 1, 3}; }));
  EXPECT_TRUE(differs([](Robot& r) { r.links.pop_back(); }));
}

TEST(RobotFolder, NumbersThatAreNotFiniteAreRefused) {
  EXPECT_THAT(ErrorAfter([](auto& json) {
                json["links"][1]["joint"]["origin"]["translation_m"][0] = nullptr;
              }),
              HasSubstr("links[1].joint.origin.translation_m"));
  Robot robot = SmallRobot();
  robot.surface.positions_m[4][1] = std::nanf("");
  EXPECT_THAT(ValidateRobot(robot).ToString(), HasSubstr("surface_points[4]"));
  robot = SmallRobot();
  robot.links[4].joint.mimic->factor = INFINITY;
  EXPECT_THAT(ValidateRobot(robot).ToString(), HasSubstr("links[4].joint.mimic"));
  robot = SmallRobot();
  robot.links[2].joint.parent_from_joint.rotation_xyzw = {0, 0, 0, 2};
  EXPECT_THAT(ValidateRobot(robot).ToString(), HasSubstr("links[2].joint.origin.rotation_xyzw"));
}

TEST(RobotFolder, AMimicOfNothingOrOfAFollowerIsRefused) {
  EXPECT_THAT(ErrorAfter([](auto& json) { json["links"][4]["joint"]["mimic"]["joint"] = "x"; }),
              HasSubstr("links[4].joint.mimic.joint"));
  EXPECT_THAT(
      ErrorAfter([](auto& json) { json["links"][4]["joint"]["mimic"]["joint"] = "grip_too"; }),
      HasSubstr("follows no other"));
}

TEST(RobotFolder, ColumnsMustBeTheMovingJoints) {
  EXPECT_THAT(ErrorAfter([](auto& json) {
                json["columns"] = {"turn", "roll"};
              }),
              HasSubstr("columns"));
  EXPECT_THAT(ErrorAfter([](auto& json) {
                json["columns"] = {"turn", "turn", "grip"};
              }),
              HasSubstr("columns"));
  EXPECT_THAT(ErrorAfter([](auto& json) {
                json["columns"] = {"turn", "roll", "elbow"};
              }),
              HasSubstr("'elbow'"));
  EXPECT_THAT(ErrorAfter([](auto& json) { json["columns"] = {"grip", "turn", "roll"}; }), "OK");
}

/// The message about a folder one of whose arrays is another.
std::string ErrorWithArray(const std::string& file, const std::vector<std::uint8_t>& bytes) {
  const TempFolder folder;
  INTERLACER_CHECK(WriteRobot(SmallRobot(), folder.File("robot")).ok(), "valid");
  INTERLACER_CHECK(WriteFileAtomic(folder.File("robot/" + file), bytes).ok(), "writable");
  return ReadRobot(folder.File("robot")).status().ToString();
}

TEST(RobotFolder, ArraysThatDoNotFitAreRefused) {
  const std::vector<float> floats(15 * 3, 0.5f);
  const std::vector<std::int64_t> flat = {45}, few = {3, 3}, links(15, 5), one = {15};
  const auto shaped = [](std::span<const float> values, const std::vector<std::int64_t>& shape) {
    return EncodeNpy(values, shape);
  };
  EXPECT_THAT(ErrorWithArray("surface_points.npy", shaped(floats, flat)),
              AllOf(HasSubstr("surface_points.npy"), HasSubstr("[n,3] float32")));
  EXPECT_THAT(ErrorWithArray("surface_normals.npy", shaped(std::span(floats).first(9), few)),
              HasSubstr("15, 3 and 15"));
  EXPECT_THAT(ErrorWithArray("surface_links.npy", EncodeNpy(std::span(links), one)),
              AllOf(HasSubstr("surface_links[0]"), HasSubstr("below 5")));
  EXPECT_THAT(
      ErrorWithArray("surface_normals.npy", shaped(floats, std::vector<std::int64_t>{15, 3})),
      HasSubstr("surface_normals[0]"));
  EXPECT_THAT(ErrorWithArray("surface_links.npy", {1, 2, 3}), HasSubstr("surface_links.npy"));
}

TEST(RobotFolder, HugeArraysAreRefusedBeforeTheyAreRead) {
  const TempFolder folder;
  ASSERT_TRUE(WriteRobot(SmallRobot(), folder.File("robot")).ok());
  // A file with a hole: it costs no room, and reading it would cost 8 GiB.
  std::filesystem::resize_file(folder.File("robot/surface_points.npy"), std::uintmax_t{8} << 30);
  EXPECT_THAT(ReadRobot(folder.File("robot")).status().ToString(),
              AllOf(HasSubstr("FILE_UNREADABLE"), HasSubstr("surface_points.npy")));
}

TEST(RobotFolder, AMissingFileIsNamed) {
  const TempFolder folder;
  ASSERT_TRUE(WriteRobot(SmallRobot(), folder.File("robot")).ok());
  std::filesystem::remove(folder.File("robot/surface_normals.npy"));
  EXPECT_THAT(ReadRobot(folder.File("robot")).status().ToString(),
              AllOf(HasSubstr("FILE_NOT_FOUND"), HasSubstr("surface_normals.npy")));
}

TEST(RobotFolder, ARobotWithoutSurfaceIsNotWritten) {
  const TempFolder folder;
  Robot robot = SmallRobot();
  robot.surface = {};
  EXPECT_THAT(WriteRobot(robot, folder.File("robot")).ToString(), HasSubstr("surface_points"));
  EXPECT_FALSE(std::filesystem::exists(folder.File("robot")));
}

}  // namespace
}  // namespace interlacer
