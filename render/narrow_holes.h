#pragma once

/// Colours for the narrow holes of a picture of carried pixels.
///
/// Between carried pixels and along outlines that moved lie strips of a pixel or two that nothing
/// covers. Their surroundings say better what is there than a radiance field does, whose rays blur
/// over more than that. A pixel that is covered by less than kFullCoverage takes the colour of
/// FillHoles and counts as covered, wholly up to kNearPx from the nearest pixel that is covered
/// enough, falling to nothing at kFarPx (greater of the two axes' distances); its depth becomes
/// NaN, since nothing was seen there. A pixel covered by more, but not wholly, as along outlines,
/// takes from its surroundings what it lacks, and keeps depth and coverage. Other pixels keep their
/// bits. Deterministic. Threads: pure function. Errors: those of FillHoles.

#include "common/status.h"
#include "render/observed_renderer.h"

namespace interlacer {

inline constexpr int kNearPx = 2;
inline constexpr int kFarPx = 6;

Status FillNarrowHoles(ObservedPicture* picture);

}  // namespace interlacer
