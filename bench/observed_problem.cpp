#include "bench/observed_problem.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "bench/clouds.h"
#include "common/random.h"
#include "common/transforms.h"

namespace interlacer::bench {
namespace {

constexpr Vec3d kBallM = {0.05, 0, 0.1};
constexpr double kBallRadiusM = 0.12;
constexpr double kWallM = 2.5;
constexpr double kDepthNoiseM = 1e-3;

Camera FrameCamera(const Options& options, const Vec3d& eye_m) {
  const double focal_px = 0.9 * options.image_width_px;
  Camera camera{options.image_width_px,
                options.image_height_px,
                focal_px,
                focal_px,
                (options.image_width_px - 1) / 2.0,
                (options.image_height_px - 1) / 2.0,
                DistortionModel::kNone,
                {},
                LookAt(eye_m, {0, 0, 0})};
  return camera;
}

/// Depth along z of a table with a ball on it, in front of a wall.
double SceneDepthM(const Camera& camera, int column, int row) {
  const Vec3d eye = camera.world_from_camera.translation_m;
  const Vec3d at = Unproject(camera, column, row, 1);
  double along = 0, sq_distance = -kBallRadiusM * kBallRadiusM, sq_length = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double ray = at[axis] - eye[axis], to_ball = kBallM[axis] - eye[axis];
    along += ray * to_ball;
    sq_length += ray * ray;
    sq_distance += to_ball * to_ball;
  }
  double depth_m = kWallM;
  if (at[2] < eye[2]) depth_m = std::min(depth_m, eye[2] / (eye[2] - at[2]));
  const double root = along * along - sq_length * sq_distance;
  if (root >= 0) depth_m = std::min(depth_m, (along - std::sqrt(root)) / sq_length);
  return depth_m;
}

}  // namespace

Case ObservedCase(const std::string& prefix, const ObservedProblem& problem,
                  const Options& options) {
  const std::string image =
      std::to_string(options.image_width_px) + "x" + std::to_string(options.image_height_px);
  Case base;
  base.stage = "observed";
  base.name = prefix + image;
  base.n = base.tokens = problem.renderer->count();
  base.params = {{"image", image}, {"frames", problem.frames.size()}, {"surfels", base.n}};
  return base;
}

std::shared_ptr<const ObservedProblem> MakeObservedProblem(const Options& options) {
  auto problem = std::make_shared<ObservedProblem>();
  RandomSequence random(options.seed, RandomStream::kDataGeneration);
  const int width = options.image_width_px, height = options.image_height_px;
  for (const Vec3d& eye_m : kEyesM) {
    ObservedFrame frame{FrameCamera(options, eye_m), {width, height, {}}, {width, height, {}}};
    for (int row = 0; row < height; ++row) {
      for (int column = 0; column < width; ++column) {
        frame.depth.pixels_m.push_back(static_cast<float>(SceneDepthM(frame.camera, column, row) +
                                                          kDepthNoiseM * random.Normal()));
        for (int c = 0; c < 3; ++c) {
          frame.color.pixels.push_back(static_cast<std::uint8_t>(random.Below(256)));
        }
      }
    }
    problem->frames.push_back(std::move(frame));
  }
  problem->renderer =
      std::make_unique<ObservedRenderer>(ObservedRenderer::Make(problem->frames).value());
  problem->positions_m = problem->renderer->positions_m();
  for (std::size_t i = 0; i < problem->positions_m.size(); i += 3) {
    float* p = problem->positions_m.data() + i;
    if (std::hypot(p[0] - kBallM[0], p[1] - kBallM[1], p[2] - kBallM[2]) < 1.1 * kBallRadiusM) {
      p[1] += 0.03F;
    }
  }
  const SurfelArrays surfels = problem->renderer->SurfelsAt(problem->positions_m.data());
  for (std::int64_t i = 0; i < 3 * surfels.count; ++i) {
    problem->colors.push_back(static_cast<float>(surfels.rgb[i]) / 255);
  }
  problem->camera = FrameCamera(options, {0.9, 0.1, 0.7});
  return problem;
}

}  // namespace interlacer::bench
