#pragma once

/// Draws discs (render/kernels/observed_disc.h) on the host, band by band of rows.
///
/// Equal bits for any thread count and any order of discs. Pure functions, which use the kernels'
/// threads. Errors: broken invariants only.

#include <cstdint>
#include <vector>

#include "common/camera.h"
#include "render/kernels/observed_disc.h"
#include "render/observed_renderer.h"

namespace interlacer {

/// A view of no recorded frame; `camera` without lens.
DiscView DiscViewOf(const Camera& camera, const ObservedOptions& options);

/// `is_kept` [h,w]: pixels of the view's own frame that keep their recorded colour.
ObservedPicture DrawDiscs(const DiscView& view, const std::vector<Disc>& discs,
                          const std::vector<std::uint8_t>& is_kept);

}  // namespace interlacer
