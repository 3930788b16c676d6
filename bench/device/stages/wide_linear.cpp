/// Global attention on the device where its heads are too wide for the fused layer: bfloat16 rows
/// between the projections, against LibTorch's operations in bfloat16.

#include <memory>

#include "bench/clouds.h"
#include "bench/device/device_platform.h"
#include "bench/device/graph_work.h"
#include "bench/device/python_peers.h"
#include "bench/errors.h"
#include "bench/stage_cases.h"
#include "common/kernels/bfloat16.h"
#include "common/kernels/device_array.h"
#include "common/thread_pool.h"
#include "model/kernels/wide_linear_cuda.h"

namespace interlacer::bench {
namespace {

constexpr double kBfloat16Bound = 1e-2;
/// Of a peer, which rounds sums too.
constexpr double kBfloat16PeerBound = 3e-2;

LinearAttentionShape ShapeOf(const Options& options) {
  return {options.tokens(), kLinearHeads, options.d / kLinearHeads};
}

/// bfloat16 numbers.
struct Inputs {
  explicit Inputs(const Options& options)
      : shape(ShapeOf(options)), q(Draw(options, 0)), k(Draw(options, 1)), v(Draw(options, 2)) {}

  LinearAttentionShape shape;
  std::vector<float> q, k, v;

 private:
  static std::vector<float> Draw(const Options& options, std::uint32_t which) {
    std::vector<float> values =
        RandomValues(static_cast<std::size_t>(options.tokens() * options.d), options.seed, which);
    for (float& x : values) x = RoundedToBfloat16(x);
    return values;
  }
};

struct Problem {
  explicit Problem(const Inputs& host)
      : shape(host.shape),
        q(stream, ToBfloat16(host.q)),
        k(stream, ToBfloat16(host.k)),
        v(stream, ToBfloat16(host.v)),
        out(stream, static_cast<std::int64_t>(host.q.size())),
        scratch(stream, WideLinearScratchCount(host.shape)) {}

  Launch launch() const {
    return [this](cudaStream_t on) {
      return LaunchWideLinearAttention(shape, q.get(), k.get(), v.get(), {}, scratch.get(),
                                       out.get(), on);
    };
  }

  LinearAttentionShape shape;
  CheckedStream stream;
  DeviceArray<std::uint16_t> q, k, v, out;
  DeviceArray<float> scratch;
};

std::vector<double> Expected(const Inputs& host) {
  const std::vector<double> q(host.q.begin(), host.q.end()), k(host.k.begin(), host.k.end()),
      v(host.v.begin(), host.v.end());
  const LinearAttentionShape& shape = host.shape;
  std::vector<double> out(q.size()), normalizer(static_cast<std::size_t>(shape.n * kLinearHeads)),
      state(static_cast<std::size_t>(kLinearHeads * (shape.head_width + 1) * shape.head_width)),
      scratch(static_cast<std::size_t>(LinearAttentionScratchCount(shape)));
  LinearAttentionForward<double>(shape, {q.data(), k.data(), v.data(), nullptr}, {},
                                 {out.data(), normalizer.data(), state.data()}, scratch.data(),
                                 ParallelFor);
  return out;
}

}  // namespace

std::vector<Case> MakeDeviceWideLinearCases(const Options& options) {
  if (options.d % kLinearHeads != 0 || !FitsWideLinear(ShapeOf(options))) {
    throw UsageError("--d: expected 64, 128, 256 or a multiple of 128 in bf16, got " +
                     std::to_string(options.d));
  }
  const auto host = std::make_shared<const Inputs>(options);
  const auto expected = OnFirstUse<std::vector<double>>(
      [host] { return std::make_unique<std::vector<double>>(Expected(*host)); });
  const auto problem = OnFirstUse<Problem>([host] { return std::make_unique<Problem>(*host); });

  Case base = LinearAttentionCase("linear_attention/cuda/wide/", options);
  base.ours = "wide_cuda";
  base.dtype = options.dtype;
  // Reads q, k and v and writes the result.
  base.floor =
      Floor{Floor::Kind::kMemoryBytes, 4.0 * 2 * options.d * static_cast<double>(options.tokens())};
  base.gate = Once([problem, expected] {
    const Problem& p = problem();
    RunReplayed(p.launch(), [&] { p.out.Poison(); });
    GateResult gate;
    gate.error = RelativeL2(FromBfloat16(p.out.Read()), expected());
    gate.error_bound = kBfloat16Bound;
    gate.reference = "CPU twin float64";
    return gate;
  });
  base.run_ours = GraphWork([problem] { return problem().launch(); }, options);

  const PythonPeers peers("linear_torch.py", options, [&](ChildPeer* child) {
    const std::vector<std::int64_t> shape{options.tokens(), kLinearHeads, options.d / kLinearHeads};
    child->Load("q", host->q, shape);
    child->Load("k", host->k, shape);
    child->Load("v", host->v, shape);
    const std::int32_t flags[1] = {1};
    child->Load("flags", std::span(flags), {1});
  });
  const PeerCheck check{
      [expected](const std::vector<double>& out) { return RelativeL2(out, expected()); },
      kBfloat16PeerBound};
  return {peers.Against(base, "torch_eager", check, 2), peers.Against(base, "torch_compile", check),
          peers.Against(base, "torch_eager_graph", check)};
}

}  // namespace interlacer::bench
