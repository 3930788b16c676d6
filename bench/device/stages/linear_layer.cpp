/// Global attention as served with bfloat16: norm, projections, ReLU linear attention, output layer
/// and residual sum fused, against the same layer in LibTorch's operations in bfloat16.

#include <array>
#include <cmath>
#include <memory>

#include "bench/clouds.h"
#include "bench/device/device_platform.h"
#include "bench/device/graph_work.h"
#include "bench/device/python_peers.h"
#include "bench/errors.h"
#include "bench/stage_cases.h"
#include "common/thread_pool.h"
#include "model/kernels/dense_pack_cuda.h"
#include "model/kernels/fused_linear_cuda.h"
#include "tests/device/device_array.h"

namespace interlacer::bench {
namespace {

/// Error bound of the layer's update: operands have 7 bits of mantissa, in four consecutive
/// products.
constexpr double kBfloat16LayerBound = 1e-2;
/// Error bound of a peer, which also rounds sums.
constexpr double kBfloat16PeerBound = 3e-2;
constexpr std::int64_t kRowsOfATask = 64;

enum Part { kQuery, kKey, kValue, kOut, kParts };
constexpr std::array<const char*, kParts> kPartNames{"query", "key", "value", "out"};

/// Inputs on the host; they depend on the options alone.
struct Inputs {
  explicit Inputs(const Options& options)
      : n(options.tokens()),
        width(options.d),
        h(RandomValues(Count(n), options.seed, 0)),
        scale(RandomValues(Count(1), options.seed, 1, 0.5, 1.5)),
        bias(RandomValues(Count(1), options.seed, 2)) {
    const double gain = std::sqrt(3.0 / width);
    for (std::uint32_t part = 0; part < kParts; ++part) {
      weights[part] = RandomValues(Count(width), options.seed, 10 + part, -gain, gain);
      biases[part] = RandomValues(Count(1), options.seed, 20 + part, -gain, gain);
    }
  }

  std::size_t Count(std::int64_t rows) const { return static_cast<std::size_t>(rows * width); }
  LinearAttentionShape shape() const { return {n, kLinearHeads, width / kLinearHeads}; }

  std::int64_t n;
  int width;
  std::vector<float> h, scale, bias;
  std::array<std::vector<float>, kParts> weights, biases;
};

struct LayerProblem {
  explicit LayerProblem(const Inputs& host)
      : n(host.n),
        width(host.width),
        initial(stream, host.h),
        h(stream, host.h),
        scale(stream, host.scale),
        bias(stream, host.bias),
        query_out(stream, 2 * std::int64_t{width} * width),
        key(stream, std::int64_t{width} * width),
        value(stream, std::int64_t{width} * width),
        scratch(stream, FusedLinearScratchCount(n, width)) {
    std::vector<DeviceArray<float>> weights;
    for (int part = 0; part < kParts; ++part) {
      weights.emplace_back(stream, host.weights[part]);
      biases.emplace_back(stream, host.biases[part]);
    }
    const auto dense = [&](Part part) { return DenseWeight{weights[part].get(), width, width}; };
    RunOnce(stream, [&](cudaStream_t on) {
      CudaError error =
          LaunchPackDensePair(dense(kQuery), dense(kOut), LinearPiece(width), query_out.get(), on);
      if (error.ok()) error = LaunchPackTransposedDense(dense(kKey), key.get(), on);
      if (error.ok()) error = LaunchPackTransposedDense(dense(kValue), value.get(), on);
      return error;
    });
  }

  Launch launch() const {
    return [this](cudaStream_t on) {
      const LinearLayers layers{{scale.get(), bias.get()},
                                query_out.get(),
                                key.get(),
                                value.get(),
                                biases[kQuery].get(),
                                biases[kKey].get(),
                                biases[kValue].get(),
                                biases[kOut].get()};
      return LaunchAddLinearAttention(n, width, {0, n}, layers, {}, {}, scratch.get(), h.get(), on);
    };
  }

