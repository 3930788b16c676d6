#include "data/importers/redwood.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "common/file_io.h"
#include "common/json.h"
#include "common/transforms.h"
#include "data/importers/frame_pairs.h"
#include "data/importers/intrinsics.h"
#include "data/importers/pose_keys.h"
#include "data/importers/source_files.h"
#include "data/importers/write_recording.h"
#include "data/number_lines.h"

namespace interlacer {
namespace {

namespace fs = std::filesystem;

constexpr double kRedwoodDepthUnitM = 0.001;

StatusOr<std::string> TrajectoryPath(const ImportOptions& options) {
  if (!options.trajectory.empty()) return SourcePath(options.source_dir, options.trajectory);
  return FirstOf(options.source_dir,
                 {"trajectory.log", "camera_trajectory.log", "trajectory.json",
                  "camera_trajectory.json", "scene/trajectory.log"},
                 "trajectory", "--trajectory");
}

StatusOr<FramePairs> FindImages(const ImportOptions& options) {
  std::string color = options.color_folder, depth = options.depth_folder;
  if (color.empty()) {
    INTERLACER_ASSIGN_OR_RETURN(color, FirstOf(options.source_dir, {"color", "image", "rgb"},
                                               "folder of colour images", "--color-folder"));
  } else {
    color = SourcePath(options.source_dir, color);
  }
  if (depth.empty()) {
    INTERLACER_ASSIGN_OR_RETURN(
        depth, FirstOf(options.source_dir, {"depth"}, "folder of depth images", "--depth-folder"));
  } else {
    depth = SourcePath(options.source_dir, depth);
  }
  return PairImages(color, depth);
}

void AddFindings(const FramePairs& images, const PosedPairs& posed, ImportedRecording* recording) {
  if (!images.unpaired.empty()) {
    recording->findings.push_back(
        {"FRAME_UNPAIRED",
         std::to_string(images.unpaired.size()) +
             " images without a partner of their number: " + AbbreviatedList(images.unpaired),
         ""});
  }
  if (posed.is_by_position) {
    recording->findings.push_back(
        {"POSES_BY_POSITION",
         "the numbers in the names have gaps and the trajectory has none: pose k went to image k",
         ""});
  }
}

/// Keys of poses and numbers of images do not begin together.
Finding ShiftedPoses(const PosedPairs& posed, int first_key) {
  return {"POSES_SHIFTED",
          "the trajectory counts from " + std::to_string(first_key) + " and the images from " +
              std::to_string(posed.frames.front().pair->number) +
              ", as many of both without a gap: the first pose went to the first image",
          ""};
}

StatusOr<RedwoodTrajectory> ReadTrajectory(const std::string& path) {
  INTERLACER_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  if (path.ends_with(".json")) return ParseOpen3DTrajectory(text, path);
  return ParseRedwoodLog(text, path);
}

}  // namespace

StatusOr<RedwoodTrajectory> ParseRedwoodLog(std::string_view text, const std::string& file) {
  constexpr std::size_t kBlockLines = 5;
  RedwoodTrajectory trajectory;
  INTERLACER_ASSIGN_OR_RETURN(std::vector<TextLine> lines, SplitLines(text, file));
  std::erase_if(lines, [](const TextLine& line) { return line.text.front() == '#'; });
  for (std::size_t i = 0; i < lines.size(); i += kBlockLines) {
    const std::string field = file + ":" + std::to_string(lines[i].number);
    INTERLACER_ASSIGN_OR_RETURN(const auto header, ParseNumbers(lines[i].text, field));
    if (header.size() != 3 || header[0] < 0 || header[0] != std::floor(header[0]) ||
        header[0] > 1e6) {
      return Mismatch(reason::SCHEMA_INVALID, field, "a header of three integers", lines[i].text);
    }
    const int frame = static_cast<int>(header[0]);
    INTERLACER_ASSIGN_OR_RETURN(const auto pose, ParseMatrixLines(lines, i + 1, file));
    if (!pose) {
      ++trajectory.lost_count;
    } else if (!trajectory.world_from_camera.emplace(frame, *pose).second) {
      return Mismatch(reason::SCHEMA_INVALID, field, "each frame once",
                      "frame " + std::to_string(frame) + " again");
    }
  }
  if (trajectory.world_from_camera.empty()) {
    return InvalidArgument(reason::NO_CALIBRATION, file + " has no poses").WithField(file);
  }
  return trajectory;
}

StatusOr<RedwoodTrajectory> ParseOpen3DTrajectory(std::string_view text, const std::string& file) {
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json document, ParseJson(text, file));
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject object, JsonObject::Make(document, file));
  if (!object.Has("parameters")) {
    return object.Invalid(
        "parameters", "Open3D's PinholeCameraTrajectory, a list of views with an extrinsic each",
        "no such field");
  }
  INTERLACER_ASSIGN_OR_RETURN(const auto items, object.GetObjects("parameters"));
  RedwoodTrajectory trajectory;
  const bool has_intrinsics = std::all_of(
      items.begin(), items.end(), [](const JsonObject& item) { return item.Has("intrinsic"); });
  if (has_intrinsics && !items.empty()) {
    INTERLACER_ASSIGN_OR_RETURN(trajectory.intrinsics, ParseOpen3DIntrinsics(object));
  }
  for (std::size_t frame = 0; frame < items.size(); ++frame) {
    const JsonObject& item = items[frame];
    INTERLACER_ASSIGN_OR_RETURN(const auto rows, ReadOpen3DMatrix(item, "extrinsic", 4));
    Matrix4d camera_from_world;
    std::copy(rows.begin(), rows.end(), camera_from_world.begin());
    if (IsLostPose(camera_from_world)) {
      ++trajectory.lost_count;
      continue;
    }
    auto pose = FromMatrix(camera_from_world, kRotationTolerance);
    if (!pose.ok()) {
      return item.Invalid("extrinsic",
                          "a motion, column by column as Open3D writes it, or four rows",
                          pose.status().message());
    }
    trajectory.world_from_camera[static_cast<int>(frame)] = Inverse(*pose);
  }
  if (trajectory.world_from_camera.empty()) {
    return InvalidArgument(reason::NO_CALIBRATION, file + " has no poses").WithField(file);
  }
  return trajectory;
}

