#pragma once

/// Robots whose links are plates in the plane of tests/model/plane_scene.h, so that some of its
/// particles belong to them: one 20 cm wide around (0.2, 0), which turns about its middle, and one
/// around (-0.2, 0), which slides along x.

#include <cmath>
#include <string>
#include <vector>

#include "data/sim/robot.h"
#include "robots/robot.h"

namespace interlacer::testing {

inline constexpr double kPlateHalfM = 0.1;
inline constexpr double kPlateSpacingM = 0.01;
inline constexpr double kTurningPlateXM = 0.2;
inline constexpr double kSlidingPlateXM = -0.2;
inline constexpr double kTurningPlateRadPerS = 4;

/// A link on the root, without a surface.
inline RobotLink PlateLink(const std::string& joint, JointType type, double x_m) {
  RobotLink link{.name = joint + "_link", .parent = 0};
  link.joint = {.name = joint,
                .type = type,
                .parent_from_joint = {{x_m, 0, 0}, {0, 0, 0, 1}},
                .axis = type == JointType::kPrismatic ? Vec3d{1, 0, 0} : Vec3d{0, 0, 1},
                .limits = JointLimits{-3, 3},
                .mimic = {}};
  return link;
}

inline void AddPlate(std::int64_t link, Robot* robot) {
  const int half = static_cast<int>(std::lround(kPlateHalfM / kPlateSpacingM));
  for (int x = -half; x <= half; ++x) {
    for (int y = -half; y <= half; ++y) {
      robot->surface.positions_m.push_back(
          {static_cast<float>(kPlateSpacingM * x), static_cast<float>(kPlateSpacingM * y), 0.f});
      robot->surface.normals.push_back({0.f, 0.f, 1.f});
      robot->surface.links.push_back(link);
    }
  }
}

/// Columns "turn_rad" and "slide_m".
inline Robot TwoPlates() {
  Robot robot;
  robot.name = "two_plates";
  robot.source = "made by a test";
  robot.links = {RobotLink{.name = "ground"},
                 PlateLink("turn", JointType::kRevolute, kTurningPlateXM),
                 PlateLink("slide", JointType::kPrismatic, kSlidingPlateXM)};
  robot.columns = {1, 2};
  AddPlate(1, &robot);
  AddPlate(2, &robot);
  return robot;
}

/// The columns of the robot whose bodies models know; its first joint turns one plate, its first
/// gripper slides the other.
inline Robot PlatesOfBodies() {
  Robot robot;
  robot.name = "plates_of_bodies";
  robot.source = "made by a test";
  robot.links = {RobotLink{.name = "ground"}};
  for (const sim::StateColumn& column : sim::StateColumnsOf({})) {
    const bool slides = column.unit == "m";
    const std::string joint = column.name.substr(0, column.name.rfind('_'));
    robot.columns.push_back(static_cast<int>(robot.links.size()));
    robot.links.push_back(PlateLink(joint, slides ? JointType::kPrismatic : JointType::kRevolute,
                                    slides ? kSlidingPlateXM : kTurningPlateXM));
    robot.links.back().joint.limits = JointLimits{column.min, column.max};
    if (!slides) robot.links.back().joint.max_speed = kTurningPlateRadPerS;
  }
  AddPlate(1, &robot);
  AddPlate(8, &robot);
  return robot;
}

}  // namespace interlacer::testing
