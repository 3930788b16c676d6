#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/number_text.h"
#include "experiments/masks/cost_series.h"
#include "experiments/masks/pages.h"
#include "model/attention/files/attention_files.h"

namespace interlacer {
namespace {

constexpr std::int64_t kLeastLength = 16;
/// Beyond this the dense way is not measured; a fast one that has not overtaken it by then is
/// said not to.
constexpr std::int64_t kLongestDense = 8192;
constexpr std::int64_t kBlockedLength = 65536;
constexpr std::int64_t kWidths[] = {8, 64};
/// Runs of a length up to kShortLength are far shorter than what disturbs them, so there are more.
constexpr std::int64_t kShortLength = 256;
constexpr int kShortRepeats = 20;

/// The lesser of both times at every length.
void TakeFaster(const CostSeries& series, CostSeries* least) {
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    if (i == least->points.size()) least->points.push_back(series.points[i]);
    double& seconds = least->points[i].cost.cpu_seconds;
    seconds = std::min(seconds, series.points[i].cost.cpu_seconds);
  }
}

/// The way that is taken where none is asked for, against the fastest one.
struct WorstChoice {
  std::optional<double> ratio;
  std::string text = "–";
};

/// Adds what `request` takes by itself at the lengths that every way was measured at.
Status Choose(attention::CostRequest request, const std::map<std::string, CostSeries>& of_way,
              WorstChoice* worst) {
  std::size_t count = of_way.begin()->second.points.size();
  for (const auto& [way, series] : of_way) count = std::min(count, series.points.size());
  request.way.clear();
  request.repeats = 1;
  for (std::size_t i = 0; i < count; ++i) {
    request.length = of_way.begin()->second.points[i].length;
    INTERLACER_ASSIGN_OR_RETURN(const attention::Cost taken, attention::MeasureCost(request));
    double least_s = std::numeric_limits<double>::infinity();
    for (const auto& [way, series] : of_way) {
      least_s = std::min(least_s, series.points[i].cost.cpu_seconds);
    }
    const double ratio = of_way.at(taken.way).points[i].cost.cpu_seconds / least_s;
    if (worst->ratio && ratio <= *worst->ratio) continue;
    worst->ratio = ratio;
    worst->text = FigureText(ratio) + ": " + taken.way + ", " + std::to_string(request.length) +
                  " tokens, width " + std::to_string(request.width);
  }
  return Status::Ok();
}

/// How many times as long the dense way takes, by length: above 0 it is overtaken.
ChartSeries AdvantageSeries(const std::string& name, const CostSeries& fast,
                            const CostSeries& dense, std::size_t style) {
  ChartSeries line{name, {}, {}, {}, {}, style};
  for (std::size_t i = 0; i < std::min(fast.points.size(), dense.points.size()); ++i) {
    line.x.push_back(std::log2(static_cast<double>(fast.points[i].length)));
    line.y.push_back(
        std::log10(dense.points[i].cost.cpu_seconds / fast.points[i].cost.cpu_seconds));
  }
  return line;
}

/// How many of the lengths are at most so long, in per cent of all mechanisms.
ChartSeries OvertakenSeries(std::int64_t width,
                            const std::vector<std::optional<std::int64_t>>& from,
                            std::int64_t longest, std::size_t style) {
  ChartSeries line{"width " + std::to_string(width), {}, {}, {}, {}, style};
  for (const std::int64_t length : Doublings(kLeastLength, longest)) {
    const auto count = std::count_if(from.begin(), from.end(), [length](const auto& overtaken) {
      return overtaken && *overtaken <= length;
    });
    line.x.push_back(std::log2(static_cast<double>(length)));
    line.y.push_back(100 * static_cast<double>(count) / static_cast<double>(from.size()));
  }
  return line;
}

ChartSpec AdvantageChart(std::int64_t width) {
  ChartSpec chart;
  chart.title =
      "Time of the dense way over that of the fastest other, width " + std::to_string(width);
  chart.x_label = "log2 of the number of tokens";
  chart.y_label = "log10 of the ratio";
  chart.alt_text = chart.title + ", of some mechanisms against the number of tokens";
  chart.reference_y = 0;
  return chart;
}

std::string OvertakingText(const Overtaking& overtaking) {
  if (overtaking.length) return std::to_string(*overtaking.length);
  return "not up to " + std::to_string(overtaking.measured_length) + ", " +
         (overtaking.foreseen_length ? "foreseen at " + NumberText(*overtaking.foreseen_length)
                                     : std::string("none foreseen"));
}

}  // namespace

