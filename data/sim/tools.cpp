#include "data/sim/tools.h"

#include <cmath>

namespace interlacer::sim {
namespace {

// The handle's half width is what kToolOpeningM leaves between the fingers.
constexpr Vec3d kHandleHalfM = {0.05, 0.010, 0.008};
constexpr double kToolMassKg = 0.05;  // of every piece

constexpr double kFloorBottomM = 0.001;  // above the table
constexpr double kFloorHalfThicknessM = 0.002;
constexpr double kRampM = 0.035;
constexpr double kRampHalfThicknessM = 0.0012;
constexpr double kLipM = 0.0007;  // top of the ramp at the mouth, above the table
constexpr double kWallHalfThicknessM = 0.003;
constexpr double kSideWallHalfHeightM = 0.015;
constexpr double kBackWallHalfHeightM = 0.024;

constexpr double kBristleGapM = 0.002;  // to the table
constexpr Vec3d kBristleHalfM = {0.012, kBrushHalfWidthM, 0.016};
constexpr Vec3d kBrushHeadHalfM = {0.015, kBrushHalfWidthM + 0.002, 0.009};
constexpr Rgb kBristleColor = {0.24, 0.22, 0.20};

/// Height above the table in the working pose to z in the frame of the tool.
double FromTable(double height_m) { return height_m - kToolGripHeightM; }

ObjectPart Box(const Vec3d& center_m, const Vec3d& half_size_m, const Rgb& color) {
  ObjectPart part;
  part.half_size_m = half_size_m;
  part.object_from_part.translation_m = center_m;
  part.color = color;
  part.mass_kg = kToolMassKg;
  return part;
}

SceneObject MakeHandle(const char* name, int arm, const Rgb& color) {
  SceneObject tool;
  tool.name = name;
  tool.half_size_m = kHandleHalfM;
  tool.color = color;
  tool.mass_kg = kToolMassKg;
  tool.holder_arm = arm;
  // Half a turn about y: the gripper looks down and its x axis points to the arm's base.
  tool.gripper_from_object = {{0, 0, kFingerLengthM - (kToolGripHeightM - kToolTipHeightM)},
                              {0, 1, 0, 0}};
  return tool;
}

/// From the handle to x = `end_m`.
ObjectPart Neck(double end_m, const Rgb& color) {
  const double middle_m = (kHandleHalfM[0] + end_m) / 2;
  const double half_m = (end_m - kHandleHalfM[0]) / 2;
  return Box({middle_m, 0, 0}, {half_m, 0.9 * kHandleHalfM[1], 0.9 * kHandleHalfM[2]}, color);
}

}  // namespace

SceneObject MakeDustpan(int arm, const Rgb& color) {
  SceneObject pan = MakeHandle("dustpan", arm, color);
  pan.parts.push_back(Neck(kPanBackM, color));
  const double floor_end_m = kPanMouthM - kRampM;
  const double floor_half_m = (floor_end_m - kPanBackM) / 2;
  const double floor_middle_m = kPanBackM + floor_half_m;
  const double floor_top_m = kFloorBottomM + 2 * kFloorHalfThicknessM;
  pan.parts.push_back(Box({floor_middle_m, 0, FromTable(kFloorBottomM + kFloorHalfThicknessM)},
                          {floor_half_m, kPanHalfWidthM, kFloorHalfThicknessM}, color));
  pan.parts.push_back(Box({kPanBackM, 0, FromTable(kFloorBottomM + kBackWallHalfHeightM)},
                          {kWallHalfThicknessM, kPanHalfWidthM, kBackWallHalfHeightM}, color));
  for (const double side : {-1.0, 1.0}) {
    pan.parts.push_back(Box({floor_middle_m, side * (kPanHalfWidthM - kWallHalfThicknessM),
                             FromTable(kFloorBottomM + kSideWallHalfHeightM)},
                            {floor_half_m, kWallHalfThicknessM, kSideWallHalfHeightM}, color));
  }
  const double slope_rad = std::atan2(floor_top_m - kLipM, kRampM);
  const double ramp_middle_m = (floor_top_m + kLipM) / 2 - kRampHalfThicknessM;
  ObjectPart ramp = Box({floor_end_m + kRampM / 2, 0, FromTable(ramp_middle_m)},
                        {kRampM / 2, kPanHalfWidthM, kRampHalfThicknessM}, color);
  ramp.object_from_part.rotation_xyzw = {0, std::sin(slope_rad / 2), 0, std::cos(slope_rad / 2)};
  pan.parts.push_back(ramp);
  return pan;
}

SceneObject MakeBrush(int arm, const Rgb& color) {
  SceneObject brush = MakeHandle("brush", arm, color);
  const double head_m = kBrushFrontM - kBristleHalfM[0];
  brush.parts.push_back(Neck(head_m, color));
  const double bristle_top_m = kBristleGapM + 2 * kBristleHalfM[2];
  brush.parts.push_back(
      Box({head_m, 0, FromTable(kBristleGapM + kBristleHalfM[2])}, kBristleHalfM, kBristleColor));
  brush.parts.push_back(
      Box({head_m, 0, FromTable(bristle_top_m + kBrushHeadHalfM[2])}, kBrushHeadHalfM, color));
  return brush;
}

}  // namespace interlacer::sim
