#pragma once

/// The last stage of all importers: writes the frames of a recording as an episode and validates
/// it.
///
/// Frames are read and written one by one, in parallel; no more than one a thread is in memory.
/// Near, far and box come from data/importers/scene_extent.h.
/// Errors: those of `read_frame`, of data/episode_writer.h, and IMAGE_SIZE_MISMATCH; CANCELLED. A
/// failed or stopped import leaves no folder behind. Threads: one at a time an output folder.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/image.h"
#include "data/episode.h"
#include "data/importers/import_options.h"
#include "data/importers/source_mistakes.h"
#include "robots/robot.h"

namespace interlacer {

/// A frame as its source has it; what means no measurement may still be in its depth.
struct RecordedFrame {
  RgbImage color;
  DepthImage16 depth;
};

/// Of all importers.
inline constexpr char kRobotFolder[] = "robot";

struct EpisodeFile {
  std::string path;  ///< in the episode's folder
  std::vector<std::uint8_t> bytes;
};

struct RecordedEpisode {
  EpisodeManifest manifest;  ///< with box, near and far where has_extent
  bool has_extent = false;   ///< else they are computed from the measured points
  /// Called from several threads.
  std::function<StatusOr<RecordedFrame>(int step, int camera)> read_frame;
  std::vector<std::vector<Transform>> poses;     ///< [cameras][steps]; empty for fixed cameras
  std::vector<std::int64_t> capture_times_ns{};  ///< [steps,cameras], or empty
  NumberTable states{}, actions{};               ///< of an episode with a robot
  std::vector<EpisodeFile> files{};              ///< further ones, such as its robot's
  int skipped_count = 0;
  std::vector<Finding> findings{};   ///< about the source; they join those of validation
  bool is_depth_unit_fixed = false;  ///< by the format; else --depth-unit may be wrong
  /// Tried where the views contradict each other.
  std::vector<SourceMistake> mistakes = CommonMistakes();
};

/// Robot, its files in kRobotFolder, and columns for its joints in states and actions.
Status AddRobot(const Robot& robot, RecordedEpisode* episode);

StatusOr<ImportReport> WriteEpisode(RecordedEpisode recording, const ImportOptions& options);

/// id (or the folder's name with _ for what names may not have), time, source and notes.
EpisodeManifest StartManifest(EpisodeKind kind, const std::string& format, int skipped_count,
                              const std::vector<std::string>& notes, const ImportOptions& options);

}  // namespace interlacer
