#pragma once

/// The synthetic scene with the truth of a simulation: the block slides by 2 cm a step, as an
/// object that nobody is seen to move, or as the only link of a robot.

#include <string>
#include <vector>

#include "common/check.h"
#include "common/image_codec.h"
#include "common/npy.h"
#include "data/episode_reader.h"
#include "data/episode_writer.h"
#include "robots/robot.h"
#include "tests/data/synthetic_scene.h"

namespace interlacer::testing {

inline constexpr double kBlockStepM = 0.02;

/// A root without surface and the block on a slide along x; column "slide_m".
inline Robot SlidingBlock() {
  Robot robot;
  robot.name = "block";
  robot.source = "made by a test";
  RobotLink root{.name = "table"};
  RobotLink block{.name = "block", .parent = 0};
  block.joint = {.name = "slide",
                 .type = JointType::kPrismatic,
                 .axis = {1, 0, 0},
                 .limits = JointLimits{0, 1},
                 .mimic = {}};
  robot.links = {root, block};
  robot.columns = {1};
  const auto add = [&](float x, float y, float z, Vec3f normal) {
    robot.surface.positions_m.push_back({x, y, z});
    robot.surface.normals.push_back(normal);
    robot.surface.links.push_back(1);
  };
  for (int a = -10; a <= 10; ++a) {
    for (int b = -10; b <= 10; ++b) add(0.01f * a, 0.01f * b, 0.15f, {0, 0, 1});
    for (int z = 2; z <= 15; ++z) {
      for (const float side : {-0.1f, 0.1f}) {
        add(side, 0.01f * a, 0.01f * z, {side > 0 ? 1.f : -1.f, 0, 0});
        add(0.01f * a, side, 0.01f * z, {0, side > 0 ? 1.f : -1.f, 0});
      }
    }
  }
  return robot;
}

struct MovingBlock {
  bool is_robot = false;
  /// Objects beside the block, which no camera sees.
  std::vector<std::string> hidden_objects{};
};

/// 4 steps; an arm touches the first object at step 2.
inline EpisodeReader WriteMovingBlock(const std::string& dir, const MovingBlock& what) {
  EpisodeManifest manifest = SyntheticManifest();
  const MotionTable slide{"", ActionKind::kJointPositions, {TableColumn{"slide_m", "m", 0, 1}}};
  manifest.actions = manifest.states = std::nullopt;
  if (what.is_robot) manifest.actions = manifest.states = slide;
  auto writer = EpisodeWriter::Create(dir, manifest);
  INTERLACER_CHECK(writer.ok(), writer.status().ToString());
  const auto check = [](const Status& status) { INTERLACER_CHECK(status.ok(), status.ToString()); };
  std::vector<std::string> objects = what.hidden_objects;
  if (!what.is_robot) objects.insert(objects.begin(), "block");
  NumberTable rows{kSyntheticStepCount, 1, {}};
  std::vector<double> poses;
  std::vector<std::uint8_t> contacts;
  for (int step = 0; step < kSyntheticStepCount; ++step) {
    const double x_m = kBlockStepM * step;
    rows.values.push_back(x_m);
    for (std::size_t k = 0; k < objects.size(); ++k) {
      const bool is_block = objects[k] == "block";
      poses.insert(poses.end(), {is_block ? x_m : 5, 0, 0, 0, 0, 0, 1});
    }
    for (int arm = 0; arm < 2; ++arm) {
      for (std::size_t k = 0; k < objects.size(); ++k) {
        contacts.push_back(step == 2 && arm == 1 && k == 0);
      }
    }
    for (int camera = 0; camera < 2; ++camera) {
      const RgbdView view = SyntheticView(SyntheticCamera(camera == 0), x_m);
      check((*writer)->WriteFrame(step, camera, view.color, ToIntegers(view.depth)));
      DepthImage16 mask{view.color.width_px, view.color.height_px, 1, {}};
      for (std::size_t i = 0; i < view.depth.pixels_m.size(); ++i) {
        const bool is_block = view.color.pixels[3 * i + 1] == 200;
        mask.pixels.push_back(is_block ? (what.is_robot ? 2 : 4) : 1);
      }
      check((*writer)->WriteExtra(std::string("truth/mask/") + (camera == 0 ? "left" : "right") +
                                      "/00000" + std::to_string(step) + ".png",
                                  EncodePng(mask)));
    }
  }
  if (what.is_robot) {
    check((*writer)->WriteActions(rows));
    check((*writer)->WriteStates(rows));
  }
  const auto object_count = static_cast<std::int64_t>(objects.size());
  const std::int64_t pose_shape[] = {kSyntheticStepCount, object_count, 7};
  const std::int64_t contact_shape[] = {kSyntheticStepCount, 2, object_count};
  check((*writer)->WriteExtra("truth/object_poses.npy",
                              EncodeNpy(std::span<const double>(poses), pose_shape)));
  check((*writer)->WriteExtra("truth/contacts.npy",
                              EncodeNpy(std::span<const std::uint8_t>(contacts), contact_shape)));
  std::string names;
  for (const std::string& name : objects) names += (names.empty() ? "\"" : ", \"") + name + "\"";
  const std::string text = "{\"objects\": [" + names +
                           "], \"mask_labels\": {\"left_arm\": 2, \"right_arm\": 3, "
                           "\"first_object\": 4}}";
  check((*writer)->WriteExtra("truth/objects.json",
                              std::vector<std::uint8_t>(text.begin(), text.end())));
  check((*writer)->Finish());
  StatusOr<EpisodeReader> reader = EpisodeReader::Open(dir);
  INTERLACER_CHECK(reader.ok(), reader.status().ToString());
  return *std::move(reader);
}

}  // namespace interlacer::testing
