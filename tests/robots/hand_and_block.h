#pragma once

/// A hand of two plates on slides, and a block on a table between them.

#include <memory>
#include <utility>

#include "common/geometry.h"
#include "robots/robot.h"
#include "tests/support/clouds.h"

namespace interlacer::testing {

inline constexpr std::size_t kBlockParticles = 18;

inline RobotLink Link(const char* name, int parent, JointType type, Vec3d axis) {
  RobotLink link{.name = name, .parent = parent, .part = LinkPart::kFinger};
  link.joint = {.name = name, .type = type, .axis = axis};
  return link;
}

inline void AddSurface(Robot* robot, int link, double x, double y, double z, Vec3f normal) {
  robot->surface.positions_m.push_back(
      {static_cast<float>(x), static_cast<float>(y), static_cast<float>(z)});
  robot->surface.normals.push_back(normal);
  robot->surface.links.push_back(link);
}

/// A hand on two slides, columns x and z, with two plates for fingers 6 mm beside the block, each
/// of which a column of its own opens.
inline std::shared_ptr<const Robot> Hand() {
  Robot robot;
  robot.links = {RobotLink{.name = "world"}, Link("x", 0, JointType::kPrismatic, {1, 0, 0}),
                 Link("z", 1, JointType::kPrismatic, {0, 0, 1}),
                 Link("left", 2, JointType::kPrismatic, {-1, 0, 0}),
                 Link("right", 2, JointType::kPrismatic, {1, 0, 0})};
  robot.columns = {1, 2, 3, 4};
  for (const int side : {-1, 1}) {
    for (int y = -2; y <= 2; ++y) {
      for (const double z : {0.02, 0.03, 0.04}) {
        AddSurface(&robot, side < 0 ? 3 : 4, 0.026 * side, 0.01 * y, z,
                   {static_cast<float>(-side), 0, 0});
      }
    }
  }
  return std::make_shared<const Robot>(std::move(robot));
}

/// A block of 4 x 4 x 2 cm, first, on a table.
inline Cloud BlockOnTable(double x_m = 0, double raised_m = 0) {
  Cloud cloud;
  for (const double x : {-0.02, 0.0, 0.02}) {
    for (const double y : {-0.02, 0.0, 0.02}) {
      for (const double z : {0.02, 0.04}) AddPoint(cloud, x_m + x, y, raised_m + z);
    }
  }
  for (int x = -15; x <= 15; ++x) {
    for (int y = -15; y <= 15; ++y) AddPoint(cloud, 0.02 * x, 0.02 * y, 0);
  }
  return cloud;
}

}  // namespace interlacer::testing
