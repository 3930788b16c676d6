#include "data/sim/tools.h"

#include <cmath>

namespace interlacer::sim {
namespace {

constexpr Vec3d kHandleHalfM = {0.05, 0.010, 0.008};
constexpr double kToolMassKg = 0.05;  // of every piece

constexpr double kFloorBottomM = 0.001;  // above the table
constexpr double kFloorHalfThicknessM = 0.002;
constexpr double kRampM = 0.035;
constexpr double kRampHalfThicknessM = 0.0012;
constexpr double kLipM = 0.0007;  // top of the ramp at the mouth, above the table
constexpr double kTouchedHalfThicknessM = 0.012;
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

SceneObject MakeHandle(const ArmModel& model, const char* name, int arm, const Rgb& color) {
  SceneObject tool;
  tool.name = name;
  tool.half_size_m = kHandleHalfM;
  tool.color = color;
  tool.mass_kg = kToolMassKg;
  tool.holder_arm = arm;
  // Half a turn about y: the gripper looks down and its x axis points to the arm's base.
  tool.gripper_from_object = {{0, 0, model.finger_length_m - (kToolGripHeightM - kToolTipHeightM)},
                              {0, 1, 0, 0}};
  return tool;
}

/// A thin sheet to be seen and, with the same upper face, a thick one to be touched: what is pushed
/// against a thin one can end on its wrong side. `top_m` is the middle of the upper face, which
/// slopes down along x.
void AddSheet(const Vec3d& top_m, const std::array<double, 2>& half_size_m, double slope_rad,
              double half_thickness_m, const Rgb& color, SceneObject& object) {
  for (const bool is_seen : {true, false}) {
    const double half_m = is_seen ? half_thickness_m : kTouchedHalfThicknessM;
    const Vec3d center_m = {top_m[0] - half_m * std::sin(slope_rad), top_m[1],
                            top_m[2] - half_m * std::cos(slope_rad)};
    ObjectPart part = Box(center_m, {half_size_m[0], half_size_m[1], half_m}, color);
    part.object_from_part.rotation_xyzw = {0, std::sin(slope_rad / 2), 0, std::cos(slope_rad / 2)};
    part.solid = !is_seen;
    part.visible = is_seen;
    object.parts.push_back(part);
  }
}

/// From the handle to x = `end_m`.
ObjectPart Neck(double end_m, const Rgb& color) {
  const double middle_m = (kHandleHalfM[0] + end_m) / 2;
  const double half_m = (end_m - kHandleHalfM[0]) / 2;
  return Box({middle_m, 0, 0}, {half_m, 0.9 * kHandleHalfM[1], 0.9 * kHandleHalfM[2]}, color);
}

}  // namespace

double ToolOpeningM(const ArmModel& model) { return kHandleHalfM[1] - model.finger_gap_m; }

SceneObject MakeDustpan(const ArmModel& model, int arm, const Rgb& color) {
  SceneObject pan = MakeHandle(model, "dustpan", arm, color);
  pan.parts.push_back(Neck(kPanBackM, color));
  const double floor_end_m = kPanMouthM - kRampM;
  const double floor_half_m = (floor_end_m - kPanBackM) / 2;
  const double floor_middle_m = kPanBackM + floor_half_m;
  const double floor_top_m = kFloorBottomM + 2 * kFloorHalfThicknessM;
  AddSheet({floor_middle_m, 0, FromTable(floor_top_m)}, {floor_half_m, kPanHalfWidthM}, 0,
           kFloorHalfThicknessM, color, pan);
  pan.parts.push_back(Box({kPanBackM, 0, FromTable(kFloorBottomM + kBackWallHalfHeightM)},
                          {kWallHalfThicknessM, kPanHalfWidthM, kBackWallHalfHeightM}, color));
  for (const double side : {-1.0, 1.0}) {
    pan.parts.push_back(Box({floor_middle_m, side * (kPanHalfWidthM - kWallHalfThicknessM),
                             FromTable(kFloorBottomM + kSideWallHalfHeightM)},
                            {floor_half_m, kWallHalfThicknessM, kSideWallHalfHeightM}, color));
  }
  const double slope_rad = std::atan2(floor_top_m - kLipM, kRampM);
  AddSheet({floor_end_m + kRampM / 2, 0, FromTable((floor_top_m + kLipM) / 2)},
           {kRampM / 2, kPanHalfWidthM}, slope_rad, kRampHalfThicknessM, color, pan);
  return pan;
}

SceneObject MakeBrush(const ArmModel& model, int arm, const Rgb& color) {
  SceneObject brush = MakeHandle(model, "brush", arm, color);
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
