#pragma once

/// What the work of one model takes: running means of what was measured, which begin with the
/// warm-up, and the longest unit of work since. One definition for admission and for metadata.
///
/// Lifting costs its time at the model's own image size, and more by every pixel beyond; views cost
/// by pixels. Thread-safe.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>

#include "common/model_metadata.h"

namespace interlacer {

/// An exponential mean. Once it is old it says no more than the least it ever said: else one slow
/// moment could have all later calls refused, and nothing would be measured again. One thread.
class RunningMean {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr double kWeight = 0.1;
  static constexpr std::chrono::seconds kOld{10};

  void Add(double value, Time now) {
    mean_ = has_value_ ? mean_ + kWeight * (value - mean_) : value;
    least_ = has_value_ ? std::min(least_, mean_) : mean_;
    has_value_ = true;
    newest_ = now;
  }
  /// 0 before the first value.
  double At(Time now) const { return now < newest_ + kOld ? mean_ : least_; }

 private:
  bool has_value_ = false;
  double mean_ = 0, least_ = 0;
  Time newest_;
};

class MeasuredCosts {
 public:
  using Time = RunningMean::Time;

  /// Begins with the costs of `metadata`, and knows the size of its cameras.
  explicit MeasuredCosts(const ModelMetadata& metadata, Time now);

  /// All seconds are of the device; steps are such that ask the network, lifts are of frames of all
  /// times. `pixel_count` is of the newest frames, or of a view.
  void NoteStep(double seconds, Time now);
  void NoteLift(std::int64_t pixel_count, double seconds, Time now);
  void NoteField(std::int64_t pixel_count, double seconds, Time now);
  void NoteCarry(std::int64_t pixel_count, double seconds, Time now);
  void NoteUnit(double seconds);

  double StepS(Time now) const;
  double LiftS(std::int64_t pixel_count, Time now) const;
  double FieldS(std::int64_t pixel_count, Time now) const;
  double CarryS(std::int64_t pixel_count, Time now) const;
  /// Sets the costs of `metadata`.
  void CopyTo(ModelMetadata* metadata, Time now) const;

 private:
  const std::int64_t model_pixel_count_;
  mutable std::mutex mutex_;
  RunningMean step_s_, lift_s_, lift_s_per_more_pixel_, field_s_per_pixel_, carry_s_per_pixel_;
  double longest_unit_s_ = 0;
};

}  // namespace interlacer
