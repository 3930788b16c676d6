#pragma once

/// A view at another image size: colour by area average, depth by the nearest pixel centre,
/// calibration moved along; unchanged when the size is already right.
///
/// Client, server and trainer use this one function, so resampling on either side gives the same
/// bytes; but a guess of contacts sees the views that were sent (model/lifting/seen_points.h). Pure
/// function, thread-safe.

#include "common/scene.h"

namespace interlacer {

RgbdView ResizedView(const RgbdView& view, int width_px, int height_px);

}  // namespace interlacer
