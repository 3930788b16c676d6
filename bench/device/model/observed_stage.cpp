#include "bench/device/model/observed_stage.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "bench/device/graph_work.h"
#include "bench/errors.h"
#include "bench/observed_problem.h"
#include "render/kernels/observed_discs_cuda.h"

namespace interlacer::bench {
namespace {

/// Depth where nothing lands is NaN on both sides: then equal.
std::vector<float> WithoutNan(std::vector<float> depth_m) {
  for (float& d : depth_m) d = std::isnan(d) ? -1 : d;
  return depth_m;
}

class DeviceDiscs {
 public:
  explicit DeviceDiscs(const ObservedProblem& p)
      : DeviceDiscs(p.renderer->SurfelsAt(p.positions_m.data()),
                    p.renderer->ViewFrom(p.camera).value()) {}

  CudaError Draw(cudaStream_t on) const {
    return LaunchObservedDiscs(view_, device_, workspace_.get(),
                               {color_.get(), depth_m_.get(), coverage_.get()}, on);
  }
  void Poison() const {
    color_.Poison();
    depth_m_.Poison();
    coverage_.Poison();
  }
  /// The largest share of a picture's numbers that differ from the host's.
  double ShareWrong(const ObservedPicture& expected) const {
    return std::max(
        {ShareOfDifferent(color_.Read(), expected.color.pixels),
         ShareOfDifferent(WithoutNan(depth_m_.Read()), WithoutNan(expected.depth.pixels_m)),
         ShareOfDifferent(coverage_.Read(), expected.coverage)});
  }

 private:
  DeviceDiscs(const SurfelArrays& host, const DiscView& view)
      : view_(view),
        seen_m_(stream_, std::vector(host.seen_m, host.seen_m + 3 * host.count)),
        positions_m_(stream_, std::vector(host.positions_m, host.positions_m + 3 * host.count)),
        pixel_m_(stream_, std::vector(host.pixel_m, host.pixel_m + host.count)),
        neighbors_(stream_, std::vector(host.neighbors, host.neighbors + host.count)),
        frame_of_(stream_, std::vector(host.frame_of, host.frame_of + host.count)),
        pixel_of_(stream_, std::vector(host.pixel_of, host.pixel_of + host.count)),
        rgb_(stream_, std::vector(host.rgb, host.rgb + 3 * host.count)),
        device_{host.count,       seen_m_.get(),   positions_m_.get(), pixel_m_.get(),
                neighbors_.get(), frame_of_.get(), pixel_of_.get(),    rgb_.get()},
        workspace_(stream_, static_cast<std::int64_t>(
                                ObservedWorkspaceBytes(host.count, view.width_px, view.height_px))),
        color_(stream_, std::int64_t{3} * view.width_px * view.height_px),
        depth_m_(stream_, std::int64_t{1} * view.width_px * view.height_px),
        coverage_(stream_, std::int64_t{1} * view.width_px * view.height_px) {}

  CheckedStream stream_;
  DiscView view_;
  DeviceArray<float> seen_m_, positions_m_, pixel_m_;
  DeviceArray<SurfelNeighbors> neighbors_;
  DeviceArray<std::int32_t> frame_of_, pixel_of_;
  DeviceArray<std::uint8_t> rgb_;
  SurfelArrays device_;
  DeviceArray<char> workspace_;
  DeviceArray<float> color_, depth_m_, coverage_;
};

}  // namespace

std::vector<Case> MakeDeviceObservedCases(const Options& options) {
  const auto problem = MakeObservedProblem(options);
  const auto discs =
      OnFirstUse<DeviceDiscs>([problem] { return std::make_unique<DeviceDiscs>(*problem); });
  const auto launch = [discs]() -> Launch {
    return [&ours = discs()](cudaStream_t on) { return ours.Draw(on); };
  };
  const auto on_host = [problem] {
    return problem->renderer->Render(problem->camera, problem->positions_m).value();
  };
  Case item = Against(ObservedCase("observed/cuda/", *problem, options), "our_host");
  item.ours = "elliptical discs";
  item.gate = Once([discs, launch, on_host] {
    RunReplayed(launch(), [&] { discs().Poison(); });
    GateResult gate;
    gate.error = discs().ShareWrong(on_host());
    gate.error_kind = "share_wrong";
    gate.reference = "the same drawing on the host, number by number";
    return gate;
  });
  item.run_ours = GraphWork(launch, options);
  item.run_peer = Timed(on_host);
  return {std::move(item)};
}

}  // namespace interlacer::bench
