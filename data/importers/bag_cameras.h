#pragma once

/// The RGB-D cameras of a bag: which topics belong together, their calibration, their frames.
///
/// A depth topic belongs to the colour topic of the same frame and size; depth of another frame,
/// size or K than its colour is not registered and refused. A camera's calibration is the topic
/// named as an option, camera_info beside the colour topic, or any of its frame, which must agree;
/// it may not change; --calibration holds in place of all of them. Topics called image_rect... are
/// rectified: they have the pinhole of P and no lens model. Nothing is guessed: where topics are
/// not unique the error names them and the option. Errors: INVALID_ARGUMENT NO_DEPTH,
/// NO_CALIBRATION, NOT_REGISTERED, CALIBRATION_INVALID, CALIBRATION_SIZE_MISMATCH,
/// ARGUMENT_INVALID. Thread-safe.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/importers/bag_index.h"
#include "data/importers/calibration_file.h"
#include "data/importers/import_options.h"

namespace interlacer {

struct BagFrame {
  std::int64_t time_ns = 0;  ///< of the colour image
  int color = 0;             ///< indices into the topics' images
  int depth = 0;
};

struct BagCamera {
  std::string name;
  const BagTopic* color = nullptr;
  const BagTopic* depth = nullptr;
  Camera camera;  ///< without pose
  /// Of --calibration; where it has a pose or link, transforms do not count.
  std::optional<CameraCalibration> calibration;
  double depth_unit_m = 0;
  std::vector<BagFrame> frames;        ///< ascending in time
  std::vector<std::int64_t> times_ns;  ///< of the frames
  std::int64_t spacing_ns = 0;         ///< 0 of a single frame
};

struct BagCameras {
  std::vector<BagCamera> cameras;
  int unpaired_count = 0;  ///< colour images without depth
  std::vector<std::string> choices, notes;
  std::vector<Finding> findings;
};

StatusOr<BagCameras> FindCameras(const BagIndex& bag, const ImportOptions& options);

}  // namespace interlacer
