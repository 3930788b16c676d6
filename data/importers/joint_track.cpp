#include "data/importers/joint_track.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace interlacer {

void JointTrack::Finish() {
  const auto is_earlier = [](const Reading& a, const Reading& b) { return a.time_ns < b.time_ns; };
  std::stable_sort(readings_.begin(), readings_.end(), is_earlier);
  std::size_t kept = 0;
  for (const Reading& reading : readings_) {
    if (kept > 0 && readings_[kept - 1].time_ns == reading.time_ns) --kept;
    readings_[kept++] = reading;
  }
  readings_.resize(kept);
}

std::optional<double> JointTrack::At(std::int64_t time_ns, std::int64_t max_gap_ns,
                                     bool wraps) const {
  const auto after = std::lower_bound(
      readings_.begin(), readings_.end(), time_ns,
      [](const Reading& reading, std::int64_t time) { return reading.time_ns < time; });
  if (after == readings_.end()) return std::nullopt;
  if (after->time_ns == time_ns) return after->value;
  if (after == readings_.begin()) return std::nullopt;
  const Reading& before = *(after - 1);
  const std::int64_t gap_ns = after->time_ns - before.time_ns;
  if (gap_ns > max_gap_ns) return std::nullopt;
  double way = after->value - before.value;
  if (wraps) way = std::remainder(way, 2 * std::numbers::pi);
  return before.value +
         way * (static_cast<double>(time_ns - before.time_ns) / static_cast<double>(gap_ns));
}

std::optional<double> JointTrack::Held(std::int64_t time_ns) const {
  const auto after = std::upper_bound(
      readings_.begin(), readings_.end(), time_ns,
      [](std::int64_t time, const Reading& reading) { return time < reading.time_ns; });
  if (after == readings_.begin()) return std::nullopt;
  return (after - 1)->value;
}

void AddJoints(const JointsMessage& message, JointTracks* tracks) {
  for (std::size_t i = 0; i < message.names.size(); ++i) {
    if (!std::isfinite(message.positions[i])) continue;
    (*tracks)[message.names[i]].Add(message.stamp_ns, message.positions[i]);
  }
}

}  // namespace interlacer
