#pragma once

/// What a data set lacks that no single episode shows: other views, and motion of every joint.
///
/// Manipulation episodes count; cameras that move within an episode (on a hand) see enough views
/// and are only listed. Findings:
///   CALIBRATION_SPREAD_LOW  every camera stands at one place in all episodes
///   CALIBRATION_DIFFERS     a camera of one name, of recordings within one session, is far from
///                           where it was: moved, or calibrated wrongly once
///   MOTION_COVERAGE_LOW     joints that visit a small part of their range in all episodes together
/// Threads: one at a time.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/scene.h"
#include "data/episode_reader.h"

namespace interlacer {

struct CameraSpread {
  std::string camera_name;
  int episode_count = 0;      ///< where it stands still
  int calibration_count = 0;  ///< distinct poses
  double spread_m = 0;        ///< between the two farthest apart, as SpreadOf (data/pose_spread.h)
  double spread_rad = 0;
  bool moves = false;  ///< within some episode
};

struct JointCoverage {
  std::string robot;
  std::string column;  ///< with unit suffix
  double low = 0, high = 0;
  double range_share = -1;  ///< visited, of the limits or a whole turn; negative: no limits
};

struct DatasetCoverage {
  int episode_count = 0;  ///< of manipulation
  std::vector<CameraSpread> cameras;
  std::vector<JointCoverage> joints;
  std::vector<Finding> findings;
};

class DatasetCoverageCheck {
 public:
  void Add(const EpisodeReader& episode);
  DatasetCoverage Result() const;

 private:
  struct Placing {
    std::string episode_id;
    Transform world_from_camera;
    std::int64_t start_ns = 0;
    bool is_recorded = false;  ///< not simulated, whose poses are right
  };
  struct CameraPlacings {
    std::vector<Placing> placings;
    bool moves = false;
  };
  struct JointRange {
    TableColumn rule;
    double low = 0, high = 0;
  };
  static void AddCalibrationDiffers(const std::string& camera, const std::vector<Placing>& placings,
                                    DatasetCoverage* coverage);

  int episode_count_ = 0;
  std::map<std::string, CameraPlacings> cameras_;
  std::map<std::pair<std::string, std::string>, JointRange> joints_;  // robot, column
};

}  // namespace interlacer
