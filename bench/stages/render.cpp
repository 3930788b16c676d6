/// A view of a cloud, grid and search tree included: our renderer against nanoflann's 16 nearest
/// particles of every sample and the field in eager LibTorch.

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <utility>

#include "bench/clouds.h"
#include "bench/errors.h"
#include "bench/host_platform.h"
#include "bench/peers/eager_renderer.h"
#include "bench/peers/sample_search.h"
#include "bench/stage_cases.h"
#include "bench/tensors.h"
#include "common/transforms.h"
#include "render/rays.h"
#include "tests/support/image_rays.h"

namespace interlacer::bench {
namespace {

constexpr double kImageBound = 1e-3;
constexpr double kSkippingBound = 1e-4;
/// Number of brute-force reference rays, each sample of which compares all particles.
constexpr std::int64_t kReferenceRays = 48;
/// Number of rays that the eager peer renders at once: about what stays in the caches.
constexpr std::int64_t kEagerRays = 128;
constexpr double kNarrowSupportM = 0.05;
/// Quantile of colour errors that must be within the bound: nanoflann breaks ties for the sixteenth
/// particle differently.
constexpr double kPeerQuantile = 0.999;

struct RenderProblem {
  RendererConfig config;
  std::vector<float> positions_m, features;
  EagerField field;
  PixelRays rays;

