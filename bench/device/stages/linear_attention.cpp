/// Global ReLU linear attention on the device in float32 against LibTorch's operations; in bfloat16
/// the layer that serving fuses it into, or where that is too wide for it the attention alone.

#include <memory>

#include "bench/device/device_platform.h"
#include "bench/device/graph_work.h"
#include "bench/device/linear_problem.h"
#include "bench/errors.h"
#include "bench/stage_cases.h"
#include "common/kernels/device_array.h"
#include "model/kernels/fused_linear_cuda.h"
#include "model/kernels/linear_attention_cuda.h"

namespace interlacer::bench {
namespace {

constexpr double kFloatBound = 1e-5;

struct OnDevice {
  explicit OnDevice(const LinearProblem& host)
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
    return FitsFusedLinear(options.d, kLinearHeads) ? MakeDeviceLinearLayerCases(options)
                                                    : MakeDeviceWideLinearCases(options);
  }
  if (options.d % kLinearHeads != 0 || options.d / kLinearHeads > kMaxLinearCudaWidth) {
    throw UsageError("--d: expected a multiple of 4 heads of at most 64 channels in f32");
  }
  const auto host = std::make_shared<const LinearProblem>(options);
  const auto expected = OnFirstUse<std::vector<double>>(
      [host] { return std::make_unique<std::vector<double>>(host->Forward()); });
  const auto problem = OnFirstUse<OnDevice>([host] { return std::make_unique<OnDevice>(*host); });

  Case base = LinearAttentionCase("linear_attention/cuda/", options);
  base.ours = "two_pass_cuda";
  base.gate = Once([problem, expected] {
    const OnDevice& p = problem();
    RunReplayed(p.launch(), [&] { p.out.Poison(); });
    GateResult gate;
    gate.error = RelativeL2(p.out.Read(), expected());
    gate.error_bound = kFloatBound;
    gate.reference = "CPU twin float64";
    return gate;
  });
  base.run_ours = GraphWork([problem] { return problem().launch(); }, options);
  return AgainstLinearTorch(base, options, host, expected, kFloatBound);
}

}  // namespace interlacer::bench
