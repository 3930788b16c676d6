/// HDF5 files of robomimic and robosuite as episodes: one pixel's depth in metres, both kinds of
/// depth, joints by name; what is missing or contradicts is named.

#include <gtest/gtest.h>
#include <hdf5.h>

#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "common/file_io.h"
#include "common/transforms.h"
#include "robots/forward_kinematics.h"
#include "robots/robot_folder.h"
#include "tests/data/import_fixture.h"
#include "tests/robots/one_joint_robot.h"
#include "tests/robots/seven_joint_robot.h"
#include "tests/support/must.h"
#include "tests/support/test_data.h"

namespace interlacer {
namespace {

constexpr hsize_t kSteps = 3, kHeight = 12, kWidth = 16;
constexpr char kCameraInfo[] =
    R"({"front": {"intrinsics": [[20, 0, 7.5], [0, 21, 5.5], [0, 0, 1]], )"
    R"("extrinsics": [[1, 0, 0, 0.5], [0, -1, 0, 0], [0, 0, -1, 2], [0, 0, 0, 1]]}, )"
    R"("robot0_eye_in_hand": {"intrinsics": [[20, 0, 7.5], [0, 21, 5.5], [0, 0, 1]], )"
    R"("extrinsics": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]}})";

class Hdf5ImportTest : public RecordingTest {
 protected:
  Hdf5ImportTest() : RecordingTest("hdf5", "demos.hdf5") {
    options_.overwrite = true;
    Begin();
  }
  ~Hdf5ImportTest() override { Close(); }

