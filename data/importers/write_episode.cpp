#include "data/importers/write_episode.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <utility>

#include "common/number_text.h"
#include "common/thread_pool.h"
#include "common/version.h"
#include "data/episode_reader.h"
#include "data/episode_writer.h"
#include "data/importers/depth_and_poses.h"
#include "data/importers/intrinsics.h"
#include "data/importers/joint_columns.h"
#include "data/importers/no_measurement.h"
#include "data/importers/scene_extent.h"
#include "data/manifest.h"
#include "robots/robot_folder.h"

namespace interlacer {
namespace {

/// Points kept for range and box, of all frames together.
constexpr std::int64_t kMaxExtentSamples = 1'000'000;

/// A name of an episode from that of a folder, which may have blanks, accents and more.
std::string NameFrom(std::string folder) {
  constexpr std::size_t kMostBytes = 64;
  for (char& c : folder) {
    if (!IsValidName(std::string("x") + c)) c = '_';
  }
  folder.resize(std::min(folder.size(), kMostBytes));
  return folder.starts_with('.') ? "_" + folder.substr(1) : folder;
}

/// What is known of the depths of one frame or of all.
struct DepthFacts {
  SceneExtent extent;
  DepthCodes codes;
};

Camera CameraAt(const RecordedEpisode& recording, std::size_t step, std::size_t camera) {
  Camera found = recording.manifest.cameras[camera].camera;
  if (!recording.poses[camera].empty()) found.world_from_camera = recording.poses[camera][step];
  return found;
}

/// Loads and writes one frame.
Status WriteFrame(const RecordedEpisode& recording, const ImportOptions& options, std::size_t step,
                  std::size_t camera, EpisodeWriter* writer, std::int64_t max_samples,
                  DepthFacts* facts) {
  const int s = static_cast<int>(step), c = static_cast<int>(camera);
  INTERLACER_ASSIGN_OR_RETURN(RecordedFrame frame, recording.read_frame(s, c));
  facts->codes = RemoveNoMeasurement(options.no_depth_value, &frame.depth);
  INTERLACER_RETURN_IF_ERROR(writer->WriteFrame(s, c, frame.color, frame.depth));
  facts->extent.Add(CameraAt(recording, step, camera), frame.depth, max_samples);
  return Status::Ok();
}

Status WriteFrames(const RecordedEpisode& recording, const ImportOptions& options,
                   EpisodeWriter* writer, DepthFacts* all) {
  const std::size_t camera_count = recording.manifest.cameras.size();
  const std::size_t count = static_cast<std::size_t>(recording.manifest.step_count) * camera_count;
  const auto total = static_cast<std::int64_t>(count);
  const auto max_samples = std::max<std::int64_t>(1, kMaxExtentSamples / total);
  std::vector<Status> statuses(count);
  std::vector<DepthFacts> facts(count);
  std::mutex mutex;
  std::int64_t done = 0;
  ParallelFor(total, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto index = static_cast<std::size_t>(i);
      if (options.stop.stop_requested()) {
        statuses[index] = Cancelled("import stopped");
        continue;
      }
      statuses[index] = WriteFrame(recording, options, index / camera_count, index % camera_count,
                                   writer, max_samples, &facts[index]);
      const std::lock_guard<std::mutex> lock(mutex);
      if (options.on_frame) options.on_frame(++done, total);
    }
  });
  for (std::size_t i = 0; i < count; ++i) {
    INTERLACER_RETURN_IF_ERROR(statuses[i]);
    all->extent.Append(std::exchange(facts[i].extent, {}));
    all->codes.Add(facts[i].codes);
  }
  return Status::Ok();
}

Status WriteTables(const RecordedEpisode& recording, EpisodeWriter* writer) {
  for (std::size_t camera = 0; camera < recording.poses.size(); ++camera) {
    if (recording.poses[camera].empty()) continue;
    INTERLACER_RETURN_IF_ERROR(
        writer->WritePoses(static_cast<int>(camera), recording.poses[camera]));
  }
  if (!recording.capture_times_ns.empty()) {
    INTERLACER_RETURN_IF_ERROR(writer->WriteCaptureTimes(recording.capture_times_ns));
  }
  for (const EpisodeFile& file : recording.files) {
    INTERLACER_RETURN_IF_ERROR(writer->WriteExtra(file.path, file.bytes));
  }
  if (!recording.manifest.states) return Status::Ok();
  INTERLACER_RETURN_IF_ERROR(writer->WriteStates(recording.states));
  return writer->WriteActions(recording.actions);
}

/// Of the cameras' intrinsics, once where neighbours share them.
Status CheckPrincipalPoints(const EpisodeManifest& manifest, std::vector<Finding>* findings) {
  const Camera* before = nullptr;
  for (const EpisodeCamera& camera : manifest.cameras) {
    if (before != nullptr && HasSamePinhole(*before, camera.camera)) continue;
    before = &camera.camera;
    INTERLACER_ASSIGN_OR_RETURN(
        auto finding, CheckPrincipalPoint(camera.camera, "intrinsics of camera " + camera.name));
    if (finding) findings->push_back(*std::move(finding));
  }
  return Status::Ok();
}

/// Range and box that the recording or the options say.
void TakeExtent(const ImportOptions& options, EpisodeManifest* manifest) {
  manifest->workspace = options.workspace.value_or(manifest->workspace);
  for (EpisodeCamera& camera : manifest->cameras) {
    camera.near_m = options.near_m.value_or(camera.near_m);
    camera.far_m = options.far_m.value_or(camera.far_m);
  }
}

