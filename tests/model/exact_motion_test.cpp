/// The robot's particles follow its links, and nothing moves where nothing can: rollouts of a tiny
/// model over a plane, two plates of which are the robot's.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/files/checkpoint.h"
#include "model/lifting/carried_particles.h"
#include "model/lifting/lifted_scene.h"
#include "model/predictor.h"
#include "robots/attachment.h"
#include "robots/forward_kinematics.h"
#include "robots/robot_folder.h"
#include "tests/model/plane_robot.h"
#include "tests/model/plane_scene.h"
#include "tests/model/tiny_scene.h"
#include "tests/support/matchers.h"
#include "tests/support/must.h"
#include "tests/support/tiny_model.h"

namespace interlacer::testing {
namespace {

using Rows = std::vector<std::vector<float>>;

constexpr float kExactM = 1e-6f;

ActionSequence ActionsOf(const Rows& rows) {
  ActionSequence actions{ActionKind::kJointPositions,
                         static_cast<std::int64_t>(rows.size()),
                         rows.empty() ? 2 : static_cast<std::int64_t>(rows[0].size()),
                         {}};
  for (const auto& row : rows) {
    actions.values.insert(actions.values.end(), row.begin(), row.end());
  }
  return actions;
}

/// Turn and slide at the two times of the history: the plates lie where their frames begin.
SceneInput PlateScene() {
  SceneInput input = MakeScene();
  input.history_actions = ActionsOf({{0, 0}, {0, 0}});
  input.robot = std::make_shared<const Robot>(TwoPlates());
  return input;
}

class ExactMotion : public ::testing::Test {
 protected:
  ExactMotion() {
    std::filesystem::create_directories(root_);
    config_.robot_motion = RobotMotion::kKinematic;
    config_.data.particle_count = 1024;
  }
  ~ExactMotion() override { std::filesystem::remove_all(root_); }

  std::string CheckpointDir() const { return root_ + "/checkpoint"; }

  /// Writes a checkpoint of `config_`, with `robot` in it unless null.
  void Save(const Robot* robot) const {
    const auto model = MakeMovingModel(config_, {}, 1);
    if (!network_moves_) ResetHeads(model.get());
    if (config_.network.contact_guess) TrustGuess(model.get());
    std::string folder;
    if (robot != nullptr) {
      folder = root_ + "/robot";
      ASSERT_TRUE(WriteRobot(*robot, folder).ok());
    }
    const Status saved =
        SaveCheckpoint(CheckpointDir(), *model, {}, StoredWeights::kFloat32, folder);
    ASSERT_TRUE(saved.ok()) << saved.ToString();
  }

  std::unique_ptr<Predictor> Load(std::optional<RobotMotion> motion = {}) const {
    return Must(Predictor::Load(CheckpointDir(), {"tiny", DeviceRequest::kCpu, motion}));
  }

  std::unique_ptr<Predictor> SaveAndLoad(const Robot& robot) const {
    Save(&robot);
    return Load();
  }

