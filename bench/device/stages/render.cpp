/// A view of a cloud on the device, index of the cloud included, against the 16 nearest particles
/// by CuPy's tree or by torch.cdist and the field in eager torch; the field of both in --dtype.

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <stdexcept>

#include "bench/clouds.h"
#include "bench/device/device_platform.h"
#include "bench/device/graph_work.h"
#include "bench/device/python_peers.h"
#include "bench/errors.h"
#include "bench/stage_cases.h"
#include "render/device_renderer.h"
#include "render/kernels/cuda_render_kernels.h"
#include "render/reference_renderer.h"
#include "tests/device/device_array.h"

namespace interlacer::bench {
namespace {

constexpr double kImageBound = 1e-3;
/// Error bound of images from a field whose operands have 7 bits of mantissa.
constexpr double kBfloat16ImageBound = 1e-2;
/// Number of reference rays, each sample of which compares all particles.
constexpr std::int64_t kReferenceRays = 48;
/// Quantile of colour errors that must be within the bound: a peer breaks ties for the sixteenth
/// particle differently.
constexpr double kPeerQuantile = 0.999;

using Vec = std::array<double, 3>;

Vec Unit(const Vec& v) {
  const double length = std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
  return {v[0] / length, v[1] / length, v[2] / length};
}

Vec Cross(const Vec& a, const Vec& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

/// Inputs on the host; they depend on the options alone.
struct View {
  explicit View(const Options& options)
      : positions_m(MakeCloud(options)),
        features(RandomValues(positions_m.size() / 3 * config.feature_width, options.seed, 0)) {
    config.empty_radius_m = options.support_m;
    MakeField(options.seed);
    MakeRays(options);
  }

  std::int64_t ray_count() const { return static_cast<std::int64_t>(origins_m.size() / 3); }

  /// Layers of unit gain, with a density that makes surfaces opaque.
  void MakeField(std::uint64_t seed) {
    const int widths[] = {FieldInputWidth(config), config.hidden_width, config.hidden_width,
                          kFieldOutputWidth};
    for (std::size_t layer = 0; layer < 3; ++layer) {
      const int in = widths[layer], out = widths[layer + 1];
      const double gain = std::sqrt(6.0 / in);
      weights[layer] = RandomValues(static_cast<std::size_t>(in) * out, seed,
                                    static_cast<std::uint32_t>(10 + layer), -gain, gain);
      biases[layer].assign(static_cast<std::size_t>(out), 0);
    }
    biases[2][0] = 20;
  }

  /// One ray a pixel of a pinhole camera that looks at the origin.
  void MakeRays(const Options& options) {
    const Vec eye_m = options.cloud == "cube" ? Vec{1.1, 0.5, 0.4} : Vec{0.8, -0.2, 0.75};
    const Vec forward = Unit({-eye_m[0], -eye_m[1], -eye_m[2]});
    const Vec right = Unit(Cross(forward, {0, 0, 1}));
    const Vec down = Cross(forward, right);
    const int width = options.image_width_px, height = options.image_height_px;
    const double focal_px = 0.9 * width;
    for (int pixel = 0; pixel < width * height; ++pixel) {
      const double x = (pixel % width - (width - 1) / 2.0) / focal_px;
      const double y = (pixel / width - (height - 1) / 2.0) / focal_px;
      Vec direction;
      for (int axis = 0; axis < 3; ++axis) {
        direction[axis] = forward[axis] + x * right[axis] + y * down[axis];
      }
      direction = Unit(direction);
      for (int axis = 0; axis < 3; ++axis) {
        origins_m.push_back(static_cast<float>(eye_m[axis]));
        directions.push_back(static_cast<float>(direction[axis]));
      }
    }
  }

  FieldWeights field() const {
    return {weights[0], biases[0], weights[1], biases[1], weights[2], biases[2]};
  }

  RendererConfig config;
  std::vector<float> positions_m, features;
  std::array<std::vector<float>, 3> weights, biases;
  std::vector<float> origins_m, directions;
};

struct RenderProblem {
  RenderProblem(const View& view, FieldPrecision precision)
      : renderer(view.config, kernels, precision),
        n(static_cast<std::int64_t>(view.positions_m.size() / 3)),
        rays(view.ray_count()),
        positions(stream, view.positions_m),
        features(stream, view.features),
        w1(stream, view.weights[0]),
        b1(stream, view.biases[0]),
        w2(stream, view.weights[1]),
        b2(stream, view.biases[1]),
        w3(stream, view.weights[2]),
        b3(stream, view.biases[2]),
        origins(stream, view.origins_m),
        directions(stream, view.directions),
        rgb(stream, 3 * rays),
        distance(stream, rays),
        opacity(stream, rays),
        cloud(stream, static_cast<std::int64_t>(renderer.CloudBytes(n))),
        scratch(stream, static_cast<std::int64_t>(renderer.ServingScratchBytes(n, rays))) {}

  Launch launch() {
    return [this](cudaStream_t on) {
      Status status =
          renderer.SetParticles(positions.get(), features.get(), n, cloud.get(), scratch.get(), on);
      if (status.ok()) {
        status = renderer.Render({w1.get(), b1.get(), w2.get(), b2.get(), w3.get(), b3.get()},
                                 {rays, origins.get(), directions.get(), nullptr},
                                 {rgb.get(), distance.get(), opacity.get()}, scratch.get(), on);
      }
      if (!status.ok()) throw std::runtime_error(status.ToString());
      return CudaError();
    };
  }

  CudaRenderKernels kernels;
  DeviceRenderer renderer;
  std::int64_t n, rays;
  CheckedStream stream;
  DeviceArray<float> positions, features, w1, b1, w2, b2, w3, b3, origins, directions;
  DeviceArray<float> rgb, distance, opacity;
  DeviceArray<char> cloud, scratch;
};

/// Checks rays spread over the image against float64 brute force; all numbers must be finite.
GateResult Check(const View& view, double bound, RenderProblem& p) {
  RunReplayed(p.launch(), [&] { p.rgb.Poison(); });
  const std::vector<float> rgb = p.rgb.Read();
  const ReferenceScene scene =
      MakeReferenceScene(view.config, view.positions_m, view.features, view.field());
  const std::int64_t stride = std::max<std::int64_t>(1, p.rays / kReferenceRays);
  std::vector<double> got, expected;
  for (std::int64_t r = 0; r < p.rays; r += stride) {
    const RayState<double> ray = RenderReferenceRay(scene, {view.origins_m, view.directions, {}}, r,
                                                    view.config.stop_transmittance);
    for (int channel = 0; channel < 3; ++channel) {
      expected.push_back(ray.rgb[channel]);
      got.push_back(rgb[3 * r + channel]);
    }
  }
  GateResult gate;
  gate.error = MaxAbs(got, expected);
  const bool finite = std::all_of(rgb.begin(), rgb.end(), [](float x) { return std::isfinite(x); });
  if (!finite) gate.error = kPoison;
  gate.error_kind = "max_abs";
  gate.error_bound = bound;
  gate.reference = "float64 brute force, " + std::to_string(got.size() / 3) + " rays";
  return gate;
}

PythonPeers StartPeers(const View& view, const Options& options) {
  return {"render_torch.py", options, [&](ChildPeer* child) {
            const auto rows = [&](const char* name, const std::vector<float>& values,
                                  std::int64_t width) {
              child->Load(name, values, {static_cast<std::int64_t>(values.size()) / width, width});
            };
            const RendererConfig& config = view.config;
            rows("positions", view.positions_m, 3);
            rows("features", view.features, config.feature_width);
            rows("origins", view.origins_m, 3);
            rows("directions", view.directions, 3);
            rows("w1", view.weights[0], FieldInputWidth(config));
            rows("w2", view.weights[1], config.hidden_width);
            rows("w3", view.weights[2], config.hidden_width);
            rows("b1", view.biases[0], 1);
            rows("b2", view.biases[1], 1);
            rows("b3", view.biases[2], 1);
            rows("radii", config.kernel_radii_m, 1);
            rows("bandwidths", config.kernel_bandwidths_m, 1);
            rows("numbers",
                 {config.near_m, config.far_m, static_cast<float>(config.samples_per_ray),
                  static_cast<float>(config.neighbor_count), config.empty_radius_m},
                 1);
            const std::int32_t is_bfloat16[1] = {options.dtype == "bf16"};
            child->Load("bf16", std::span(is_bfloat16), {1});
          }};
}

}  // namespace

std::vector<Case> MakeDeviceRenderCases(const Options& options) {
  const bool is_bfloat16 = options.dtype == "bf16";
  const double bound = is_bfloat16 ? kBfloat16ImageBound : kImageBound;
  const auto view = std::make_shared<const View>(options);
  const auto problem = OnFirstUse<RenderProblem>([view, is_bfloat16] {
    return std::make_unique<RenderProblem>(
        *view, is_bfloat16 ? FieldPrecision::kBfloat16 : FieldPrecision::kFloat32);
  });

  Case base = RenderCase("render/cuda/", options, view->config);
  base.ours = "point_nerf_cuda";
  base.dtype = options.dtype;
  if (is_bfloat16) base.name += "/bf16";
  base.gate = Once([view, problem, bound] { return Check(*view, bound, problem()); });
  base.run_ours = GraphWork([problem] { return problem().launch(); }, options);
  const PythonPeers peers = StartPeers(*view, options);
  const PeerCheck check{[problem](const std::vector<double>& out) {
                          return AbsQuantile(out, problem().rgb.Read(), kPeerQuantile);
                        },
                        bound};
  return {peers.Against(base, "torch+cupy", check, 20), peers.Against(base, "torch", check)};
}

}  // namespace interlacer::bench