  std::int64_t n;
  int width;
  CheckedStream stream;
  DeviceArray<float> initial, h, scale, bias;
  std::vector<DeviceArray<float>> biases;
  DeviceArray<std::uint16_t> query_out, key, value;
  DeviceArray<float> scratch;
};

void Normalize(const Inputs& host, std::int64_t row, double* out) {
  const float* const h = host.h.data() + row * host.width;
  double mean = 0, variance = 0;
  for (int c = 0; c < host.width; ++c) mean += double{h[c]} / host.width;
  for (int c = 0; c < host.width; ++c) variance += (h[c] - mean) * (h[c] - mean) / host.width;
  const double inverse = 1 / std::sqrt(variance + RowNorm().epsilon);
  for (int c = 0; c < host.width; ++c) {
    out[c] = (h[c] - mean) * inverse * host.scale[c] + host.bias[c];
  }
}

/// Computes a layer over all rows of x on the host.
std::vector<double> Dense(const Inputs& host, Part part, const std::vector<double>& x) {
  const int width = host.width;
  std::vector<double> y(x.size());
  ParallelFor(host.n, kRowsOfATask, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      for (int o = 0; o < width; ++o) {
        double sum = host.biases[part][o];
        const float* const weight = host.weights[part].data() + std::int64_t{o} * width;
        for (int c = 0; c < width; ++c) sum += weight[c] * x[i * width + c];
        y[i * width + o] = sum;
      }
    }
  });
  return y;
}

/// Expected update of h.
std::vector<double> Expected(const Inputs& host) {
  std::vector<double> x(host.h.size());
  ParallelFor(host.n, kRowsOfATask, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) Normalize(host, i, x.data() + i * host.width);
  });
  const std::vector<double> q = Dense(host, kQuery, x), k = Dense(host, kKey, x),
                            v = Dense(host, kValue, x);
  const LinearAttentionShape shape = host.shape();
  std::vector<double> normalizer(static_cast<std::size_t>(shape.n * kLinearHeads)),
      state(static_cast<std::size_t>(kLinearHeads * (shape.head_width + 1) * shape.head_width)),
      scratch(static_cast<std::size_t>(LinearAttentionScratchCount(shape)));
  LinearAttentionForward<double>(shape, {q.data(), k.data(), v.data(), nullptr}, {},
                                 {x.data(), normalizer.data(), state.data()}, scratch.data(),
                                 ParallelFor);
  return Dense(host, kOut, x);
}

/// Error of `after` - h against the expected update.
template <typename Values>
double ErrorOf(const Inputs& host, const Values& after, const std::vector<double>& expected) {
  if (after.size() != host.h.size()) return kPoison;
  std::vector<double> added(after.begin(), after.end());
  for (std::size_t i = 0; i < added.size(); ++i) added[i] -= host.h[i];
  return RelativeL2(added, expected);
}

GateResult Check(const Inputs& host, const LayerProblem& p, const std::vector<double>& expected) {
  RunReplayed(p.launch(), [&] {
    RequireCuda(cudaMemcpyAsync(p.h.get(), p.initial.get(), host.h.size() * sizeof(float),
                                cudaMemcpyDeviceToDevice, p.stream.get()),
                "copy on the device");
    p.stream.Wait();
  });
  GateResult gate;
  gate.error = ErrorOf(host, p.h.Read(), expected);
  gate.error_bound = kBfloat16LayerBound;
  gate.reference = "float64";
  return gate;
}

}  // namespace

std::vector<Case> MakeDeviceLinearLayerCases(const Options& options) {
  const auto host = std::make_shared<const Inputs>(options);
  const auto expected = OnFirstUse<std::vector<double>>(
      [host] { return std::make_unique<std::vector<double>>(Expected(*host)); });
  const auto problem =
      OnFirstUse<LayerProblem>([host] { return std::make_unique<LayerProblem>(*host); });

  Case base = LinearAttentionCase("linear_attention/cuda/fused_layer/", options);
  base.ours = "fused_layer_cuda";
  base.dtype = options.dtype;
  base.params["includes"] = "norm, projections, output layer, residual sum";
  // The layer reads and writes h.
  base.floor =
      Floor{Floor::Kind::kMemoryBytes, 2.0 * 4 * options.d * static_cast<double>(options.tokens())};
  base.gate = Once([host, problem, expected] { return Check(*host, problem(), expected()); });
  base.run_ours = GraphWork([problem] { return problem().launch(); }, options);

  const PythonPeers peers("linear_layer_torch.py", options, [&](ChildPeer* child) {
    child->Load("h", host->h, {host->n, host->width});
    child->Load("scale", host->scale, {host->width});
    child->Load("bias", host->bias, {host->width});
    for (int part = 0; part < kParts; ++part) {
      const std::string name = kPartNames[part];
      child->Load(name + ".weight", host->weights[part], {host->width, host->width});
      child->Load(name + ".bias", host->biases[part], {host->width});
    }
  });
  const PeerCheck check{
      [host, expected](const std::vector<double>& out) { return ErrorOf(*host, out, expected()); },
      kBfloat16PeerBound};
  return {peers.Against(base, "torch_eager", check, 2), peers.Against(base, "torch_compile", check),
          peers.Against(base, "torch_eager_graph", check)};
}

}  // namespace interlacer::bench
