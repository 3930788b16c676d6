#include "data/importers/write_recording.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <utility>

#include "common/image_codec.h"
#include "common/number_text.h"
#include "common/thread_pool.h"
#include "common/transforms.h"
#include "common/version.h"
#include "data/episode_reader.h"
#include "data/episode_writer.h"
#include "data/importers/depth_and_poses.h"
#include "data/importers/no_measurement.h"
#include "data/importers/scene_extent.h"
#include "data/manifest.h"

namespace interlacer {
namespace {

/// Points kept for range and box, of all frames together.
constexpr std::int64_t kMaxExtentSamples = 1'000'000;
/// Stands in until the real box is known.
constexpr Box kUnknownBox = {{-1, -1, -1}, {1, 1, 1}};

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

/// Cropped images may have the principal point outside; one farther away is a mistake in the
/// numbers.
Status CheckPrincipalPoint(const Camera& camera) {
  const auto is_near = [](double c_px, int side_px) {
    return c_px >= -side_px && c_px <= 2 * side_px;
  };
  if (is_near(camera.cx_px, camera.width_px) && is_near(camera.cy_px, camera.height_px)) {
    return Status::Ok();
  }
  char got[64];
  std::snprintf(got, sizeof(got), "%g, %g", camera.cx_px, camera.cy_px);
  return Mismatch(reason::CALIBRATION_INVALID, "intrinsics",
                  "cx,cy within one image size of the image of " + std::to_string(camera.width_px) +
                      " x " + std::to_string(camera.height_px),
                  got);
}

/// A size that the intrinsics state must be that of the frames; none is taken from them.
Status SetImageSize(ImportedRecording* recording) {
  INTERLACER_ASSIGN_OR_RETURN(const RgbImage first,
                              ReadRgbFile(recording->frames.front().color_path));
  Camera& camera = recording->camera;
  if (camera.width_px == 0) camera.width_px = first.width_px;
  if (camera.height_px == 0) camera.height_px = first.height_px;
  INTERLACER_RETURN_IF_ERROR(CheckPrincipalPoint(camera));
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

/// Cropping moves the principal point; so does taking the intrinsics of images of another size.
void AddPrincipalPointFinding(ImportedRecording* recording) {
  constexpr double kMostOffsetShare = 0.2;
  const Camera& c = recording->camera;
  const double u_px = c.cx_px - 0.5 * c.width_px, v_px = c.cy_px - 0.5 * c.height_px;
  if (std::abs(u_px) <= kMostOffsetShare * c.width_px &&
      std::abs(v_px) <= kMostOffsetShare * c.height_px) {
    return;
  }
  recording->findings.push_back(
      {"PRINCIPAL_POINT_OFF_CENTER",
       "cx,cy " + NumberText(c.cx_px) + "," + NumberText(c.cy_px) +
           " is far from the middle of images of " + SizeText(c.width_px, c.height_px) +
           ": were they cropped, or are these the intrinsics of another size?",
       "intrinsics"});
}

StatusOr<Camera> CameraOf(const ImportedRecording& recording, std::size_t frame) {
  Camera camera = recording.camera;
  camera.world_from_camera = recording.frames[frame].world_from_camera;
  INTERLACER_RETURN_IF_ERROR(NormalizeFocalSigns(&camera));
  return camera;
}

/// A name of an episode from that of a folder, which may have blanks, accents and more.
std::string NameFrom(std::string folder) {
  constexpr std::size_t kMostBytes = 64;
  for (char& c : folder) {
    if (!IsValidName(std::string("x") + c)) c = '_';
  }
  folder.resize(std::min(folder.size(), kMostBytes));
  return folder.starts_with('.') ? "_" + folder.substr(1) : folder;
}

EpisodeManifest MakeManifest(const ImportedRecording& recording, const ImportOptions& options) {
  EpisodeManifest manifest;
  manifest.episode_id = options.episode_id;
  if (manifest.episode_id.empty()) {
    const auto path = std::filesystem::path(options.episode_dir + "/").lexically_normal();
    manifest.episode_id = NameFrom(path.parent_path().filename().string());
  }
  manifest.kind = recording.kind;
  manifest.created_time = CurrentTimeRfc3339();
  manifest.source = {"import",        std::string("interlacer ") + kVersion,
                     options.command, std::nullopt,
                     options.license, options.attribution,
                     recording.notes};
  manifest.source.notes.insert(manifest.source.notes.begin(), "format: " + recording.format);
  if (recording.skipped_count > 0) {
    manifest.source.notes.push_back(std::to_string(recording.skipped_count) +
                                    " frames without partner, file or pose left out");
  }
  manifest.task_name = recording.format;
  manifest.step_duration_s = recording.step_duration_s;
  manifest.world_frame_name = recording.world_frame_name;
  manifest.workspace = kUnknownBox;
  manifest.step_count =
      recording.kind == EpisodeKind::kMovingCamera ? static_cast<int>(recording.frames.size()) : 1;
  return manifest;
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

/// What is known of the depths of one frame or of all.
struct DepthFacts {
  SceneExtent extent;
  DepthCodes codes;
};

/// Loads and writes one frame.
Status WriteFrame(const ImportedRecording& recording, const ImportOptions& options,
                  std::size_t index, EpisodeWriter* writer, std::int64_t max_samples,
                  DepthFacts* facts) {
  const ImportFrame& frame = recording.frames[index];
  const bool moving = recording.kind == EpisodeKind::kMovingCamera;
  INTERLACER_ASSIGN_OR_RETURN(const Camera camera, CameraOf(recording, index));
  INTERLACER_ASSIGN_OR_RETURN(const RgbImage color, ReadRgbFile(frame.color_path));
  INTERLACER_RETURN_IF_ERROR(CheckSize(frame.color_path, camera, color.width_px, color.height_px));
  INTERLACER_ASSIGN_OR_RETURN(DepthImage16 depth,
                              ReadDepthPngFile(frame.depth_path, recording.depth_unit_m));
  INTERLACER_RETURN_IF_ERROR(CheckSize(frame.depth_path, camera, depth.width_px, depth.height_px));
  if (recording.decode_depth) {
    std::transform(depth.pixels.begin(), depth.pixels.end(), depth.pixels.begin(),
                   recording.decode_depth);
  }
  facts->codes = RemoveNoMeasurement(options.no_depth_value, &depth);
  INTERLACER_RETURN_IF_ERROR(writer->WriteFrame(
      moving ? static_cast<int>(index) : 0, moving ? 0 : static_cast<int>(index), color, depth));
  facts->extent.Add(camera, DepthToMeters(depth), max_samples);
  return Status::Ok();
}

Status WriteFrames(const ImportedRecording& recording, const ImportOptions& options,
                   EpisodeWriter* writer, DepthFacts* all) {
  const std::size_t count = recording.frames.size();
  const auto max_samples =
      std::max<std::int64_t>(1, kMaxExtentSamples / std::ssize(recording.frames));
  std::vector<Status> statuses(count);
  std::mutex mutex;  // guards `done` and the caller's function
  std::int64_t done = 0;
  std::vector<DepthFacts> facts(count);
  ParallelFor(static_cast<std::int64_t>(count), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      if (options.stop.stop_requested()) {
        statuses[i] = Cancelled("import stopped");
        continue;
      }
      statuses[i] = WriteFrame(recording, options, i, writer, max_samples, &facts[i]);
      const std::lock_guard<std::mutex> lock(mutex);
      if (options.on_frame) options.on_frame(++done, std::ssize(recording.frames));
    }
  });
  for (std::size_t i = 0; i < count; ++i) {
    INTERLACER_RETURN_IF_ERROR(statuses[i]);
    all->extent.Append(std::exchange(facts[i].extent, {}));
    all->codes.Add(facts[i].codes);
  }
  if (recording.kind != EpisodeKind::kMovingCamera) return Status::Ok();
  std::vector<Transform> poses;
  std::vector<std::int64_t> times_ns;
  for (std::size_t i = 0; i < count; ++i) {
    INTERLACER_ASSIGN_OR_RETURN(const Camera camera, CameraOf(recording, i));
    poses.push_back(camera.world_from_camera);
    times_ns.push_back(recording.frames[i].capture_time_ns);
  }
  INTERLACER_RETURN_IF_ERROR(writer->WritePoses(0, poses));
  return writer->WriteCaptureTimes(times_ns);
}

/// Range and box; where they were computed, an error names what they come from.
StatusOr<SceneExtent::Result> FindExtent(const ImportedRecording& recording,
                                         const ImportOptions& options, const DepthFacts& facts) {
  auto found = facts.extent.Finish(options.near_m, options.far_m, options.workspace);
  if (found.ok() || options.far_m || options.workspace) return found;
  const Status& status = found.status();
  std::string message = status.message() + "; computed from depths of " +
                        NumberText(recording.depth_unit_m) +
                        " m an integer: is --depth-unit right?";
  for (const Finding& finding : DescribeCodes(facts.codes, recording.depth_unit_m)) {
    message += "; " + finding.message;
  }
  return Status(status.code(), status.reason(), std::move(message)).WithField(status.field());
}

/// Findings about the source before those of the episode.
Status AddSourceFindings(const ImportedRecording& recording, const ImportOptions& options,
                         const DepthCodes& codes, ImportReport* report) {
  std::vector<Finding> findings = recording.findings;
  for (Finding& finding : DescribeCodes(codes, recording.depth_unit_m)) {
    findings.push_back(std::move(finding));
  }
  INTERLACER_ASSIGN_OR_RETURN(const EpisodeReader episode,
                              EpisodeReader::Open(options.episode_dir, {false}));
  if (auto suspect = CompareDepthWithPoses(episode)) findings.push_back(*std::move(suspect));
  auto& all = report->validation.findings;
  all.insert(all.begin(), findings.begin(), findings.end());
  return Status::Ok();
}

}  // namespace

StatusOr<ImportReport> WriteRecording(ImportedRecording recording, const ImportOptions& options) {
  INTERLACER_RETURN_IF_ERROR(KeepEveryNth(&recording, options.frame_stride));
  INTERLACER_RETURN_IF_ERROR(SetImageSize(&recording));
  AddPrincipalPointFinding(&recording);
  EpisodeManifest manifest = MakeManifest(recording, options);
  INTERLACER_RETURN_IF_ERROR(AddCameras(recording, &manifest));
  INTERLACER_ASSIGN_OR_RETURN(
      auto writer,
      EpisodeWriter::Create(options.episode_dir, std::move(manifest), {options.overwrite}));
  DepthFacts facts;
  INTERLACER_RETURN_IF_ERROR(WriteFrames(recording, options, writer.get(), &facts));
  INTERLACER_ASSIGN_OR_RETURN(const SceneExtent::Result found,
                              FindExtent(recording, options, facts));
  EpisodeManifest& final_manifest = writer->manifest();
  final_manifest.workspace = found.workspace;
  for (EpisodeCamera& camera : final_manifest.cameras) {
    camera.near_m = found.near_m;
    camera.far_m = found.far_m;
  }
  auto& notes = final_manifest.source.notes;
  notes.insert(notes.end(), found.notes.begin(), found.notes.end());
  if (options.stop.stop_requested()) return Cancelled("import stopped");
  INTERLACER_RETURN_IF_ERROR(writer->Finish());

  ImportReport report;
  report.frame_count = static_cast<int>(recording.frames.size());
  report.skipped_count = recording.skipped_count;
  INTERLACER_ASSIGN_OR_RETURN(report.validation,
                              ValidateEpisode(options.episode_dir, {.stop = options.stop}));
  INTERLACER_RETURN_IF_ERROR(AddSourceFindings(recording, options, facts.codes, &report));
  return report;
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

std::string TurnUpAxisToZ(std::vector<ImportFrame>* frames) {
  Vec3d up{0, 0, 0};
  for (const ImportFrame& frame : *frames) {
    const Matrix4d m = ToMatrix(frame.world_from_camera);
    for (int axis = 0; axis < 3; ++axis) up[axis] -= m[4 * axis + 1];  // camera y points down
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
