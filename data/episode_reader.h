#pragma once

/// Reads frames, poses and tables of one episode on disk.
///
/// Open reads the manifest and the small tables; frames are read lazily. Before a frame is decoded
/// its file is hashed against files.sha256 (unless told not to) and the size in its header compared
/// with the calibration.
/// Errors: those of data/manifest.h and common/file_io.h; HASH_MISMATCH, IMAGE_SIZE_MISMATCH,
/// IMAGE_UNDECODABLE, SHAPE_MISMATCH, NOT_FINITE; the field is the file's path in the episode.
/// Thread-safety: const methods may run together.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/image.h"
#include "common/scene.h"
#include "common/status.h"
#include "data/episode.h"

namespace interlacer {

struct EpisodeReadOptions {
  bool verify_hashes = true;
};

class EpisodeReader {
 public:
  static StatusOr<EpisodeReader> Open(const std::string& episode_dir,
                                      const EpisodeReadOptions& options = {});

  const std::string& directory() const { return directory_; }
  const EpisodeManifest& manifest() const { return manifest_; }
  int step_count() const { return manifest_.step_count; }
  int camera_count() const { return static_cast<int>(manifest_.cameras.size()); }
  std::optional<int> FindCamera(std::string_view name) const;

  /// A moving camera's recording of a scene at rest as a static scene with one fixed camera per
  /// step, named step_000000, step_000001, ... (NAME_step_000000 where there are several cameras),
  /// of one step and one time. Other kinds of episodes are unchanged.
  EpisodeReader AsStaticViews() const;

  /// Calibration with the pose of that step.
  Camera CameraAt(int step, int camera) const;
  std::int64_t CaptureTimeNs(int step, int camera) const;
  /// The robot of the episode's robot folder; null where it has none.
  const std::shared_ptr<const Robot>& robot() const { return robot_; }
  /// Empty tables where the episode has none.
  const NumberTable& actions() const { return actions_; }
  const NumberTable& states() const { return states_; }

  StatusOr<RgbImage> ReadColor(int step, int camera) const;
  StatusOr<DepthImage16> ReadRawDepth(int step, int camera) const;
  /// Metres; NaN where nothing was measured.
  StatusOr<DepthImage> ReadDepth(int step, int camera) const;
  StatusOr<RgbdView> ReadView(int step, int camera) const;

  /// Bytes of any file of the episode, checked against its hash.
  StatusOr<std::vector<std::uint8_t>> ReadFile(const std::string& relative_path) const;
  /// Hash of manifest.json: names the whole episode.
  StatusOr<std::string> ManifestSha256() const;
  /// Paths listed in files.sha256, and their hashes.
  const std::map<std::string, std::string>& ListedFiles() const { return file_hashes_; }

 private:
  Status LoadRobot();
  Status LoadTables();
  StatusOr<std::vector<std::uint8_t>> ReadFrameBytes(const std::string& path, int camera) const;

  std::string directory_;
  EpisodeReadOptions options_;
  EpisodeManifest manifest_;
  std::map<std::string, std::string> file_hashes_;
  std::shared_ptr<const Robot> robot_;
  NumberTable actions_, states_;
  std::vector<std::vector<Transform>> poses_;   // by camera; empty for fixed ones
  std::vector<std::int64_t> capture_times_ns_;  // [steps,cameras] or empty
};

}  // namespace interlacer
