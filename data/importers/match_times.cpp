#include "data/importers/match_times.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace interlacer {

std::vector<int> MatchTimes(std::span<const std::int64_t> a, std::span<const std::int64_t> b,
                            std::int64_t limit_ns) {
  struct Candidate {
    std::int64_t offset_ns;
    int a, b;
  };
  std::vector<Candidate> candidates;
  std::size_t first = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (i > 0 && a[i] == a[i - 1]) continue;
    while (first < b.size() && b[first] < a[i] - limit_ns) ++first;
    for (std::size_t k = first; k < b.size() && b[k] <= a[i] + limit_ns; ++k) {
      if (k > first && b[k] == b[k - 1]) continue;
      candidates.push_back({std::abs(b[k] - a[i]), static_cast<int>(i), static_cast<int>(k)});
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& x, const auto& y) { return x.offset_ns < y.offset_ns; });
  std::vector<int> partner(a.size(), -1);
  std::vector<bool> is_used(b.size(), false);
  for (const Candidate& pair : candidates) {
    if (partner[pair.a] >= 0 || is_used[pair.b]) continue;
    partner[pair.a] = pair.b;
    is_used[pair.b] = true;
  }
  return partner;
}

std::int64_t SpacingNs(std::span<const std::int64_t> times_ns) {
  std::vector<std::int64_t> spacings_ns;
  for (std::size_t i = 1; i < times_ns.size(); ++i) {
    spacings_ns.push_back(times_ns[i] - times_ns[i - 1]);
  }
  if (spacings_ns.empty()) return 0;
  std::sort(spacings_ns.begin(), spacings_ns.end());
  const std::int64_t median_ns = spacings_ns[spacings_ns.size() / 2];
  std::erase_if(spacings_ns, [median_ns](std::int64_t spacing_ns) {
    return 2 * std::abs(spacing_ns - median_ns) > median_ns;
  });
  return std::accumulate(spacings_ns.begin(), spacings_ns.end(), std::int64_t{0}) /
         static_cast<std::int64_t>(spacings_ns.size());
}

int NearestTime(std::span<const std::int64_t> times_ns, std::int64_t time_ns) {
  const auto after = std::lower_bound(times_ns.begin(), times_ns.end(), time_ns);
  if (after == times_ns.end()) return static_cast<int>(times_ns.size()) - 1;
  const int index = static_cast<int>(after - times_ns.begin());
  if (index > 0 && time_ns - times_ns[index - 1] <= *after - time_ns) return index - 1;
  return index;
}

}  // namespace interlacer
