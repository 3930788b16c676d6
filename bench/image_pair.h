#pragma once

/// Two pictures to compare, and the slow score that every fast one is checked against. Pure
/// functions.

#include "bench/options.h"
#include "common/image.h"

namespace interlacer::bench {

struct ImagePair {
  RgbImage image, truth;
};

/// A smooth picture and the same with noise: scores between 0 and 1, not at either end.
ImagePair MakeImages(const Options& options);

/// ssim_wang_rgb_v1 by its definition, window by window in double.
double ReferenceSsim(const ImagePair& pair);

}  // namespace interlacer::bench
