#include <algorithm>
#include <cmath>
#include <utility>

#include "experiments/masks/cost_series.h"
#include "experiments/masks/graphs.h"
#include "experiments/masks/pages.h"

namespace interlacer {
namespace {

constexpr double kWidth = 8;  // of queries, keys, values and features
constexpr int kCountedWalks = 4;
constexpr double kCountedHalt = 0.5;
/// Longer walks have probability 2^-64.
constexpr int kCountedHops = 64;
/// From here on slopes are fitted.
constexpr std::int64_t kFitFromCount = 64, kFitFromTime = 4096;
constexpr double kSoftmaxTolerance = 0.05, kLinearTolerance = 0.01, kMaskedTolerance = 0.02;
constexpr double kSlopeOfTimeTolerance = 0.15, kFactorTolerance = 1.05;

struct Counts {
  std::vector<double> n, softmax, linear, masked, entries;
};

/// Additions, multiplications, exponentials and divisions count 1 each.
void AddCounts(double n, double entries, Counts* counts) {
  const double m = kWidth, d = kWidth;
  counts->n.push_back(n);
  counts->entries.push_back(entries);
  counts->softmax.push_back(n * n * (4 * d + 2) + n * d);
  counts->linear.push_back(n * (4 * m * d + 3 * m + d));
  counts->masked.push_back(2 * m * entries + 4 * entries * m * d + 3 * m * entries + n * d);
}

StatusOr<Counts> CountOperations(const MaskRun& run) {
  const std::uint32_t draws = run.is_quick ? 2 : 10;
  Counts counts;
  for (const std::int64_t n : Doublings(16, run.is_quick ? 512 : 4096)) {
    INTERLACER_RETURN_IF_ERROR(run.Step("operations, " + std::to_string(n) + " nodes"));
    attention::WalkSetting walks;
    walks.graph = PathGraph(n);
    walks.walks = kCountedWalks;
    walks.max_hops = kCountedHops;
    walks.halt_probability = kCountedHalt;
    double entries = 0;
    for (std::uint32_t draw = 0; draw < draws; ++draw) {
      INTERLACER_ASSIGN_OR_RETURN(const auto rows, attention::CountFeatureEntries(walks, draw));
      for (const std::int64_t row : rows) entries += static_cast<double>(row) / draws;
    }
    AddCounts(static_cast<double>(n), entries, &counts);
  }
  return counts;
}

std::optional<double> SlopeFrom(const std::vector<double>& x, const std::vector<double>& y) {
  std::vector<double> far_x, far_y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] < static_cast<double>(kFitFromCount)) continue;
    far_x.push_back(x[i]);
    far_y.push_back(y[i]);
  }
  return LogSlope(far_x, far_y);
}

ChartSeries CountSeries(const std::string& name, const Counts& counts,
                        const std::vector<double>& values, std::size_t style) {
  ChartSeries series{name, {}, {}, {}, {}, style};
  for (std::size_t i = 0; i < values.size(); ++i) {
    series.x.push_back(std::log2(counts.n[i]));
    series.y.push_back(std::log10(values[i]));
  }
  return series;
}

struct Timed {
  const char* name;
  const char* mechanism;
  const char* way;
  double slope;
  double log_power;
  const char* claim;
  const char* source;
};
constexpr Timed kTimed[] = {
    {"softmax", "softmax", "dense", 2, 0, "time grows as N^2", "grf-masking, Fig. 3"},
    {"linear", "linear_relu", "features", 1, 0, "time grows as N", "grf-masking, Fig. 3"},
    {"symmetric GRF", "grf_sym", "features", 1, 0, "time grows as N", "grf-masking, Fig. 3"},
    {"asymmetric GRF", "grf_asym", "pairs", 1, 0, "time grows as N", "grf-masking, App. D"},
    {"Toeplitz", "toeplitz_1d", "fastmult", 1, 1, "time grows as N log N", "gkat, Lemma 3.3"},
    {"affine tree", "tree_affine", "fastmult", 1, 0, "time grows as N", "gkat, Lemma 3.5"},
};

nlohmann::json TimedOptions(const std::string& mechanism) {
  if (mechanism.rfind("grf_", 0) != 0) return nlohmann::json::object();
  return {{"walks", kCountedWalks},
          {"halt_probability", kCountedHalt},
          {"hops", kCountedHops},
          {"sampler", "iid"},
          {"keep_walks", true}};
}

void AddCountClaims(const Counts& counts, MaskPage* page) {
  const auto claim = [](const std::string& text, const std::string& paper) {
    return MaskClaim{.text = text, .source = "grf-masking, Fig. 3", .paper = paper};
  };
  page->claims.push_back(WithinRange(claim("softmax: operations grow as N^2", "2"),
                                     SlopeFrom(counts.n, counts.softmax), 2 - kSoftmaxTolerance,
                                     2 + kSoftmaxTolerance));
  page->claims.push_back(WithinRange(claim("linear attention: operations grow as N", "1"),
                                     SlopeFrom(counts.n, counts.linear), 1 - kLinearTolerance,
                                     1 + kLinearTolerance));
  page->claims.push_back(
      WithinRange(claim("linear attention with a GRF mask: operations grow as N", "1"),
                  SlopeFrom(counts.n, counts.masked), 1 - kMaskedTolerance, 1 + kMaskedTolerance));
  double least = INFINITY, most = 0;
  for (std::size_t i = 0; i < counts.n.size(); ++i) {
    if (counts.n[i] < static_cast<double>(kFitFromCount)) continue;
    least = std::min(least, counts.masked[i] / counts.linear[i]);
    most = std::max(most, counts.masked[i] / counts.linear[i]);
  }
  MaskClaim constant =
      AtMost(claim("the mask costs a constant factor: largest over smallest factor", "constant"),
             most / least, kFactorTolerance);
  constant.ours += " (factor " + FigureText(counts.masked.back() / counts.linear.back()) +
                   " at N = " + FigureText(counts.n.back()) + ")";
  page->claims.push_back(constant);
}