StatusOr<ImportReport> ImportRedwood(const ImportOptions& options) {
  INTERLACER_ASSIGN_OR_RETURN(const std::string file, TrajectoryPath(options));
  INTERLACER_ASSIGN_OR_RETURN(const RedwoodTrajectory trajectory, ReadTrajectory(file));
  INTERLACER_ASSIGN_OR_RETURN(const FramePairs images, FindImages(options));
  ImportedRecording recording;
  recording.kind = EpisodeKind::kStaticViews;
  recording.format = "redwood";
  recording.world_frame_name = "trajectory";
  std::optional<Intrinsics> camera = trajectory.intrinsics;
  if (!options.intrinsics.empty() || !options.calibration.empty() || !camera) {
    INTERLACER_ASSIGN_OR_RETURN(camera, GivenIntrinsics(options.intrinsics, options.calibration));
  }
  SetCamera(*camera, options, kRedwoodDepthUnitM, &recording);
  const PosedPairs posed = MatchPoses(images, trajectory.world_from_camera);
  for (const PosedPair& frame : posed.frames) {
    recording.frames.push_back({frame.world_from_camera, 0, frame.pair->color, frame.pair->depth});
  }
  const std::size_t used = posed.frames.size();
  recording.skipped_count = static_cast<int>(trajectory.world_from_camera.size() - used +
                                             images.pairs.size() - used + images.unpaired.size());
  AddFindings(images, posed, &recording);
  if (posed.is_shifted) {
    const int first_key = trajectory.world_from_camera.begin()->first;
    recording.findings.push_back(ShiftedPoses(posed, first_key));
  }
  AddLostPoses(trajectory.lost_count, &recording);
  std::vector<ImportFrame>& frames = recording.frames;
  const Transform first = frames.empty() ? Transform() : frames.front().world_from_camera;
  const std::string up = TurnUpAxisToZ(recording.camera.fy_px < 0, &frames);
  if (!frames.empty()) {
    recording.world_from_source = Compose(frames.front().world_from_camera, Inverse(first));
  }
  recording.notes.insert(
      recording.notes.end(),
      {"poses: " + fs::path(file).filename().string() +
           "; may be the result of a reconstruction, not ground truth",
       "pose of a frame: " + posed.rule,
       images.is_by_order ? "colour and depth paired in order of their names"
                          : "colour and depth paired by the number in their names",
       "world turned so that its " + up +
           " axis, nearest to the cameras' mean upward direction, becomes +z"});
  return WriteRecording(std::move(recording), options);
}

}  // namespace interlacer
