#include "bench/image_pair.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "common/random.h"
#include "render/image_metrics.h"

namespace interlacer::bench {

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

}  // namespace interlacer::bench
