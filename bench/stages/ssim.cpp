/// Structural similarity of two colour images, against scikit-image.

#include <cmath>
#include <memory>
#include <string>

#include "bench/child_peer.h"
#include "bench/host_platform.h"
#include "bench/image_pair.h"
#include "render/image_metrics.h"

namespace interlacer::bench {

namespace {

Case SsimCase(const ImagePair& pair) {
  const std::string size =
      std::to_string(pair.truth.width_px) + "x" + std::to_string(pair.truth.height_px);
  Case base;
  base.stage = "ssim";
  base.name = "ssim/" + size;
  base.dtype = "f64";
  base.params = {{"image", size + "x3"}};
  base.floor =
      Floor{Floor::Kind::kMemoryBytes, 2.0 * static_cast<double>(pair.truth.pixels.size())};
  base.ours = "ssim_wang_rgb_v1";
  return base;
}

}  // namespace

std::vector<Case> MakeSsimCases(const Options& options) {
  const auto pair = std::make_shared<const ImagePair>(MakeImages(options));
  const int width = options.image_width_px, height = options.image_height_px;

  Case item = Against(SsimCase(*pair), "scikit-image");
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
