#pragma once

/// One training sequence: two lifted clouds, the robot's motion and the frames to predict.
///
/// A window of an episode starts at newest step s: clouds of s-1 and s, the robot's rows of
/// s-1 ... s+R, target views of s ... s+R (target_steps[0] is the reconstruction), tracks of s+1
/// ... s+R. A static scene repeats its frames in time and has no robot. World frame, metres. Value
/// types.

#include <cstdint>
#include <memory>
#include <vector>

#include "common/camera.h"
#include "common/image.h"
#include "model/lifting/kinematic_rows.h"
#include "model/lifting/seen_points.h"
#include "robots/robot.h"

namespace interlacer {

/// A recorded frame, white where it does not show the workspace.
struct SupervisedView {
  Camera camera;
  RgbImage color;
  /// Along the optical axis; NaN outside the workspace and where none was measured.
  DepthImage depth;
  /// [h,w] 1 where the pixel may be supervised (0: no depth was measured).
  std::vector<std::uint8_t> is_supervised;
  /// [h,w] 1 where the colour differs from the newest input frame of the same camera.
  std::vector<std::uint8_t> is_moving;
};

/// The chosen pixels of the images of one time. `source_index` as in model/lifting/lifting.h.
struct LiftedTime {
  std::vector<RgbImage> images;
  std::vector<float> positions_m;          ///< [n,3]
  std::vector<std::int64_t> source_index;  ///< [n]
  /// [n] link of each point (robots/attachment.h); empty where the robot's motion is learned.
  std::vector<std::int32_t> links;
};

/// Where the particles of the newest time truly are later, as far as a data set knows.
struct TrueTracks {
  std::vector<std::vector<float>> positions_m;  ///< [R][n,3]
  /// [n] 0 where the motion is not known, or given: that of what follows a link.
  std::vector<std::uint8_t> is_known;
};

struct TrainingSample {
  int step_count = 0;                  ///< R
  LiftedTime older;                    ///< t-2
  LiftedTime newer;                    ///< t-1
  KinematicRows robot_rows;            ///< 2 + R rows, or none
  std::shared_ptr<const Robot> robot;  ///< whose; null where nothing describes it
  std::vector<std::vector<SupervisedView>> target_steps;  ///< [1 + R][views], or empty
  TrueTracks tracks;                                      ///< empty unless asked for and known
  SeenPoints seen;  ///< of t-1, where the model's guess sees more than its particles; else empty
  Box workspace;
  float near_m = 0.1f;
  float far_m = 2.0f;
};

}  // namespace interlacer
