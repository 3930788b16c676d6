
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "robots/forward_kinematics.h"
#include "robots/joint_values.h"
#include "robots/make_robot.h"
#include "robots/mesh_path.h"
#include "robots/robot_folder.h"
#include "tests/support/matchers.h"
#include "tests/support/must.h"
#include "tests/support/temp_folder.h"

namespace interlacer {
namespace {

using ::testing::Contains;

void Write(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::string Box(const std::string& size) {
  return "<visual><geometry><box size='" + size + "'/></geometry></visual>";
}

std::string MeshVisual(const std::string& file, const std::string& attributes = "") {
  return "<visual><geometry><mesh filename='" + file + "' " + attributes + "/></geometry></visual>";
}

std::string Link(const std::string& name, const std::string& content = "") {
  return "<link name='" + name + "'>" + content + "</link>";
}

std::string Joint(const std::string& name, const std::string& type, const std::string& parent,
                  const std::string& child, const std::string& content = "") {
  return "<joint name='" + name + "' type='" + type + "'><parent link='" + parent +
         "'/><child link='" + child + "'/>" + content + "</joint>";
}

const std::string kRange = "<limit lower='-1' upper='2' effort='1' velocity='1'/>";

std::string RobotXml(const std::string& content) {
  return "<?xml version='1.0'?><!-- <mujoco> --><robot name='tested'>" + content + "</robot>";
}

StatusOr<MadeRobot> Make(const TempFolder& folder, const std::string& content,
                         const MakeRobotOptions& options = {}) {
  Write(folder.File("robot.urdf"), RobotXml(content));
  return MakeRobot(folder.File("robot.urdf"), options);
}

std::string ErrorOf(const std::string& content, const MakeRobotOptions& options = {}) {
  const TempFolder folder;
  return Make(folder, content, options).status().ToString();
}

/// A binary STL of `count` triangles: a strip of squares along x, 0.1 m wide, in the plane z = 0.
std::string Strip(int count, float length_m) {
  std::string stl(84, '\0');
  const auto n = static_cast<std::uint32_t>(count);
  std::memcpy(stl.data() + 80, &n, 4);
  for (int i = 0; i < count; ++i) {
    const float x = length_m * (i / 2) / (count / 2), next = length_m * (i / 2 + 1) / (count / 2);
    const float even[9] = {x, 0, 0, next, 0, 0, next, 0.1f, 0};
    const float odd[9] = {x, 0, 0, next, 0.1f, 0, x, 0.1f, 0};
    char record[50] = {};
    std::memcpy(record + 12, i % 2 == 0 ? even : odd, 36);
    stl.append(record, sizeof record);
  }
  return stl;
}

TEST(Urdf, PrimitivesGetPointsOnTheirSurface) {
  const TempFolder folder;
  const auto made = Must(Make(
      folder,
      Link("base", Box("0.2 0.4 0.6")) +
          Link("ball",
               "<visual><origin xyz='0 0 1'/><geometry><sphere radius='0.1'/>"
               "</geometry></visual>") +
          Link("can",
               "<visual><geometry><cylinder radius='0.05' length='0.3'/></geometry></visual>") +
          Joint("a", "revolute", "base", "ball", "<axis xyz='0 0 2'/>" + kRange) +
          Joint("b", "continuous", "ball", "can", "<origin xyz='0 1 0' rpy='0 0 1.5'/>")));
  const Robot& robot = made.robot;
  ASSERT_EQ(robot.surface.size(), 900u);
  EXPECT_EQ(robot.name, "tested");
  EXPECT_THAT(robot.source, HasSubstr("robot.urdf, sha256 "));
  EXPECT_EQ(robot.links[1].joint.axis, (Vec3d{0, 0, 1}));
  Vec3d sum{};
  for (std::size_t i = 0; i < robot.surface.size(); ++i) {
    const Vec3f& p = robot.surface.positions_m[i];
    const Vec3f& n = robot.surface.normals[i];
    if (robot.surface.links[i] == 0) {
      const double depth =
          std::min({0.1 - std::abs(p[0]), 0.2 - std::abs(p[1]), 0.3 - std::abs(p[2])});
      EXPECT_NEAR(depth, 0, 1e-6);
      EXPECT_GT(n[0] * p[0] + n[1] * p[1] + n[2] * p[2], 0.09);  // outwards
      for (int k = 0; k < 3; ++k) sum[k] += p[k];
    } else if (robot.surface.links[i] == 1) {
      EXPECT_NEAR(std::hypot(p[0], p[1], p[2] - 1), 0.1, 3e-4);
      EXPECT_GT(n[0] * p[0] + n[1] * p[1] + n[2] * (p[2] - 1), 0.09);
    } else {
      const double radius = std::hypot(p[0], p[1]);
      EXPECT_TRUE(std::abs(radius - 0.05) < 1e-4 || std::abs(std::abs(p[2]) - 0.15) < 1e-6);
    }
  }
  for (int k = 0; k < 3; ++k) EXPECT_NEAR(sum[k] / 300, 0, 0.03);
}

TEST(Urdf, SpeedsAreKeptWhereTheyAreAskedForAndStated) {
  const TempFolder folder;
  const std::string stands = "<limit lower='-1' upper='2' effort='1' velocity='0'/>";
  const std::string turns = "<limit lower='-1' upper='2' effort='1' velocity='2.5'/>";
  const std::string model = Link("base", Box("0.2 0.4 0.6")) + Link("arm", Box("0.2 0.4 0.6")) +
                            Link("hand", Box("0.2 0.4 0.6")) +
                            Joint("a", "revolute", "base", "arm", "<axis xyz='0 0 1'/>" + turns) +
                            Joint("b", "prismatic", "arm", "hand", "<axis xyz='0 0 1'/>" + stands);
  MakeRobotOptions options;
  for (const bool is_asked_for : {false, true}) {
    options.max_speeds = is_asked_for;
    const auto made = Must(Make(folder, model, options));
    EXPECT_EQ(made.robot.links[1].joint.max_speed,
              is_asked_for ? std::optional(2.5) : std::nullopt);
    EXPECT_FALSE(made.robot.links[2].joint.max_speed);
  }
}

TEST(Urdf, AJointThatIsHeldHasNoSpeed) {
  const TempFolder folder;
  const std::string turns =
      "<axis xyz='0 0 1'/><limit lower='-1' upper='2' effort='1' velocity='2.5'/>";
  const std::string stuck =
      "<axis xyz='0 0 1'/><limit lower='1' upper='1' effort='1' velocity='2.5'/>";
  const std::string model = Link("base", Box("0.2 0.4 0.6")) + Link("arm", Box("0.2 0.4 0.6")) +
                            Link("hand", Box("0.2 0.4 0.6")) + Link("tip", Box("0.2 0.4 0.6")) +
                            Joint("a", "revolute", "base", "arm", turns) +
                            Joint("b", "revolute", "arm", "hand", turns) +
                            Joint("c", "revolute", "hand", "tip", stuck);
  MakeRobotOptions options;
  options.max_speeds = true;
  options.columns = {"a"};
  const auto made = Must(Make(folder, model, options));
  EXPECT_EQ(made.robot.links[1].joint.max_speed, 2.5);
  for (const int held : {2, 3}) {
    EXPECT_EQ(made.robot.links[held].joint.type, JointType::kFixed);
    EXPECT_FALSE(made.robot.links[held].joint.max_speed);
  }
}

TEST(Urdf, PointsLieEvenlyAndTheirFirstOnesToo) {
  const TempFolder folder;
  const auto made = Must(Make(folder, Link("base", Box("1 1 1"))));
  const auto& points = made.robot.surface.positions_m;
  // Every place of the top is near one of all 300 points (0.02 m2 each), and of the first 50.
  for (const auto& [count, reach_m] : {std::pair{300, 0.19}, {50, 0.4}}) {
    for (int i = 0; i < 400; ++i) {
      const double x = (i % 20) / 19.0 - 0.5, y = (i / 20) / 19.0 - 0.5;
      double least = 10;
      for (int k = 0; k < count; ++k) {
        least = std::min(least, std::hypot(points[k][0] - x, points[k][1] - y, points[k][2] - 0.5));
      }
      EXPECT_LT(least, reach_m) << count << " points, " << x << " " << y;
    }
  }
}

TEST(Urdf, EqualSeedsGiveEqualRobotsAndOthersOthers) {
  const TempFolder folder;
  const std::string content = Link("base", Box("1 1 1"));
  const auto one = Make(folder, content), two = Make(folder, content);
  const auto other = Make(folder, content, {.seed = 1});
  ASSERT_TRUE(one.ok() && two.ok() && other.ok());
  EXPECT_EQ(one->robot.surface, two->robot.surface);
  EXPECT_NE(one->robot.surface, other->robot.surface);
}

TEST(Urdf, MeshesAreScaledAndMirrored) {
  const TempFolder folder;
  Write(folder.File("meshes/strip.stl"), Strip(10, 2000));
  const auto made =
      Must(Make(folder, Link("base", MeshVisual("meshes/strip.stl", "scale='0.001 -10 1'"))));
  const SurfacePoints& surface = made.robot.surface;
  float max_x = 0;
  for (std::size_t i = 0; i < surface.size(); ++i) {
    max_x = std::max(max_x, surface.positions_m[i][0]);
    EXPECT_GE(surface.positions_m[i][1], -1.0001f);
    EXPECT_LE(surface.positions_m[i][1], 0.f);
    EXPECT_FLOAT_EQ(surface.normals[i][2], 1.f);
  }
  EXPECT_NEAR(max_x, 2, 0.1);
}

TEST(Urdf, MeshesAreFoundInPackages) {
  const TempFolder folder;
  Write(folder.File("elsewhere/arm_description/meshes/strip.stl"), Strip(10, 1));
  const std::string content =
      Link("base", MeshVisual("package://arm_description/meshes/strip.stl"));
  EXPECT_THAT(
      Make(folder, content).status().ToString(),
      AllOf(HasSubstr("--package-path"), HasSubstr("'arm_description'"), HasSubstr("link 'base'")));
  const std::string parent = folder.File("elsewhere"), itself = parent + "/arm_description/";
  for (const std::string& path : {parent, itself}) {
    Must(Make(folder, content, {.package_paths = {path}}));
  }
  // Of a URDF that is named without its folder, the current one is said.
  const auto nowhere = FindMeshFile("package://arm_description/meshes/strip.stl", "", {});
  EXPECT_THAT(nowhere.status().ToString(),
              HasSubstr("nor above " + std::filesystem::current_path().string() + ";"));
  // Above the URDF it needs no option.
  Write(itself + "urdf/robot.urdf", RobotXml(content));
  EXPECT_TRUE(MakeRobot(itself + "urdf/robot.urdf", {}).ok());
}

TEST(Urdf, MimicJointsFollowThroughChains) {
  const TempFolder folder;
  const std::string slide =
      "<axis xyz='0 1 0'/><limit lower='0' upper='1' effort='1' velocity='1'/>";
  const auto made =
      Must(Make(folder, Link("base", Box("1 1 1")) + Link("l") + Link("r") + Link("t") +
                            Joint("left", "prismatic", "base", "l", slide) +
                            Joint("right", "prismatic", "base", "r",
                                  slide + "<mimic joint='left' multiplier='-1' offset='0.5'/>") +
                            Joint("third", "prismatic", "base", "t",
                                  slide + "<mimic joint='right' multiplier='2' offset='0.1'/>")));
  EXPECT_THAT(ColumnNames(made.robot), ElementsAre("left_m"));
  const std::vector<double> value = {0.2};
  const auto poses = LinkPoses(made.robot, value);
  EXPECT_NEAR(poses[FindLink(made.robot, "r")].translation_m[1], 0.3, 1e-12);
  EXPECT_NEAR(poses[FindLink(made.robot, "t")].translation_m[1], 0.7, 1e-12);
}

TEST(Urdf, MimicJointsThatFollowEachOtherAreRefused) {
  const std::string turn = "<axis xyz='0 1 0'/>" + kRange;
  EXPECT_THAT(ErrorOf(Link("base", Box("1 1 1")) + Link("l") + Link("r") +
                      Joint("left", "revolute", "base", "l", turn + "<mimic joint='right'/>") +
                      Joint("right", "revolute", "base", "r", turn + "<mimic joint='left'/>")),
              AllOf(HasSubstr("'left'"), HasSubstr("follow each other")));
  EXPECT_THAT(ErrorOf(Link("base", Box("1 1 1")) + Link("l") +
                      Joint("left", "revolute", "base", "l", turn + "<mimic joint='none'/>")),
              AllOf(HasSubstr("'left'"), HasSubstr("'none'")));
}

TEST(Urdf, ColumnsAreChosenAndTheOtherJointsHeld) {
  const TempFolder folder;
  const std::string content =
      Link("base", Box("1 1 1")) + Link("hand") + Link("a") + Link("b") +
      Joint("wrist", "continuous", "base", "hand", "<axis xyz='0 0 1'/>") +
      Joint("grip", "prismatic", "hand", "a",
            "<axis xyz='0 1 0'/><limit lower='0.01' upper='0.04' effort='1' velocity='1'/>") +
      Joint("grip_too", "prismatic", "hand", "b",
            "<axis xyz='0 1 0'/><limit lower='0.01' upper='0.04' effort='1' velocity='1'/>"
            "<mimic joint='grip' multiplier='-1'/>");
  auto made = Must(Make(folder, content, {.columns = {"grip", "wrist"}, .gripper = {"hand"}}));
  EXPECT_THAT(ColumnNames(made.robot), ElementsAre("grip_m", "wrist_rad"));
  EXPECT_EQ(made.robot.links[FindLink(made.robot, "base")].part, LinkPart::kBody);
  EXPECT_EQ(made.robot.links[FindLink(made.robot, "hand")].part, LinkPart::kGripper);
  EXPECT_EQ(made.robot.links[FindLink(made.robot, "b")].part, LinkPart::kFinger);

  made = Must(Make(folder, content, {.columns = {"wrist"}}));
  EXPECT_THAT(ColumnNames(made.robot), ElementsAre("wrist_rad"));
  EXPECT_THAT(made.notes, Contains(HasSubstr("held still, being no columns: grip")));
  const std::vector<double> value = {0};
  const auto poses = LinkPoses(made.robot, value);
  EXPECT_NEAR(poses[FindLink(made.robot, "a")].translation_m[1], 0.01, 1e-12);
  EXPECT_NEAR(poses[FindLink(made.robot, "b")].translation_m[1], -0.01, 1e-12);

  EXPECT_THAT(Make(folder, content, {.columns = {"grip_too"}}).status().ToString(),
              AllOf(HasSubstr("ARGUMENT_INVALID"), HasSubstr("'grip_too'"), HasSubstr("wrist")));
  EXPECT_THAT(Make(folder, content, {.gripper = {"claw"}}).status().ToString(),
              AllOf(HasSubstr("gripper"), HasSubstr("'claw'"), HasSubstr("hand")));
  EXPECT_THAT(Make(folder, content, {.links = {"claw"}}).status().ToString(),
              AllOf(HasSubstr("links"), HasSubstr("'claw'")));
}

TEST(Urdf, OnlyNamedLinksGetASurfaceAndTheBaseStandsWhereItIsPut) {
  const TempFolder folder;
  const auto made =
      Make(folder,
           Link("table", Box("1 1 1")) + Link("arm", Box("0.1 0.1 0.1")) +
               Joint("a", "fixed", "table", "arm"),
           {.links = {"arm"}, .points_per_link = 20, .world_from_base = {{1, 2, 3}, {0, 0, 0, 1}}});
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  EXPECT_EQ(made->robot.surface.size(), 20u);
  EXPECT_EQ(made->robot.surface.links[0], 1);
  EXPECT_EQ(LinkPoses(made->robot, {})[1].translation_m, (Vec3d{1, 2, 3}));
}

TEST(Urdf, LinksWithoutVisualsUseCollisionShapesAndSaySo) {
  const TempFolder folder;
  const auto made = Must(Make(
      folder, Link("base", "<collision><geometry><box size='1 1 1'/></geometry></collision>")));
  EXPECT_EQ(made.robot.surface.size(), 300u);
  EXPECT_THAT(made.notes, Contains(AllOf(HasSubstr("'base'"), HasSubstr("collision"))));
}

TEST(Urdf, XacroIsRefusedWithTheWayToExpandIt) {
  EXPECT_THAT(ErrorOf("<xacro:property name='x' value='1'/>" + Link("base", Box("1 1 1"))),
              AllOf(HasSubstr("xacro FILE.urdf.xacro > FILE.urdf"), HasSubstr("<xacro:")));
  EXPECT_THAT(ErrorOf(Link("${name}", Box("1 1 1"))), HasSubstr("xacro"));
  // What xacro wrote may keep its comments.
  EXPECT_EQ(ErrorOf("<!-- <xacro:arm name='${x}'/> -->" + Link("base", Box("1 1 1"))), "OK");
}

TEST(Urdf, ARobotWithoutAnySurfaceIsRefused) {
  EXPECT_THAT(ErrorOf(Link("base")), AllOf(HasSubstr("robot.urdf"), HasSubstr("surface_points")));
}

TEST(Urdf, CyclesSeveralRootsAndSecondParentsAreRefused) {
  const std::string links = Link("base", Box("1 1 1")) + Link("a") + Link("b");
  EXPECT_THAT(ErrorOf(links + Joint("j", "fixed", "a", "b") + Joint("k", "fixed", "b", "a")),
              AllOf(HasSubstr("link 'a'"), HasSubstr("cycle")));
  EXPECT_THAT(ErrorOf(links + Joint("j", "fixed", "base", "a") + Joint("k", "fixed", "a", "b") +
                      Joint("l", "fixed", "b", "base")),
              HasSubstr("No root link found"));
  EXPECT_THAT(ErrorOf(links + Joint("j", "fixed", "base", "a")),
              AllOf(HasSubstr("Two root links found"), HasSubstr("[b]")));
  EXPECT_THAT(ErrorOf(links + Joint("j", "fixed", "base", "a") + Joint("k", "fixed", "a", "b") +
                      Joint("l", "fixed", "base", "b")),
              AllOf(HasSubstr("link 'b'"), HasSubstr("'k' and 'l'")));
  EXPECT_THAT(ErrorOf(links + Joint("j", "fixed", "base", "nobody")), HasSubstr("nobody"));
}

TEST(Urdf, TooManyLinksAreCounted) {
  std::string content = Link("l0", Box("1 1 1"));
  for (std::size_t i = 1; i <= kMaxRobotLinks; ++i) {
    const std::string name = "l" + std::to_string(i);
    content += Link(name) + Joint("j" + std::to_string(i), "fixed", "l0", name);
  }
  EXPECT_THAT(ErrorOf(content),
              AllOf(HasSubstr("robot.urdf:links: expected 1 to 4096"), HasSubstr("got 4097")));
}

TEST(Urdf, BrokenMeshesAreNamedWithLinkAndFile) {
  const std::string whole = Strip(10, 1);
  std::string endless = whole;
  const float nan = std::nanf("");
  std::memcpy(endless.data() + 84 + 12, &nan, 4);
  std::string boastful = whole;
  const std::uint32_t many = 4'000'000'000;
  std::memcpy(boastful.data() + 80, &many, 4);
  for (const std::string& bytes :
       {std::string(), std::string("no mesh"), whole.substr(0, 300), endless, boastful}) {
    const TempFolder folder;
    Write(folder.File("part.stl"), bytes);
    EXPECT_THAT(
        Make(folder, Link("elbow", MeshVisual("part.stl"))).status().ToString(),
        AllOf(HasSubstr("FILE_UNREADABLE"), HasSubstr("part.stl"), HasSubstr("link 'elbow'")))
        << bytes.size();
  }
  EXPECT_THAT(ErrorOf(Link("elbow", MeshVisual("part.stl"))),
              AllOf(HasSubstr("no such file"), HasSubstr("part.stl"), HasSubstr("link 'elbow'")));
}

TEST(Urdf, ShapesWithoutAPositiveSizeAreRefusedByLink) {
  for (const char* const visual :
       {"<box size='-.2 .2 .1'/>", "<box size='.2 0 .1'/>", "<box size='.2 nan .1'/>",
        "<box size='.2 .1'/>", "<sphere radius='-1'/>", "<sphere radius='inf'/>",
        "<cylinder radius='.1' length='0'/>", "<cylinder radius='-.1' length='1'/>"}) {
    EXPECT_THAT(
        ErrorOf(Link("base", Box("1 1 1")) + Joint("turn", "revolute", "base", "elbow", kRange) +
                Link("elbow", "<visual><geometry>" + std::string(visual) + "</geometry></visual>")),
        AllOf(HasSubstr("SCHEMA_INVALID"), HasSubstr("elbow")))
        << visual;
  }
}

TEST(Urdf, AMeshWithoutAreaIsRefused) {
  const TempFolder folder;
  Write(folder.File("flat.obj"), "v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n");
  EXPECT_THAT(Make(folder, Link("elbow", MeshVisual("flat.obj"))).status().ToString(),
              AllOf(HasSubstr("link 'elbow'"), HasSubstr("flat.obj without one")));
}

TEST(Urdf, AHugeMeshIsRefusedBeforeItIsRead) {
  const TempFolder folder;
  Write(folder.File("huge.stl"), Strip(10, 1));
  std::filesystem::resize_file(folder.File("huge.stl"), std::uintmax_t{4} << 30);
  EXPECT_THAT(Make(folder, Link("elbow", MeshVisual("huge.stl"))).status().ToString(),
              AllOf(HasSubstr("huge.stl"), HasSubstr("link 'elbow'"), HasSubstr("bytes")));
}

TEST(Urdf, AMeshOfAMillionTrianglesIsRead) {
  const TempFolder folder;
  Write(folder.File("fine.stl"), Strip(1'000'000, 1));
  const auto made = Must(Make(folder, Link("elbow", MeshVisual("fine.stl"))));
  EXPECT_EQ(made.robot.surface.size(), 300u);
}

TEST(Urdf, LimitsReversedAreRefusedAndJointsWithoutRangeHeld) {
  const std::string links = Link("base", Box("1 1 1")) + Link("a");
  const auto with = [&](const std::string& limits) {
    return links + Joint("j", "revolute", "base", "a",
                         "<axis xyz='0 0 1'/><limit " + limits + " effort='1' velocity='1'/>");
  };
  EXPECT_THAT(ErrorOf(with("lower='1' upper='-1'")),
              AllOf(HasSubstr("links[1].joint.limits_rad"), HasSubstr("link 'a'")));
  EXPECT_THAT(ErrorOf(links + Joint("j", "revolute", "base", "a", "<axis xyz='0 0 0'/>" + kRange)),
              AllOf(HasSubstr("joint 'j'"), HasSubstr("axis")));
  const TempFolder folder;
  const auto made = Must(Make(folder, with("lower='0' upper='0'")));
  EXPECT_TRUE(made.robot.columns.empty());
  EXPECT_THAT(made.notes, Contains(HasSubstr("'j' has no range")));
}

TEST(Urdf, LimitsInDegreesAndLengthsInMillimetresAreNoted) {
  const TempFolder folder;
  const auto arm = [](const std::string& origin, const std::string& limits) {
    return Link("base", Box("0.2 0.2 0.2")) + Link("a", Box("0.2 0.2 0.2")) +
           Joint("j", "revolute", "base", "a",
                 "<origin xyz='" + origin + "'/><axis xyz='0 0 1'/><limit " + limits +
                     " effort='1' velocity='1'/>");
  };
  EXPECT_THAT(Must(Make(folder, arm("0 0 9", "lower='-12.5' upper='12.5'"))).notes, IsEmpty());
  EXPECT_THAT(
      Must(Make(folder, arm("0 0 1", "lower='-170' upper='120'"))).notes,
      ElementsAre(AllOf(HasSubstr("limits up to 170 rad"), HasSubstr("those of j degrees?"))));
  EXPECT_THAT(Must(Make(folder, arm("0 0 60", "lower='-1' upper='1'"))).notes,
              ElementsAre(HasSubstr("60 m long at rest: are its lengths millimetres?")));
}

TEST(Urdf, OtherFilesAreRefused) {
  const TempFolder folder;
  Write(folder.File("page.urdf"), "<html></html>");
  EXPECT_THAT(MakeRobot(folder.File("page.urdf"), {}).status().ToString(),
              AllOf(HasSubstr("page.urdf"), HasSubstr("<mujoco>")));
  EXPECT_THAT(ErrorOf("<link>"), HasSubstr("robot.urdf"));
  EXPECT_THAT(MakeRobot(folder.File("none.urdf"), {}).status().ToString(),
              HasSubstr("FILE_NOT_FOUND"));
  EXPECT_THAT(ErrorOf(Link("base", Box("1 1 1")), {.points_per_link = 0}),
              HasSubstr("points_per_link"));
}

TEST(JoinRobots, TwoArmsStandInOneTree) {
  const TempFolder folder;
  const std::string content =
      Link("base", Box("0.1 0.1 0.1")) + Link("a", Box("0.1 0.1 0.1")) +
      Link("b", Box("0.1 0.1 0.1")) +
      Joint("j", "revolute", "base", "a", "<axis xyz='0 0 1'/>" + kRange) +
      Joint("k", "revolute", "a", "b",
            "<origin xyz='1 0 0'/><axis xyz='0 0 1'/>" + kRange + "<mimic joint='j'/>");
  std::vector<Robot> arms;
  for (const double x : {-1.0, 1.0}) {
    const auto made = Must(Make(folder, content, {.world_from_base = {{x, 0, 0}, {0, 0, 0, 1}}}));
    arms.push_back(made.robot);
  }
  const std::vector<std::string> prefixes = {"left_", "right_"};
  const auto joined = Must(JoinRobots("pair", arms, prefixes));
  EXPECT_THAT(ColumnNames(joined), ElementsAre("left_j_rad", "right_j_rad"));
  EXPECT_EQ(joined.surface.size(), 2 * arms[0].surface.size());
  const std::vector<double> values = {0.3, -0.4}, left = {0.3}, right = {-0.4};
  const auto poses = LinkPoses(joined, values);
  const auto one = LinkPoses(arms[0], left), two = LinkPoses(arms[1], right);
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(poses[1 + i], one[i]);
    EXPECT_EQ(poses[1 + one.size() + i], two[i]);
  }
  ASSERT_TRUE(WriteRobot(joined, folder.File("pair")).ok());
  EXPECT_TRUE(ReadRobot(folder.File("pair")).ok());
  const std::vector<std::string> same = {"", ""};
  EXPECT_THAT(JoinRobots("pair", arms, same).status().ToString(), HasSubstr("each name once"));
}

}  // namespace
}  // namespace interlacer
