#pragma once

/// Colours for the pixels of a picture that nothing covers, from their surroundings.
///
///   color [h,w,3]   coverage [h,w] in [0,1]   depth [h,w] z in metres, NaN where unknown
/// Push and pull: the picture is averaged to half its size, weighed by coverage, until one pixel is
/// left; on the way back every pixel takes what it lacks of coverage from the coarser picture,
/// interpolated. Holes are what was hidden: where surroundings lie at several depths the farther
/// ones count more, by the eighth power of their depth. A pixel of unknown depth counts as the
/// farthest beside it. Fully covered pixels keep their bits. Deterministic. Threads: pure function.
/// Errors: INVALID_ARGUMENT SHAPE_MISMATCH.
/// Source: lumigraph (push-pull filter). The depths are ours.

#include <span>

#include "common/image.h"
#include "common/status.h"

namespace interlacer {

/// A picture without any coverage becomes `background`.
Status FillHoles(std::span<const float> coverage, const DepthImage& depth, float background,
                 FloatImage* color);
/// The same where no depth is known.
Status FillHoles(std::span<const float> coverage, float background, FloatImage* color);

}  // namespace interlacer
