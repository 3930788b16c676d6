/// Structural similarity of two colour images, against scikit-image.

#include <cmath>
#include <memory>
#include <utility>

#include "bench/child_peer.h"
#include "bench/host_platform.h"
#include "bench/image_pair.h"
#include "bench/stage_cases.h"
#include "render/image_metrics.h"

namespace interlacer::bench {

std::vector<Case> MakeSsimCases(const Options& options) {
  const auto pair = std::make_shared<const ImagePair>(MakeImages(options));
  const int width = options.image_width_px, height = options.image_height_px;

  Case base = SsimCase("ssim/", *pair);
  base.ours = "ssim_wang_rgb_v1";
  Case item = Against(base, "scikit-image");
  item.goal = 10;
  item.run_ours = Timed([pair] { SsimWangRgbV1(pair->image, pair->truth).value(); });

  std::shared_ptr<ChildPeer> child;
  try {
    child = std::make_shared<ChildPeer>("ssim_skimage.py", options.threads);
    child->Load("image", std::span(pair->image.pixels), {height, width, 3});
    child->Load("truth", std::span(pair->truth.pixels), {height, width, 3});
    item.peer_version = child->version();
    item.run_peer = [child] { return child->RunMs(); };
  } catch (const PeerError& error) {
    item.skipped = error.what();
  }
  item.gate = [pair, child, has_peer = item.skipped.empty()] {
    const double score = SsimWangRgbV1(pair->image, pair->truth).value();
    GateResult gate;
    gate.error = std::fabs(score - ReferenceSsim(*pair));
    gate.error_kind = "max_abs";
    gate.error_bound = 1e-6;
    if (has_peer) {
      child->RunMs();
      const double difference = std::fabs(score - child->Fetch("score").at(0));
      gate.error = difference <= gate.error ? gate.error : difference;
      gate.reference = "float64 and scikit-image";
    }
    return gate;
  };
  return {item};
}

}  // namespace interlacer::bench
