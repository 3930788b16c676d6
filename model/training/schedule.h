#pragma once

/// Piecewise-constant values over training steps: learning rate, rollout length, particle count.
///
/// The value at a step is that of the entry with the largest `from_step` not above it. Entries
/// ascend and the first starts at 0. Value types.

#include <cstdint>
#include <vector>

namespace interlacer {

template <typename T>
struct ScheduleEntry {
  std::int64_t from_step = 0;
  T value{};
  bool operator==(const ScheduleEntry&) const = default;
};

template <typename T>
using Schedule = std::vector<ScheduleEntry<T>>;

template <typename T>
T ValueAt(const Schedule<T>& schedule, std::int64_t step) {
  T value = schedule.front().value;
  for (const auto& entry : schedule) {
    if (entry.from_step <= step) value = entry.value;
  }
  return value;
}

/// The step from which on the value at `step` holds.
template <typename T>
std::int64_t HoldsFrom(const Schedule<T>& schedule, std::int64_t step) {
  std::int64_t from_step = 0;
  T value = schedule.front().value;
  for (const auto& entry : schedule) {
    if (entry.from_step > step) break;
    if (entry.value != value) from_step = entry.from_step;
    value = entry.value;
  }
  return from_step;
}

template <typename T>
bool IsValidSchedule(const Schedule<T>& schedule) {
  if (schedule.empty() || schedule.front().from_step != 0) return false;
  for (std::size_t i = 1; i < schedule.size(); ++i) {
    if (schedule[i].from_step <= schedule[i - 1].from_step) return false;
  }
  return true;
}

}  // namespace interlacer
