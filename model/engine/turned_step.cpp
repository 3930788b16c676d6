#include "model/engine/turned_step.h"

#include <ATen/Functions.h>

#include "common/transforms.h"

namespace interlacer {
namespace {

/// Quarter turns about the z axis of rows of three, exact in every bit: axes change places and
/// signs.
torch::Tensor TurnVectors(const torch::Tensor& rows, int quarter_turns) {
  const torch::Tensor x = rows.select(-1, 0), y = rows.select(-1, 1), z = rows.select(-1, 2);
  switch (((quarter_turns % kQuarterTurns) + kQuarterTurns) % kQuarterTurns) {
    case 1:
      return at::stack({-y, x, z}, -1);
    case 2:
      return at::stack({-x, -y, z}, -1);
    case 3:
      return at::stack({y, -x, z}, -1);
    default:
      return rows;
  }
}

torch::Tensor CenterOf(const Box& workspace, const torch::Tensor& like) {
  const Vec3d center = BoxCenter(workspace);
  return at::tensor({center[0], center[1], center[2]}, at::kFloat).to(like.device());
}

torch::Tensor TurnPoints(const torch::Tensor& points_m, const Box& workspace, int quarter_turns) {
  const torch::Tensor center = CenterOf(workspace, points_m);
  return TurnVectors(points_m - center, quarter_turns) + center;
}

/// Rows of a flag and a displacement (SurfaceInput).
torch::Tensor TurnMotion(const torch::Tensor& motion, int quarter_turns) {
  return at::cat({motion.slice(1, 0, 1), TurnVectors(motion.slice(1, 1, 4), quarter_turns)}, 1);
}

/// With the center that it had; odd turns exchange the extents in x and y.
Box TurnBox(const Box& box, int quarter_turns) {
  if (quarter_turns % 2 == 0) return box;
  const Vec3d center = BoxCenter(box);
  Box turned = box;
  for (int axis = 0; axis < 2; ++axis) {
    const double half_m = 0.5 * (box.max_m[1 - axis] - box.min_m[1 - axis]);
    turned.min_m[axis] = center[axis] - half_m;
    turned.max_m[axis] = center[axis] + half_m;
  }
  return turned;
}

}  // namespace

StepInput Turned(const StepInput& input, int quarter_turns) {
  StepInput turned = input;
  turned.older.positions_m = TurnPoints(input.older.positions_m, input.workspace, quarter_turns);
  turned.newer.positions_m = TurnPoints(input.newer.positions_m, input.workspace, quarter_turns);
  turned.kinematic_points_m = TurnPoints(input.kinematic_points_m, input.workspace, quarter_turns);
  turned.surface.normals = TurnVectors(input.surface.normals, quarter_turns);
  turned.surface.older_motion = TurnMotion(input.surface.older_motion, quarter_turns);
  turned.surface.newer_motion = TurnMotion(input.surface.newer_motion, quarter_turns);
  turned.workspace = TurnBox(input.workspace, quarter_turns);
  return turned;
}

CloudTensors TurnedBack(const CloudTensors& cloud, const Box& workspace, int quarter_turns) {
  return {TurnPoints(cloud.positions_m, workspace, -quarter_turns), cloud.features};
}

}  // namespace interlacer
