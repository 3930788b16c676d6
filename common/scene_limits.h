#pragma once

/// Bounds of what a request may ask for and a recording may hold, in metres; every door to the
/// model keeps them.

namespace interlacer {

inline constexpr double kMaxSceneSideM = 100;        ///< side of a workspace
inline constexpr double kMaxSceneRangeM = 100;       ///< far end of the depth range
inline constexpr double kMaxRobotCoordinateM = 100;  ///< of a kinematic point

/// Whether these are the ends of a depth range: 0 < near < far <= kMaxSceneRangeM, also in float32,
/// in which renderers hold them.
constexpr bool IsDepthRange(double near_m, double far_m) {
  return near_m > 0 && near_m < far_m && far_m <= kMaxSceneRangeM &&
         static_cast<float>(near_m) < static_cast<float>(far_m);
}

}  // namespace interlacer
