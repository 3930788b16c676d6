#pragma once

/// The steps of a bag: for each all images, poses and joint values that belong to its moment.
///
/// Rules: data/importers/ros2.h. Errors: ARGUMENT_INVALID (a step shorter than the spacing of
/// images), TIMESTAMP_INVALID (nothing overlaps, or what is missing at the first moment), those of
/// EndEffectorJoints; CANCELLED. Threads: one at a time.

#include <cstdint>
#include <string>
#include <vector>

#include "common/geometry.h"
#include "common/status.h"
#include "data/importers/bag_cameras.h"
#include "data/importers/bag_end_effectors.h"
#include "data/importers/bag_index.h"
#include "data/importers/bag_joints.h"
#include "data/importers/import_options.h"

namespace interlacer {

/// One step with all that belongs to it.
struct BagStep {
  std::vector<int> frames;       ///< [cameras]
  std::vector<Transform> poses;  ///< [cameras] world_from_camera
  std::vector<Transform> goals;  ///< [end effectors] world_from_link, of those without joints
  std::vector<double> state, action;
};

struct BagSteps {
  std::vector<BagStep> steps;  ///< not empty
  std::int64_t step_ns = 0;
  int left_out_count = 0;
  std::string left_out;  ///< how many, and why the first; empty: none
};

/// What steps are made of.
struct BagSources {
  const BagIndex& bag;
  const BagCameras& cameras;
  const BagJoints* joints = nullptr;         ///< null: no robot
  BagEndEffectors* end_effectors = nullptr;  ///< null: all joints are measured
};

StatusOr<BagSteps> FindBagSteps(const BagSources& sources, const ImportOptions& options);

std::string SecondsText(std::int64_t time_ns);

}  // namespace interlacer
