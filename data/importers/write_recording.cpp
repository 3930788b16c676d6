#include "data/importers/write_recording.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <utility>

#include "common/image_codec.h"
#include "common/number_text.h"
#include "common/transforms.h"
#include "data/importers/write_episode.h"

namespace interlacer {
namespace {

Status KeepEveryNth(ImportedRecording* recording, int stride) {
  if (stride < 1) {
    return Mismatch(reason::ARGUMENT_INVALID, "frame_stride", "at least 1", std::to_string(stride));
  }
  std::vector<ImportFrame> kept;
  for (std::size_t i = 0; i < recording->frames.size(); i += stride) {
    kept.push_back(std::move(recording->frames[i]));
  }
  recording->frames = std::move(kept);
  recording->step_duration_s *= recording->kind == EpisodeKind::kMovingCamera ? stride : 1;
  if (!recording->frames.empty()) return Status::Ok();
  return InvalidArgument(reason::NO_DEPTH, "no frame with colour, depth and pose")
      .WithField("source");
}

/// A size that the intrinsics state must be that of the frames; none is taken from them.
Status SetImageSize(ImportedRecording* recording) {
  INTERLACER_ASSIGN_OR_RETURN(const RgbImage first,
                              ReadRgbFile(recording->frames.front().color_path));
  Camera& camera = recording->camera;
  if (camera.width_px == 0) camera.width_px = first.width_px;
  if (camera.height_px == 0) camera.height_px = first.height_px;
  if (camera.width_px == first.width_px && camera.height_px == first.height_px) {
    return Status::Ok();
  }
  const Camera resized = ResizedCamera(camera, first.width_px, first.height_px);
  const std::string numbers = NumberText(resized.fx_px) + "," + NumberText(resized.fy_px) + "," +
                              NumberText(resized.cx_px) + "," + NumberText(resized.cy_px);
  return Mismatch(reason::CALIBRATION_SIZE_MISMATCH, "intrinsics",
                  "those of the images, which are " + SizeText(first.width_px, first.height_px) +
                      " (" + numbers + " if they were resized and not cropped)",
                  "those of " + SizeText(camera.width_px, camera.height_px));
}

StatusOr<Camera> CameraOf(const ImportedRecording& recording, std::size_t frame) {
  Camera camera = recording.camera;
  camera.world_from_camera = recording.frames[frame].world_from_camera;
  INTERLACER_RETURN_IF_ERROR(NormalizeFocalSigns(&camera));
  return camera;
}

Status AddCameras(const ImportedRecording& recording, EpisodeManifest* manifest) {
  const bool moving = recording.kind == EpisodeKind::kMovingCamera;
  for (std::size_t i = 0; i < (moving ? 1 : recording.frames.size()); ++i) {
    EpisodeCamera item;
    char name[32];
    std::snprintf(name, sizeof(name), "view_%04zu", i);
    item.name = moving ? "camera" : name;
    INTERLACER_ASSIGN_OR_RETURN(item.camera, CameraOf(recording, i));
    item.depth_unit_m = recording.depth_unit_m;
    manifest->cameras.push_back(std::move(item));
  }
  return Status::Ok();
}

Status CheckSize(const std::string& path, const Camera& camera, int width_px, int height_px) {
  if (width_px == camera.width_px && height_px == camera.height_px) return Status::Ok();
  return Mismatch(reason::IMAGE_SIZE_MISMATCH, path,
                  std::to_string(camera.width_px) + " x " + std::to_string(camera.height_px) +
                      ", as the first colour image",
                  std::to_string(width_px) + " x " + std::to_string(height_px));
}

/// The frame that is step and camera.
std::size_t FrameIndex(const ImportedRecording& recording, int step, int camera) {
  return static_cast<std::size_t>(recording.kind == EpisodeKind::kMovingCamera ? step : camera);
}

StatusOr<RecordedFrame> ReadFrame(const ImportedRecording& recording, std::size_t index) {
  const ImportFrame& frame = recording.frames[index];
  const Camera& camera = recording.camera;
  RecordedFrame read;
  INTERLACER_ASSIGN_OR_RETURN(read.color, ReadRgbFile(frame.color_path));
  INTERLACER_RETURN_IF_ERROR(
      CheckSize(frame.color_path, camera, read.color.width_px, read.color.height_px));
  INTERLACER_ASSIGN_OR_RETURN(read.depth,
                              ReadDepthPngFile(frame.depth_path, recording.depth_unit_m));
  INTERLACER_RETURN_IF_ERROR(
      CheckSize(frame.depth_path, camera, read.depth.width_px, read.depth.height_px));
  if (recording.decode_depth) {
    std::transform(read.depth.pixels.begin(), read.depth.pixels.end(), read.depth.pixels.begin(),
                   recording.decode_depth);
  }
  return read;
}

}  // namespace

StatusOr<ImportReport> WriteRecording(ImportedRecording recording, const ImportOptions& options) {
  INTERLACER_RETURN_IF_ERROR(KeepEveryNth(&recording, options.frame_stride));
  INTERLACER_RETURN_IF_ERROR(SetImageSize(&recording));
  RecordedEpisode episode;
  episode.manifest = StartManifest(recording.kind, recording.format, recording.skipped_count,
                                   recording.notes, options);
  episode.manifest.step_duration_s = recording.step_duration_s;
  episode.manifest.world_frame_name = recording.world_frame_name;
  const bool moving = recording.kind == EpisodeKind::kMovingCamera;
  episode.manifest.step_count = moving ? static_cast<int>(recording.frames.size()) : 1;
  INTERLACER_RETURN_IF_ERROR(AddCameras(recording, &episode.manifest));
  episode.poses.resize(episode.manifest.cameras.size());
  if (moving) {
    for (std::size_t i = 0; i < recording.frames.size(); ++i) {
      INTERLACER_ASSIGN_OR_RETURN(const Camera camera, CameraOf(recording, i));
      episode.poses.front().push_back(camera.world_from_camera);
      episode.capture_times_ns.push_back(recording.frames[i].capture_time_ns);
    }
  }
  episode.read_frame = [&recording](int step, int camera) {
    return ReadFrame(recording, FrameIndex(recording, step, camera));
  };
  episode.skipped_count = recording.skipped_count;
  episode.findings = recording.findings;
  episode.is_depth_unit_fixed = recording.decode_depth != nullptr;
  episode.mistakes = CommonMistakes(recording.world_from_source);
  episode.mistakes.insert(episode.mistakes.end(), recording.mistakes.begin(),
                          recording.mistakes.end());
  return WriteEpisode(std::move(episode), options);
}

void SetCamera(const Intrinsics& camera, const ImportOptions& options, double format_unit_m,
               ImportedRecording* recording) {
  recording->camera = camera;
  recording->depth_unit_m =
      options.depth_unit_m.value_or(camera.depth_unit_m.value_or(format_unit_m));
  if (camera.depth_unit_m && !options.depth_unit_m) {
    recording->notes.push_back("depth unit: depth_scale of the intrinsics");
  }
}

void AddLostPoses(int count, ImportedRecording* recording) {
  if (count == 0) return;
  recording->findings.push_back(
      {"POSES_LOST",
       std::to_string(count) + " poses without tracking (zeros or not finite) were left out", ""});
}

std::string TurnUpAxisToZ(bool has_y_up, std::vector<ImportFrame>* frames) {
  Vec3d up{0, 0, 0};
  const double down = has_y_up ? -1 : 1;
  for (const ImportFrame& frame : *frames) {
    const Matrix4d m = ToMatrix(frame.world_from_camera);
    for (int axis = 0; axis < 3; ++axis) up[axis] -= down * m[4 * axis + 1];
  }
  int axis = 0;
  for (int i = 1; i < 3; ++i) {
    if (std::abs(up[i]) > std::abs(up[axis])) axis = i;
  }
  const double sign = up[axis] < 0 ? -1 : 1;
  // Rows: the new axes in the old frame. z is up; x is the next old axis; y completes them.
  const int next = (axis + 1) % 3, last = (axis + 2) % 3;
  Matrix4d turn{};
  turn[next] = 1;
  turn[4 + last] = sign;
  turn[8 + axis] = sign;
  turn[15] = 1;
  const Transform z_up_from_source = *FromMatrix(turn);
  for (ImportFrame& frame : *frames) {
    frame.world_from_camera = Compose(z_up_from_source, frame.world_from_camera);
  }
  return std::string(sign < 0 ? "-" : "+") + "xyz"[axis];
}

}  // namespace interlacer