void AddCountTable(const Counts& counts, MaskPage* page) {
  HtmlTable table;
  table.caption = "Counted operations";
  table.header = {"N",      "entries a feature", "softmax",         "linear",
                  "masked", "masked / linear",   "softmax / masked"};
  for (std::size_t i = 0; i < counts.n.size(); ++i) {
    table.rows.push_back({FigureText(counts.n[i]), FigureText(counts.entries[i] / counts.n[i]),
                          FigureText(counts.softmax[i]), FigureText(counts.linear[i]),
                          FigureText(counts.masked[i]),
                          FigureText(counts.masked[i] / counts.linear[i]),
                          FigureText(counts.softmax[i] / counts.masked[i])});
    for (const auto& [name, values] :
         {std::pair{"softmax", &counts.softmax}, std::pair{"linear", &counts.linear},
          std::pair{"masked", &counts.masked}}) {
      page->points.rows.push_back({"operations", name, counts.n[i], (*values)[i]});
    }
    page->points.rows.push_back({"entries", "masked", counts.n[i], counts.entries[i]});
  }
  page->tables.push_back(table);
}

Status AddTimes(const MaskRun& run, MaskPage* page) {
  ChartSpec chart;
  chart.title = "Measured time";
  chart.x_label = "log2 of N";
  chart.y_label = "log10 of CPU seconds";
  chart.alt_text = "Seconds of six kinds of attention against N";
  HtmlTable table;
  table.caption = "Measured time";
  table.header = {"attention", "largest N", "seconds", "slope", "longer ones"};
  for (const Timed& timed : kTimed) {
    attention::CostRequest request;
    request.mechanism = timed.mechanism;
    request.way = timed.way;
    request.options = TimedOptions(timed.mechanism);
    INTERLACER_ASSIGN_OR_RETURN(
        const CostSeries series,
        MeasureSeries(
            request, Doublings(64, run.is_quick ? 512 : run.longest), run,
            [](std::int64_t n, attention::CostRequest* path) { path->graph = PathGraph(n); }));
    const auto slope =
        Exponent(series, CostKind::kSeconds, run.is_quick ? 64 : kFitFromTime, timed.log_power);
    page->claims.push_back(WithinRange({.text = std::string(timed.name) + ": " + timed.claim,
                                        .source = timed.source,
                                        .paper = FigureText(timed.slope)},
                                       slope, timed.slope - kSlopeOfTimeTolerance,
                                       timed.slope + kSlopeOfTimeTolerance));
    chart.series.push_back(LogSeries(timed.name, series, CostKind::kSeconds, chart.series.size()));
    for (const CostPoint& point : series.points) {
      page->points.rows.push_back(
          {"seconds", timed.mechanism, point.length, point.cost.cpu_seconds});
    }
    if (series.points.empty()) continue;
    table.rows.push_back({timed.name, std::to_string(series.points.back().length),
                          FigureText(series.points.back().cost.cpu_seconds), FigureText(slope),
                          series.end.empty() ? "-" : "left out: " + series.end});
  }
  page->charts.push_back(chart);
  page->tables.push_back(table);
  return Status::Ok();
}

}  // namespace

StatusOr<MaskPage> FlopsPage(const MaskRun& run) {
  MaskPage page;
  page.name = "flops";
  page.title = "Cost against the number of nodes N";
  page.notes = {
      "Path graph, 4 independent walks a node that halt with probability 1/2 before each hop, "
      "width "
      "8 throughout. Counted: additions, multiplications, exponentials and divisions, one each: "
      "softmax N^2 (4d + 2) + N d, linear N (4md + 3m + d), masked 2mZ + 4Zmd + 3mZ + N d, with m "
      "= "
      "d = 8 and Z the entries of all features, which are counted on walks (mean of draws). Slopes "
      "of counts from N = 64 on.",
      "Measured: one head, float32, forward, walks kept from the run before, a random tree for the "
      "tree's mask; slopes of time from N = 4096 on, that of Toeplitz after division by log N. A "
      "series ends after a run above the limit of time."};
  page.points.columns = {"quantity", "attention", "n", "value"};
  INTERLACER_ASSIGN_OR_RETURN(const Counts counts, CountOperations(run));
  AddCountClaims(counts, &page);
  ChartSpec operations;
  operations.title = "Counted operations";
  operations.x_label = "log2 of N";
  operations.y_label = "log10 of operations";
  operations.alt_text = "Counted operations of softmax, linear and masked attention against N";
  operations.series = {CountSeries("softmax", counts, counts.softmax, 0),
                       CountSeries("linear", counts, counts.linear, 1),
                       CountSeries("linear with a GRF mask", counts, counts.masked, 2)};
  page.charts.push_back(operations);
  AddCountTable(counts, &page);
  INTERLACER_RETURN_IF_ERROR(AddTimes(run, &page));
  return page;
}

}  // namespace interlacer
