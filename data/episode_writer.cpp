#include "data/episode_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "common/file_io.h"
#include "common/image_codec.h"
#include "common/json.h"
#include "common/npy.h"
#include "common/number_text.h"
#include "common/replaceable_folder.h"
#include "common/sha256.h"
#include "common/transforms.h"
#include "data/csv.h"
#include "data/manifest.h"

namespace interlacer {
namespace {

namespace fs = std::filesystem;

void FillPatterns(EpisodeManifest* manifest) {
  for (EpisodeCamera& camera : manifest->cameras) {
    if (camera.color_pattern.empty()) camera.color_pattern = "color/" + camera.name + "/%06d.png";
    if (camera.depth_pattern.empty()) camera.depth_pattern = "depth/" + camera.name + "/%06d.png";
  }
  if (manifest->actions && manifest->actions->file.empty()) manifest->actions->file = "actions.npy";
  if (manifest->states && manifest->states->file.empty()) manifest->states->file = "states.npy";
}

/// Begins to bring the file to the disk; Finish waits for all files at once.
Status WriteUnflushed(const std::string& path, std::span<const std::uint8_t> data) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return CannotWrite(path, {errno, std::generic_category()});
  int error = 0;
  while (error == 0 && !data.empty()) {
    const ssize_t put = write(fd, data.data(), data.size());
    if (put >= 0) data = data.subspan(static_cast<std::size_t>(put));
    if (put < 0 && errno != EINTR) error = errno;
  }
  // Else the disk would rest while pictures are coded, and all would wait for it at the end.
  sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
  if (close(fd) != 0 && error == 0) error = errno;
  if (error == 0) return Status::Ok();
  return CannotWrite(path, {error, std::generic_category()});
}

/// A rename is on disk only when the folder that holds the name is.
void FlushFolder(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

}  // namespace

StatusOr<std::unique_ptr<EpisodeWriter>> EpisodeWriter::Create(const std::string& episode_dir,
                                                               EpisodeManifest manifest,
                                                               const EpisodeWriteOptions& options) {
  FillPatterns(&manifest);
  INTERLACER_RETURN_IF_ERROR(ValidateManifest(manifest));
  const fs::path target = fs::path(episode_dir).lexically_normal();
  const fs::path name = target.has_filename() ? target.filename() : target.parent_path().filename();
  const fs::path parent =
      target.has_filename() ? target.parent_path() : target.parent_path().parent_path();
  const std::string final_dir = (parent / name).string();
  std::error_code error;
  if (!options.overwrite && fs::exists(final_dir, error)) {
    return FailedPrecondition(reason::OUTPUT_EXISTS, "already exists: " + final_dir)
        .WithField(final_dir);
  }
  INTERLACER_RETURN_IF_ERROR(CheckReplaceable(final_dir, kManifestFile));
  const std::string partial_dir = (parent / ("." + name.string() + ".partial")).string();
  fs::remove_all(partial_dir, error);
  fs::create_directories(partial_dir, error);
  if (error) return CannotWrite(partial_dir, error);
  const int partial_fd = open(partial_dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (partial_fd < 0) return CannotWrite(partial_dir, {errno, std::generic_category()});
  return std::unique_ptr<EpisodeWriter>(new EpisodeWriter(final_dir, partial_dir, partial_fd,
                                                          std::move(manifest), options.overwrite));
}

EpisodeWriter::EpisodeWriter(std::string final_dir, std::string partial_dir, int partial_fd,
                             EpisodeManifest manifest, bool overwrite)
    : final_dir_(std::move(final_dir)),
      partial_dir_(std::move(partial_dir)),
      partial_fd_(partial_fd),
      manifest_(std::move(manifest)),
      overwrite_(overwrite) {}

EpisodeWriter::~EpisodeWriter() {
  close(partial_fd_);
  if (finished_) return;
  std::error_code ignored;
  fs::remove_all(partial_dir_, ignored);
}

Status EpisodeWriter::WriteRelative(const std::string& relative_path,
                                    std::span<const std::uint8_t> data) {
  const fs::path path = fs::path(partial_dir_) / relative_path;
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) return CannotWrite(path.string(), error);
  INTERLACER_RETURN_IF_ERROR(WriteUnflushed(path.string(), data));
  std::string hash = Sha256Hex(data);
  const std::lock_guard<std::mutex> lock(mutex_);
  file_hashes_.emplace_back(relative_path, std::move(hash));
  return Status::Ok();
}

Status EpisodeWriter::WriteFrame(int step, int camera, const RgbImage& color,
                                 const DepthImage16& depth) {
  if (step < 0 || step >= manifest_.step_count || camera < 0 ||
      camera >= static_cast<int>(manifest_.cameras.size())) {
    return Mismatch(reason::STEP_INVALID, "step, camera",
                    "below " + std::to_string(manifest_.step_count) + ", below " +
                        std::to_string(manifest_.cameras.size()),
                    std::to_string(step) + ", " + std::to_string(camera));
  }
  const EpisodeCamera& item = manifest_.cameras[camera];
  const std::string expected = SizeText(item.camera.width_px, item.camera.height_px);
  for (const std::string& got :
       {SizeText(color.width_px, color.height_px), SizeText(depth.width_px, depth.height_px)}) {
    if (got != expected) {
      return Mismatch(reason::IMAGE_SIZE_MISMATCH, FramePath(item.color_pattern, step), expected,
                      got);
    }
  }
  if (depth.unit_m != item.depth_unit_m) {
    return Mismatch(reason::DEPTH_UNIT_MISSING, FramePath(item.depth_pattern, step),
                    std::to_string(item.depth_unit_m) + " m", std::to_string(depth.unit_m) + " m");
  }
  INTERLACER_RETURN_IF_ERROR(WriteRelative(FramePath(item.color_pattern, step), EncodePng(color)));
  INTERLACER_RETURN_IF_ERROR(WriteRelative(FramePath(item.depth_pattern, step), EncodePng(depth)));
  const std::lock_guard<std::mutex> lock(mutex_);
  written_frames_.emplace(step, camera);
  return Status::Ok();
}

Status EpisodeWriter::WriteCaptureTimes(std::span<const std::int64_t> capture_times_ns) {
  const std::int64_t shape[] = {manifest_.step_count,
                                static_cast<std::int64_t>(manifest_.cameras.size())};
  if (static_cast<std::int64_t>(capture_times_ns.size()) != shape[0] * shape[1]) {
    return Mismatch(reason::SHAPE_MISMATCH, "capture_times", std::to_string(shape[0] * shape[1]),
                    std::to_string(capture_times_ns.size()));
  }
  manifest_.capture_times_file = "capture_times.npy";
  return WriteRelative(manifest_.capture_times_file, EncodeNpy(capture_times_ns, shape));
}

Status EpisodeWriter::WriteTable(const std::optional<MotionTable>& motion, const std::string& field,
                                 const NumberTable& table) {
  const std::int64_t columns = motion ? static_cast<std::int64_t>(motion->columns.size()) : 0;
  if (table.row_count != manifest_.step_count || table.column_count != columns) {
    return Mismatch(
        reason::SHAPE_MISMATCH, field,
        std::to_string(manifest_.step_count) + " rows of " + std::to_string(columns),
        std::to_string(table.row_count) + " rows of " + std::to_string(table.column_count));
  }
  if (motion->file.ends_with(".csv")) {
    CsvTable csv{{}, table};
    for (const TableColumn& column : motion->columns) csv.column_names.push_back(column.name);
    const std::string text = FormatCsv(csv);
    return WriteRelative(motion->file,
                         {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  }
  const std::int64_t shape[] = {table.row_count, table.column_count};
  return WriteRelative(motion->file, EncodeNpy(table.values, shape));
}

Status EpisodeWriter::WriteActions(const NumberTable& table) {
  return WriteTable(manifest_.actions, "actions", table);
}

Status EpisodeWriter::WriteStates(const NumberTable& table) {
  return WriteTable(manifest_.states, "states", table);
}

Status EpisodeWriter::WritePoses(int camera, std::span<const Transform> world_from_camera) {
  EpisodeCamera& item = manifest_.cameras[camera];
  if (static_cast<int>(world_from_camera.size()) != manifest_.step_count) {
    return Mismatch(reason::SHAPE_MISMATCH, "poses of " + item.name,
                    std::to_string(manifest_.step_count), std::to_string(world_from_camera.size()));
  }
  std::vector<double> values;
  for (const Transform& pose : world_from_camera) {
    const Matrix4d matrix = ToMatrix(pose);
    values.insert(values.end(), matrix.begin(), matrix.end());
  }
  item.poses_file = "poses_" + item.name + ".npy";
  const std::int64_t shape[] = {manifest_.step_count, 4, 4};
  return WriteRelative(item.poses_file, EncodeNpy(values, shape));
}

Status EpisodeWriter::WriteExtra(const std::string& relative_path,
                                 std::span<const std::uint8_t> data) {
  return WriteRelative(relative_path, data);
}

Status EpisodeWriter::CheckComplete() const {
  for (int step = 0; step < manifest_.step_count; ++step) {
    for (int camera = 0; camera < static_cast<int>(manifest_.cameras.size()); ++camera) {
      if (written_frames_.count({step, camera}) > 0) continue;
      return Mismatch(reason::SHAPE_MISMATCH,
                      FramePath(manifest_.cameras[camera].color_pattern, step),
                      "a frame for every step and camera", "none");
    }
  }
  for (const auto* motion : {&manifest_.actions, &manifest_.states}) {
    if (!motion->has_value()) continue;
    const bool written =
        std::any_of(file_hashes_.begin(), file_hashes_.end(),
                    [&](const auto& file) { return file.first == (*motion)->file; });
    if (!written) return Mismatch(reason::SHAPE_MISMATCH, (*motion)->file, "a table", "none");
  }
  return Status::Ok();
}

StatusOr<std::string> EpisodeWriter::Complete() {
  if (is_complete_) return partial_dir_;
  INTERLACER_RETURN_IF_ERROR(CheckComplete());
  std::sort(file_hashes_.begin(), file_hashes_.end());
  std::string lines;
  for (const auto& [path, hash] : file_hashes_) lines += hash + "  " + path + "\n";
  INTERLACER_RETURN_IF_ERROR(WriteFileAtomic(partial_dir_ + "/files.sha256", lines));
  manifest_.files_sha256 = Sha256Hex(lines);
  INTERLACER_RETURN_IF_ERROR(ValidateManifest(manifest_));
  INTERLACER_RETURN_IF_ERROR(
      WriteJsonFile(partial_dir_ + "/" + kManifestFile, ManifestToJson(manifest_)));
  is_complete_ = true;
  return partial_dir_;
}

Status EpisodeWriter::Finish() {
  INTERLACER_RETURN_IF_ERROR(Complete().status());
  if (syncfs(partial_fd_) != 0) {
    return CannotWrite(partial_dir_, {errno, std::generic_category()});
  }
  if (overwrite_) {
    INTERLACER_RETURN_IF_ERROR(ReplaceFolder(partial_dir_, final_dir_, kManifestFile));
  } else {
    std::error_code error;
    fs::rename(partial_dir_, final_dir_, error);
    if (error) return CannotWrite(final_dir_, error);
  }
  finished_ = true;
  const fs::path parent = fs::path(final_dir_).parent_path();
  FlushFolder(parent.empty() ? "." : parent.string());
  return Status::Ok();
}

}  // namespace interlacer
