#include "data/importers/apc.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "common/file_io.h"
#include "common/metre_depths.h"
#include "common/number_text.h"
#include "data/importers/source_files.h"
#include "data/importers/write_recording.h"
#include "data/number_lines.h"
#include "data/system_files.h"

namespace interlacer {
namespace {

namespace fs = std::filesystem;

constexpr double kApcDepthUnitM = kTenthMillimeterM;
constexpr char kInfoFile[] = "cam.info.txt";
constexpr char kColorTitle[] = "Color camera intrinsic matrix";
constexpr char kPoseTitle[] = "Camera-to-world extrinsic matrix";

std::string FrameFile(const std::string& folder, int number, const char* suffix) {
  char name[64];
  std::snprintf(name, sizeof(name), "/frame-%06d.%s.png", number, suffix);
  return folder + name;
}

/// The number behind "frame-" in a title or file name.
StatusOr<int> FrameNumber(std::string_view text, const std::string& field) {
  const std::size_t at = text.rfind("frame-");
  int number = 0;
  if (at != std::string_view::npos) {
    const char* first = text.data() + at + 6;
    const auto [end, error] = std::from_chars(first, text.data() + text.size(), number);
    if (error == std::errc() && end != first) return number;
  }
  return Mismatch(reason::SCHEMA_INVALID, field, "frame-NUMBER", std::string(text.substr(0, 80)));
}

Status ParseColorMatrix(const std::vector<TextLine>& lines, std::size_t first,
                        const std::string& file, Camera* camera) {
  std::vector<double> k;
  for (std::size_t row = first; row < first + 3 && row < lines.size(); ++row) {
    const std::string field = file + ":" + std::to_string(lines[row].number);
    INTERLACER_ASSIGN_OR_RETURN(const auto numbers, ParseNumbers(lines[row].text, field));
    k.insert(k.end(), numbers.begin(), numbers.end());
  }
  if (k.size() != 9 || k[8] != 1) {
    return Mismatch(reason::CALIBRATION_INVALID, file, "a 3 x 3 colour camera matrix",
                    std::to_string(k.size()) + " numbers");
  }
  camera->fx_px = k[0];
  camera->fy_px = k[4];
  camera->cx_px = k[2];
  camera->cy_px = k[5];
  return Status::Ok();
}

/// Files of frames as they are named there.
std::string FramesThere(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name != kInfoFile && !IsSystemFile(name)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names.empty() ? "no files" : AbbreviatedList(names);
}

/// Whether the bits that decode_depth rotated stood right before.
SourceMistake RotatedBack(double unit_m) {
  return {"with the bits of depths as they are stored and integers of " +
              NumberText(1000 * unit_m) + " mm",
          "were these depths rotated back before? apc is for the toolbox's own files, whose bits "
          "are rotated; redwood reads the others",
          [unit_m](RgbdView* view) {
            for (float& depth_m : view->depth.pixels_m) {
              if (!std::isfinite(depth_m)) continue;
              const auto value = static_cast<std::uint32_t>(std::lround(depth_m / kApcDepthUnitM));
              const std::uint32_t stored = ((value << 3) | (value >> 13)) & 0xffff;
              depth_m = static_cast<float>(stored * unit_m);
            }
          }};
}

int CountColorFrames(const std::string& folder) {
  int count = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!IsSystemFile(name) && name.ends_with(".color.png")) ++count;
  }
  return count;
}

}  // namespace

StatusOr<ApcCameraInfo> ParseApcCameraInfo(std::string_view text, const std::string& file) {
  ApcCameraInfo info;
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<TextLine> lines, SplitLines(text, file));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i].text;
    if (line.find(kColorTitle) != std::string::npos) {
      INTERLACER_RETURN_IF_ERROR(ParseColorMatrix(lines, i + 1, file, &info.color_camera));
    } else if (line.find(kPoseTitle) != std::string::npos) {
      const std::string field = file + ":" + std::to_string(lines[i].number);
      INTERLACER_ASSIGN_OR_RETURN(const int number, FrameNumber(line, field));
      INTERLACER_ASSIGN_OR_RETURN(const auto pose, ParseMatrixLines(lines, i + 1, file));
      if (!pose) {
        ++info.lost_count;
      } else if (info.world_from_camera.emplace(number, *pose).first->second != *pose) {
        return Mismatch(reason::SCHEMA_INVALID, field, "one pose of each frame",
                        "frame " + std::to_string(number) + " again, with another pose");
      }
    }
  }
  if (info.color_camera.fx_px == 0) {
    return InvalidArgument(reason::NO_CALIBRATION, file + " has no colour camera matrix")
        .WithField(file);
  }
  if (info.world_from_camera.empty()) {
    return InvalidArgument(reason::NO_CALIBRATION, file + " has no camera poses").WithField(file);
  }
  return info;
}

StatusOr<ImportReport> ImportApc(const ImportOptions& options) {
  const std::string& folder = options.source_dir;
  std::string info_path = SourcePath(folder, options.trajectory);
  if (options.trajectory.empty()) {
    INTERLACER_ASSIGN_OR_RETURN(
        info_path, FirstOf(folder, {kInfoFile}, "file with camera and poses", "--trajectory"));
  }
  INTERLACER_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(info_path));
  INTERLACER_ASSIGN_OR_RETURN(const ApcCameraInfo info, ParseApcCameraInfo(text, info_path));
  ImportedRecording recording;
  recording.kind = EpisodeKind::kStaticViews;
  recording.format = "apc";
  recording.camera = info.color_camera;
  recording.depth_unit_m = kApcDepthUnitM;
  recording.decode_depth = UnrotateApcDepth;
  recording.mistakes = {RotatedBack(kTenthMillimeterM), RotatedBack(kMillimeterM)};
  recording.world_frame_name = "robot_base";
  recording.notes = {
      "depth bits rotated back; depth registered to the colour camera",
      "poses: robot kinematics, as recorded in " + fs::path(info_path).filename().string()};
  AddLostPoses(info.lost_count, &recording);
  for (const auto& [number, pose] : info.world_from_camera) {
    const std::string color = FrameFile(folder, number, "color");
    const std::string depth = FrameFile(folder, number, "depth");
    if (!HasContent(color) || !HasContent(depth)) {
      ++recording.skipped_count;
      continue;
    }
    recording.frames.push_back({pose, 0, color, depth});
  }
  if (recording.frames.empty()) {
    const int number = info.world_from_camera.begin()->first;
    const auto name = [&](const char* suffix) {
      return fs::path(FrameFile(folder, number, suffix)).filename().string();
    };
    return Mismatch(reason::NO_DEPTH, folder,
                    "frames of the poses, such as " + name("color") + " and " + name("depth"),
                    FramesThere(folder));
  }
  const int without_pose = CountColorFrames(folder) - static_cast<int>(recording.frames.size());
  recording.skipped_count += std::max(0, without_pose);
  return WriteRecording(std::move(recording), options);
}

}  // namespace interlacer