  const std::string root_ = ::testing::TempDir() + "exact_motion_" + std::to_string(getpid());
  InterlacerConfig config_ = TinyConfig();
  bool network_moves_ = true;
};

std::unique_ptr<Rollout> Begin(Predictor* predictor, const SceneInput& input,
                               const ActionSequence& actions,
                               MotionSource source = MotionSource::kModel) {
  auto scene = Must(predictor->Lift(input));
  return Must(predictor->Begin(scene, actions, source));
}

void Advance(Rollout* rollout, int steps) {
  for (int step = 0; step < steps; ++step) {
    const Status status = rollout->Step();
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
}

std::vector<float> PositionsOf(const Rollout& rollout) {
  return (*rollout.ReadParticles())->positions_m;
}

enum class Plate { kNone, kTurning, kSliding };

/// By distance to each point of both plates.
Plate PlateOf(const float* p) {
  const auto reaches = [&](double center_x_m) {
    for (double x = -kPlateHalfM; x < kPlateHalfM + 1e-9; x += kPlateSpacingM) {
      for (double y = -kPlateHalfM; y < kPlateHalfM + 1e-9; y += kPlateSpacingM) {
        if (std::hypot(p[0] - center_x_m - x, p[1] - y, p[2]) <= AttachOptions().radius_m) {
          return true;
        }
      }
    }
    return false;
  };
  if (reaches(kTurningPlateXM)) return Plate::kTurning;
  return reaches(kSlidingPlateXM) ? Plate::kSliding : Plate::kNone;
}

/// Where a particle of the plates is once they have turned and slid.
Vec3d Carried(const float* p, double turn_rad, double slide_m) {
  if (PlateOf(p) == Plate::kSliding) return {p[0] + slide_m, p[1], p[2]};
  const double x = p[0] - kTurningPlateXM, c = std::cos(turn_rad), s = std::sin(turn_rad);
  return {kTurningPlateXM + c * x - s * p[1], s * x + c * p[1], p[2]};
}

/// Compares attached particles with the hand-computed motion; the others by `check_other`.
template <typename CheckOther>
void ExpectCarried(const std::vector<float>& start, const std::vector<float>& now, double turn_rad,
                   double slide_m, const CheckOther& check_other) {
  int of_plate[3] = {};
  for (std::size_t i = 0; i < start.size(); i += 3) {
    const Plate plate = PlateOf(&start[i]);
    ++of_plate[static_cast<int>(plate)];
    if (plate == Plate::kNone) {
      check_other(&start[i], &now[i]);
      continue;
    }
    const Vec3d expected = Carried(&start[i], turn_rad, slide_m);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      ASSERT_NEAR(now[i + axis], expected[axis], kExactM) << "particle " << i / 3;
    }
  }
  for (const int count : of_plate) EXPECT_GT(count, 20);
}

void ExpectSame(const float* a, const float* b) {
  for (int axis = 0; axis < 3; ++axis) ASSERT_EQ(a[axis], b[axis]);
}

TEST_F(ExactMotion, ParticlesOnTheRobotFollowItsLinksForTwoSteps) {
  const auto predictor = SaveAndLoad(PlatesOfBodies());
  Rows rows(4, std::vector<float>(sim::kStateColumns, 0.f));
  rows[2][0] = 0.2f;
  rows[2][7] = 0.03f;
  rows[3][0] = 0.5f;
  rows[3][7] = 0.01f;
  SceneInput input = MakeScene();
  input.history_actions = ActionsOf({rows[0], rows[1]});
  const auto rollout = Begin(predictor.get(), input, ActionsOf({rows[2], rows[3]}));
  const std::vector<float> start = PositionsOf(*rollout);
  int moved = 0;
  const auto count_moved = [&](const float* a, const float* b) {
    moved += a[0] != b[0] || a[1] != b[1] || a[2] != b[2] ? 1 : 0;
  };
  Advance(rollout.get(), 1);
  ExpectCarried(start, PositionsOf(*rollout), 0.2f, 0.03f, count_moved);
  EXPECT_GT(moved, 100) << "the network moves the others";
  Advance(rollout.get(), 1);
  ExpectCarried(start, PositionsOf(*rollout), 0.5f, 0.01f, count_moved);
}

TEST_F(ExactMotion, TheRobotAloneMovesAndAllElseKeepsItsBits) {
  config_.robot_motion = RobotMotion::kLearned;
  const auto predictor = SaveAndLoad(TwoPlates());
  SceneInput input = PlateScene();
  input.robot = nullptr;
  const auto rollout = Begin(predictor.get(), input, ActionsOf({{0.4f, -0.02f}, {0.4f, -0.05f}}),
                             MotionSource::kRobotOnly);
  const std::vector<float> start = PositionsOf(*rollout);
  Advance(rollout.get(), 2);
  ExpectCarried(start, PositionsOf(*rollout), 0.4f, -0.05f, ExpectSame);
  EXPECT_EQ(rollout->Step().reason(), "ACTION_SHAPE");
}

TEST_F(ExactMotion, NothingDriftsInTwentyFourStepsAndTheWayBackEndsAtTheSameBits) {
  const auto predictor = SaveAndLoad(TwoPlates());
  Rows rows;
  for (int step = 1; step <= 24; ++step) {
    const float there = static_cast<float>(12 - std::abs(12 - step)) / 12.f;
    rows.push_back({2.5f * there, -0.4f * there});
  }
  const auto rollout =
      Begin(predictor.get(), PlateScene(), ActionsOf(rows), MotionSource::kRobotOnly);
  const std::vector<float> start = PositionsOf(*rollout);
  for (int step = 1; step <= 24; ++step) {
    Advance(rollout.get(), 1);
    ExpectCarried(start, PositionsOf(*rollout), rows[step - 1][0], rows[step - 1][1], ExpectSame);
  }
  EXPECT_EQ(PositionsOf(*rollout), start);
}

constexpr float kTileM = 0.0085f;

/// Points between those of the sliding plate, so that one is within 1 cm of all that lies on it.
void AddPointsBetween(Robot* robot) {
  SurfacePoints& surface = robot->surface;
  for (std::size_t i = 0, count = surface.size(); i < count; ++i) {
    const auto [x, y, z] = surface.positions_m[i];
    if (surface.links[i] != 2 || std::max(x, y) > kPlateHalfM - kPlateSpacingM) continue;
    constexpr float kHalf = static_cast<float>(kPlateSpacingM) / 2;
    surface.positions_m.push_back({x + kHalf, y + kHalf, z});
    surface.normals.push_back(surface.normals[i]);
    surface.links.push_back(2);
  }
}

/// Something flat lies on the middle of the sliding plate, in all views.
void AddTile(SceneInput* input) {
  for (Observation& observation : input->observations) {
    for (RgbdView& view : observation.views) {
      const double eye_m = view.camera.world_from_camera.translation_m[2];
      for (int v = 0; v < view.depth.height_px; ++v) {
        for (int u = 0; u < view.depth.width_px; ++u) {
          float& depth_m =
              view.depth.pixels_m[static_cast<std::size_t>(v) * view.depth.width_px + u];
          const Vec3d at_m = Unproject(view.camera, u, v, depth_m);
          if (std::hypot(at_m[0] - kSlidingPlateXM, at_m[1]) > 0.05) continue;
          depth_m *= static_cast<float>((eye_m - kTileM) / eye_m);
        }
      }
    }
  }
}

class GuessedMotion : public ExactMotion, public ::testing::WithParamInterface<std::int64_t> {};

TEST_P(GuessedMotion, WhatThePlateTouchesGoesWithItAndAllElseKeepsItsBits) {
  config_.network.contact_guess = true;
  config_.data.particle_count = GetParam();
  config_.lifting.contact_point_count = 6144;  // all pixels
  network_moves_ = false;
  Robot robot = TwoPlates();
  robot.links[2].part = LinkPart::kFinger;  // which takes only what is 4 mm away for itself
  AddPointsBetween(&robot);
  const auto predictor = SaveAndLoad(robot);
  SceneInput input = PlateScene();
  input.robot = nullptr;
  AddTile(&input);
  const auto rollout =
      Begin(predictor.get(), input, ActionsOf({{0, 0.02f}, {0, 0.05f}, {0, 0.05f}}));
  ASSERT_TRUE(rollout->MeasureSpread().ok());
  const std::vector<float> start = PositionsOf(*rollout);
  for (const float slide_m : {0.02f, 0.05f, 0.05f}) {
    Advance(rollout.get(), 1);
    const std::vector<float> now = PositionsOf(*rollout);
    int of_tile = 0, others = 0;
    for (std::size_t i = 0; i < start.size(); i += 3) {
      if (start[i + 2] > 0.9f * kTileM) {
        ++of_tile;
        EXPECT_NEAR(now[i], start[i] + slide_m, kExactM);
        EXPECT_NEAR(now[i + 2], start[i + 2], kExactM);
      } else if (PlateOf(&start[i]) != Plate::kSliding) {
        ++others;
        ExpectSame(&start[i], &now[i]);
      }
    }
    EXPECT_GT(of_tile, GetParam() / 1100);
    EXPECT_GT(others, 300);
    for (const float spread_m : (*rollout->ReadParticles())->spread_m) {
      EXPECT_LE(spread_m, kExactM) << "of rollouts whose network says nothing";
    }
  }
}

/// The rule sees the particles, or points that lie closer than they do.
INSTANTIATE_TEST_SUITE_P(Particles, GuessedMotion, ::testing::Values(6144, 2048));

TEST_F(ExactMotion, AGuessSeesTheViewsAsTheyWereSent) {
  config_.network.contact_guess = true;
  config_.lifting.contact_point_count = 6144;
  for (CameraSpec& camera : config_.data.cameras) camera.width_px = 32, camera.height_px = 24;
  const auto predictor = SaveAndLoad(TwoPlates());
  SceneInput input = PlateScene();
  input.robot = nullptr;
  const auto scene = Must(predictor->Lift(input));
  const auto& lifted = dynamic_cast<const LiftedScene&>(*scene);
  EXPECT_LE(lifted.newer_links.size(), 2 * 32 * 24u);
  EXPECT_GT(lifted.contacts->rule().objects().size(), 2 * 32 * 24u);
}

TEST_F(ExactMotion, AContactGuessNeedsARobotThatMovesExactly) {
  config_.network.contact_guess = true;
  const Robot robot = TwoPlates();
  Save(&robot);
  const Status learned =
      Predictor::Load(CheckpointDir(), {"tiny", DeviceRequest::kCpu, RobotMotion::kLearned})
          .status();
  EXPECT_EQ(learned.reason(), reason::CONFIG_INVALID);
  EXPECT_EQ(learned.field(), "network.contact_guess");
}

TEST_F(ExactMotion, ByTheRobotAloneNothingIsGuessed) {
  config_.network.contact_guess = true;
  Robot robot = TwoPlates();
  robot.links[2].part = LinkPart::kFinger;
  const auto predictor = SaveAndLoad(robot);
  SceneInput input = PlateScene();
  input.robot = nullptr;
  AddTile(&input);
  const auto rollout =
      Begin(predictor.get(), input, ActionsOf({{0, 0.02f}}), MotionSource::kRobotOnly);
  const std::vector<float> start = PositionsOf(*rollout);
  Advance(rollout.get(), 1);
  const std::vector<float> now = PositionsOf(*rollout);
  for (std::size_t i = 0; i < start.size(); i += 3) {
    if (start[i + 2] > 0.9f * kTileM) ExpectSame(&start[i], &now[i]);
  }
}

TEST_F(ExactMotion, EveryTensorFormEqualsTheSlowOne) {
  const Robot robot = TwoPlates();
  const torch::Tensor cloud = SheetTensors(500, 4, 3).positions_m;
  const std::span<const float> positions(cloud.const_data_ptr<float>(),
                                         static_cast<std::size_t>(cloud.numel()));
  std::vector<std::vector<Transform>> poses;
  for (const auto& joints : std::vector<std::vector<double>>{{0, 0}, {0.3, 0.1}, {0.3, -0.2}}) {
    poses.push_back(LinkPoses(robot, joints));
  }
  std::vector<std::int32_t> links(500);
  for (std::size_t i = 0; i < links.size(); ++i) links[i] = static_cast<std::int32_t>(i % 4) - 1;
  const CarriedParticles carried(links, cloud, poses, 1);
  std::vector<float> slow(positions.size());
  for (std::size_t time = 0; time < poses.size(); ++time) {
    CarryPoints(links, poses[1], poses[time], positions, slow);
    const CloudTensors before{cloud, at::ones({500, 4})};
    const CloudTensors placed =
        carried.PlaceInto({cloud, at::zeros({500, 4})}, before, static_cast<std::int64_t>(time));
    const torch::Tensor expected = at::tensor(slow, at::kFloat).reshape({-1, 3});
    EXPECT_TRUE(at::allclose(placed.positions_m, expected, 0, 1e-7));
    EXPECT_EQ(placed.features.sum().item<float>(), 4 * 375.f) << "attached ones keep features";
  }
  EXPECT_TRUE(CarriedParticles().empty());
  EXPECT_TRUE(
      CarriedParticles(std::vector<std::int32_t>(500, kNotAttached), cloud, poses, 1).empty());
}

TEST_F(ExactMotion, WithoutARobotTheSceneStaysToTheBit) {
  const auto predictor = SaveAndLoad(TwoPlates());
  SceneInput input = MakeScene();
  input.history_actions = {};
  input.observations[0] = input.observations[1];
  for (const MotionSource source : {MotionSource::kModel, MotionSource::kRobotOnly}) {
    const auto rollout = Begin(predictor.get(), input, {}, source);
    const std::vector<float> start = PositionsOf(*rollout);
    const Camera camera = *rollout->SceneCamera("left");
    FloatImage color, later;
    DepthImage depth, later_depth;
    ASSERT_TRUE(rollout->RenderRows(camera, 20, 24, RenderMode::kField, true, &color, &depth).ok());
    Advance(rollout.get(), 3);
    EXPECT_EQ(PositionsOf(*rollout), start);
    ASSERT_TRUE(
        rollout->RenderRows(camera, 20, 24, RenderMode::kField, true, &later, &later_depth).ok());
    EXPECT_EQ(color.pixels, later.pixels) << "features stay too";
    EXPECT_EQ(depth.pixels_m, later_depth.pixels_m);
  }
}

TEST_F(ExactMotion, TheOptionReplacesTheStoredSetting) {
  const Robot robot = PlatesOfBodies();
  Save(&robot);
  const auto exact = Load(), learned = Load(RobotMotion::kLearned);
  SceneInput input = MakeScene();
  const auto by_links = Begin(exact.get(), input, Joints(2, 1));
  const auto by_network = Begin(learned.get(), input, Joints(2, 1));
  EXPECT_EQ(PositionsOf(*by_links), PositionsOf(*by_network));
  Advance(by_links.get(), 1);
  Advance(by_network.get(), 1);
  EXPECT_NE(PositionsOf(*by_links), PositionsOf(*by_network));
}

TEST_F(ExactMotion, MetadataDescribesTheRobotOfTheFolder) {
  const ModelMetadata metadata = SaveAndLoad(PlatesOfBodies())->metadata();
  EXPECT_EQ(metadata.robot_model_name, "plates_of_bodies");
  EXPECT_TRUE(metadata.accepts_joint_positions);
  EXPECT_FALSE(metadata.accepts_kinematic_points);
  ASSERT_EQ(metadata.action_columns.size(), 16u);
  EXPECT_EQ(metadata.action_columns[0].name, "left_joint_1_rad");
  EXPECT_EQ(metadata.action_columns[15].unit, ActionUnit::kMeters);
  EXPECT_EQ(metadata.action_columns[15].max_value, sim::StateColumnsOf({}).back().max);
  EXPECT_EQ(metadata.action_columns[0].max_step_change,
            kTurningPlateRadPerS * metadata.step_duration_s);
  EXPECT_EQ(metadata.action_columns[15].max_step_change, 0);
}

TEST_F(ExactMotion, BarePointsAreRefused) {
  const auto predictor = SaveAndLoad(PlatesOfBodies());
  SceneInput input = MakeScene();
  input.history_actions = {ActionKind::kKinematicPoints, 2, 60, std::vector<float>(120)};
  const Status scene = predictor->Lift(input).status();
  EXPECT_EQ(scene.reason(), "ACTION_KIND");
  EXPECT_EQ(scene.field(), "history_actions.kind");
  EXPECT_THAT(scene.message(), HasSubstr("no rotations"));
}

TEST_F(ExactMotion, JointsWithoutAnyRobotFolderAreRefused) {
  Save(nullptr);
  const auto predictor = Load();
  EXPECT_FALSE(predictor->metadata().accepts_joint_positions);
  SceneInput input = MakeScene();
  EXPECT_TRUE(predictor->Lift(input).ok()) << "a scene may bring its own";
  input.robot = nullptr;
  const Status scene = predictor->Lift(input).status();
  EXPECT_EQ(scene.reason(), "ACTION_KIND");
  EXPECT_THAT(scene.message(), HasSubstr("robot folder"));
}

TEST_F(ExactMotion, OneSetOfWeightsServesEveryRobot) {
  const std::int64_t particles = config_.data.particle_count;
  config_ = TinyExactConfig();
  config_.data.particle_count = particles;
  const auto predictor = SaveAndLoad(TwoPlates());
  EXPECT_TRUE(predictor->metadata().kinematic_point_names.empty());
  SceneInput own = PlateScene();
  own.robot = nullptr;
  int moved = 0;
  const auto count_moved = [&](const float* a, const float* b) { moved += a[0] != b[0] ? 1 : 0; };
  const auto rollout = Begin(predictor.get(), own, ActionsOf({{0.1f, 0.02f}, {0.3f, 0.01f}}));
  const std::vector<float> start = PositionsOf(*rollout);
  Advance(rollout.get(), 2);
  ExpectCarried(start, PositionsOf(*rollout), 0.3f, 0.01f, count_moved);
  EXPECT_GT(moved, 100);

  // Sixteen columns instead of two, another order of plates.
  SceneInput other = MakeScene();
  other.history_actions = ActionsOf(Rows(2, std::vector<float>(sim::kStateColumns, 0.f)));
  other.robot = std::make_shared<const Robot>(PlatesOfBodies());
  Rows rows(1, std::vector<float>(sim::kStateColumns, 0.f));
  rows[0][0] = 0.2f;
  rows[0][7] = 0.03f;
  const auto of_other = Begin(predictor.get(), other, ActionsOf(rows));
  EXPECT_EQ(PositionsOf(*of_other), start);
  Advance(of_other.get(), 1);
  ExpectCarried(start, PositionsOf(*of_other), 0.2f, 0.03f, count_moved);
}

TEST_F(ExactMotion, ARobotWithFewerPointsThanATokenHasNeighboursIsRefused) {
  config_ = TinyExactConfig();
  config_.graph.scope = GraphScope::kPerTime;
  const auto predictor = SaveAndLoad(TwoPlates());
  SceneInput input = PlateScene();
  Robot bare = TwoPlates();
  bare.surface.positions_m.resize(3);
  bare.surface.normals.resize(3);
  bare.surface.links.resize(3);
  input.robot = std::make_shared<const Robot>(bare);
  EXPECT_EQ(predictor->Begin(*predictor->Lift(input), ActionsOf({{0, 0}})).status().field(),
            "robot.surface");
}

TEST_F(ExactMotion, ARobotThatTheModelWasNotTrainedWithIsReported) {
  const auto predictor = SaveAndLoad(TwoPlates());
  const auto findings = [&](const Robot& robot) {
    SceneInput input = PlateScene();
    input.robot = std::make_shared<const Robot>(robot);
    const auto scene = *predictor->Lift(input);
    std::string found;
    for (const Finding& finding : scene->report().findings) {
      if (finding.reason == "ROBOT_NOT_OF_TRAINING")
        found += finding.field + ": " + finding.message;
    }
    return found;
  };
  Robot robot = TwoPlates();
  robot.name = "two_plates_again";
  EXPECT_EQ(findings(robot), "");
  robot.links[2].joint.parent_from_joint.translation_m[0] += 0.1;
  EXPECT_THAT(findings(robot), AllOf(HasSubstr("robot: "), HasSubstr("'two_plates'"),
                                     HasSubstr("'two_plates_again'")));
}

TEST_F(ExactMotion, AWorkspaceOfAnotherSizeThanTheModelsIsReported) {
  const auto predictor = SaveAndLoad(TwoPlates());
  const Box of_model = predictor->metadata().workspace;
  const auto findings = [&](const std::optional<Box>& workspace, bool has_robot = true) {
    SceneInput input = PlateScene();
    input.workspace = workspace;
    if (!has_robot) input.history_actions = {}, input.robot = nullptr;
    const auto scene = Must(predictor->Lift(input));
    std::string found;
    for (const Finding& finding : scene->report().findings) {
      if (finding.reason == "WORKSPACE_NOT_OF_TRAINING")
        found += finding.field + ": " + finding.message;
    }
    return found;
  };
  const Box doubled{{2 * of_model.min_m[0], 2 * of_model.min_m[1], of_model.min_m[2]},
                    {2 * of_model.max_m[0], 2 * of_model.max_m[1], of_model.max_m[2]}};
  Box elsewhere = of_model, flatter = of_model;
  elsewhere.min_m[0] -= 0.1, elsewhere.max_m[0] -= 0.1;
  flatter.max_m[2] = 0.4;  // the longest side counts
  EXPECT_EQ(findings(std::nullopt), "");
  EXPECT_EQ(findings(of_model), "");
  EXPECT_EQ(findings(elsewhere), "");
  EXPECT_EQ(findings(flatter), "");
  EXPECT_THAT(findings(doubled),
              AllOf(HasSubstr("workspace: "), HasSubstr("is 3 m, of the model's 1.5 m"),
                    HasSubstr("0.5 times as large"), HasSubstr("the middle of the table")));
  EXPECT_EQ(findings(doubled, /*has_robot=*/false), "");  // nothing asks the network
}

TEST_F(ExactMotion, ARobotThatIsNotWhereItsJointsSayIsReported) {
  const auto predictor = SaveAndLoad(PlatesOfBodies());
  const auto robot_findings = [&](double height_m) {
    Robot robot = TwoPlates();
    robot.links[0].joint.parent_from_joint.translation_m[2] = height_m;
    SceneInput input = PlateScene();
    input.robot = std::make_shared<const Robot>(robot);
    const auto scene = *predictor->Lift(input);
    std::vector<Finding> findings = scene->report().findings;
    std::erase_if(findings,
                  [](const Finding& f) { return f.reason != "ROBOT_NOT_WHERE_JOINTS_SAY"; });
    return findings;
  };
  EXPECT_TRUE(robot_findings(0).empty());
  const std::vector<Finding> raised = robot_findings(0.05);
  ASSERT_FALSE(raised.empty());
  for (const Finding& finding : raised) {
    EXPECT_TRUE(finding.field.starts_with("observations[1].views[") ||
                finding.field == "history_actions")
        << finding.field;
  }
}

TEST_F(ExactMotion, LimitsAreThoseOfTheScenesRobotWithTwoPercentBeyond) {
  const auto predictor = SaveAndLoad(PlatesOfBodies());
  SceneInput input = PlateScene();
  input.history_actions.values[2] = 3.1f;  // of -3 to 3
  EXPECT_TRUE(predictor->Lift(input).ok());
  input.history_actions.values[2] = 3.13f;
  const Status scene = predictor->Lift(input).status();
  EXPECT_EQ(scene.reason(), "ACTION_OUT_OF_RANGE");
  EXPECT_EQ(scene.field(), "history_actions.values[2]");
  EXPECT_THAT(scene.message(), HasSubstr("turn_rad from -3 to 3"));
  input.history_actions = Joints(0, 2);
  EXPECT_EQ(predictor->Lift(input).status().reason(), "ACTION_SHAPE") << "columns do not fit";
}

TEST_F(ExactMotion, ABrokenRobotIsRefused) {
  const auto predictor = SaveAndLoad(PlatesOfBodies());
  SceneInput input = PlateScene();
  Robot broken = TwoPlates();
  broken.links[2].parent = 2;
  input.robot = std::make_shared<const Robot>(broken);
  const auto scene = predictor->Lift(input);
  ASSERT_FALSE(scene.ok());
  EXPECT_THAT(scene.status().field(), HasSubstr("robot.links[2]"));
}

TEST_F(ExactMotion, WhetherStepsAskTheNetworkIsKnownBeforehand) {
  const auto predictor = SaveAndLoad(TwoPlates());
  SceneInput without = MakeScene();
  without.history_actions = {};
  for (const SceneInput& input : {PlateScene(), without}) {
    const ActionKind history = input.history_actions.kind;
    const bool has_robot = history != ActionKind::kNone;
    const ActionSequence actions = has_robot ? ActionsOf({{0.1f, 0}}) : ActionSequence{};
    for (const MotionSource source : {MotionSource::kModel, MotionSource::kRobotOnly}) {
      const bool asks = has_robot && source == MotionSource::kModel;
      EXPECT_EQ(predictor->AsksNetwork(history, source), asks);
      EXPECT_EQ(Begin(predictor.get(), input, actions, source)->asks_network(), asks);
    }
  }
}

}  // namespace
}  // namespace interlacer::testing
