#pragma once

/// Recordings of one camera as files: pictures, poses and times, written as an episode
/// (data/importers/write_episode.h).
///
/// Errors: those of common/image_codec.h and of WriteEpisode; INVALID_ARGUMENT IMAGE_SIZE_MISMATCH
/// naming the source's file.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/camera.h"
#include "data/episode.h"
#include "data/importers/import_options.h"
#include "data/importers/intrinsics.h"
#include "data/importers/source_mistakes.h"

namespace interlacer {

struct ImportFrame {
  Transform world_from_camera;
  std::int64_t capture_time_ns = 0;
  std::string color_path;
  std::string depth_path;
};

struct ImportedRecording {
  EpisodeKind kind = EpisodeKind::kStaticViews;
  std::string format;  ///< "tum", ...
  Camera camera;       ///< intrinsics; a missing size is taken from the first frame
  double depth_unit_m = 0;
  std::function<std::uint16_t(std::uint16_t)> decode_depth;  ///< of stored integers, if any
  double step_duration_s = 0.5;
  std::string world_frame_name;
  std::vector<ImportFrame> frames;  ///< kStaticViews: one camera each; kMovingCamera: one step each
  int skipped_count = 0;
  std::vector<std::string> notes;
  std::vector<Finding> findings;  ///< about the source; they join those of validation
  Transform world_from_source{};  ///< a turn of the poses by the importer
  /// Of this format alone, beside those of CommonMistakes.
  std::vector<SourceMistake> mistakes{};
};

StatusOr<ImportReport> WriteRecording(ImportedRecording recording, const ImportOptions& options);

/// Camera and depth unit: that of the options, else of the camera's file, else the format's.
void SetCamera(const Intrinsics& camera, const ImportOptions& options, double format_unit_m,
               ImportedRecording* recording);

/// Adds the finding POSES_LOST if a tracker had lost the camera at `count` moments.
void AddLostPoses(int count, ImportedRecording* recording);

/// World frames of reconstructions have any axis up. Turns all poses so that the signed axis
/// nearest to the cameras' mean upward direction becomes z; gives the axis, such as "-y". The y
/// axis of cameras points down, or up where their focal lengths are negative.
std::string TurnUpAxisToZ(bool has_y_up, std::vector<ImportFrame>* frames);

}  // namespace interlacer