/// Range and box; where they were computed, an error names what they come from.
StatusOr<SceneExtent::Result> FindExtent(const RecordedEpisode& recording,
                                         const ImportOptions& options, const DepthFacts& facts) {
  auto found = facts.extent.Finish(options.near_m, options.far_m, options.workspace);
  if (found.ok() || options.far_m || options.workspace) return found;
  const Status& status = found.status();
  std::string message =
      status.message() + "; computed from depths of " +
      NumberText(recording.manifest.cameras.front().depth_unit_m) +
      " m an integer: " + (recording.is_depth_unit_fixed ? "" : "is --depth-unit right, and ") +
      "are the poses in metres?";
  for (const Finding& finding :
       DescribeCodes(facts.codes, recording.manifest.cameras.front().depth_unit_m)) {
    message += "; " + finding.message;
  }
  return Status(status.code(), status.reason(), std::move(message)).WithField(status.field());
}

/// Findings about the source before those of the episode.
Status AddSourceFindings(const RecordedEpisode& recording, const std::string& episode_dir,
                         const DepthCodes& codes, ImportReport* report) {
  std::vector<Finding> findings = recording.findings;
  for (Finding& finding : DescribeCodes(codes, recording.manifest.cameras.front().depth_unit_m)) {
    findings.push_back(std::move(finding));
  }
  INTERLACER_ASSIGN_OR_RETURN(const EpisodeReader episode,
                              EpisodeReader::Open(episode_dir, {false}));
  if (auto suspect =
          CompareDepthWithPoses(episode, recording.mistakes, recording.is_depth_unit_fixed))
    findings.push_back(*std::move(suspect));
  auto& all = report->validation.findings;
  all.insert(all.begin(), findings.begin(), findings.end());
  return Status::Ok();
}

}  // namespace

EpisodeManifest StartManifest(EpisodeKind kind, const std::string& format, int skipped_count,
                              const std::vector<std::string>& notes, const ImportOptions& options) {
  EpisodeManifest manifest;
  manifest.episode_id = options.episode_id;
  if (manifest.episode_id.empty()) {
    const auto path = std::filesystem::path(options.episode_dir + "/").lexically_normal();
    manifest.episode_id = NameFrom(path.parent_path().filename().string());
  }
  manifest.kind = kind;
  manifest.created_time = CurrentTimeRfc3339();
  manifest.source = {"import",
                     std::string("interlacer ") + kVersion,
                     options.command,
                     std::nullopt,
                     options.license,
                     options.attribution,
                     notes};
  manifest.source.notes.insert(manifest.source.notes.begin(), "format: " + format);
  if (skipped_count > 0) {
    manifest.source.notes.push_back(std::to_string(skipped_count) +
                                    " frames without partner, file or pose left out");
  }
  manifest.task_name = format;
  // Stands in until the real box is known.
  manifest.workspace = {{-1, -1, -1}, {1, 1, 1}};
  return manifest;
}

Status AddRobot(const Robot& robot, RecordedEpisode* episode) {
  INTERLACER_ASSIGN_OR_RETURN(EncodedRobot encoded, EncodeRobot(robot));
  RobotInfo info;
  info.model = robot.name;
  info.folder = kRobotFolder;
  info.folder_sha256 = encoded.sha256;
  for (RobotFile& file : encoded.files) {
    episode->files.push_back({info.folder + "/" + file.name, std::move(file.bytes)});
  }
  episode->manifest.robot = std::move(info);
  episode->manifest.states = JointColumns(robot);
  episode->manifest.actions = JointColumns(robot);
  return Status::Ok();
}

StatusOr<ImportReport> WriteEpisode(RecordedEpisode recording, const ImportOptions& options) {
  INTERLACER_RETURN_IF_ERROR(CheckPrincipalPoints(recording.manifest, &recording.findings));
  INTERLACER_ASSIGN_OR_RETURN(
      auto writer,
      EpisodeWriter::Create(options.episode_dir, recording.manifest, {options.overwrite}));
  DepthFacts facts;
  INTERLACER_RETURN_IF_ERROR(WriteFrames(recording, options, writer.get(), &facts));
  INTERLACER_RETURN_IF_ERROR(WriteTables(recording, writer.get()));
  EpisodeManifest& final_manifest = writer->manifest();
  if (recording.has_extent) {
    TakeExtent(options, &final_manifest);
  } else {
    INTERLACER_ASSIGN_OR_RETURN(const SceneExtent::Result found,
                                FindExtent(recording, options, facts));
    final_manifest.workspace = found.workspace;
    for (EpisodeCamera& camera : final_manifest.cameras) {
      camera.near_m = found.near_m;
      camera.far_m = found.far_m;
    }
    auto& notes = final_manifest.source.notes;
    notes.insert(notes.end(), found.notes.begin(), found.notes.end());
  }
  if (options.stop.stop_requested()) return Cancelled("import stopped");

  // The disk works while the episode is validated.
  INTERLACER_ASSIGN_OR_RETURN(const std::string written_dir, writer->Complete());
  ImportReport report;
  report.frame_count = final_manifest.step_count * static_cast<int>(final_manifest.cameras.size());
  report.skipped_count = recording.skipped_count;
  // Hashes were made of the bytes that were written, colours coded from pixels; depths are read to
  // be measured.
  INTERLACER_ASSIGN_OR_RETURN(
      report.validation,
      ValidateEpisode(written_dir,
                      {.verify_hashes = false, .decode_colors = false, .stop = options.stop}));
  INTERLACER_RETURN_IF_ERROR(AddSourceFindings(recording, written_dir, facts.codes, &report));
  INTERLACER_RETURN_IF_ERROR(writer->Finish());
  return report;
}

}  // namespace interlacer
