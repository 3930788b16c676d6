#include "data/sim/episode_export.h"

#include <cstdio>
#include <span>

#include "common/image_codec.h"
#include "common/json.h"
#include "common/npy.h"
#include "common/sha256.h"
#include "common/version.h"
#include "data/episode_writer.h"
#include "data/manifest.h"
#include "robots/robot_folder.h"

namespace interlacer::sim {
namespace {

constexpr char kFixedCreatedTime[] = "1970-01-01T00:00:00Z";
constexpr char kMaskPattern[] = "truth/mask/%s/%%06d.png";
constexpr int kPoseNumbers = 7;

constexpr char kRobotFolder[] = "robot";

MotionTable DescribeStates(const RobotSetup& setup) {
  MotionTable table;
  table.kind = ActionKind::kJointPositions;
  for (const StateColumn& column : StateColumnsOf(setup)) {
    table.columns.push_back({column.name, column.unit, column.min, column.max});
  }
  return table;
}

EpisodeManifest DescribeEpisode(const SimulatedEpisode& episode, const std::string& robot_sha256,
                                const std::string& command) {
  const ArmModel& model = *episode.setup.model;
  EpisodeManifest manifest;
  manifest.episode_id = EpisodeId(episode);
  manifest.kind = EpisodeKind::kManipulation;
  manifest.created_time = kFixedCreatedTime;
  manifest.source.kind = "simulate";
  manifest.source.tool = std::string("interlacer ") + kVersion;
  manifest.source.command = command;
  manifest.source.seed = episode.seed;
  manifest.source.license = "MIT";
  manifest.source.attribution =
      std::string(model.maker_and_name) + " model and textures: robosuite assets";
  manifest.task_name = episode.task;
  const char* const still_text =
      episode.setup.arm_count == 1 ? "the arm stands still" : "both arms stand still";
  manifest.task_text = episode.still ? still_text : episode.task_text;
  manifest.step_count = static_cast<int>(episode.steps.size());
  manifest.step_duration_s = episode.step_duration_s;
  manifest.world_frame_name = "table_center";
  manifest.workspace = episode.workspace;
  for (const SimulatedCamera& named : episode.cameras) {
    EpisodeCamera camera;
    camera.name = named.name;
    camera.camera = named.camera;
    camera.depth_unit_m = episode.steps.front().views.front().depth.unit_m;
    camera.near_m = episode.near_m;
    camera.far_m = episode.far_m;
    manifest.cameras.push_back(camera);
  }
  RobotInfo robot;
  robot.model = model.robot_name;
  robot.mjcf_sha256 = Sha256Hex(episode.mjcf);
  for (int arm = 0; arm < episode.setup.arm_count; ++arm) {
    robot.arms.push_back({std::string(kArmNames[arm]), WorldFromBase(model, arm)});
  }
  robot.folder = kRobotFolder;
  robot.folder_sha256 = robot_sha256;
  manifest.robot = robot;
  manifest.actions = DescribeStates(episode.setup);
  manifest.states = DescribeStates(episode.setup);
  return manifest;
}

NumberTable TableOf(const SimulatedEpisode& episode, ArmStates SimulatedStep::*state) {
  NumberTable table;
  table.row_count = static_cast<std::int64_t>(episode.steps.size());
  table.column_count = episode.setup.column_count();
  for (const SimulatedStep& step : episode.steps) {
    table.values.insert(table.values.end(), (step.*state).begin(), (step.*state).end());
  }
  return table;
}

std::span<const std::uint8_t> Bytes(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

Status WriteFrames(const SimulatedEpisode& episode, EpisodeWriter& writer) {
  for (std::size_t s = 0; s < episode.steps.size(); ++s) {
    const int step = static_cast<int>(s);
    for (std::size_t c = 0; c < episode.cameras.size(); ++c) {
      const SimulatedView& view = episode.steps[s].views[c];
      INTERLACER_RETURN_IF_ERROR(
          writer.WriteFrame(step, static_cast<int>(c), view.color, view.depth));
      DepthImage16 labels = {view.color.width_px, view.color.height_px, 1, {}};
      labels.pixels.assign(view.mask.begin(), view.mask.end());
      char pattern[128];
      std::snprintf(pattern, sizeof pattern, kMaskPattern, episode.cameras[c].name.c_str());
      INTERLACER_RETURN_IF_ERROR(writer.WriteExtra(FramePath(pattern, step), EncodePng(labels)));
    }
  }
  return Status::Ok();
}

Status WriteTruth(const SimulatedEpisode& episode, EpisodeWriter& writer) {
  std::vector<double> poses;
  std::vector<std::uint8_t> contacts;
  for (const SimulatedStep& step : episode.steps) {
    for (const Transform& pose : step.world_from_object) {
      poses.insert(poses.end(), pose.translation_m.begin(), pose.translation_m.end());
      poses.insert(poses.end(), pose.rotation_xyzw.begin(), pose.rotation_xyzw.end());
    }
    contacts.insert(contacts.end(), step.arm_touches_object.begin(), step.arm_touches_object.end());
  }
  const auto step_count = static_cast<std::int64_t>(episode.steps.size());
  const auto object_count = static_cast<std::int64_t>(episode.object_names.size());
  const std::int64_t pose_shape[] = {step_count, object_count, kPoseNumbers};
  INTERLACER_RETURN_IF_ERROR(
      writer.WriteExtra("truth/object_poses.npy", EncodeNpy(poses, pose_shape)));
  const std::int64_t contact_shape[] = {step_count, episode.setup.arm_count, object_count};
  INTERLACER_RETURN_IF_ERROR(
      writer.WriteExtra("truth/contacts.npy", EncodeNpy(contacts, contact_shape)));

  nlohmann::ordered_json objects;
  objects["objects"] = episode.object_names;
  objects["mask_labels"] = {{"room", kMaskRoom},
                            {"table", kMaskTable},
                            {"left_arm", kMaskLeftArm},
                            {"right_arm", kMaskRightArm},
                            {"first_object", kMaskFirstObject}};
  INTERLACER_RETURN_IF_ERROR(
      writer.WriteExtra("truth/objects.json", Bytes(objects.dump(2) + "\n")));
  return writer.WriteExtra("truth/scene.xml", Bytes(episode.mjcf));
}

}  // namespace

std::string EpisodeId(const SimulatedEpisode& episode) {
  char number[32];
  std::snprintf(number, sizeof number, "_%06llu", static_cast<unsigned long long>(episode.seed));
  const std::string split = episode.split == Split::kTrain ? "" : "_" + NameOf(episode.split);
  const std::string motion =
      episode.motion_seed ? "_motion_" + std::to_string(*episode.motion_seed) : "";
  std::string robot;
  if (episode.setup.model != &KukaIiwa()) robot = "_" + std::string(episode.setup.model->name);
  if (episode.setup.arm_count == 1) robot += "_one_arm";
  return episode.task + robot + split + number + motion + (episode.still ? "_still" : "");
}

Status WriteSimulatedEpisode(const SimulatedEpisode& episode, const std::string& episode_dir,
                             const EpisodeExportOptions& options) {
  INTERLACER_ASSIGN_OR_RETURN(const EncodedRobot robot, EncodeRobot(episode.robot));
  INTERLACER_ASSIGN_OR_RETURN(
      const std::unique_ptr<EpisodeWriter> writer,
      EpisodeWriter::Create(episode_dir, DescribeEpisode(episode, robot.sha256, options.command),
                            {.overwrite = options.overwrite}));
  for (const RobotFile& file : robot.files) {
    INTERLACER_RETURN_IF_ERROR(
        writer->WriteExtra(std::string(kRobotFolder) + "/" + file.name, file.bytes));
  }
  INTERLACER_RETURN_IF_ERROR(WriteFrames(episode, *writer));
  INTERLACER_RETURN_IF_ERROR(writer->WriteActions(TableOf(episode, &SimulatedStep::commanded)));
  INTERLACER_RETURN_IF_ERROR(writer->WriteStates(TableOf(episode, &SimulatedStep::measured)));
  INTERLACER_RETURN_IF_ERROR(WriteTruth(episode, *writer));
  return writer->Finish();
}

}  // namespace interlacer::sim
