#pragma once

/// Pairs of views that look the same way from places apart, and how well they fit: where two views
/// see the same surface, only the right depths and poses put it in one place, and its colours
/// beside its colours (color_agreement.h).

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/scene.h"
#include "data/episode_reader.h"

namespace interlacer {

/// How well the views of pairs fit: the medians over the pairs.
struct Agreement {
  /// Of their surfaces over the depth, infinite where one lies behind the other; nothing where too
  /// few pixels show the same place.
  std::optional<double> distance;
  std::optional<double> correlation;  ///< of their colours
  double baseline = 0;                ///< between the cameras, over the depth
};

/// "lie 0.4 % of their depth apart and their colours correlate by 0.96".
std::string AgreementText(const Agreement& agreement);

/// Changes a view before it is compared; may be empty. Called from several threads.
using ViewChange = std::function<void(RgbdView*)>;

using PairIndices = std::vector<std::pair<int, int>>;

/// Pairs of the first step, spread over the recording, whose cameras, once changed, look the same
/// way within half a radian: each view with the one farthest from it within `max_baseline_m`.
PairIndices ChoosePairs(const EpisodeReader& views, double max_baseline_m,
                        const ViewChange& change = {});

/// Views of pairs; those that cannot be read are left out. Thread-safe.
class ViewPairs {
 public:
  ViewPairs(const EpisodeReader& views, PairIndices indices);

  bool empty() const { return pairs_.empty(); }
  const PairIndices& indices() const { return indices_; }
  Agreement Measure(const ViewChange& change = {}) const;

 private:
  PairIndices indices_;
  std::vector<std::pair<RgbdView, RgbdView>> pairs_;
};

}  // namespace interlacer
