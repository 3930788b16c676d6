#pragma once

/// A step as seen from a frame that is turned about the vertical line through the middle of the
/// workspace.
///
/// What a scene does next does not depend on how it lies in the world, while a network knows that
/// only as well as it has learned it. Answers from several sides therefore differ where the network
/// is unsure: an ensemble without a second model. Pure functions over tensors of any device;
/// threads as tensors.

#include "model/clouds.h"

namespace interlacer {

/// A quarter turn is the smallest that maps the sides of the workspace box onto such sides.
inline constexpr int kQuarterTurns = 4;

/// `input` after `quarter_turns`; the box turns too, features stay.
StepInput Turned(const StepInput& input, int quarter_turns);

/// Positions of a cloud in the frame that `workspace` (of the input as it was) belongs to.
CloudTensors TurnedBack(const CloudTensors& cloud, const Box& workspace, int quarter_turns);

}  // namespace interlacer
