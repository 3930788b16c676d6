/// Structural similarity of two colour images on the device, against torchmetrics.

#include <cmath>
#include <memory>

#include "bench/device/device_platform.h"
#include "bench/device/graph_work.h"
#include "bench/device/python_peers.h"
#include "bench/image_pair.h"
#include "bench/stage_cases.h"
#include "common/kernels/device_array.h"
#include "render/kernels/ssim_cuda.h"

namespace interlacer::bench {
namespace {

constexpr double kBound = 1e-6;
/// The peer computes in float32.
constexpr double kPeerBound = 1e-3;
constexpr double kSigmaPx = 1.5;
constexpr double kC1 = 0.01 * 255 * 0.01 * 255;
constexpr double kC2 = 0.03 * 255 * 0.03 * 255;

struct Problem {
  explicit Problem(const ImagePair& pair)
      : height_px(pair.truth.height_px),
        image(stream, pair.image.pixels),
        truth(stream, pair.truth.pixels),
        mean(stream, 1),
        scratch(stream, SsimCudaScratchCount(pair.truth.width_px, pair.truth.height_px)),
        inputs{image.get(), truth.get(), pair.truth.width_px, {}, kC1, kC2} {
    double sum = 0;
    for (int t = 0; t < kSsimTaps; ++t) {
      const double offset_px = t - kSsimTaps / 2;
      inputs.taps[t] = std::exp(-offset_px * offset_px / (2 * kSigmaPx * kSigmaPx));
      sum += inputs.taps[t];
    }
    for (double& tap : inputs.taps) tap /= sum;
  }

  Launch launch() const {
    return [this](cudaStream_t on) {
      return LaunchSsim(inputs, height_px, nullptr, mean.get(), scratch.get(), on);
    };
  }

  int height_px;
  CheckedStream stream;
  DeviceArray<std::uint8_t> image, truth;
  DeviceArray<double> mean, scratch;
  SsimInputs inputs;
};

}  // namespace

std::vector<Case> MakeDeviceSsimCases(const Options& options) {
  const auto pair = std::make_shared<const ImagePair>(MakeImages(options));
  const auto problem = OnFirstUse<Problem>([pair] { return std::make_unique<Problem>(*pair); });
  const auto expected =
      OnFirstUse<double>([pair] { return std::make_unique<double>(ReferenceSsim(*pair)); });

  Case base = SsimCase("ssim/cuda/", *pair);
  base.ours = "ssim_wang_rgb_v1_cuda";
  base.gate = Once([problem, expected] {
    const Problem& p = problem();
    RunReplayed(p.launch(), [&] { p.mean.Poison(); });
    GateResult gate;
    gate.error = std::fabs(p.mean.Read()[0] - expected());
    gate.error_kind = "max_abs";
    gate.error_bound = kBound;
    return gate;
  });
  base.run_ours = GraphWork([problem] { return problem().launch(); }, options);

  const PythonPeers peers("ssim_torch.py", options, [&](ChildPeer* child) {
    const std::vector<std::int64_t> shape{options.image_height_px, options.image_width_px, 3};
    child->Load("image", std::span(pair->image.pixels), shape);
    child->Load("truth", std::span(pair->truth.pixels), shape);
  });
  const PeerCheck check{
      [expected](const std::vector<double>& out) { return std::fabs(out.at(0) - expected()); },
      kPeerBound};
  return {peers.Against(base, "torchmetrics", check, 10)};
}

}  // namespace interlacer::bench
