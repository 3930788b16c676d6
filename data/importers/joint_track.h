#pragma once

/// Readings of joints over time, by name; each joint has times of its own.
///
/// Radians and metres. Value types; const methods may run together.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/bags/messages.h"

namespace interlacer {

class JointTrack {
 public:
  void Add(std::int64_t time_ns, double value) { readings_.push_back({time_ns, value}); }
  /// After the last Add: sorts by time; of equal times the last counts.
  void Finish();

  bool empty() const { return readings_.empty(); }
  std::int64_t first_ns() const { return readings_.front().time_ns; }
  std::int64_t last_ns() const { return readings_.back().time_ns; }

  /// Linear between readings at most `max_gap_ns` apart, nothing beyond them. Where `wraps`, a turn
  /// is the shorter way round.
  std::optional<double> At(std::int64_t time_ns, std::int64_t max_gap_ns, bool wraps) const;
  /// The last reading at or before the time: a command holds until the next.
  std::optional<double> Held(std::int64_t time_ns) const;

 private:
  struct Reading {
    std::int64_t time_ns;
    double value;
  };
  std::vector<Reading> readings_;
};

using JointTracks = std::map<std::string, JointTrack>;

/// Numbers that are not finite are left out.
void AddJoints(const JointsMessage& message, JointTracks* tracks);

}  // namespace interlacer
