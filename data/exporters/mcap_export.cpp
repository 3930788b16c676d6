#include "data/exporters/mcap_export.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "common/camera_json.h"
#include "common/duration.h"
#include "common/file_io.h"
#include "common/image_codec.h"
#include "common/json.h"
#include "common/npy.h"
#include "common/transform_json.h"
#include "data/bags/messages.h"
#include "data/episode_joints.h"
#include "data/episode_reader.h"
#include "data/episode_record.h"
#include "data/exporters/recording_file.h"
#include "data/manifest.h"
#include "data/point_cloud_io.h"
#include "robots/forward_kinematics.h"
#include "robots/joint_values.h"

namespace interlacer {
namespace {

/// Joints by name: those of the robot, without one the names of the columns.
JointsMessage JointsOf(const EpisodeReader& episode, const MotionTable& motion,
                       const NumberTable& table, int step, std::int64_t time_ns) {
  JointsMessage joints;
  joints.stamp_ns = time_ns;
  const double* const row = table.values.data() + step * table.column_count;
  std::vector<std::string> names;
  for (const TableColumn& column : motion.columns) names.push_back(column.name);
  const Robot* const robot = episode.robot().get();
  const auto source =
      robot == nullptr ? StatusOr<std::vector<int>>(Internal("")) : MatchColumns(*robot, names);
  if (!source.ok()) {
    joints.names = names;
    joints.positions.assign(row, row + names.size());
    return joints;
  }
  for (std::size_t column = 0; column < robot->columns.size(); ++column) {
    joints.names.push_back(
        robot->links[static_cast<std::size_t>(robot->columns[column])].joint.name);
    joints.positions.push_back(row[(*source)[column]]);
  }
  return joints;
}

Status WriteJoints(const EpisodeReader& episode, int step, std::int64_t time_ns,
                   RecordingFile* file) {
  const EpisodeManifest& manifest = episode.manifest();
  if (manifest.states && manifest.states->kind == ActionKind::kJointPositions) {
    INTERLACER_RETURN_IF_ERROR(file->WriteJoints(
        "/joint_states", JointsOf(episode, *manifest.states, episode.states(), step, time_ns)));
  }
  if (manifest.actions && manifest.actions->kind == ActionKind::kJointPositions) {
    INTERLACER_RETURN_IF_ERROR(file->WriteJoints(
        "/joint_commands", JointsOf(episode, *manifest.actions, episode.actions(), step, time_ns)));
  }
  return Status::Ok();
}

Status WriteTransforms(const EpisodeReader& episode, const std::string& world, int step,
                       RecordingFile* file) {
  std::vector<TransformMessage> transforms;
  for (int camera = 0; camera < episode.camera_count(); ++camera) {
    const std::string& name = episode.manifest().cameras[static_cast<std::size_t>(camera)].name;
    transforms.push_back({episode.CaptureTimeNs(step, camera), world, OpticalFrameOf(name),
                          episode.CameraAt(step, camera).world_from_camera});
  }
  const std::int64_t time_ns = episode.CaptureTimeNs(step, 0);
  const auto joints = MeasuredJoints(episode, step);
  if (joints.ok()) {
    const std::vector<Transform> links = LinkPoses(*episode.robot(), *joints);
    for (std::size_t link = 0; link < links.size(); ++link) {
      const std::string& name = episode.robot()->links[link].name;
      // A frame has one place: those of the world and of cameras hold.
      const bool is_known = name == world || std::any_of(transforms.begin(), transforms.end(),
                                                         [&](const auto& known) {
                                                           return known.child_frame == name;
                                                         });
      if (!is_known) transforms.push_back({time_ns, world, name, links[link]});
    }
  }
  return file->WriteTransforms(time_ns, transforms);
}

std::string StepFile(const std::string& folder, int step, const char* suffix) {
  char name[32];
  std::snprintf(name, sizeof name, "/step_%03d", step);
  return folder + name + suffix;
}

std::vector<std::string> FoldersIn(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    if (entry.is_directory(error)) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Status WriteParticles(const std::string& folder, int step, std::int64_t time_ns,
                      RecordingFile* file) {
  const std::string path = StepFile(folder, step, ".npy");
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return Status::Ok();
  INTERLACER_ASSIGN_OR_RETURN(const auto bytes, ReadFileBytes(path));
  auto array = ParseNpy(bytes);
  if (!array.ok()) return array.status().WithField(path);
  if (array->shape.size() != 2 || array->shape[1] != 3) {
    return Mismatch(reason::SHAPE_MISMATCH, path, "[n,3]", "another shape");
  }
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<double> values, NpyToDoubles(*array));
  const std::vector<float> positions_m(values.begin(), values.end());
  // Colours are in the point cloud beside, which a build without its library lacks.
  const auto cloud = ReadPointCloud(StepFile(folder, step, ".ply"));
  const bool has_colors = cloud.ok() && cloud->colors_rgb8.size() == positions_m.size();
  return file->WritePoints("/prediction/particles", "world", time_ns, positions_m,
                           has_colors ? std::span<const std::uint8_t>(cloud->colors_rgb8)
                                      : std::span<const std::uint8_t>());
}

struct PredictedCamera {
  std::string name;
  Camera camera;
};

/// Nothing of a prediction that does not say them.
StatusOr<std::vector<PredictedCamera>> CamerasOf(const JsonObject& prediction) {
  std::vector<PredictedCamera> cameras;
  if (!prediction.Has("cameras")) return cameras;
  INTERLACER_ASSIGN_OR_RETURN(const auto items, prediction.GetObjects("cameras"));
  for (const JsonObject& item : items) {
    PredictedCamera& made = cameras.emplace_back();
    INTERLACER_ASSIGN_OR_RETURN(made.name, item.Get<std::string>("name"));
    INTERLACER_RETURN_IF_ERROR(ReadPinhole(item, &made.camera));
    INTERLACER_ASSIGN_OR_RETURN(const JsonObject pose, item.GetObject("world_from_camera"));
    INTERLACER_ASSIGN_OR_RETURN(made.camera.world_from_camera, TransformFromJson(pose));
  }
  return cameras;
}

/// They stand still: a moving camera's prediction is seen from where it was at the start.
Status WriteCameras(const std::vector<PredictedCamera>& cameras, std::int64_t time_ns,
                    RecordingFile* file) {
  std::vector<TransformMessage> transforms;
  for (const auto& [name, camera] : cameras) {
    INTERLACER_RETURN_IF_ERROR(file->WriteCalibration(
        "/" + name + "/calibration", CameraInfoOf(time_ns, OpticalFrameOf(name), camera)));
    transforms.push_back({time_ns, "world", OpticalFrameOf(name), camera.world_from_camera});
  }
  return transforms.empty() ? Status::Ok() : file->WriteTransforms(time_ns, transforms);
}

/// Paths of the files whose content is in messages.
std::set<std::string> FilesInMessages(const EpisodeReader& episode) {
  const EpisodeManifest& manifest = episode.manifest();
  std::set<std::string> paths = {manifest.capture_times_file};
  for (const auto& table : {manifest.states, manifest.actions}) {
    if (table && table->kind == ActionKind::kJointPositions) paths.insert(table->file);
  }
  for (const EpisodeCamera& camera : manifest.cameras) {
    paths.insert(camera.poses_file);
    for (int step = 0; step < episode.step_count(); ++step) {
      paths.insert(FramePath(camera.color_pattern, step));
      paths.insert(FramePath(camera.depth_pattern, step));
    }
  }
  return paths;
}

/// The record of the episode and the files beside its messages; the paths of those left out.
StatusOr<std::vector<std::string>> WriteBesideMessages(const EpisodeReader& episode,
                                                       RecordingFile* file) {
  EpisodeRecord record{episode.manifest()};
  std::vector<std::string> left_out;
  const std::set<std::string> in_messages = FilesInMessages(episode);
  for (const auto& [path, hash] : episode.ListedFiles()) {
    if (IsAttachedFile(path)) {
      record.files.emplace(path, hash);
    } else if (!in_messages.contains(path)) {
      left_out.push_back(path);
    }
  }
  INTERLACER_RETURN_IF_ERROR(file->WriteMetadata({kEpisodeRecordName, MakeEpisodeRecord(record)}));
  for (const auto& [path, hash] : record.files) {
    INTERLACER_ASSIGN_OR_RETURN(const auto bytes, episode.ReadFile(path));
    INTERLACER_RETURN_IF_ERROR(file->WriteAttachment(path, bytes));
  }
  return left_out;
}

}  // namespace

StatusOr<std::vector<std::string>> ExportEpisodeAsMcap(const std::string& episode_dir,
                                                       const std::string& path,
                                                       const McapExportOptions& options) {
  INTERLACER_ASSIGN_OR_RETURN(const EpisodeReader episode, EpisodeReader::Open(episode_dir));
  INTERLACER_ASSIGN_OR_RETURN(RecordingFile file, RecordingFile::Create(path, options.profile));
  INTERLACER_ASSIGN_OR_RETURN(std::vector<std::string> left_out,
                              WriteBesideMessages(episode, &file));
  const std::string world = WorldFrameOf(episode.manifest());
  for (int step = 0; step < episode.step_count(); ++step) {
    if (options.stop.stop_requested()) return Cancelled("export stopped");
    INTERLACER_RETURN_IF_ERROR(WriteTransforms(episode, world, step, &file));
    INTERLACER_RETURN_IF_ERROR(WriteJoints(episode, step, episode.CaptureTimeNs(step, 0), &file));
    for (int camera = 0; camera < episode.camera_count(); ++camera) {
      const std::string& name = episode.manifest().cameras[static_cast<std::size_t>(camera)].name;
      const std::string frame = OpticalFrameOf(name);
      const std::int64_t time_ns = episode.CaptureTimeNs(step, camera);
      INTERLACER_RETURN_IF_ERROR(
          file.WriteCalibration("/" + name + "/calibration",
                                CameraInfoOf(time_ns, frame, episode.CameraAt(step, camera))));
      INTERLACER_ASSIGN_OR_RETURN(const RgbImage color, episode.ReadColor(step, camera));
      INTERLACER_RETURN_IF_ERROR(file.WriteColor("/" + name + "/color", frame, time_ns, color));
      INTERLACER_ASSIGN_OR_RETURN(const DepthImage16 depth, episode.ReadRawDepth(step, camera));
      INTERLACER_RETURN_IF_ERROR(file.WriteDepth("/" + name + "/depth", frame, time_ns, depth));
    }
    if (options.on_step) options.on_step(step + 1, episode.step_count());
  }
  INTERLACER_RETURN_IF_ERROR(file.Finish());
  return left_out;
}

Status ExportPredictionAsMcap(const std::string& prediction_dir, const std::string& path,
                              const McapExportOptions& options) {
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json document,
                              ReadJsonFile(prediction_dir + "/prediction.json"));
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject prediction, JsonObject::Make(document));
  INTERLACER_ASSIGN_OR_RETURN(const int step_count, prediction.Get<int>("step_count"));
  INTERLACER_ASSIGN_OR_RETURN(const double step_duration_s,
                              prediction.Get<double>("step_duration_s"));
  constexpr int kMostSteps = 999;  // of the names of its files
  if (step_count < 0 || step_count > kMostSteps || !(step_duration_s > 0)) {
    return Mismatch(reason::SCHEMA_INVALID, "prediction.json",
                    "step_count 0 to 999 and step_duration_s above 0",
                    std::to_string(step_count) + " and " + std::to_string(step_duration_s));
  }
  INTERLACER_ASSIGN_OR_RETURN(const auto cameras, CamerasOf(prediction));
  INTERLACER_ASSIGN_OR_RETURN(RecordingFile file, RecordingFile::Create(path, options.profile));
  for (int step = 0; step <= step_count; ++step) {
    if (options.stop.stop_requested()) return Cancelled("export stopped");
    const std::int64_t time_ns = ToNanoseconds(step * step_duration_s);
    INTERLACER_RETURN_IF_ERROR(WriteCameras(cameras, time_ns, &file));
    INTERLACER_RETURN_IF_ERROR(WriteParticles(prediction_dir + "/particles", step, time_ns, &file));
    for (const auto& [folder, topic] :
         {std::pair("/views", "/prediction/"), std::pair("/truth", "/truth/")}) {
      for (const std::string& camera : FoldersIn(prediction_dir + folder)) {
        const std::string picture = StepFile(prediction_dir + folder + "/" + camera, step, ".png");
        std::error_code error;
        if (!std::filesystem::exists(picture, error)) continue;
        INTERLACER_ASSIGN_OR_RETURN(const RgbImage image, ReadRgbFile(picture));
        INTERLACER_RETURN_IF_ERROR(
            file.WriteColor(topic + camera, OpticalFrameOf(camera), time_ns, image));
      }
    }
    if (options.on_step) options.on_step(step + 1, step_count + 1);
  }
  return file.Finish();
}

}  // namespace interlacer
