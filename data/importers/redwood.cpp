#include "data/importers/redwood.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "common/file_io.h"
#include "common/image_codec.h"
#include "common/json.h"
#include "common/transforms.h"
#include "data/importers/intrinsics.h"
#include "data/importers/number_lines.h"
#include "data/importers/write_recording.h"

namespace interlacer {
namespace {

namespace fs = std::filesystem;

constexpr double kDepthUnitM = 0.001;
constexpr char kTrajectoryFile[] = "trajectory.log";
constexpr const char* kColorFolders[] = {"color", "image", "rgb"};
constexpr double kRotationTolerance = 5e-3;

StatusOr<std::vector<std::string>> ListImages(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".png" || extension == ".jpg" || extension == ".jpeg") {
      paths.push_back(entry.path().string());
    }
  }
  if (error || paths.empty()) {
    return InvalidArgument(reason::NO_DEPTH, "no images in " + folder).WithField(folder);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

StatusOr<std::string> ColorFolder(const std::string& source_dir) {
  std::error_code error;
  for (const char* name : kColorFolders) {
    if (fs::is_directory(source_dir + "/" + name, error)) return source_dir + "/" + name;
  }
  return NotFound(reason::FILE_NOT_FOUND, source_dir + " has no folder color, image or rgb")
      .WithField(source_dir);
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
  const std::vector<TextLine> lines = SplitLines(text);
  for (std::size_t i = 0; i < lines.size(); i += kBlockLines) {
    const std::string field = file + ":" + std::to_string(lines[i].number);
    INTERLACER_ASSIGN_OR_RETURN(const auto header, ParseNumbers(lines[i].text, ' ', field));
    if (header.size() != 3 || header[0] < 0 || header[0] != std::floor(header[0]) ||
        header[0] > 1e6) {
      return Mismatch(reason::SCHEMA_INVALID, field, "a header of three integers", lines[i].text);
    }
    const int frame = static_cast<int>(header[0]);
    INTERLACER_ASSIGN_OR_RETURN(const Transform pose, ParseMatrixLines(lines, i + 1, file));
    if (!trajectory.world_from_camera.emplace(frame, pose).second) {
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
  INTERLACER_ASSIGN_OR_RETURN(const auto items, object.GetObjects("parameters"));
  RedwoodTrajectory trajectory;
  for (const JsonObject& item : items) {
    INTERLACER_ASSIGN_OR_RETURN(const auto columns, item.GetNumbers("extrinsic", 16));
    Matrix4d camera_from_world;
    for (int row = 0; row < 4; ++row) {
      for (int column = 0; column < 4; ++column) {
        camera_from_world[4 * row + column] = columns[4 * column + row];
      }
    }
    auto pose = FromMatrix(camera_from_world, kRotationTolerance);
    if (!pose.ok()) return std::move(pose.status()).WithFieldPrefix(item.PathOf("extrinsic"));
    const int frame = static_cast<int>(trajectory.world_from_camera.size());
    trajectory.world_from_camera[frame] = Inverse(*pose);
    if (trajectory.intrinsics || !item.Has("intrinsic")) continue;
    INTERLACER_ASSIGN_OR_RETURN(trajectory.intrinsics,
                                ParseOpen3DIntrinsics(document["parameters"][frame]["intrinsic"],
                                                      item.PathOf("intrinsic")));
  }
  if (trajectory.world_from_camera.empty()) {
    return InvalidArgument(reason::NO_CALIBRATION, file + " has no poses").WithField(file);
  }
  return trajectory;
}

StatusOr<ImportReport> ImportRedwood(const ImportOptions& options) {
  const std::string name = options.trajectory.empty() ? kTrajectoryFile : options.trajectory;
  INTERLACER_ASSIGN_OR_RETURN(const RedwoodTrajectory trajectory,
                              ReadTrajectory(options.source_dir + "/" + name));
  INTERLACER_ASSIGN_OR_RETURN(const std::string color_folder, ColorFolder(options.source_dir));
  INTERLACER_ASSIGN_OR_RETURN(const auto color, ListImages(color_folder));
  INTERLACER_ASSIGN_OR_RETURN(const auto depth, ListImages(options.source_dir + "/depth"));
  if (color.size() != depth.size()) {
    return Mismatch(reason::SCHEMA_INVALID, options.source_dir,
                    std::to_string(color.size()) + " depth images, one for each colour image",
                    std::to_string(depth.size()));
  }
  ImportedRecording recording;
  recording.kind = EpisodeKind::kStaticViews;
  recording.format = "redwood";
  recording.depth_unit_m = options.depth_unit_m.value_or(kDepthUnitM);
  recording.world_frame_name = "trajectory";
  if (options.intrinsics.empty() && trajectory.intrinsics) {
    recording.camera = *trajectory.intrinsics;
  } else {
    INTERLACER_ASSIGN_OR_RETURN(recording.camera, ParseIntrinsics(options.intrinsics));
  }
  for (const auto& [frame, pose] : trajectory.world_from_camera) {
    if (frame >= static_cast<int>(color.size())) {
      ++recording.skipped_count;
      continue;
    }
    recording.frames.push_back({pose, 0, [path = color[frame]] { return ReadRgbFile(path); },
                                [path = depth[frame], unit_m = recording.depth_unit_m] {
                                  return ReadDepthPngFile(path, unit_m);
                                }});
  }
  recording.skipped_count += static_cast<int>(color.size() - recording.frames.size());
  const std::string up = TurnUpAxisToZ(&recording.frames);
  recording.notes = {"poses: " + name + "; may be the result of a reconstruction, not ground truth",
                     "world turned so that its " + up +
                         " axis, nearest to the cameras' mean upward direction, becomes +z"};
  return WriteRecording(std::move(recording), options);
}

}  // namespace interlacer
