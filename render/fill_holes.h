#pragma once

/// Colours for the pixels of a picture that nothing covers, from their surroundings.
///
///   color [h,w,3]   coverage [h,w] in [0,1]
/// Push and pull: the picture is averaged to half its size, weighed by coverage, until one pixel is
/// left; on the way back every pixel takes what it lacks of coverage from the coarser picture,
/// interpolated. Fully covered pixels keep their bits. Deterministic. Threads: pure function.
/// Errors: INVALID_ARGUMENT SHAPE_MISMATCH.
/// Source: the push-pull filter of the Lumigraph (Gortler et al. 1996).

#include <span>

#include "common/image.h"
#include "common/status.h"

namespace interlacer {

/// A picture without any coverage becomes `background`.
Status FillHoles(std::span<const float> coverage, float background, FloatImage* color);

}  // namespace interlacer