  FieldWeights weights() const {
    const auto view = [](const at::Tensor& tensor) {
      return std::span(tensor.const_data_ptr<float>(), static_cast<std::size_t>(tensor.numel()));
    };
    return {view(field[0]), view(field[1]), view(field[2]),
            view(field[3]), view(field[4]), view(field[5])};
  }
};

struct Picture {
  explicit Picture(std::int64_t rays)
      : rgb(3 * rays, kPoison), distance_m(rays, kPoison), opacity(rays, kPoison) {}
  RayOutputs outputs() { return {rgb, distance_m, opacity}; }
  std::vector<float> rgb, distance_m, opacity;
};

/// Layers of unit gain, with a density that makes surfaces opaque.
EagerField MakeField(const RendererConfig& config, std::uint64_t seed) {
  const std::int64_t in = FieldInputWidth(config), hidden = config.hidden_width;
  const auto layer = [&](std::int64_t rows, std::int64_t columns, std::uint32_t draw) {
    return RandomTensor({rows, columns}, seed, draw) *
           std::sqrt(6.0 / static_cast<double>(columns));
  };
  return {layer(hidden, in, 10),
          at::zeros({hidden}),
          layer(hidden, hidden, 11),
          at::zeros({hidden}),
          layer(kFieldOutputWidth, hidden, 12),
          at::tensor({20.f, 0.f, 0.f, 0.f})};
}

Camera MakeCamera(const Options& options) {
  Camera camera;
  camera.width_px = options.image_width_px;
  camera.height_px = options.image_height_px;
  camera.fx_px = camera.fy_px = 0.9 * options.image_width_px;
  camera.cx_px = (camera.width_px - 1) / 2.0;
  camera.cy_px = (camera.height_px - 1) / 2.0;
  const bool cube = options.cloud == "cube";
  camera.world_from_camera =
      LookAt(cube ? Vec3d{1.1, 0.5, 0.4} : Vec3d{0.8, -0.2, 0.75}, {0, 0, 0});
  return camera;
}

Picture Render(const RenderProblem& p, const RendererConfig& config, const RayBatch& rays) {
  Picture picture(static_cast<std::int64_t>(rays.origins_m.size() / 3));
  const auto renderer = MakePointNerfRenderer(config);
  Status status = renderer->SetParticles(p.positions_m, p.features);
  if (status.ok()) status = renderer->Render(p.weights(), rays, picture.outputs());
  INTERLACER_CHECK(status.ok(), status.ToString());
  return picture;
}

at::Tensor RowsOf(const std::vector<float>& values, std::int64_t width) {
  return at::from_blob(const_cast<float*>(values.data()),
                       {static_cast<std::int64_t>(values.size()) / width, width}, at::kFloat);
}

std::vector<float> RenderEagerly(const RenderProblem& p) {
  const at::NoGradGuard no_grad;
  const at::Tensor positions_m = RowsOf(p.positions_m, 3);
  const at::Tensor features = RowsOf(p.features, p.config.feature_width);
  const at::Tensor origins_m = RowsOf(p.rays.origins_m, 3);
  const at::Tensor directions = RowsOf(p.rays.directions, 3);
  const SampleSearch search(p.positions_m);
  std::vector<at::Tensor> parts;
  for (std::int64_t begin = 0; begin < p.rays.count(); begin += kEagerRays) {
    const std::int64_t count = std::min(kEagerRays, p.rays.count() - begin);
    const EagerRays rays{origins_m.narrow(0, begin, count), directions.narrow(0, begin, count),
                         SampleDistances(p.config, count, {})};
    parts.push_back(EagerRender(p.config, positions_m, features, p.field, rays,
                                search.Nearest(SamplePoints(rays), p.config.neighbor_count)));
  }
  const at::Tensor rgb = at::cat(parts, 0).contiguous();
  const float* const data = rgb.const_data_ptr<float>();
  return {data, data + rgb.numel()};
}

/// Selects evenly spaced rays.
PixelRays Thin(const PixelRays& rays, std::int64_t count) {
  PixelRays thin;
  const std::int64_t stride = std::max<std::int64_t>(1, rays.count() / count);
  for (std::int64_t r = 0; r < rays.count(); r += stride) {
    thin.origins_m.insert(thin.origins_m.end(), &rays.origins_m[3 * r], &rays.origins_m[3 * r + 3]);
    thin.directions.insert(thin.directions.end(), &rays.directions[3 * r],
                           &rays.directions[3 * r + 3]);
    thin.depth_per_distance.push_back(rays.depth_per_distance[r]);
  }
  return thin;
}

/// Checks against brute force in float64, with and without skipping, and against the peer. Returns
/// the first error that exceeds its bound, else the largest, with skipping's bound scaled to the
/// image's.
GateResult Check(const RenderProblem& p, bool with_peer) {
  const PixelRays few = Thin(p.rays, kReferenceRays);
  const Picture checked = Render(p, p.config, few.batch());
  Picture expected(few.count());
  const auto reference = MakeReferenceRenderer(p.config);
  Status status = reference->SetParticles(p.positions_m, p.features);
  if (status.ok()) status = reference->Render(p.weights(), few.batch(), expected.outputs());
  INTERLACER_CHECK(status.ok(), status.ToString());

  const Picture picture = Render(p, p.config, p.rays.batch());
  RendererConfig visiting = p.config;
  visiting.skip_empty_space = false;
  const Picture all_samples = Render(p, visiting, p.rays.batch());

  std::vector<std::pair<std::string, double>> errors{
      {"float64 brute force, " + std::to_string(few.count()) + " rays",
       MaxAbs(checked.rgb, expected.rgb)},
      {"the same without skipping, times 10",
       MaxAbs(picture.rgb, all_samples.rgb) * kImageBound / kSkippingBound}};
  if (with_peer)
    errors.emplace_back("the peer's picture",
                        AbsQuantile(picture.rgb, RenderEagerly(p), kPeerQuantile));
  GateResult gate;
  gate.error = -1;
  for (const auto& [name, error] : errors) {
    if (error <= gate.error) continue;
    gate.error = error;
    gate.reference = name;
    if (!(error <= kImageBound)) break;
  }
  gate.error_kind = "max_abs";
  gate.error_bound = kImageBound;
  return gate;
}

std::shared_ptr<const RenderProblem> MakeRenderProblem(const Options& options) {
  auto problem = std::make_shared<RenderProblem>();
  problem->config.empty_radius_m = options.support_m;
  problem->positions_m = MakeCloud(options);
  problem->features = RandomValues(problem->positions_m.size() / 3 * problem->config.feature_width,
                                   options.seed, 0);
  problem->field = MakeField(problem->config, options.seed);
  problem->rays = testing::ImageRays(MakeCamera(options));
  return problem;
}

}  // namespace

std::vector<Case> MakeRenderCases(const Options& options) {
  if (options.dtype != "f32") {
    throw UsageError("--dtype: render computes in f32, got " + options.dtype);
  }
  const auto problem = MakeRenderProblem(options);

  Case base = RenderCase("render/", options, problem->config);
  base.ours = "point_nerf";
  Case item = Against(base, "nanoflann+torch");
  if (options.cloud == "cube") {
    item.goal = 3;
  } else {
    item.goal = options.support_m <= kNarrowSupportM + 1e-6 ? 20 : 10;
  }
  item.run_ours = Timed([problem] { Render(*problem, problem->config, problem->rays.batch()); });
  const bool with_peer = SampleSearchAvailable();
  if (with_peer) {
    item.peer_version = "torch " INTERLACER_BENCH_TORCH_VERSION;
    item.run_peer = Timed([problem] { RenderEagerly(*problem); });
  } else {
    item.skipped = "built without nanoflann.hpp";
  }
  item.gate = [problem, with_peer] { return Check(*problem, with_peer); };
  return {std::move(item)};
}

}  // namespace interlacer::bench
