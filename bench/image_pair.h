#pragma once

/// Two images to compare, and the slow reference score against which fast ones are checked. Pure
/// functions.

#include "bench/options.h"
#include "common/image.h"

namespace interlacer::bench {

struct ImagePair {
  RgbImage image, truth;
};

/// A smooth image and a noisy copy; scores are strictly between 0 and 1.
ImagePair MakeImages(const Options& options);

/// ssim_wang_rgb_v1 by definition, window by window in double.
double ReferenceSsim(const ImagePair& pair);

}  // namespace interlacer::bench
