#pragma once

/// What the work of one model takes: running means of what was measured, which begin with the
/// warm-up, and the longest unit of work since. One definition for admission and for metadata.
///
/// Lifting frames and carrying their pixels into a view cost their time at the model's own image
/// size, and more by every pixel beyond; the field costs by pixels. What has not been seen of
/// larger frames is not guessed: a guess too high has them refused, and nothing is ever measured.
/// Thread-safe.

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

/// Seconds of what has a fixed part and depends on the size of frames. One thread.
class FrameCost {
 public:
  using Time = RunningMean::Time;

  /// `more_pixels`: beyond the model's own size, or none.
  void Note(std::int64_t more_pixels, double seconds, Time now) {
    if (more_pixels <= 0) {
      s_.Add(seconds, now);
    } else {
      const double more_s = std::max(seconds - s_.At(now), 0.0);
      s_per_more_pixel_.Add(more_s / static_cast<double>(more_pixels), now);
    }
  }
  double At(std::int64_t more_pixels, Time now) const {
    const auto more = static_cast<double>(std::max<std::int64_t>(more_pixels, 0));
    return s_.At(now) + more * s_per_more_pixel_.At(now);
  }

 private:
  RunningMean s_, s_per_more_pixel_;
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
  RunningMean step_s_, field_s_per_pixel_;
  FrameCost lift_, carry_;
  double longest_unit_s_ = 0;
};

}  // namespace interlacer
