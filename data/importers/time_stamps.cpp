#include "data/importers/time_stamps.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <optional>

namespace interlacer {
namespace {

struct TimeUnit {
  const char* name;
  double seconds;
};
constexpr TimeUnit kTimeUnits[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
/// Seconds since 1970 from 1985 to 2286.
constexpr double kEarliestEpochS = 5e8, kLatestEpochS = 1e10;
/// Frames of a recording lie between these apart.
constexpr double kLeastSpacingS = 1e-4, kMostSpacingS = 10;
constexpr std::size_t kMaxEqualShare = 10;  // one of so many

std::string StampText(double stamp) {
  char text[48];
  std::snprintf(text, sizeof(text), "%.17g", stamp);
  return text;
}

double MedianSpacing(std::vector<double> stamps) {
  std::sort(stamps.begin(), stamps.end());
  std::vector<double> spacings;
  for (std::size_t i = 1; i < stamps.size(); ++i) {
    if (stamps[i] > stamps[i - 1]) spacings.push_back(stamps[i] - stamps[i - 1]);
  }
  if (spacings.empty()) return 0;
  const auto middle = spacings.begin() + static_cast<std::ptrdiff_t>(spacings.size() / 2);
  std::nth_element(spacings.begin(), middle, spacings.end());
  return *middle;
}

/// By the size of stamps since 1970.
std::optional<double> EpochUnit(double largest) {
  for (const TimeUnit& unit : kTimeUnits) {
    const double seconds = largest * unit.seconds;
    if (seconds >= kEarliestEpochS && seconds < kLatestEpochS) return unit.seconds;
  }
  return std::nullopt;
}

}  // namespace

StatusOr<double> SecondsOfTimeUnit(const std::string& unit) {
  for (const TimeUnit& known : kTimeUnits) {
    if (unit == known.name) return known.seconds;
  }
  return Mismatch(reason::ARGUMENT_INVALID, "time_unit", "s, ms, us or ns", unit);
}

StatusOr<double> FindTimeUnit(const std::vector<double>& stamps, const std::string& unit,
                              const std::string& file) {
  if (!unit.empty()) return SecondsOfTimeUnit(unit);
  double largest = 0;
  for (const double stamp : stamps) largest = std::max(largest, std::abs(stamp));
  if (const auto found = EpochUnit(largest)) return *found;
  const double spacing = MedianSpacing(stamps);
  if (spacing == 0 || (spacing >= kLeastSpacingS && spacing <= kMostSpacingS)) return 1.0;
  return Mismatch(
      reason::TIMESTAMP_INVALID, file,
      "time stamps in seconds, 0.0001 to 10 s apart, or the unit by --time-unit",
      "stamps such as " + StampText(stamps.front()) + ", " + StampText(spacing) + " apart");
}

bool AreCounts(const std::vector<double>& stamps) {
  if (stamps.size() < 2 || !(stamps.front() < kEarliestEpochS) ||
      std::trunc(stamps.front()) != stamps.front()) {
    return false;
  }
  std::vector<double> spacings(stamps.size());
  std::adjacent_difference(stamps.begin(), stamps.end(), spacings.begin());
  spacings.erase(spacings.begin());  // the first stamp itself
  const double step = *std::min_element(spacings.begin(), spacings.end());
  return step >= 1 && std::trunc(step) == step &&
         std::all_of(spacings.begin(), spacings.end(),
                     [step](double spacing) { return std::fmod(spacing, step) == 0; });
}

Status CheckStampDigits(std::size_t equal_count, std::size_t count, const std::string& file) {
  if (equal_count * kMaxEqualShare <= count) return Status::Ok();
  return Mismatch(
      reason::TIMESTAMP_INVALID, file,
      "a time stamp of its own for every entry, with digits enough to tell frames apart",
      std::to_string(equal_count) + " of " + std::to_string(count) +
          " with the stamp of another: were they written with too few digits?");
}

}  // namespace interlacer
