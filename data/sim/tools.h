#pragma once

/// A dustpan and a brush, made of boxes, for the grippers.
///
/// Frame of a tool: origin where the fingers hold its handle, x from there to the tool's working
/// end, z up when the gripper points down. In the working pose the origin lies kToolGripHeightM
/// above the table. Metres. Thread-safety: pure functions.

#include "data/sim/scene.h"

namespace interlacer::sim {

inline constexpr double kToolGripHeightM = 0.048;
/// Finger tips above the table in the working pose.
inline constexpr double kToolTipHeightM = 0.035;

inline constexpr double kPanMouthM = 0.240;  ///< along x, where the ramp meets the table
inline constexpr double kPanBackM = 0.090;   ///< along x, the wall at the back
inline constexpr double kPanHalfWidthM = 0.100;
inline constexpr double kBrushFrontM = 0.112;  ///< along x, front of the bristles
inline constexpr double kBrushHalfWidthM = 0.052;

/// Opening of a gripper that holds a handle.
double ToolOpeningM(const ArmModel& model);

/// `world_from_object` is left to the caller.
SceneObject MakeDustpan(const ArmModel& model, int arm, const Rgb& color);
SceneObject MakeBrush(const ArmModel& model, int arm, const Rgb& color);

}  // namespace interlacer::sim