StatusOr<MaskPage> OvertakingPage(const MaskRun& run) {
  MaskPage page;
  page.name = "overtaking";
  page.title = "From how many tokens on a mechanism's fast way is faster than its dense one";
  const std::int64_t longest_dense = run.is_quick ? 256 : std::min(kLongestDense, run.longest);
  const std::int64_t blocked_length = run.is_quick ? 1024 : std::min(kBlockedLength, run.longest);
  page.notes = {
      "One head, float32, forward, one batch, default options (jlt and malpha_dense: those that "
      "make them fast): the fastest way but the dense one "
      "beside the dense one of the same mechanism, making the mask included. CPU time, least of "
      "four runs. Lengths double from " +
          std::to_string(kLeastLength) +
          "; the length is the first from which on the fast way is never slower. Where there is "
          "none among the lengths at which both were measured, the first doubling is foreseen "
          "behind which they would meet if each grew on as over its last two, within " +
          std::to_string(kMostForeseen) + " doublings.",
      "Without a way asked for: the time of the way that is taken over that of the fastest one, at "
      "the length and width where this is largest; times are those of the ways.",
      "At " + std::to_string(blocked_length) +
          " tokens and width 8 the peer is softmax attention without any mask, in blocks of 512 "
          "rows: less than a masked dense form would have to do. Each the lesser of two runs."};
  page.points.columns = {"mechanism", "way", "width", "length", "seconds"};
  HtmlTable table;
  table.caption = "Lengths at which dense attention is overtaken";
  table.is_numeric = false;
  table.header = {"mechanism",
                  "overtaken from, width 8",
                  "overtaken from, width 64",
                  "way taken by itself / fastest, at worst",
                  "way at " + std::to_string(blocked_length),
                  "seconds at " + std::to_string(blocked_length),
                  "blocked dense / this"};
  std::vector<std::optional<std::int64_t>> overtaken[2];
  for (const std::int64_t width : kWidths) page.charts.push_back(AdvantageChart(width));
  INTERLACER_RETURN_IF_ERROR(run.Step("dense attention in blocks"));
  INTERLACER_ASSIGN_OR_RETURN(const double blocked_s,
                              attention::MeasureBlockedDense(blocked_length, 8));
  page.points.rows.push_back({"softmax", "dense in blocks", 8, blocked_length, blocked_s});
  for (const auto& listed : attention::ListMechanisms()) {
    attention::CostRequest request;
    request.mechanism = listed.at("name").get<std::string>();
    request.options = listed.at("fast_options");
    const auto ways = listed.at("fast_ways").get<std::vector<std::string>>();
    if (ways.size() < 2) continue;
    request.repeats = run.is_quick ? 1 : 3;
    request.limit_s = run.limit_s;
    std::string from[2];
    WorstChoice worst;
    const auto repeat_more = [&run](std::int64_t length, attention::CostRequest* changed) {
      if (!run.is_quick && length <= kShortLength) changed->repeats = kShortRepeats;
    };
    for (std::size_t w = 0; w < 2; ++w) {
      request.width = kWidths[w];
      CostSeries fast;
      std::map<std::string, CostSeries> of_way;
      for (const std::string& way : ways) {
        request.way = way;
        INTERLACER_ASSIGN_OR_RETURN(
            const CostSeries series,
            MeasureSeries(request, Doublings(kLeastLength, longest_dense), run, repeat_more));
        for (const CostPoint& point : series.points) {
          page.points.rows.push_back(
              {request.mechanism, way, request.width, point.length, point.cost.cpu_seconds});
        }
        if (way != "dense") TakeFaster(series, &fast);
        of_way[way] = series;
      }
      const Overtaking found = FindOvertaking(fast, of_way.at("dense"));
      from[w] = OvertakingText(found);
      overtaken[w].push_back(found.length);
      if (const auto style = ShownStyle(request.mechanism)) {
        page.charts[w].series.push_back(
            AdvantageSeries(request.mechanism, fast, of_way.at("dense"), *style));
      }
      INTERLACER_RETURN_IF_ERROR(Choose(request, of_way, &worst));
    }
    INTERLACER_RETURN_IF_ERROR(
        run.Step(request.mechanism + ", " + std::to_string(blocked_length) + " tokens"));
    request.way.clear();
    request.width = 8;
    request.length = blocked_length;
    request.repeats = 1;
    const StatusOr<attention::Cost> at_length = attention::MeasureCost(request);
    std::optional<double> seconds, ratio;
    if (at_length.ok()) {
      seconds = at_length->cpu_seconds;
      ratio = blocked_s / at_length->cpu_seconds;
      page.points.rows.push_back(
          {request.mechanism, at_length->way, 8, blocked_length, at_length->cpu_seconds});
    }
    table.rows.push_back(
        {request.mechanism, from[0], from[1], worst.text, at_length.ok() ? at_length->way : "–",
         at_length.ok() ? FigureText(seconds) : at_length.status().message(), FigureText(ratio)});
    page.claims.push_back(
        Above({.text = request.mechanism + ": dense attention in blocks over it, " +
                       std::to_string(blocked_length) + " tokens, width 8",
               .source = listed.at("source").get<std::string>(),
               .paper = "sub-quadratic"},
              ratio, 1));
  }
  ChartSpec shares;
  shares.title = "Mechanisms that have overtaken their dense way";
  shares.x_label = "log2 of the number of tokens";
  shares.y_label = "per cent of all";
  shares.alt_text = "Share of mechanisms whose fast way is faster, against the number of tokens";
  for (std::size_t w = 0; w < 2; ++w) {
    shares.series.push_back(OvertakenSeries(kWidths[w], overtaken[w], longest_dense, w));
  }
  page.charts.push_back(shares);
  page.tables = {std::move(table)};
  return page;
}

}  // namespace interlacer
