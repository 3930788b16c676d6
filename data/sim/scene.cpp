#include "data/sim/scene.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "common/transforms.h"

namespace interlacer::sim {
namespace {

constexpr double kFocalPerWidth = 0.80;  // fx = fy = 0.80 width: 64 degrees across
constexpr const char* kCameraNames[] = {"left", "right"};
constexpr Vec3d kCameraTargetM = {0, 0.02, 0.26};

constexpr const char* kTableTextures[] = {"light-wood.png", "wood-varnished-panels.png",
                                          "white-plaster.png", "gray-woodgrain.png",
                                          "cream-plaster.png"};
constexpr const char* kFloorTextures[] = {"light-gray-floor-tile.png", "wood-tiles.png",
                                          "gray-plaster.png"};
constexpr double kDistractorMinY = 0.33;  // beyond the lane in the middle of the table
constexpr double kDistractorMaxY = 0.46;
constexpr double kDistractorMaxX = 0.40;
constexpr double kDistractorGapM = 0.04;
constexpr int kDistractorTries = 16;

template <typename T, std::size_t count>
const T& Pick(RandomSequence& random, const T (&choices)[count]) {
  return choices[random.Below(count)];
}

double FootprintRadius(const SceneObject& object) {
  return std::hypot(object.half_size_m[0], object.half_size_m[1]);
}

bool FarFromOthers(const Scene& scene, const SceneObject& object) {
  const Vec3d& place_m = object.world_from_object.translation_m;
  return std::all_of(scene.objects.begin(), scene.objects.end(), [&](const SceneObject& other) {
    const Vec3d& other_m = other.world_from_object.translation_m;
    const double distance_m = std::hypot(place_m[0] - other_m[0], place_m[1] - other_m[1]);
    return distance_m > FootprintRadius(object) + FootprintRadius(other) + kDistractorGapM;
  });
}

SceneObject DrawDistractor(RandomSequence& random, ColorSet colors, int index) {
  SceneObject object;
  object.name = "distractor_" + std::to_string(index + 1);
  object.shape = random.Below(2) == 0 ? ObjectShape::kBox : ObjectShape::kCylinder;
  object.color = DrawColor(random, DistractorColors(colors)).color;
  object.mass_kg = 0.25;
  const double radius_m = random.Uniform(0.025, 0.04);
  const double half_height_m = random.Uniform(0.02, 0.06);
  object.half_size_m = {radius_m, radius_m, half_height_m};
  return object;
}

double DrawCameraOffset(RandomSequence& random, Split split) {
  if (split != Split::kTest) return random.Uniform(-kCameraJitterM, kCameraJitterM);
  const double side = random.Below(2) == 0 ? -1 : 1;
  return side * random.Uniform(kHeldOutCameraMinM, kHeldOutCameraMaxM);
}

}  // namespace

const std::array<Vec3d, 2> kCameraPlacesM = {{{-0.52, -1.12, 0.80}, {0.52, -1.12, 0.80}}};

Scene DrawRoom(RandomSequence& random, Split split, int width_px, int height_px) {
  Scene scene;
  for (int c = 0; c < 2; ++c) {
    Vec3d eye_m = kCameraPlacesM[c];
    Vec3d target_m = kCameraTargetM;
    for (double& x : eye_m) x += DrawCameraOffset(random, split);
    for (double& x : target_m) x += random.Uniform(-kCameraJitterM, kCameraJitterM);
    Camera camera;
    camera.width_px = width_px;
    camera.height_px = height_px;
    camera.fx_px = camera.fy_px = kFocalPerWidth * width_px;
    camera.cx_px = (width_px - 1) / 2.0;
    camera.cy_px = (height_px - 1) / 2.0;
    camera.world_from_camera = LookAt(eye_m, target_m);
    scene.cameras.push_back({kCameraNames[c], camera});
  }
  const double brightness = random.Uniform(0.45, 0.65);
  const double warmth = random.Uniform(-0.04, 0.04);
  scene.light.direction = {random.Uniform(-0.45, 0.45), random.Uniform(-0.15, 0.5), -1};
  scene.light.diffuse = {brightness + warmth, brightness, brightness - warmth};
  scene.table_texture = Pick(random, kTableTextures);
  const double tint = random.Uniform(0.75, 1.0);
  for (double& x : scene.table_tint) x = tint * random.Uniform(0.94, 1.0);
  scene.floor_texture = Pick(random, kFloorTextures);
  const double wall = random.Uniform(0.6, 0.85);
  scene.wall_color = {wall, wall * random.Uniform(0.95, 1.0), wall * random.Uniform(0.88, 1.0)};
  return scene;
}

void AddDistractors(RandomSequence& random, ColorSet colors, int max_count, Scene& scene) {
  const int count = static_cast<int>(random.Below(max_count + 1));
  for (int i = 0; i < count; ++i) {
    SceneObject object = DrawDistractor(random, colors, i);
    for (int attempt = 0; attempt < kDistractorTries; ++attempt) {
      const double side = random.Below(4) == 0 ? -1 : 1;  // mostly behind the lane
      const double yaw_rad = random.Uniform(0, std::numbers::pi);
      object.world_from_object = {
          {random.Uniform(-kDistractorMaxX, kDistractorMaxX),
           side * random.Uniform(kDistractorMinY, kDistractorMaxY), object.half_size_m[2]},
          YawQuaternion(yaw_rad)};
      if (!FarFromOthers(scene, object)) continue;
      scene.objects.push_back(object);
      break;
    }
  }
}

}  // namespace interlacer::sim