  void Begin() {
    file_ = H5Fcreate(options_.source_dir.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    Group("data");
    Text("data", "env_args", R"({"env_kwargs": {"control_freq": 20}})");
  }

  void Close() {
    if (file_ >= 0) H5Fclose(file_);
    file_ = -1;
  }
  void Group(const std::string& path) {
    H5Gclose(H5Gcreate2(file_, path.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  }
  /// Of variable length, as h5py writes it.
  void Text(const std::string& object, const char* name, const char* text) {
    const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, H5T_VARIABLE);
    const hid_t id = H5Acreate_by_name(file_, object.c_str(), name, type, space, H5P_DEFAULT,
                                       H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(id, type, &text);
    H5Aclose(id);
    H5Sclose(space);
    H5Tclose(type);
  }
  void Array(const std::string& path, hid_t type, const std::vector<hsize_t>& shape,
             const void* values) {
    const hid_t space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
    const hid_t set =
        H5Dcreate2(file_, path.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Dclose(set);
    H5Sclose(space);
  }
  /// Pictures whose first pixel of step s is 10 + s; `depths` [steps,height,width].
  void View(const std::string& demo, const std::string& name, const std::vector<float>& depths) {
    std::vector<std::uint8_t> pixels(kSteps * kHeight * kWidth * 3, 90);
    for (hsize_t s = 0; s < kSteps; ++s) {
      pixels[s * kHeight * kWidth * 3] = static_cast<std::uint8_t>(10 + s);
    }
    const std::string obs = "data/" + demo + "/obs/" + name;
    Array(obs + "_image", H5T_NATIVE_UINT8, {kSteps, kHeight, kWidth, 3}, pixels.data());
    Array(obs + "_depth", H5T_NATIVE_FLOAT, {kSteps, kHeight, kWidth, 1}, depths.data());
  }
  /// 2 m everywhere, but at row 1, column 2 of step s 1.25 + s / 8 m.
  static std::vector<float> Metres() {
    std::vector<float> depths(kSteps * kHeight * kWidth, 2);
    for (hsize_t s = 0; s < kSteps; ++s) {
      depths[(s * kHeight + 1) * kWidth + 2] = 1.25F + static_cast<float>(s) / 8;
    }
    return depths;
  }
  void Demo(const std::string& name) {
    Group("data/" + name);
    Group("data/" + name + "/obs");
    Text("data/" + name, "camera_info", kCameraInfo);
    View(name, "front", Metres());
    const std::vector<double> joints = {0.1, 7, 0.2, 7, 0.3, 7};
    Array("data/" + name + "/obs/robot0_joint_pos", H5T_NATIVE_DOUBLE, {kSteps, 2}, joints.data());
  }
  void Write() override { Close(); }
  void UseRobot(const Robot& robot) {
    options_.bag.robot_dir = folder_.File("robot");
    ASSERT_TRUE(WriteRobot(robot, options_.bag.robot_dir).ok());
  }
  /// Poses of the tool of an arm of seven joints in place of joints; the rotation is that of
  /// link_7, as robosuite mixes frames. `reach` stretches the positions.
  void EndEffector(double reach = 1) {
    Demo("demo_0");
    H5Ldelete(file_, "data/demo_0/obs/robot0_joint_pos", H5P_DEFAULT);
    std::vector<double> positions, rotations, grips;
    for (hsize_t s = 0; s < kSteps; ++s) {
      const auto values = testing::SevenJointMotion(static_cast<double>(s));
      const auto poses = LinkPoses(arm_, values);
      for (const double x : poses[8].translation_m) positions.push_back(s == 1 ? reach * x : x);
      for (const double q : poses[7].rotation_xyzw) rotations.push_back(q);
      grips.push_back(values[7]);
    }
    const std::string obs = "data/demo_0/obs/robot0_";
    Array(obs + "eef_pos", H5T_NATIVE_DOUBLE, {kSteps, 3}, positions.data());
    Array(obs + "eef_quat", H5T_NATIVE_DOUBLE, {kSteps, 4}, rotations.data());
    Array(obs + "gripper_qpos", H5T_NATIVE_DOUBLE, {kSteps, 1}, grips.data());
    UseRobot(arm_);
    options_.bag.joints = {"obs/robot0_gripper_qpos=grip"};
    options_.bag.end_effectors = {"obs/robot0_eef_pos=tool,obs/robot0_eef_quat=link_7"};
  }

  const Robot arm_ = testing::SevenJointRobot();
  hid_t file_ = -1;
};

TEST_F(Hdf5ImportTest, IntrinsicsOfAnotherSizeAreFound) {
  Group("data/demo_0");
  Group("data/demo_0/obs");
  Text("data/demo_0", "camera_info",
       R"({"front": {"intrinsics": [[40, 0, 15], [0, 42, 11], [0, 0, 1]], )"
       R"("extrinsics": [[1, 0, 0, 0.5], [0, -1, 0, 0], [0, 0, -1, 2], [0, 0, 0, 1]]}})");
  View("demo_0", "front", Metres());
  const auto report = Must(Import());
  EXPECT_TRUE(HasFinding(report.validation.findings, "PRINCIPAL_POINT_OFF_CENTER",
                         "cx,cy 15,11 is far from the middle of images of 16x12"));
}

TEST_F(Hdf5ImportTest, MetresWithCameraInfo) {
  Demo("demo_0");
  const EpisodeReader episode = Imported();
  EXPECT_EQ(episode.step_count(), 3);
  EXPECT_EQ(episode.manifest().step_duration_s, 0.05);
  const auto& camera = episode.manifest().cameras[0].camera;
  EXPECT_EQ(camera.fy_px, 21);
  EXPECT_EQ(camera.world_from_camera.translation_m, (Vec3d{0.5, 0, 2}));
  EXPECT_FLOAT_EQ(episode.ReadDepth(0, 0)->pixels_m[kWidth + 2], 1.25F);
  EXPECT_FLOAT_EQ(episode.ReadDepth(2, 0)->pixels_m[kWidth + 2], 1.5F);
  EXPECT_EQ(episode.ReadColor(2, 0)->pixels[0], 12);
}

TEST_F(Hdf5ImportTest, UnitsTooFineForTheDeepestAreRefused) {
  Demo("demo_0");
  options_.depth_unit_m = 1e-6;
  ExpectRefused(reason::ARGUMENT_INVALID, "--depth-unit", "a unit of at least");
}

TEST_F(Hdf5ImportTest, DepthsBeyondIntegersAreCountedOrRefused) {
  const auto demo = [&](float most_m) {
    options_.source_dir = folder_.File(most_m > 65 ? "far.h5" : "near.h5");
    Begin();
    Group("data/demo_0");
    Group("data/demo_0/obs");
    Text("data/demo_0", "camera_info", kCameraInfo);
    std::vector<float> depths(kSteps * kHeight * kWidth, most_m);
    depths[kWidth + 2] = 80;
    View("demo_0", "front", depths);
  };
  Close();
  demo(2);
  const auto report = Must(Import());
  EXPECT_TRUE(HasFinding(report.validation.findings, "DEPTH_BEYOND_UNIT",
                         "1 of 576 depths above 65.534 m"));
  demo(1200);
  ExpectRefused(reason::DEPTH_RANGE_INVALID, "front_depth", "are they millimetres?");
}

TEST_F(Hdf5ImportTest, AZBufferIsUpsideDown) {
  Demo("demo_0");
  constexpr float kNear = 0.1F, kFar = 10;
  std::vector<float> buffer = Metres();
  for (float& z : buffer) z = (1 - kNear / z) / (1 - kNear / kFar);
  buffer[0] = 1;  // background
  View("demo_0", "raw", buffer);
  H5Ldelete(file_, "data/demo_0/obs/front_depth", H5P_DEFAULT);
  H5Adelete_by_name(file_, "data/demo_0", "camera_info", H5P_DEFAULT);
  options_.calibration = folder_.File("calibration.json");
  ASSERT_TRUE(
      WriteFileAtomic(
          options_.calibration,
          std::string(R"({"schema": "interlacer.calibration", "schema_version": 1, "cameras": [)"
                      R"({"name": "raw", "width_px": 16, "height_px": 12, "cx_px": 7.5, )"
                      R"("cy_px": 5.5, "fx_px": 20, "fy_px": 20, "world_from_camera": )"
                      R"({"translation_m": [0, 0, 0], "rotation_xyzw": [0, 0, 0, 1]}}]})"))
          .ok());
  ExpectRefused(reason::ARGUMENT_INVALID, "--depth-kind", "z_buffer");
  options_.hdf5.depth_kind = "z_buffer";
  ExpectRefused(reason::ARGUMENT_INVALID, "--z-planes", "NEAR,FAR");
  options_.hdf5.z_near_m = kNear;
  options_.hdf5.z_far_m = kFar;
  const EpisodeReader episode = Imported();
  const auto depth = episode.ReadDepth(1, 0);
  EXPECT_NEAR(depth->pixels_m[(kHeight - 2) * kWidth + 2], 1.375F, 1e-4);
  EXPECT_NEAR(depth->pixels_m[kWidth + 2], 2, 1e-4);
  EXPECT_EQ(episode.ReadRawDepth(0, 0)->pixels[(kHeight - 1) * kWidth], 0);
  EXPECT_EQ(episode.ReadColor(1, 0)->pixels[3 * (kHeight - 1) * kWidth], 11);
}

TEST_F(Hdf5ImportTest, ValuesThatContradictTheirKindAreRefused) {
  Demo("demo_0");
  options_.hdf5 = {"", "z_buffer", 0.1, 10};
  ExpectRefused(reason::DEPTH_RANGE_INVALID, "0 to 1", "metres");
}

TEST_F(Hdf5ImportTest, AZBufferIsNotTakenForMetres) {
  Demo("demo_0");
  H5Ldelete(file_, "data/demo_0/obs/front_depth", H5P_DEFAULT);
  const std::vector<float> depths(kSteps * kHeight * kWidth, 0.97F);
  Array("data/demo_0/obs/front_depth", H5T_NATIVE_FLOAT, {kSteps, kHeight, kWidth}, depths.data());
  ExpectRefused(reason::DEPTH_RANGE_INVALID, "--depth-kind", "z-buffer");
}

TEST_F(Hdf5ImportTest, JointsByName) {
  Demo("demo_0");
  UseRobot(testing::OneJointRobot());
  ExpectRefused(reason::ACTION_SHAPE, "DATASET=NAME", "robot0_joint_pos");
  options_.bag.joints = {"obs/robot0_joint_pos=elbow"};
  ExpectRefused(reason::ACTION_SHAPE, "2 columns for 1 names", "--joints");
  options_.bag.joints = {"obs/robot0_joint_pos=elbow,elbow"};
  ExpectRefused(reason::ARGUMENT_INVALID, "each joint once", "elbow twice");
  options_.bag.joints = {"obs/robot0_joint_pos=wrist,-"};
  ExpectRefused(reason::ACTION_SHAPE, "joint elbow", "wrist");
  options_.bag.joints = {"obs/robot0_joint_pos=elbow,-"};
  const EpisodeReader episode = Imported();
  EXPECT_EQ(episode.manifest().kind, EpisodeKind::kManipulation);
  EXPECT_EQ(episode.states().values, (std::vector<double>{0.1, 0.2, 0.3}));
  EXPECT_EQ(episode.actions().values, episode.states().values);  // no shift by a step
}

TEST_F(Hdf5ImportTest, TheEndEffectorAloneIsRefused) {
  Demo("demo_0");
  UseRobot(testing::OneJointRobot());
  H5Ldelete(file_, "data/demo_0/obs/robot0_joint_pos", H5P_DEFAULT);
  ExpectRefused(reason::ACTION_SHAPE, "inverse kinematics", "end effector");
}

TEST_F(Hdf5ImportTest, JointsByInverseKinematicsReachThePoses) {
  EndEffector();
  const EpisodeReader episode = Imported();
  const auto& states = episode.states();
  ASSERT_EQ(states.row_count, 3);
  EXPECT_EQ(episode.actions().values, states.values);
  for (int step = 0; step < 3; ++step) {
    const auto wanted_values = testing::SevenJointMotion(step);
    const std::vector<double> row(states.values.begin() + 8 * step,
                                  states.values.begin() + 8 * step + 8);
    const auto wanted = LinkPoses(arm_, wanted_values), reached = LinkPoses(arm_, row);
    EXPECT_LT(DistanceM(reached[8].translation_m, wanted[8].translation_m), 1e-4);
    double dot = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      dot += reached[7].rotation_xyzw[i] * wanted[7].rotation_xyzw[i];
    }
    EXPECT_NEAR(std::abs(dot), 1, 1e-8);
    EXPECT_EQ(row[7], wanted_values[7]);  // measured
  }
  const std::string notes = ::testing::PrintToString(episode.manifest().source.notes);
  EXPECT_NE(notes.find("joints by inverse kinematics from obs/robot0_eef_pos"), std::string::npos)
      << notes;
}

TEST_F(Hdf5ImportTest, PosesOutOfReachAreRefusedWithTheStep) {
  EndEffector(3);
  ExpectRefused(reason::ACTION_OUT_OF_RANGE, "step 1: expected a pose that link tool reaches",
                " rad off");
}

TEST_F(Hdf5ImportTest, InverseKinematicsNeedsAllItIsToldOf) {
  EndEffector();
  options_.bag.joints = {};
  ExpectRefused(reason::ACTION_SHAPE, "no end effector hangs", "grip");
  options_.bag.joints = {"obs/robot0_gripper_qpos=grip"};
  options_.bag.end_effectors = {"obs/robot0_eef_pos=hand,obs/robot0_eef_quat=link_7"};
  ExpectRefused(reason::ARGUMENT_INVALID, "a link of the robot: base", "hand");
  options_.bag.end_effectors = {"obs/robot0_eef_pos"};
  ExpectRefused(reason::ARGUMENT_INVALID, "--inverse-kinematics", "POSITION=LINK");
  options_.bag.end_effectors = {"obs/robot0_eef_quat=tool,obs/robot0_eef_quat=link_7"};
  ExpectRefused(reason::ACTION_SHAPE, "4 columns for 3 numbers", "x,y,z in metres");
  options_.bag.end_effectors = {"obs/robot0_eef_pos=tool,obs/robot0_eef_quat=link_7",
                                "obs/robot0_eef_pos=link_7,obs/robot0_eef_quat=link_7"};
  ExpectRefused(reason::ARGUMENT_INVALID, "share no joint", "joint_1");
  options_.bag.end_effectors = {"obs/robot0_eef_pos=base,obs/robot0_eef_quat=base"};
  ExpectRefused(reason::ARGUMENT_INVALID, "joints move", "base");
  options_.bag.robot_dir = "";
  ExpectRefused(reason::ARGUMENT_INVALID, "--robot", "none");
}

TEST_F(Hdf5ImportTest, DemonstrationsSortByNumber) {
  Demo("demo_10");
  Demo("demo_2");
  ExpectRefused(reason::ARGUMENT_INVALID, "--demo", "demo_2, demo_10");
  options_.hdf5.demo = "demo_2";
  EXPECT_TRUE(Import().ok());
}

TEST_F(Hdf5ImportTest, WhatIsMissingIsNamed) {
  Demo("demo_0");
  H5Adelete_by_name(file_, "data/demo_0", "camera_info", H5P_DEFAULT);
  options_.hdf5.depth_kind = "metres";
  ExpectRefused(reason::NO_CALIBRATION, "--calibration FILE", "front");
  options_.source_dir = folder_.File("none.hdf5");
  ExpectRefused(reason::FILE_NOT_FOUND, "none.hdf5", "no such file");
}

TEST_F(Hdf5ImportTest, DepthIsNeeded) {
  Demo("demo_0");
  H5Ldelete(file_, "data/demo_0/obs/front_depth", H5P_DEFAULT);
  ExpectRefused(reason::NO_DEPTH, "front_image", "depth: none");
}

TEST_F(Hdf5ImportTest, ClipsWithPicturesOfTheirFirstFrameAloneAreRefused) {
  H5Ldelete(file_, "data", H5P_DEFAULT);
  for (const char* group : {"clip_7", "clip_7/camera_0"}) Group(group);
  const std::vector<std::uint16_t> depth_mm(kHeight * kWidth, 1000);
  Array("clip_7/camera_0/initial_depth", H5T_NATIVE_UINT16, {kHeight, kWidth}, depth_mm.data());
  ExpectRefused(reason::NO_DEPTH, "PointWorld", "initial_depth in /clip_7/camera_0");
}

TEST_F(Hdf5ImportTest, WhatTheLibraryCannotReadIsNamed) {
  Demo("demo_0");
  H5Ldelete(file_, "data/demo_0/obs/front_depth", H5P_DEFAULT);
  Group("data/demo_0/obs/front_depth");
  ExpectRefused(reason::FILE_UNREADABLE, "front_depth", "h5repack");
}

/// 10^9 steps of which none was written.
TEST_F(Hdf5ImportTest, ArraysThatClaimMoreThanIsStoredAreRefused) {
  Demo("demo_0");
  H5Ldelete(file_, "data/demo_0/obs/front_depth", H5P_DEFAULT);
  const hsize_t shape[] = {1'000'000'000, kHeight, kWidth, 1}, chunk[] = {1, kHeight, kWidth, 1};
  const hid_t layout = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(4, shape, nullptr);
  H5Pset_chunk(layout, 4, chunk);
  H5Dclose(H5Dcreate2(file_, "data/demo_0/obs/front_depth", H5T_NATIVE_FLOAT, space, H5P_DEFAULT,
                      layout, H5P_DEFAULT));
  H5Sclose(space);
  H5Pclose(layout);
  ExpectRefused(reason::FILE_UNREADABLE, "front_depth", "h5repack");
}

/// Whoever wrote a file must not have others of this machine copied into the episode.
TEST_F(Hdf5ImportTest, WhatIsKeptInOtherFilesIsRefused) {
  Demo("demo_0");
  const std::string depth = "data/demo_0/obs/front_depth";
  H5Ldelete(file_, depth.c_str(), H5P_DEFAULT);
  const std::string secret = folder_.File("secret");
  std::ofstream(secret) << std::string(sizeof(float) * kSteps * kHeight * kWidth, 's');
  const hsize_t shape[] = {kSteps, kHeight, kWidth};
  const hid_t layout = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(3, shape, nullptr);
  H5Pset_external(layout, secret.c_str(), 0, H5F_UNLIMITED);
  H5Dclose(
      H5Dcreate2(file_, depth.c_str(), H5T_NATIVE_FLOAT, space, H5P_DEFAULT, layout, H5P_DEFAULT));
  H5Sclose(space);
  H5Pclose(layout);
  ExpectRefused(reason::FILE_UNREADABLE, "front_depth", "another file");
}

TEST_F(Hdf5ImportTest, LinksIntoOtherFilesAreNotFollowed) {
  Demo("demo_0");
  const std::string other = folder_.File("other.h5"), depth = "data/demo_0/obs/front_depth";
  const hid_t file = H5Fcreate(other.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  H5Ocopy(file_, depth.c_str(), file, "depth", H5P_DEFAULT, H5P_DEFAULT);
  H5Fclose(file);
  H5Ldelete(file_, depth.c_str(), H5P_DEFAULT);
  H5Lcreate_external(other.c_str(), "/depth", file_, depth.c_str(), H5P_DEFAULT, H5P_DEFAULT);
  ExpectRefused(reason::FILE_UNREADABLE, "front_depth", "another file");
}

TEST_F(Hdf5ImportTest, PosesOfCamerasOnTheHandAreRefused) {
  Demo("demo_0");
  View("demo_0", "robot0_eye_in_hand", Metres());
  ExpectRefused(reason::CALIBRATION_INVALID, "robot0_eye_in_hand", "link");
}

TEST_F(Hdf5ImportTest, CutFilesAreRefused) {
  Demo("demo_0");
  Close();
  const auto bytes = Must(ReadFileBytes(options_.source_dir));
  for (std::size_t size = 0; size < bytes.size(); size += 997) {
    ASSERT_TRUE(WriteFileAtomic(options_.source_dir, std::span(bytes).first(size)).ok());
    const Status report = Import().status();
    EXPECT_EQ(report.reason(), reason::FILE_UNREADABLE) << report.ToString() << " of " << size;
  }
}

/// Of h5py, as robomimic writes it, and of its newer form, which this library cannot read.
TEST_F(Hdf5ImportTest, FilesOfH5py) {
  options_.source_dir = testing::TestData("formats/robomimic_like.h5");
  if (!std::filesystem::exists(options_.source_dir)) {
    GTEST_SKIP() << "no recording at " << options_.source_dir;
  }
  options_.calibration = folder_.File("calibration.json");
  ASSERT_TRUE(
      WriteFileAtomic(options_.calibration, std::string(R"({"schema": "interlacer.calibration",
      "schema_version": 1, "cameras": [{"name": "agentview", "width_px": 84, "height_px": 84,
      "cx_px": 41.5, "cy_px": 41.5, "fx_px": 100, "fy_px": 100, "world_from_camera":
      {"translation_m": [0, 0, 0], "rotation_xyzw": [0, 0, 0, 1]}}]})"))
          .ok());
  options_.hdf5.depth_kind = "metres";
  ExpectRefused(reason::ARGUMENT_INVALID, "--step-duration", "control_freq");
  options_.bag.step_duration_s = 0.05;
  const EpisodeReader episode = Imported();
  EXPECT_EQ(episode.step_count(), 5);
  EXPECT_EQ(episode.ReadDepth(4, 0)->pixels_m, std::vector<float>(84 * 84, 1));
  EXPECT_EQ(episode.ReadColor(4, 0)->pixels, std::vector<std::uint8_t>(3 * 84 * 84, 0));

  options_.source_dir = testing::TestData("formats/robomimic_like_libver_latest.h5");
  ExpectRefused(reason::FILE_UNREADABLE, "agentview_image", "h5repack");
}

}  // namespace
}  // namespace interlacer
