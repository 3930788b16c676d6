/// Global attention on the device where its heads are too wide for the fused layer: bfloat16 rows
/// between the projections, against LibTorch's operations in bfloat16.

#include <memory>

#include "bench/device/device_platform.h"
#include "bench/device/graph_work.h"
#include "bench/device/linear_problem.h"
#include "bench/errors.h"
#include "bench/stage_cases.h"
#include "common/kernels/bfloat16.h"
#include "common/kernels/device_array.h"
#include "model/kernels/wide_linear_cuda.h"

namespace interlacer::bench {
namespace {

constexpr double kBfloat16Bound = 1e-2;
/// Of a peer, which rounds sums too.
constexpr double kBfloat16PeerBound = 3e-2;

struct OnDevice {
  explicit OnDevice(const LinearProblem& host)
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

}  // namespace

std::vector<Case> MakeDeviceWideLinearCases(const Options& options) {
  if (options.d % kLinearHeads != 0 || !FitsWideLinear(LinearShapeOf(options))) {
    throw UsageError("--d: expected 64, 128, 256 or a multiple of 128 in bf16, got " +
                     std::to_string(options.d));
  }
  const auto host = std::make_shared<const LinearProblem>(options);
  const auto expected = OnFirstUse<std::vector<double>>(
      [host] { return std::make_unique<std::vector<double>>(host->Forward()); });
  const auto problem = OnFirstUse<OnDevice>([host] { return std::make_unique<OnDevice>(*host); });

  Case base = LinearAttentionCase("linear_attention/cuda/wide/", options);
  base.ours = "wide_cuda";
  base.dtype = options.dtype;
  // Reads q, k and v and writes the result.
  base.floor =
      Floor{Floor::Kind::kMemoryBytes, 4.0 * 2 * options.d * static_cast<double>(options.tokens())};
  base.gate = Once([problem, expected] {
    const OnDevice& p = problem();
    RunReplayed(p.launch(), [&] { p.out.Poison(); });
    GateResult gate;
    gate.error = RelativeL2(FromBfloat16(p.out.Read()), expected());
    gate.error_bound = kBfloat16Bound;
    gate.reference = "CPU twin float64";
    return gate;
  });
  base.run_ours = GraphWork([problem] { return problem().launch(); }, options);
  return AgainstLinearTorch(base, options, host, expected, kBfloat16PeerBound);
}

}  // namespace interlacer::bench
