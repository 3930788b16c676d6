/// A free view of all pixels of two RGB-D frames after a part of them moved: our discs against
/// Open3D's projection of the same points.

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "bench/clouds.h"
#include "bench/errors.h"
#include "bench/host_platform.h"
#include "bench/peers/open3d_projection.h"
#include "bench/stage_cases.h"
#include "common/random.h"
#include "common/transforms.h"
#include "render/observed_renderer.h"
#include "tests/support/observed_twin.h"

namespace interlacer::bench {
namespace {

/// Pixels that the twin draws, each from all surfels.
constexpr int kTwinPixels = 300;
/// A few shares cut to 1/1024. A pixel on the edge of a core or of the depth band may differ more.
constexpr double kTwinBound = 4e-3;
constexpr double kTwinQuantile = 0.98;
/// A point's depth in the peer's pixel and the mean of discs in ours lie on one surface.
constexpr double kPeerMedianM = 5e-3;
constexpr Vec3d kBallM = {0.05, 0, 0.1};
constexpr double kBallRadiusM = 0.12;
constexpr double kWallM = 2.5;
constexpr double kDepthNoiseM = 1e-3;

struct ObservedProblem {
  std::vector<ObservedFrame> frames;
  std::unique_ptr<ObservedRenderer> renderer;
  std::vector<float> positions_m;
  std::vector<float> colors;
  Camera camera;
};

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

ObservedPicture Draw(const ObservedProblem& p) {
  return p.renderer->Render(p.camera, p.positions_m).value();
}

GateResult CheckAgainstTwin(const ObservedProblem& p, std::uint64_t seed) {
  const ObservedPicture picture = Draw(p);
  const testing::ObservedTwin twin(p.frames, p.camera, p.renderer->positions_m(), p.positions_m,
                                   -1);
  RandomSequence random(seed, RandomStream::kDataGeneration, 1);
  std::vector<double> got, expected;
  for (int k = 0; k < kTwinPixels; ++k) {
    const auto pixel = static_cast<int>(random.Below(picture.coverage.size()));
    const testing::TwinPixel by_twin = twin.At(pixel);
    for (std::size_t c = 0; c < 3; ++c) {
      got.push_back(picture.color.pixels[3 * static_cast<std::size_t>(pixel) + c]);
      expected.push_back(by_twin.rgb[c]);
    }
    got.push_back(picture.coverage[static_cast<std::size_t>(pixel)]);
    expected.push_back(by_twin.coverage);
  }
  GateResult gate;
  gate.error = AbsQuantile(got, expected, kTwinQuantile);
  gate.error_kind = "abs_q98";
  gate.error_bound = kTwinBound;
  gate.reference = "float64 twin, " + std::to_string(kTwinPixels) + " pixels";
  return gate;
}

/// Where both have a depth it is that of one surface.
bool SeesTheSame(const ObservedProblem& p, const std::vector<float>& peer_depth_m) {
  const ObservedPicture picture = Draw(p);
  std::vector<double> ours, peers;
  for (std::size_t i = 0; i < peer_depth_m.size(); ++i) {
    if (std::isnan(picture.depth.pixels_m[i]) || !(peer_depth_m[i] > 0)) continue;
    ours.push_back(picture.depth.pixels_m[i]);
    peers.push_back(peer_depth_m[i]);
  }
  return 2 * ours.size() > peer_depth_m.size() && AbsQuantile(ours, peers, 0.5) <= kPeerMedianM;
}

}  // namespace

std::vector<Case> MakeObservedCases(const Options& options) {
  const auto problem = MakeObservedProblem(options);
  const std::string image =
      std::to_string(options.image_width_px) + "x" + std::to_string(options.image_height_px);
  Case base;
  base.stage = "observed";
  base.name = "observed/" + image;
  base.n = problem->renderer->count();
  base.tokens = base.n;
  base.params = {{"image", image}, {"frames", problem->frames.size()}, {"surfels", base.n}};
  base.ours = "elliptical discs";
  Case item = Against(base, "open3d");
  item.run_ours = Timed([problem] { Draw(*problem); });
  item.gate = [problem, seed = options.seed] { return CheckAgainstTwin(*problem, seed); };
  const PointProjection library = Open3dProjection();
  item.peer_version = library.version;
  if (library.prepare) {
    const auto project = library.prepare(problem->positions_m, problem->colors, problem->camera);
    if (SeesTheSame(*problem, project())) {
      item.run_peer = Timed([project] { project(); });
    } else {
      item.skipped = "its picture shows another surface";
    }
  } else {
    item.skipped = library.missing;
  }
  return {std::move(item)};
}

}  // namespace interlacer::bench
