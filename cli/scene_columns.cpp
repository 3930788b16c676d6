#include "cli/scene_columns.h"

#include <cmath>
#include <numbers>

#include "robots/joint_values.h"

namespace interlacer::cli {

std::vector<ActionColumn> ColumnsOfScene(const SceneInput& scene, const ModelMetadata& metadata) {
  if (scene.robot == nullptr) return metadata.action_columns;
  std::vector<ActionColumn> columns = ActionColumns(*scene.robot, metadata.step_duration_s);
  for (ActionColumn& column : columns) {
    constexpr double kTurn = 2 * std::numbers::pi;
    if (std::isinf(column.min_value)) column.min_value = -kTurn;
    if (std::isinf(column.max_value)) column.max_value = kTurn;
    for (const ActionColumn& known : metadata.action_columns) {
      if (column.max_step_change == 0 && known.name == column.name) {
        column.max_step_change = known.max_step_change;
      }
    }
  }
  return columns;
}

}  // namespace interlacer::cli
