#include "data/view_choice.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "common/transforms.h"

namespace interlacer {
namespace {

class ViewChooser {
 public:
  ViewChooser(const EpisodeManifest& manifest, const ViewChoiceOptions& options)
      : manifest_(manifest), options_(options), far_m_(manifest.cameras.front().far_m) {}

  std::vector<ViewChoice> List() const {
    std::vector<int> firsts;
    for (int view = 0; view < Count(); ++view) {
      if (IsAllowed(view)) firsts.push_back(view);
    }
    std::vector<ViewChoice> choices;
    std::set<std::pair<int, int>> seen;
    for (const std::size_t i :
         SpreadIndices(firsts.size(), static_cast<std::size_t>(options_.max_first_views))) {
      const std::optional<ViewChoice> choice = Choose(firsts[i]);
      if (choice && seen.insert(std::minmax({choice->first, choice->second})).second) {
        choices.push_back(*choice);
      }
    }
    const auto is_complete = [](const ViewChoice& choice) { return choice.held_out.has_value(); };
    if (std::any_of(choices.begin(), choices.end(), is_complete)) {
      std::erase_if(choices, [&](const ViewChoice& choice) { return !is_complete(choice); });
    }
    return choices;
  }

 private:
  int Count() const { return static_cast<int>(manifest_.cameras.size()); }
  const Camera& At(int view) const { return manifest_.cameras[view].camera; }

  bool Overlap(int a, int b) const {
    return a != b && ViewsOverlap(At(a), At(b), far_m_, options_.overlap);
  }

  /// Whether a view may be an input.
  bool IsAllowed(int view) const {
    const std::vector<int>& targets = options_.targets;
    if (targets.empty()) return true;
    return std::find(targets.begin(), targets.end(), view) == targets.end() &&
           Overlap(view, targets.front());
  }

  double Difference(int a, int b) const {
    const Matrix4d m = ToMatrix(Compose(Inverse(At(a).world_from_camera), At(b).world_from_camera));
    return std::acos(std::clamp(m[10], -1.0, 1.0)) + std::hypot(m[3], m[7], m[11]) / (0.5 * far_m_);
  }

  std::optional<int> HeldOut(int first, int second) const {
    if (!options_.targets.empty()) return options_.targets.front();
    std::optional<int> best;
    double least = 0;
    for (int view = 0; view < Count(); ++view) {
      if (!Overlap(view, first) || !Overlap(view, second)) continue;
      const double difference = std::max(Difference(view, first), Difference(view, second));
      if (best && difference >= least) continue;
      best = view;
      least = difference;
    }
    return best;
  }

  /// Later views first: in a recording they are near in time as well.
  std::optional<ViewChoice> Choose(int first) const {
    std::vector<std::pair<double, int>> nearer;  // negative difference, view
    for (const int direction : {1, -1}) {
      for (int view = first + direction; view >= 0 && view < Count(); view += direction) {
        if (!IsAllowed(view) || !Overlap(first, view)) continue;
        const double difference = Difference(first, view);
        nearer.emplace_back(-difference, view);
        if (difference < options_.wanted_difference_rad) continue;
        if (const auto held_out = HeldOut(first, view)) return ViewChoice{first, view, held_out};
      }
    }
    std::sort(nearer.begin(), nearer.end());
    for (const auto& [negative, view] : nearer) {
      if (const auto held_out = HeldOut(first, view)) return ViewChoice{first, view, held_out};
    }
    if (nearer.empty()) return std::nullopt;
    return ViewChoice{first, nearer.front().second, std::nullopt};
  }

  const EpisodeManifest& manifest_;
  const ViewChoiceOptions& options_;
  const double far_m_;
};

}  // namespace

StatusOr<std::vector<ViewChoice>> ListViewChoices(const EpisodeManifest& manifest,
                                                  const ViewChoiceOptions& options) {
  std::vector<ViewChoice> choices = ViewChooser(manifest, options).List();
  if (!choices.empty()) return choices;
  return Mismatch(reason::CAMERA_MISSING, "cameras",
                  "two views that look at the same place, or a choice of two (--cameras A,B)",
                  std::to_string(manifest.cameras.size()) + " views without such a pair");
}

std::vector<std::size_t> SpreadIndices(std::size_t size, std::size_t count) {
  std::vector<std::size_t> indices;
  const std::size_t taken = std::min(size, count);
  for (std::size_t i = 0; i < taken; ++i) {
    indices.push_back(taken == 1 ? 0 : i * (size - 1) / (taken - 1));
  }
  return indices;
}

}  // namespace interlacer
