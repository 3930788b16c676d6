#pragma once

/// Bounds of what a request may ask for and a recording may hold, in metres; every door to the
/// model keeps them.

namespace interlacer {

inline constexpr double kMaxSceneSideM = 100;        ///< side of a workspace
inline constexpr double kMaxSceneRangeM = 100;       ///< far end of the depth range
inline constexpr double kMaxRobotCoordinateM = 100;  ///< of a kinematic point

}  // namespace interlacer
