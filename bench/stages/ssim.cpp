/// Structural similarity of two colour images, against scikit-image.

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "bench/child_peer.h"
#include "bench/stages.h"
#include "common/random.h"
#include "render/image_metrics.h"

namespace interlacer::bench {
namespace {

struct ImagePair {
  RgbImage image, truth;
};

/// A smooth picture and the same with noise: scores between 0 and 1, not at either end.
ImagePair MakeImages(const Options& options) {
  RandomSequence random(options.seed, RandomStream::kDataGeneration);
  const int width = options.image_width_px, height = options.image_height_px;
  ImagePair pair;
  pair.truth = {width, height, std::vector<std::uint8_t>(std::size_t{3} * width * height)};
  pair.image = pair.truth;
  const double phase = random.Uniform(0, 6);
  for (std::size_t i = 0; i < pair.truth.pixels.size(); ++i) {
    const double x = static_cast<double>(i / 3 % width), y = static_cast<double>(i / 3 / width);
    const double smooth =
        127 + 90 * std::sin(0.07 * x + phase + static_cast<double>(i % 3)) * std::cos(0.05 * y);
    pair.truth.pixels[i] = static_cast<std::uint8_t>(smooth);
    pair.image.pixels[i] =
        static_cast<std::uint8_t>(std::clamp(smooth + 15 * random.Normal(), 0.0, 255.0));
  }
  return pair;
}

/// The definition, window by window in double.
double ReferenceSsim(const ImagePair& pair) {
  constexpr double kSigma = 1.5, kC1 = 0.01 * 255 * 0.01 * 255, kC2 = 0.03 * 255 * 0.03 * 255;
  std::array<double, kSsimWindowPx> taps{};
  double tap_sum = 0;
  for (int t = 0; t < kSsimWindowPx; ++t) {
    taps[t] = std::exp(-(t - kSsimBorderPx) * (t - kSsimBorderPx) / (2 * kSigma * kSigma));
    tap_sum += taps[t];
  }
  const int width = pair.truth.width_px, height = pair.truth.height_px;
  double score = 0;
  std::int64_t windows = 0;
  for (int row = 0; row + kSsimWindowPx <= height; ++row) {
    for (int column = 0; column + kSsimWindowPx <= width; ++column) {
      for (int channel = 0; channel < 3; ++channel, ++windows) {
        double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
        for (int i = 0; i < kSsimWindowPx; ++i) {
          for (int j = 0; j < kSsimWindowPx; ++j) {
            const std::size_t at = 3 * (std::size_t(row + i) * width + column + j) + channel;
            const double weight = taps[i] * taps[j] / (tap_sum * tap_sum);
            const double a = pair.image.pixels[at], b = pair.truth.pixels[at];
            x += weight * a;
            y += weight * b;
            xx += weight * a * a;
            yy += weight * b * b;
            xy += weight * a * b;
          }
        }
        score += (2 * x * y + kC1) * (2 * (xy - x * y) + kC2) /
                 ((x * x + y * y + kC1) * (xx - x * x + yy - y * y + kC2));
      }
    }
  }
  return score / static_cast<double>(windows);
}

}  // namespace

std::vector<Case> MakeSsimCases(const Options& options) {
  if (options.device != "cpu") throw StageAbsent("ssim: has no CUDA form");
  const auto pair = std::make_shared<const ImagePair>(MakeImages(options));
  const int width = options.image_width_px, height = options.image_height_px;

  Case item;
  item.stage = "ssim";
  item.name = "ssim/" + std::to_string(width) + "x" + std::to_string(height) + "/scikit-image";
  item.ours = "ssim_wang_rgb_v1";
  item.peer = "scikit-image";
  item.dtype = "f64";
  item.params = {{"image", std::to_string(width) + "x" + std::to_string(height) + "x3"}};
  item.goal = 10;
  item.floor =
      Floor{Floor::Kind::kMemoryBytes, 2.0 * static_cast<double>(pair->truth.pixels.size())};
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
