#include "experiments/score_table.h"

namespace interlacer {

void ScoreTable::Add(const Results& results) {
  for (const ResultValue& value : results.values) {
    if (!value.value) continue;
    Sum& sum = sums_[{value.subject, value.metric, value.step}][value.episode];
    sum.sum += *value.value;
    ++sum.count;
  }
}

EpisodeValues ScoreTable::Values(std::string_view subject, std::string_view metric,
                                 int step) const {
  std::map<std::string, Sum> means;
  const auto first =
      sums_.lower_bound({std::string(subject), std::string(metric), step == kAllSteps ? 1 : step});
  for (auto it = first; it != sums_.end(); ++it) {
    const auto& [at_subject, at_metric, at_step] = it->first;
    const bool is_wanted =
        at_subject == subject && at_metric == metric && (step == kAllSteps || at_step == step);
    if (!is_wanted) break;
    for (const auto& [episode, sum] : it->second) {
      means[episode].sum += sum.sum / sum.count;
      ++means[episode].count;
    }
  }
  EpisodeValues values;
  for (const auto& [episode, sum] : means) values[episode] = sum.sum / sum.count;
  return values;
}

EpisodeValues MeanOverTables(const std::vector<EpisodeValues>& tables) {
  EpisodeValues means;
  if (tables.empty()) return means;
  for (const auto& [episode, value] : tables.front()) {
    double sum = 0;
    std::size_t count = 0;
    for (const EpisodeValues& table : tables) {
      const auto it = table.find(episode);
      if (it == table.end()) continue;
      sum += it->second;
      ++count;
    }
    if (count == tables.size()) means[episode] = sum / static_cast<double>(count);
  }
  return means;
}

}  // namespace interlacer
