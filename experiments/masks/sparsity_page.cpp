#include <algorithm>
#include <cmath>

#include "experiments/masks/graphs.h"
#include "experiments/masks/pages.h"

namespace interlacer {
namespace {

constexpr double kSparseHalt = 0.5, kDelta = 0.05;
constexpr int kSparseHops = 64;
/// Largest over smallest mean, from 512 nodes on: ends of a path have fewer neighbours.
constexpr double kMeanTolerance = 1.02;
constexpr std::int64_t kConstantFrom = 512;

/// b of the lemma; a walk of b visited nodes counts its start.
double WalkBound(int walks) {
  return std::log(1 - std::pow(1 - kDelta, 1.0 / walks)) / std::log(1 - kSparseHalt);
}

struct EntryCounts {
  double mean = 0;
  std::int64_t most = 0;
  double share_above_real = 0;   ///< of features with more than n b entries
  double share_above_whole = 0;  ///< with more than n ceil(b)
};

StatusOr<EntryCounts> Count(const attention::EdgeLists& graph, int walks, std::uint32_t draws) {
  attention::WalkSetting setting;
  setting.graph = graph;
  setting.walks = walks;
  setting.max_hops = kSparseHops;
  setting.halt_probability = kSparseHalt;
  const double real = walks * WalkBound(walks), whole = walks * std::ceil(WalkBound(walks));
  const double each = 1.0 / (static_cast<double>(graph.size()) * draws);
  EntryCounts counts;
  for (std::uint32_t draw = 0; draw < draws; ++draw) {
    INTERLACER_ASSIGN_OR_RETURN(const auto rows, attention::CountFeatureEntries(setting, draw));
    for (const std::int64_t row : rows) {
      const auto entries = static_cast<double>(row);
      counts.mean += entries * each;
      counts.most = std::max(counts.most, row);
      if (entries > real) counts.share_above_real += each;
      if (entries > whole) counts.share_above_whole += each;
    }
  }
  return counts;
}

}  // namespace

StatusOr<MaskPage> SparsityPage(const MaskRun& run) {
  MaskPage page;
  page.name = "sparsity";
  page.title = "Entries of a feature that are not zero";
  page.notes = {
      "Independent walks that halt with probability 1/2. With probability 1 - delta a feature has "
      "at "
      "most n b entries, b = ln(1 - (1 - delta)^(1/n)) / ln(1 - p); delta = 0.05. b is no whole "
      "number and lengths are: what follows from the proof is n ceil(b). A path makes walks meet; "
      "on a circle whose nodes have 64 neighbours they hardly do, so that entries are visited "
      "nodes, and one walk shows the length of a walk itself."};
  page.points.columns = {"graph", "n_nodes", "walks",           "bound",
                         "mean",  "most",    "share_above_n_b", "share_above_n_ceil_b"};
  HtmlTable table;
  table.caption = "Entries a feature";
  table.header = {"graph", "nodes", "walks",           "n b",
                  "mean",  "most",  "share above n b", "share above n ceil(b)"};
  ChartSpec chart;
  chart.title = "Mean entries a feature";
  chart.x_label = "log2 of the number of nodes";
  chart.y_label = "entries";
  chart.alt_text = "Mean number of entries of a feature against the number of nodes";
  const std::int64_t largest = run.is_quick ? 2048 : 1 << 15;
  for (const auto& [graph, walks, style] :
       {std::tuple{"path", 4, 0}, std::tuple{"circle of 64 neighbours", 4, 1},
        std::tuple{"circle of 64 neighbours", 1, 2}}) {
    const std::string name = std::string(graph) + ", n = " + std::to_string(walks);
    ChartSeries line{name, {}, {}, {}, {}, static_cast<std::size_t>(style)};
    double least_mean = INFINITY, most_mean = 0, above_real = 0, above_whole = 0;
    for (std::int64_t n = 128; n <= largest; n *= 4) {
      INTERLACER_RETURN_IF_ERROR(run.Step(name + ", " + std::to_string(n) + " nodes"));
      // As many features at every size.
      const auto draws = static_cast<std::uint32_t>(std::max<std::int64_t>(4 * largest / n, 1));
      INTERLACER_ASSIGN_OR_RETURN(
          const EntryCounts counts,
          Count(style == 0 ? PathGraph(n) : CirculantGraph(n, 32), walks, draws));
      line.x.push_back(std::log2(static_cast<double>(n)));
      line.y.push_back(counts.mean);
      above_real = std::max(above_real, counts.share_above_real);
      above_whole = std::max(above_whole, counts.share_above_whole);
      if (n >= kConstantFrom) {
        least_mean = std::min(least_mean, counts.mean);
        most_mean = std::max(most_mean, counts.mean);
      }
      page.points.rows.push_back({graph, n, walks, walks * WalkBound(walks), counts.mean,
                                  counts.most, counts.share_above_real, counts.share_above_whole});
      table.rows.push_back({graph, std::to_string(n), std::to_string(walks),
                            FigureText(walks * WalkBound(walks)), FigureText(counts.mean),
                            std::to_string(counts.most), FigureText(counts.share_above_real),
                            FigureText(counts.share_above_whole)});
    }
    chart.series.push_back(line);
    const auto claim = [&](const std::string& text, const std::string& paper) {
      return MaskClaim{
          .text = name + ": " + text, .source = "grf-masking, Lemma 3.2", .paper = paper};
    };
    page.claims.push_back(AtMost(
        claim("share of features with more than n b entries, b as printed", "at most delta = 0.05"),
        above_real, kDelta));
    page.claims.push_back(
        AtMost(claim("share of features with more than n ceil(b) entries", "at most delta = 0.05"),
               above_whole, kDelta));
    page.claims.push_back(AtMost(
        claim("mean entries do not depend on the number of nodes: largest / smallest mean", "1"),
        most_mean / least_mean, kMeanTolerance));
  }
  page.charts = {chart};
  page.tables = {table};
  return page;
}

}  // namespace interlacer
