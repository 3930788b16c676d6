#include "data/sim/sweep.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "common/transforms.h"
#include "data/sim/task_geometry.h"
#include "data/sim/tools.h"

namespace interlacer::sim {
namespace {

// Tools' line: steep enough in the world for both arms to stay out of each other's way.
constexpr double kMinLineSlantRad = 1.0;
constexpr double kMaxLineSlantRad = 1.4;
constexpr double kMouthHalfX = 0.04;
constexpr double kMouthY = 0.05;  // towards the pan's side of the table
constexpr double kMouthJitterY = 0.03;

constexpr int kMinLitter = 3;
constexpr int kMaxLitter = 6;
constexpr double kNearestLitterM = 0.04;  // before the mouth
constexpr double kFarthestLitterM = 0.14;
constexpr double kLitterHalfWidthM = 0.065;
constexpr double kLitterGapM = 0.036;
constexpr double kLitterKg = 0.01;
constexpr double kLitterRollingM = 0.0008;
constexpr int kLitterTries = 100;

// A stroke: from before the farthest litter over the ramp to the floor of the pan.
constexpr double kStrokeStartM = 0.18;
constexpr double kRampStartM = 0.025;
constexpr double kStrokeEndM = -0.065;
constexpr double kOverTheFloorM = 0.008;  // lift over the floor of the pan
constexpr double kBesideM = 0.026;
constexpr double kBrushLiftedM = 0.08;
constexpr double kPanStartLiftM = 0.08;
constexpr double kPanEndLiftM = 0.07;

// What an episode must show.
constexpr double kInPanShare = 0.66;
constexpr double kInPanHeightM = 0.05;
constexpr double kUnmovedM = 0.01;
constexpr double kSweptM = 0.05;

bool IsLitter(std::size_t object, int litter_count) {
  return object >= 2 && object < 2 + static_cast<std::size_t>(litter_count);
}

bool InPan(const Transform& world_from_pan, const Vec3d& litter_m) {
  const Vec3d local_m = Apply(Inverse(world_from_pan), litter_m);
  const double above_m = local_m[2] + kToolGripHeightM;
  return local_m[0] > kPanBackM && local_m[0] < kPanMouthM &&
         std::abs(local_m[1]) < kPanHalfWidthM && above_m > 0 && above_m < kInPanHeightM;
}

}  // namespace

Sweep::Sweep(const RobotSetup& robot, RandomSequence random, ColorSet colors)
    : robot_(robot),
      random_(random),
      colors_(colors),
      speed_m_(random_.Uniform(0.055, 0.075)),
      pan_arm_(static_cast<int>(random_.Below(robot_.arm_count))),
      litter_count_(kMinLitter + static_cast<int>(random_.Below(kMaxLitter - kMinLitter + 1))),
      tool_(robot.arm_count),
      path_(robot.arm_count) {
  // The pan is in front three times of four, where nothing else stands.
  const double side = random_.Below(4) == 0 ? -1 : 1;
  const double slant_rad = side * random_.Uniform(kMinLineSlantRad, kMaxLineSlantRad);
  yaw_rad_ = pan_arm_ == 0 ? slant_rad : -slant_rad;
  heading_rad_ = pan_arm_ == 0 ? slant_rad : std::numbers::pi - slant_rad;
  mouth_m_ = {random_.Uniform(-kMouthHalfX, kMouthHalfX),
              -side * (kMouthY + random_.Uniform(-kMouthJitterY, kMouthJitterY)), 0};
}

std::string Sweep::Text() const {
  return "sweep " + std::to_string(litter_count_) + " pieces of litter into the dustpan";
}

ToolTarget Sweep::PanAt(double back_m, double lift_m) const {
  ToolTarget goal = {Along(mouth_m_, heading_rad_, -kPanMouthM - back_m), yaw_rad_,
                     ToolOpeningM(*robot_.model)};
  goal.position_m[2] = kToolTipHeightM + lift_m;
  return goal;
}

ToolTarget Sweep::BrushAt(double ahead_m, double beside_m, double lift_m) const {
  const Vec3d line_m = Along(mouth_m_, heading_rad_, ahead_m + kBrushFrontM);
  ToolTarget goal = {Along(line_m, heading_rad_ + std::numbers::pi / 2, beside_m), yaw_rad_,
                     ToolOpeningM(*robot_.model)};
  goal.position_m[2] = kToolTipHeightM + lift_m;
  return goal;
}

ToolTargets Sweep::Prepare(Scene& scene) {
  const int brush_arm = 1 - pan_arm_;
  SceneObject pan =
      MakeDustpan(*robot_.model, pan_arm_, DrawColor(random_, ObjectColors(colors_)).color);
  SceneObject brush =
      MakeBrush(*robot_.model, brush_arm, DrawColor(random_, ObjectColors(colors_)).color);
  pan.world_from_object = {PanAt(0, 0).position_m, YawQuaternion(heading_rad_)};
  brush.world_from_object = {BrushAt(kStrokeStartM, 0, 0).position_m,
                             YawQuaternion(heading_rad_ + std::numbers::pi)};
  scene.objects = {pan, brush};
  AddLitter(scene);
  tool_[pan_arm_] = PanAt(random_.Uniform(0, 0.04), kPanStartLiftM + random_.Uniform(0, 0.05));
  tool_[brush_arm] =
      BrushAt(kStrokeStartM + random_.Uniform(-0.02, 0.02), random_.Uniform(-0.05, 0.05),
              kBrushLiftedM + random_.Uniform(0, 0.05));
  for (int arm = 0; arm < robot_.arm_count; ++arm) path_[arm].Restart(tool_[arm]);
  PlanStrokes();
  return tool_;
}

void Sweep::AddLitter(Scene& scene) {
  std::vector<Vec3d> places_m;
  for (int attempt = 0; attempt < kLitterTries; ++attempt) {
    if (static_cast<int>(places_m.size()) == litter_count_) break;
    const Vec3d line_m =
        Along(mouth_m_, heading_rad_, random_.Uniform(kNearestLitterM, kFarthestLitterM));
    const Vec3d place_m = Along(line_m, heading_rad_ + std::numbers::pi / 2,
                                random_.Uniform(-kLitterHalfWidthM, kLitterHalfWidthM));
    const bool is_free = std::none_of(places_m.begin(), places_m.end(), [&](const Vec3d& other_m) {
      return DistanceM(place_m, other_m) < kLitterGapM;
    });
    if (is_free) places_m.push_back(place_m);
  }
  litter_count_ = static_cast<int>(places_m.size());
  for (const Vec3d& place_m : places_m) {
    SceneObject piece;
    piece.name = "litter_" + std::to_string(scene.objects.size() - 1);
    // Boxes only: a cylinder meets the flat floor of the pan in one point and sinks in.
    piece.half_size_m = {random_.Uniform(0.009, 0.014), random_.Uniform(0.009, 0.014),
                         random_.Uniform(0.008, 0.013)};
    piece.color = DrawColor(random_, ObjectColors(colors_)).color;
    piece.mass_kg = kLitterKg;
    piece.rolling_friction_m = kLitterRollingM;
    piece.world_from_object = {{place_m[0], place_m[1], piece.half_size_m[2]},
                               YawQuaternion(random_.Uniform(0, 3))};
    scene.objects.push_back(piece);
  }
}

void Sweep::PlanStrokes() {
  ToolPath& pan = path_[pan_arm_];
  ToolPath& brush = path_[1 - pan_arm_];
  pan.MoveTo(PanAt(0, 0), 2 * speed_m_);
  const double first_side = random_.Below(2) == 0 ? -1 : 1;
  for (const double side : {first_side, -first_side}) {
    const double beside_m = side * kBesideM;
    brush.MoveTo(BrushAt(kStrokeStartM, beside_m, kBrushLiftedM), 2 * speed_m_);
    brush.MoveTo(BrushAt(kStrokeStartM, beside_m, 0), 2 * speed_m_);
    brush.MoveTo(BrushAt(kRampStartM, beside_m, 0), speed_m_);
    brush.MoveTo(BrushAt(kStrokeEndM, beside_m, kOverTheFloorM), speed_m_);
    brush.MoveTo(BrushAt(kStrokeEndM, beside_m, kBrushLiftedM), 2 * speed_m_);
  }
}

ToolTargets Sweep::Next(const std::vector<Transform>&) {
  const int brush_arm = 1 - pan_arm_;
  const bool swept = path_[brush_arm].Done();
  if (swept) {
    // The brush waits above the table; the pan, level as ever, shows what it holds.
    path_[brush_arm].MoveTo(
        BrushAt(random_.Uniform(0.15, 0.22), random_.Uniform(-0.05, 0.05), 2 * kBrushLiftedM),
        2 * speed_m_);
  }
  if (path_[pan_arm_].Done()) {
    // While the brush is at work the pan lies still.
    const bool is_down = path_[pan_arm_].end().position_m[2] < kToolTipHeightM + 1e-9;
    if (is_down && !swept) {
      path_[pan_arm_].MoveTo(PanAt(0, 0), speed_m_);
    } else {
      path_[pan_arm_].MoveTo(
          PanAt(random_.Uniform(0, 0.04), kPanEndLiftM + random_.Uniform(0, 0.06)), speed_m_);
    }
  }
  for (int arm = 0; arm < robot_.arm_count; ++arm) tool_[arm] = path_[arm].Pop();
  return tool_;
}

bool Sweep::Succeeded(const std::vector<std::vector<Transform>>& poses_of_step) const {
  const std::vector<Transform>& first = poses_of_step.front();
  const std::vector<Transform>& last = poses_of_step.back();
  int in_pan_count = 0;
  int swept_count = 0;
  for (std::size_t o = 2; o < last.size(); ++o) {
    const double moved_m = DistanceM(first[o].translation_m, last[o].translation_m);
    if (!IsLitter(o, litter_count_)) {
      if (moved_m > kUnmovedM) return false;
      continue;
    }
    swept_count += moved_m > kSweptM ? 1 : 0;
    in_pan_count += InPan(last.front(), last[o].translation_m) ? 1 : 0;
    if (!WithinTheTable(last[o]) || last[o].translation_m[2] < 0) return false;
  }
  return in_pan_count >= kInPanShare * litter_count_ && swept_count >= in_pan_count;
}

}  // namespace interlacer::sim
