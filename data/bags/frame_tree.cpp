#include "data/bags/frame_tree.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "common/number_text.h"
#include "common/transforms.h"

namespace interlacer {
namespace {

/// Half of the last digit of stamps with two decimals: the same moment, written differently.
constexpr std::int64_t kSameMomentNs = 5'000'000;
/// Of equal transforms that were computed twice.
constexpr double kSameNumber = 1e-9;

bool AreSame(const Transform& a, const Transform& b) {
  // A quaternion and its negative are one rotation.
  double dot = 0;
  for (std::size_t i = 0; i < 4; ++i) dot += a.rotation_xyzw[i] * b.rotation_xyzw[i];
  const double sign = dot < 0 ? -1 : 1;
  for (std::size_t i = 0; i < 4; ++i) {
    if (std::abs(a.rotation_xyzw[i] - sign * b.rotation_xyzw[i]) > kSameNumber) return false;
  }
  return DistanceM(a.translation_m, b.translation_m) <= kSameNumber;
}

std::string TimeText(std::int64_t time_ns) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6f s", static_cast<double>(time_ns) * 1e-9);
  return text;
}

}  // namespace

Status FrameTree::Add(const TransformMessage& transform) {
  const auto& [translation, rotation] = transform.parent_from_child;
  double square = 0;
  bool is_finite = true;
  for (const double value : rotation) square += value * value;
  for (const double value : translation) is_finite = is_finite && std::isfinite(value);
  const double norm = std::sqrt(square);
  // Recorders of other tools write single precision; more than that is not a rotation.
  if (!is_finite || !(std::abs(norm - 1) < 1e-2)) {
    return Mismatch(
        reason::CALIBRATION_INVALID, transform.parent_frame + " to " + transform.child_frame,
        "a transform of finite numbers with a unit quaternion",
        is_finite ? "a quaternion of length " + NumberText(norm) : "numbers that are not");
  }
  if (transform.parent_frame == transform.child_frame) {
    return Mismatch(reason::CALIBRATION_INVALID, transform.child_frame,
                    "a frame whose parent is another", "itself");
  }
  Edge& edge = edges_[transform.child_frame];
  if (!edge.samples.empty() && edge.parent != transform.parent_frame) {
    return Mismatch(reason::CALIBRATION_INVALID, transform.child_frame,
                    "a frame of one parent in the whole recording",
                    edge.parent + " and " + transform.parent_frame);
  }
  edge.parent = transform.parent_frame;
  Sample sample{transform.stamp_ns, transform.parent_from_child};
  // Rounding alone is left as it came, so that equal numbers stay equal.
  if (std::abs(norm - 1) > 1e-12) {
    for (double& value : sample.parent_from_child.rotation_xyzw) value /= norm;
  }
  edge.samples.push_back(sample);
  return Status::Ok();
}

void FrameTree::Finish() {
  for (auto& [child, edge] : edges_) {
    std::stable_sort(edge.samples.begin(), edge.samples.end(),
                     [](const Sample& a, const Sample& b) { return a.time_ns < b.time_ns; });
    const Transform& first = edge.samples.front().parent_from_child;
    edge.is_still =
        std::all_of(edge.samples.begin(), edge.samples.end(),
                    [&](const Sample& sample) { return AreSame(sample.parent_from_child, first); });
    if (edge.is_still) edge.samples.resize(1);
  }
}

bool FrameTree::Has(const std::string& frame) const {
  return edges_.contains(frame) || std::any_of(edges_.begin(), edges_.end(), [&](const auto& item) {
           return item.second.parent == frame;
         });
}

std::vector<std::string> FrameTree::Roots() const {
  std::set<std::string> roots;
  for (const auto& [child, edge] : edges_) {
    if (!edges_.contains(edge.parent)) roots.insert(edge.parent);
  }
  return {roots.begin(), roots.end()};
}

