#pragma once

/// Writes one episode: everything goes into `.NAME.partial` beside the target, the manifest last,
/// then all files are flushed at once and the folder renamed. An episode that was not finished is
/// removed.
///
/// Missing patterns and table names of the manifest are filled in (color/NAME/%06d.png, ...).
/// Errors: FAILED_PRECONDITION OUTPUT_EXISTS, FILE_UNWRITABLE; INVALID_ARGUMENT
/// IMAGE_SIZE_MISMATCH, SHAPE_MISMATCH, and those of data/manifest.h. Thread-safety: WriteFrame of
/// different steps or cameras may run together; nothing else.

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/image.h"
#include "common/status.h"
#include "data/episode.h"

namespace interlacer {

struct EpisodeWriteOptions {
  /// Replace an existing episode or empty folder; any other folder, and without this also an
  /// episode, is OUTPUT_EXISTS.
  bool overwrite = false;
};

class EpisodeWriter {
 public:
  static StatusOr<std::unique_ptr<EpisodeWriter>> Create(const std::string& episode_dir,
                                                         EpisodeManifest manifest,
                                                         const EpisodeWriteOptions& options = {});
  ~EpisodeWriter();
  EpisodeWriter(const EpisodeWriter&) = delete;
  EpisodeWriter& operator=(const EpisodeWriter&) = delete;

  /// The depth's integers and unit are kept; the unit must be the camera's.
  Status WriteFrame(int step, int camera, const RgbImage& color, const DepthImage16& depth);
  /// [steps,cameras] row-major.
  Status WriteCaptureTimes(std::span<const std::int64_t> capture_times_ns);
  Status WriteActions(const NumberTable& table);
  Status WriteStates(const NumberTable& table);
  /// For a camera that moves: one pose a step.
  Status WritePoses(int camera, std::span<const Transform> world_from_camera);
  /// Any further file, such as "truth/object_poses.npy".
  Status WriteExtra(const std::string& relative_path, std::span<const std::uint8_t> data);

  /// The manifest that Finish will write; callers may add notes or a box computed from the frames.
  EpisodeManifest& manifest() { return manifest_; }

  /// Refuses an episode with missing frames or tables, writes hashes and manifest. Gives the
  /// folder, which can be read until Finish gives it its name; nothing else may be written.
  StatusOr<std::string> Complete();
  /// Completes the episode, waits for the disk and renames.
  Status Finish();

 private:
  EpisodeWriter(std::string final_dir, std::string partial_dir, int partial_fd,
                EpisodeManifest manifest, bool overwrite);
  Status WriteRelative(const std::string& relative_path, std::span<const std::uint8_t> data);
  Status WriteTable(const std::optional<MotionTable>& motion, const std::string& field,
                    const NumberTable& table);
  Status CheckComplete() const;

  std::string final_dir_, partial_dir_;
  int partial_fd_;  // opened before the first file: from then on syncfs tells of failed writes
  EpisodeManifest manifest_;
  bool overwrite_;
  bool is_complete_ = false, finished_ = false;
  std::mutex mutex_;  // guards the two below
  std::set<std::pair<int, int>> written_frames_;
  std::vector<std::pair<std::string, std::string>> file_hashes_;  // path, hash
};

}  // namespace interlacer
