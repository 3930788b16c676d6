#pragma once

/// The RGB-D cameras of one demonstration in an HDF5 file of robomimic or robosuite.
///
///   obs/NAME_image  [steps,height,width,3] uint8
///   obs/NAME_depth  [steps,height,width,1] or [steps,height,width]
/// Depths are metres and pictures upright where the attribute camera_info is (robomimic writes it);
/// else --depth-kind says which: metres, or z_buffer, the buffer of OpenGL in [0,1], whose
/// pictures and depths are upside down: z = near / (1 - d (1 - near / far)), and 1 is no surface.
/// Calibration: --calibration, else camera_info (K, and the pose of the camera in the world). Poses
/// of camera_info of cameras on a hand are composed in the wrong order by their writer and refused.
/// Errors: INVALID_ARGUMENT NO_DEPTH, NO_CALIBRATION, CALIBRATION_INVALID,
/// CALIBRATION_SIZE_MISMATCH, DEPTH_RANGE_INVALID, ARGUMENT_INVALID, SHAPE_MISMATCH, and those of
/// data/hdf5/hdf5_file.h. Const methods may run together.

#include <optional>
#include <string>
#include <vector>

#include "data/hdf5/hdf5_file.h"
#include "data/importers/calibration_file.h"
#include "data/importers/import_options.h"
#include "data/importers/write_episode.h"

namespace interlacer {

struct Hdf5View {
  CameraCalibration calibration;
  Hdf5Array image, depth;
};

class Hdf5Views {
 public:
  /// `demo`: path of its group.
  static StatusOr<Hdf5Views> Find(const Hdf5File& file, const std::string& demo,
                                  const ImportOptions& options);

  const std::vector<Hdf5View>& views() const { return views_; }
  std::int64_t step_count() const { return views_.front().image.shape[0]; }
  double depth_unit_m() const { return unit_m_; }
  const std::vector<Finding>& findings() const { return findings_; }
  StatusOr<RecordedFrame> Read(std::int64_t step, std::size_t view) const;

 private:
  explicit Hdf5Views(const Hdf5File& file) : file_(file) {}
  Status FindDepthKind(bool has_camera_info, const ImportOptions& options);
  Status FindUnit(const ImportOptions& options);
  /// Metres, or integers as they are; NaN where nothing was measured.
  float DepthOf(float value) const;

  Hdf5File file_;
  std::vector<Hdf5View> views_;
  bool is_z_buffer_ = false, is_integer_ = false;
  double near_m_ = 0, far_m_ = 0, unit_m_ = 0;
  std::vector<Finding> findings_;
};

}  // namespace interlacer
