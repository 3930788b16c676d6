#pragma once

/// Chooses the input views and the held-out target view of a static scene.
///
/// The partner of a first view is the next view, in the order of recording, that shows the same
/// place from a clearly different pose; where no view is so far apart, the farthest one. The
/// held-out view is the one most nearly between the two; pairs without one are taken only where no
/// pair has one. Approximate: poses only, no occlusion.
/// Errors: INVALID_ARGUMENT CAMERA_MISSING where no two views look at the same place.
/// Order: by first view, deterministic; no pair of inputs twice. Pure function, thread-safe.

#include <cstddef>
#include <optional>
#include <vector>

#include "common/status.h"
#include "data/episode.h"
#include "data/view_overlap.h"

namespace interlacer {

struct ViewChoice {
  int first = 0;
  int second = 0;
  std::optional<int> held_out;
};

struct ViewChoiceOptions {
  /// Views that are requested in any case: never an input, and the inputs show the place of the
  /// first of them.
  std::vector<int> targets;
  /// Number of first views considered, spread over the recording.
  int max_first_views = 64;
  /// Wanted difference of the inputs: angle of their axes plus their baseline as seen from the
  /// middle of the depth range, radians. A quarter of a usual camera's width.
  double wanted_difference_rad = 0.3;
  OverlapLimits overlap;
};

/// `manifest` is of kind kStaticViews.
StatusOr<std::vector<ViewChoice>> ListViewChoices(const EpisodeManifest& manifest,
                                                  const ViewChoiceOptions& options = {});

/// `count` of the indices 0 ... size - 1, first and last among them; all when there are no more.
std::vector<std::size_t> SpreadIndices(std::size_t size, std::size_t count);

}  // namespace interlacer
