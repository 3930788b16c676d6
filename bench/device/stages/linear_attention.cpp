/// Global ReLU linear attention on the device: in float32 against LibTorch's operations, in
/// bfloat16 the fused layer that is used for serving.

#include <memory>
#include <vector>

#include "bench/clouds.h"
#include "bench/device/device_platform.h"
#include "bench/device/graph_work.h"
#include "bench/device/python_peers.h"
#include "bench/errors.h"
#include "bench/stage_cases.h"
#include "common/thread_pool.h"
#include "model/kernels/linear_attention_cuda.h"
#include "tests/device/device_array.h"

namespace interlacer::bench {
namespace {

constexpr double kLinearFloatBound = 1e-5;

/// Queries, keys and values [tokens, d]; they depend on the options alone.
struct LinearAttentionProblem {
  explicit LinearAttentionProblem(const Options& options)
      : shape{options.tokens(), kLinearHeads, options.d / kLinearHeads},
        q(Draw(options, 0)),
        k(Draw(options, 1)),
        v(Draw(options, 2)) {}

  static std::vector<float> Draw(const Options& options, std::uint32_t which) {
    return RandomValues(static_cast<std::size_t>(options.tokens() * options.d), options.seed,
                        which);
  }

  LinearAttentionShape shape;
  std::vector<float> q, k, v;
};

/// Expected result [tokens, d].
std::vector<double> Expected(const LinearAttentionProblem& p) {
  const std::vector<double> q(p.q.begin(), p.q.end()), k(p.k.begin(), p.k.end()),
      v(p.v.begin(), p.v.end());
  std::vector<double> out(q.size()), normalizer(static_cast<std::size_t>(p.shape.n * kLinearHeads)),
      state(static_cast<std::size_t>(kLinearHeads * (p.shape.head_width + 1) * p.shape.head_width)),
      scratch(static_cast<std::size_t>(LinearAttentionScratchCount(p.shape)));
  LinearAttentionForward<double>(p.shape, {q.data(), k.data(), v.data(), nullptr}, {},
                                 {out.data(), normalizer.data(), state.data()}, scratch.data(),
                                 ParallelFor);
  return out;
}

struct OnDevice {
  explicit OnDevice(const LinearAttentionProblem& host)
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

}  // namespace

std::vector<Case> MakeDeviceLinearAttentionCases(const Options& options) {
  if (options.dtype == "bf16") {
    if (options.d != 64 && options.d != 128 && options.d != 256) {
      throw UsageError("--d: expected 64, 128 or 256 in bf16, got " + std::to_string(options.d));
    }
    return MakeDeviceLinearLayerCases(options);
  }
  if (options.d % kLinearHeads != 0 || options.d / kLinearHeads > kMaxLinearCudaWidth) {
    throw UsageError("--d: expected a multiple of 4 heads of at most 64 channels in f32");
  }
  const auto host = std::make_shared<const LinearAttentionProblem>(options);
  const auto expected = OnFirstUse<std::vector<double>>(
      [host] { return std::make_unique<std::vector<double>>(Expected(*host)); });
  const auto problem = OnFirstUse<OnDevice>([host] { return std::make_unique<OnDevice>(*host); });

  Case base = LinearAttentionCase("linear_attention/cuda/", options);
  base.ours = "two_pass_cuda";
  base.gate = Once([problem, expected] {
    const OnDevice& p = problem();
    RunReplayed(p.launch(), [&] { p.out.Poison(); });
    GateResult gate;
    gate.error = RelativeL2(p.out.Read(), expected());
    gate.error_bound = kLinearFloatBound;
    gate.reference = "CPU twin float64";
    return gate;
  });
  base.run_ours = GraphWork([problem] { return problem().launch(); }, options);

  const PythonPeers peers("linear_torch.py", options, [host](ChildPeer* child) {
    const std::vector<std::int64_t> shape{host->shape.n, kLinearHeads, host->shape.head_width};
    child->Load("q", host->q, shape);
    child->Load("k", host->k, shape);
    child->Load("v", host->v, shape);
  });
  const PeerCheck check{
      [expected](const std::vector<double>& out) { return RelativeL2(out, expected()); },
      kLinearFloatBound};
  return {peers.Against(base, "torch_eager", check, 2), peers.Against(base, "torch_compile", check),
          peers.Against(base, "torch_eager_graph", check)};
}

}  // namespace interlacer::bench
