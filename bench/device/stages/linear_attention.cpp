/// Global ReLU linear attention on the device in float32 against LibTorch's operations; in bfloat16
/// the layer that serving fuses it into, or where that is too wide for it the attention alone.

#include <memory>

#include "bench/clouds.h"
#include "bench/device/device_platform.h"
#include "bench/device/graph_work.h"
#include "bench/device/python_peers.h"
#include "bench/errors.h"
#include "bench/stage_cases.h"
#include "common/kernels/device_array.h"
#include "common/thread_pool.h"
#include "model/kernels/fused_linear_cuda.h"
#include "model/kernels/linear_attention_cuda.h"

namespace interlacer::bench {
namespace {

constexpr double kFloatBound = 1e-5;

struct Inputs {
  explicit Inputs(const Options& options)
      : shape{options.tokens(), kLinearHeads, options.d / kLinearHeads} {
    const std::size_t count = static_cast<std::size_t>(options.tokens() * options.d);
    q = RandomValues(count, options.seed, 0);
    k = RandomValues(count, options.seed, 1);
    v = RandomValues(count, options.seed, 2);
  }
  LinearAttentionShape shape;
  std::vector<float> q, k, v;
};

struct Problem {
  explicit Problem(const Inputs& host)
      : shape(host.shape),
        q(stream, host.q),
        k(stream, host.k),
        v(stream, host.v),
        out(stream, static_cast<std::int64_t>(host.q.size())),
        normalizer(stream, host.shape.n * kLinearHeads),
        state(stream, kLinearHeads * (host.shape.head_width + 1) * host.shape.head_width),
        scratch(stream, LinearCudaScratchCount(host.shape)) {}

  Launch launch() const {
    return [this](cudaStream_t on) {
      return LaunchLinearAttentionForward(shape, {q.get(), k.get(), v.get(), nullptr}, {},
                                          {out.get(), normalizer.get(), state.get()}, scratch.get(),
                                          on);
    };
  }

  LinearAttentionShape shape;
  CheckedStream stream;
  DeviceArray<float> q, k, v, out, normalizer, state, scratch;
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

std::vector<Case> MakeDeviceLinearAttentionCases(const Options& options) {
  if (options.dtype == "bf16") {
    return FitsFusedLinear(options.d, kLinearHeads) ? MakeDeviceLinearLayerCases(options)
                                                    : MakeDeviceWideLinearCases(options);
  }
  if (options.d % kLinearHeads != 0 || options.d / kLinearHeads > kMaxLinearCudaWidth) {
    throw UsageError("--d: expected a multiple of 4 heads of at most 64 channels in f32");
  }
  const auto host = std::make_shared<const Inputs>(options);
  const auto expected = OnFirstUse<std::vector<double>>(
      [host] { return std::make_unique<std::vector<double>>(Expected(*host)); });
  const auto problem = OnFirstUse<Problem>([host] { return std::make_unique<Problem>(*host); });

  Case base = LinearAttentionCase("linear_attention/cuda/", options);
  base.ours = "two_pass_cuda";
  base.gate = Once([problem, expected] {
    const Problem& p = problem();
    RunReplayed(p.launch(), [&] { p.out.Poison(); });
    GateResult gate;
    gate.error = RelativeL2(p.out.Read(), expected());
    gate.error_bound = kFloatBound;
    gate.reference = "CPU twin float64";
    return gate;
  });
  base.run_ours = GraphWork([problem] { return problem().launch(); }, options);

  const PythonPeers peers("linear_torch.py", options, [&](ChildPeer* child) {
    const std::vector<std::int64_t> shape{options.tokens(), kLinearHeads, options.d / kLinearHeads};
    child->Load("q", host->q, shape);
    child->Load("k", host->k, shape);
    child->Load("v", host->v, shape);
  });
  const PeerCheck check{
      [expected](const std::vector<double>& out) { return RelativeL2(out, expected()); },
      kFloatBound};
  return {peers.Against(base, "torch_eager", check, 2), peers.Against(base, "torch_compile", check),
          peers.Against(base, "torch_eager_graph", check)};
}

}  // namespace interlacer::bench
