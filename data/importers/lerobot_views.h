#pragma once

/// The RGB-D cameras of one episode of a LeRobot data set.
///
/// A camera is a colour feature and a depth feature: those of --color and --depth, else for each
/// depth feature observation.images.NAME_depth the colour observation.images.NAME.
///
///   colour  videos (AV1, H.264), or PNG and JPEG in the table
///   depth   videos of 12-bit codes, or 16-bit PNG and TIFF in the table
///
/// Codes 0 and 4095 are what lies outside the coded range, or was not measured: no depth. Between
/// them, with `use_log`,
///   z = exp(c / 4095 (ln(max + shift) - ln(min + shift)) + ln(min + shift)) - shift,
/// else z = min + c / 4095 (max - min). Calibration: --calibration alone, under NAME.
/// Errors: INVALID_ARGUMENT NO_DEPTH, CAMERA_UNKNOWN, CALIBRATION_INVALID,
/// CALIBRATION_SIZE_MISMATCH, DEPTH_UNIT_MISSING, IMAGE_SIZE_MISMATCH, ARGUMENT_INVALID,
/// SCHEMA_INVALID, TIMESTAMP_INVALID (a video of another rate), those of data/importers/video.h and
/// data/parquet/parquet_table.h. Read may run together.

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "data/importers/calibration_file.h"
#include "data/importers/frame_spool.h"
#include "data/importers/import_options.h"
#include "data/importers/lerobot_set.h"
#include "data/importers/write_episode.h"
#include "data/parquet/parquet_table.h"

namespace interlacer {

/// Metres of a code of 12 bits; NaN for those that are no measurement.
double DepthOfCode(const DepthCoding& coding, int code);

/// Frames of one feature.
struct LerobotStream {
  std::string feature, codec;
  bool is_video = false;
  std::optional<DepthCoding> coding;
  std::unique_ptr<FrameSpool> frames{};
};

struct LerobotView {
  CameraCalibration calibration;
  double depth_unit_m = 0;
  LerobotStream color, depth;
};

class LerobotViews {
 public:
  /// Decodes the frames `wanted`, rising, of the episode, whose first row is `first_row`.
  static StatusOr<LerobotViews> Find(const LerobotSet& set, const LerobotEpisode& episode,
                                     const ParquetTable& table, std::int64_t first_row,
                                     const std::vector<std::int64_t>& wanted,
                                     const ImportOptions& options);

  const std::vector<LerobotView>& views() const { return views_; }
  /// What was found and not given, one sentence each.
  const std::vector<std::string>& choices() const { return choices_; }
  /// Index among the wanted frames.
  StatusOr<RecordedFrame> Read(std::int64_t index, std::size_t view) const;

 private:
  std::string spool_folder_;
  std::stop_token stop_;
  std::vector<LerobotView> views_;
  std::vector<std::string> choices_;
};

}  // namespace interlacer
