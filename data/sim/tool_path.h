#pragma once

/// A queue of tool goals, one for each coming step, made of straight legs of even speed.
///
/// Metres, radians, one entry a step. Thread-safety: one thread at a time per object.

#include <deque>

#include "data/sim/inverse_kinematics.h"

namespace interlacer::sim {

class ToolPath {
 public:
  explicit ToolPath(const ToolTarget& start = {}) : end_(start) {}

  /// Appends a straight leg to `goal` in equal steps of at most `speed_m` and of at most 0.7 rad
  /// (kMaxYawPerStepRad) of turn.
  void MoveTo(const ToolTarget& goal, double speed_m);
  /// Discards the steps that are still to come; the path then goes on from `at`.
  void Restart(const ToolTarget& at);

  bool Done() const { return steps_.empty(); }
  /// Where the last leg ends.
  const ToolTarget& end() const { return end_; }
  /// Removes and returns the goal of the next step; not to be called when Done().
  ToolTarget Pop();

 private:
  std::deque<ToolTarget> steps_;
  ToolTarget end_;
};

}  // namespace interlacer::sim
