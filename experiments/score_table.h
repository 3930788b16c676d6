#pragma once

/// The scores of many results files, averaged as they come in: one mean for each subject, metric,
/// step and episode. Means over cameras and windows; nulls take no part. Value type.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "evaluation/results.h"
#include "evaluation/statistics.h"

namespace interlacer {

/// Stands for the mean over the rollout steps 1, 2, ...; the reconstruction takes no part.
inline constexpr int kAllSteps = -1;
/// Bootstrap of every interval of a study.
inline constexpr BootstrapOptions kStudyBootstrap{.draw_count = 10000};
/// Decimals of a score in a study's text.
inline constexpr int kScoreDecimals = 4;

using EpisodeValues = std::map<std::string, double>;

class ScoreTable {
 public:
  void Add(const Results& results);

  /// Means by episode. For kAllSteps the mean of the means of an episode's steps.
  EpisodeValues Values(std::string_view subject, std::string_view metric, int step) const;

 private:
  struct Sum {
    double sum = 0;
    int count = 0;
  };
  using Key = std::tuple<std::string, std::string, int>;
  std::map<Key, std::map<std::string, Sum>> sums_;
};

/// The mean over tables (seeds) of the episodes that all of them have.
EpisodeValues MeanOverTables(const std::vector<EpisodeValues>& tables);

}  // namespace interlacer
