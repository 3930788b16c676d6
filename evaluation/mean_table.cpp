#include "evaluation/mean_table.h"

#include <algorithm>
#include <set>
#include <utility>

#include "evaluation/score_text.h"

namespace interlacer {

HtmlTable MeanTable(const std::string& heading, std::vector<std::string> columns,
                    const MeansByStep& means, int decimals) {
  std::set<int> counts;
  for (const auto& [step, row] : means) {
    for (const auto& mean : row) {
      if (mean) counts.insert(mean->n);
    }
  }
  const bool has_counts = counts.size() > 1;
  HtmlTable table;
  table.caption = heading + ": mean and 95 % interval" + (has_counts ? ", n episodes" : "");
  table.header = std::move(columns);
  table.header.insert(table.header.begin(), "step");
  for (const auto& [step, row] : means) {
    if (std::none_of(row.begin(), row.end(), [](const auto& mean) { return mean.has_value(); })) {
      continue;
    }
    std::vector<std::string>& cells = table.rows.emplace_back();
    cells.push_back(std::to_string(step));
    for (const auto& mean : row) {
      cells.push_back(MeanText(mean, decimals));
      // Without an interval the number stands in its place.
      if (has_counts && mean && mean->interval) cells.back() += ", n = " + std::to_string(mean->n);
    }
  }
  return table;
}

}  // namespace interlacer
