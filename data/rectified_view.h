#pragma once

/// A view without its lens model. Pure function, thread-safe.

#include "common/scene.h"

namespace interlacer {

/// Colour between the four nearest pixels, depth of the nearest; what the lens did not see is white
/// and without depth. Unchanged when there is no lens model.
RgbdView RectifiedView(const RgbdView& view);

}  // namespace interlacer
