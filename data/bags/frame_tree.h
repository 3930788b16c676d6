#pragma once

/// Where frames are at a time: the transforms of a recording.
///
/// Every frame has one parent. Between two transforms of a frame, translation is interpolated
/// linearly and rotation spherically; a frame whose transforms are all equal stands still and is
/// where they say at all times. Nothing is extrapolated. Quaternions are normalised.
/// Errors: INVALID_ARGUMENT CALIBRATION_INVALID (a frame with two parents, a circle, a quaternion
/// or number that is none, no way between the frames), which name the frames; NOT_FOUND
/// TIMESTAMP_INVALID (no transform near that time). Threads: const methods may run together.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/bags/messages.h"

namespace interlacer {

class FrameTree {
 public:
  Status Add(const TransformMessage& transform);
  /// After the last Add: sorts by time and finds what stands still.
  void Finish();

  bool Has(const std::string& frame) const;
  /// Frames without a parent, sorted.
  std::vector<std::string> Roots() const;
  /// INVALID_ARGUMENT where no chain of transforms leads from one frame to the other.
  Status CheckWay(const std::string& from, const std::string& to) const;
  /// a_from_b at a time. Transforms up to `max_gap_ns` apart are interpolated.
  StatusOr<Transform> At(const std::string& a, const std::string& b, std::int64_t time_ns,
                         std::int64_t max_gap_ns) const;

 private:
  struct Sample {
    std::int64_t time_ns = 0;
    Transform parent_from_child;
  };
  struct Edge {
    std::string parent;
    std::vector<Sample> samples;
    bool is_still = false;
  };

  StatusOr<Transform> EdgeAt(const std::string& child, const Edge& edge, std::int64_t time_ns,
                             std::int64_t max_gap_ns) const;
  /// The frame and its parents up to the root.
  std::vector<std::string> Chain(const std::string& frame) const;

  std::map<std::string, Edge> edges_;  // by child
};

}  // namespace interlacer
