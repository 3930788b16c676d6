#pragma once

/// The end effectors of a bag by which joints are found (data/importers/end_effector_joints.h): of
/// each half of an option the source is a frame of the transforms, or a topic of poses
/// (geometry_msgs/msg/PoseStamped, PoseWithCovarianceStamped, foxglove.PoseInFrame), which are
/// poses of the link in the frame of their header.
///
/// Errors: those of EndEffectorJoints; ARGUMENT_INVALID naming what leads nowhere. Threads: one at
/// a time.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/geometry.h"
#include "common/status.h"
#include "data/importers/bag_index.h"
#include "data/importers/bag_joints.h"
#include "data/importers/end_effector_joints.h"
#include "data/importers/import_options.h"

namespace interlacer {

class BagEndEffectors {
 public:
  /// `bag` must outlive it.
  static StatusOr<BagEndEffectors> Make(const BagIndex& bag, const BagOptions& options,
                                        const BagJoints& joints);

  /// [end effectors] world_from_link at a time; NOT_FOUND in a gap.
  StatusOr<std::vector<Transform>> GoalsAt(std::int64_t time_ns) const;

  EndEffectorJoints& joints() { return joints_; }

 private:
  struct Frames {
    std::string position, rotation;
  };
  BagEndEffectors(const BagIndex& bag, std::string world, EndEffectorJoints joints)
      : bag_(&bag), world_(std::move(world)), joints_(std::move(joints)) {}

  const BagIndex* bag_;
  std::string world_;
  EndEffectorJoints joints_;
  std::vector<Frames> frames_;  ///< [end effectors]
};

}  // namespace interlacer
