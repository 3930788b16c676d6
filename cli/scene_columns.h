#pragma once

/// The columns of a scene's rows of joints. Pure function, thread-safe.

#include <vector>

#include "common/model_metadata.h"
#include "common/scene.h"

namespace interlacer::cli {

/// Of the scene's robot, else the model's. A joint that turns freely may be searched one turn
/// either way; one whose robot folder states no speed may change as the model's of its name.
std::vector<ActionColumn> ColumnsOfScene(const SceneInput& scene, const ModelMetadata& metadata);

}  // namespace interlacer::cli