std::vector<std::string> FrameTree::Chain(const std::string& frame) const {
  std::vector<std::string> chain = {frame};
  for (auto edge = edges_.find(frame); edge != edges_.end() && chain.size() <= edges_.size() + 1;
       edge = edges_.find(edge->second.parent)) {
    chain.push_back(edge->second.parent);
  }
  return chain;
}

Status FrameTree::CheckWay(const std::string& from, const std::string& to) const {
  const std::vector<std::string> a = Chain(from), b = Chain(to);
  if (a.size() > edges_.size() + 1 || b.size() > edges_.size() + 1) {
    return Mismatch(reason::CALIBRATION_INVALID, from, "frames that are a tree", "a circle");
  }
  if (a.back() == b.back()) return Status::Ok();
  return Mismatch(reason::CALIBRATION_INVALID, "tf",
                  "transforms that lead from " + from + " to " + to,
                  from + " hangs below " + a.back() + ", " + to + " below " + b.back());
}

StatusOr<Transform> FrameTree::EdgeAt(const std::string& child, const Edge& edge,
                                      std::int64_t time_ns, std::int64_t max_gap_ns) const {
  const std::vector<Sample>& samples = edge.samples;
  if (edge.is_still) return samples.front().parent_from_child;
  const auto after = std::lower_bound(
      samples.begin(), samples.end(), time_ns,
      [](const Sample& sample, std::int64_t time) { return sample.time_ns < time; });
  if (after != samples.end() && after->time_ns == time_ns) return after->parent_from_child;
  if (after != samples.begin() && after != samples.end()) {
    const Sample& before = *(after - 1);
    const std::int64_t gap_ns = after->time_ns - before.time_ns;
    if (gap_ns <= max_gap_ns) {
      return Interpolate(
          before.parent_from_child, after->parent_from_child,
          static_cast<double>(time_ns - before.time_ns) / static_cast<double>(gap_ns));
    }
  }
  const Sample* nearest = nullptr;
  for (const auto sample : {after, after - (after == samples.begin() ? 0 : 1)}) {
    if (sample != samples.end() && std::abs(sample->time_ns - time_ns) <= kSameMomentNs) {
      nearest = &*sample;
    }
  }
  if (nearest != nullptr) return nearest->parent_from_child;
  return NotFound(reason::TIMESTAMP_INVALID,
                  "no transform of " + child + " near " + TimeText(time_ns) + "; there are from " +
                      TimeText(samples.front().time_ns) + " to " + TimeText(samples.back().time_ns))
      .WithField(child);
}

StatusOr<Transform> FrameTree::At(const std::string& a, const std::string& b, std::int64_t time_ns,
                                  std::int64_t max_gap_ns) const {
  INTERLACER_RETURN_IF_ERROR(CheckWay(a, b));
  // Up from both to the first frame that their chains share.
  const std::vector<std::string> above_a = Chain(a), above_b = Chain(b);
  const auto up = [&](const std::vector<std::string>& chain,
                      const std::string& top) -> StatusOr<Transform> {
    Transform top_from_frame;
    bool is_first = true;
    for (auto frame = chain.begin(); *frame != top; ++frame) {
      INTERLACER_ASSIGN_OR_RETURN(const Transform step,
                                  EdgeAt(*frame, edges_.at(*frame), time_ns, max_gap_ns));
      top_from_frame = is_first ? step : Compose(step, top_from_frame);
      is_first = false;
    }
    return top_from_frame;
  };
  const auto top = std::find_if(above_b.begin(), above_b.end(), [&](const std::string& frame) {
    return std::find(above_a.begin(), above_a.end(), frame) != above_a.end();
  });
  INTERLACER_ASSIGN_OR_RETURN(const Transform top_from_b, up(above_b, *top));
  if (*top == a) return top_from_b;
  INTERLACER_ASSIGN_OR_RETURN(const Transform top_from_a, up(above_a, *top));
  return Compose(Inverse(top_from_a), top_from_b);
}

}  // namespace interlacer
