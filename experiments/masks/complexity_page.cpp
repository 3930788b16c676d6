#include <cmath>
#include <utility>

#include "experiments/masks/cost_series.h"
#include "experiments/masks/graphs.h"
#include "experiments/masks/pages.h"
#include "model/attention/files/attention_files.h"

namespace interlacer {
namespace {

constexpr std::int64_t kShortest = 256;
/// Shorter ones are mostly fixed costs.
constexpr std::int64_t kFitFrom = 4096;
/// Above the claimed exponent, logarithms divided out.
constexpr double kTimeTolerance = 0.15, kMemoryTolerance = 0.15;
/// The crossing is claimed up to a constant factor.
constexpr double kCrossingFactor = 4;

/// length^exponent log2(length)^log_power, as docs/attention.md and its papers say.
struct Growth {
  double exponent = 1;
  double log_power = 0;
};

Growth ClaimedTime(const std::string& name, const std::string& way, const std::string& cost) {
  if (way == "dense") return {name == "malpha_dense" ? 3.0 : 2.0, 0};
  if (name == "tree_any") return {1, 2};
  return {1, cost.find("L log L") != std::string::npos ? 1.0 : 0.0};
}

std::string GrowthText(const Growth& growth) {
  std::string text = growth.exponent == 1 ? "L" : "L^" + FigureText(growth.exponent);
  if (growth.log_power == 1) text += " log L";
  if (growth.log_power == 2) text += " log^2 L";
  return text;
}

struct Subject {
  std::string name;
  std::string way;
  std::string cost;
  std::string source;
  nlohmann::json options;
};

/// Every mechanism by the first way after dense, and by the dense one where there is no other.
StatusOr<std::vector<Subject>> Subjects() {
  std::vector<Subject> subjects;
  for (const auto& mechanism : attention::ListMechanisms()) {
    const auto name = mechanism.at("name").get<std::string>();
    const auto ways = mechanism.at("fast_ways").get<std::vector<std::string>>();
    subjects.push_back({name, ways.size() > 1 ? ways[1] : ways[0], mechanism.at("cost"),
                        mechanism.at("source"), mechanism.at("fast_options")});
  }
  return subjects;
}

class ComplexityMaker {
 public:
  explicit ComplexityMaker(const MaskRun& run) : run_(run) {
    page_.name = "complexity";
    page_.title = "Time and memory of every mechanism against the number of tokens L";
    page_.notes = {
        "One head of width 8, float32, forward, default options (jlt and malpha_dense: those that "
        "make them fast); graphs have three or four edges a "
        "token, trees are random, grids have sides that are equal or differ by a factor of two. "
        "Every mechanism by its first way after the dense one, the others by the dense one. Time: "
        "the least of four runs, or of two above the limit, walks, transforms and everything "
        "else that depends on the graph included. Memory: the peak of what the process held "
        "beyond what it held before, inputs not counted. A series ends after a run above the "
        "limit of time, or where the next would take more memory than is allowed.",
        "Exponents by least squares over logarithms from L = 4096 on (--quick: all), logarithms of "
        "the claim divided out; fewer than three points decide nothing. A claim of growth is an "
        "upper bound: smaller exponents are fixed costs of short inputs. Claims of time are the "
        "papers' (docs/attention.md), claims of memory: L^2 for dense, L for all others."};
    page_.points.columns = {"part", "mechanism", "way", "width", "x", "seconds", "peak_bytes"};
  }

  StatusOr<MaskPage> Make() {
    INTERLACER_RETURN_IF_ERROR(MeasureMemoryAlone());
    INTERLACER_RETURN_IF_ERROR(MeasureCatalog());
    INTERLACER_RETURN_IF_ERROR(CompareFltMemory());
    INTERLACER_RETURN_IF_ERROR(CrossTreeAlgorithms());
    return page_;
  }

 private:
  void AddPoint(const char* part, const std::string& mechanism, std::int64_t width, std::int64_t x,
                const attention::Cost& cost) {
    page_.points.rows.push_back(
        {part, mechanism, cost.way, width, x, cost.cpu_seconds,
         cost.peak_bytes ? nlohmann::ordered_json(*cost.peak_bytes) : nullptr});
  }

  /// What exponents are made of that no algorithm has: memory moved by the token, and nothing else.
  Status MeasureMemoryAlone() {
    const std::int64_t from = run_.is_quick ? kShortest : kFitFrom;
    const std::int64_t longest = run_.is_quick ? 2048 : run_.longest;
    HtmlTable table;
    table.caption = "Memory alone, moved by the token";
    table.header = {"access", "seconds at " + std::to_string(from),
                    "seconds at " + std::to_string(longest), "time: exponent"};
    const std::pair<attention::MemoryAccess, const char*> accesses[] = {
        {attention::MemoryAccess::kStream, "256 bytes a token, in order"},
        {attention::MemoryAccess::kGather, "4 rows of 64 bytes a token, from random places"}};
    for (const auto& [access, text] : accesses) {
      INTERLACER_RETURN_IF_ERROR(run_.Step(text));
      CostSeries series;
      for (const std::int64_t length : Doublings(from, longest)) {
        CostPoint& point = series.points.emplace_back();
        point.length = length;
        INTERLACER_ASSIGN_OR_RETURN(point.cost.cpu_seconds,
                                    attention::MeasureMemoryAccess(access, length));
        AddPoint("memory", text, 8, length, point.cost);
      }
      table.rows.push_back({text, FigureText(series.points.front().cost.cpu_seconds),
                            FigureText(series.points.back().cost.cpu_seconds),
                            FigureText(Exponent(series, CostKind::kSeconds, from))});
    }
    page_.tables.push_back(table);
    return Status::Ok();
  }

  Status MeasureCatalog() {
    HtmlTable table;
    table.caption = "Growth with L";
    table.header = {"mechanism",      "way", "largest L",       "seconds",          "time: claimed",
                    "time: exponent", "MiB", "memory: claimed", "memory: exponent", "longer ones"};
    std::vector<ChartSpec> charts(2);
    charts[0].title = "Time of some mechanisms";
    charts[0].y_label = "log10 of CPU seconds";
    charts[1].title = "Memory of some mechanisms";
    charts[1].y_label = "log10 of MiB";
    for (ChartSpec& chart : charts) {
      chart.x_label = "log2 of L";
      chart.alt_text = chart.title + " against the number of tokens";
    }
    INTERLACER_ASSIGN_OR_RETURN(const std::vector<Subject> subjects, Subjects());
    const std::int64_t longest = run_.is_quick ? 2048 : run_.longest;
    const std::int64_t fit_from = run_.is_quick ? kShortest : kFitFrom;
    for (const Subject& subject : subjects) {
      attention::CostRequest request;
      request.mechanism = subject.name;
      request.way = subject.way;
      request.options = subject.options;
      request.repeats = run_.is_quick ? 1 : 3;
      INTERLACER_ASSIGN_OR_RETURN(const CostSeries series,
                                  MeasureSeries(request, Doublings(kShortest, longest), run_));
      const Growth time = ClaimedTime(subject.name, subject.way, subject.cost);
      const Growth memory{subject.way == "dense" ? 2.0 : 1.0, 0};
      const auto time_exponent = Exponent(series, CostKind::kSeconds, fit_from, time.log_power);
      const auto memory_exponent = Exponent(series, CostKind::kBytes, fit_from);
      const std::string name = subject.name + ", " + subject.way;
      page_.claims.push_back(
          AtMost({.text = name + ": time grows as " + GrowthText(time) + ", exponent of L",
                  .source = subject.source,
                  .paper = GrowthText(time)},
                 time_exponent, time.exponent + kTimeTolerance));
      page_.claims.push_back(
          AtMost({.text = name + ": memory grows as " + GrowthText(memory) + ", exponent of L",
                  .source = subject.source,
                  .paper = GrowthText(memory)},
                 memory_exponent, memory.exponent + kMemoryTolerance));
      for (const CostPoint& point : series.points) {
        AddPoint("catalogue", subject.name, 8, point.length, point.cost);
      }
      const bool is_measured = !series.points.empty();
      const CostPoint last = is_measured ? series.points.back() : CostPoint{};
      table.rows.push_back({subject.name, subject.way, std::to_string(last.length),
                            is_measured ? FigureText(last.cost.cpu_seconds) : "–", GrowthText(time),
                            FigureText(time_exponent),
                            last.cost.peak_bytes
                                ? FigureText(static_cast<double>(*last.cost.peak_bytes) / (1 << 20))
                                : "–",
                            GrowthText(memory), FigureText(memory_exponent),
                            series.end.empty() ? "-" : "left out: " + series.end});
      const std::optional<std::size_t> style = ShownStyle(subject.name);
      if (!style) continue;
      charts[0].series.push_back(LogSeries(subject.name, series, CostKind::kSeconds, *style));
      charts[1].series.push_back(LogSeries(subject.name, series, CostKind::kBytes, *style));
    }
    page_.tables.push_back(table);
    page_.charts.insert(page_.charts.end(), charts.begin(), charts.end());
    return Status::Ok();
  }

  /// A learned Fourier transform beside the Toeplitz mask with the same random features.
  Status CompareFltMemory() {
    const std::int64_t length = run_.is_quick ? 1024 : 1 << 14;
    HtmlTable table;
    table.caption = "Memory of FLT and of the log-linear Performer, " + std::to_string(length) +
                    " tokens, 64 random features, 32 frequencies";
    table.header = {"width d", "with gradients", "FLT, MiB", "log-linear, MiB", "ratio"};
    for (const bool with_gradients : {false, true}) {
      for (const std::int64_t width : {8, 16, 32, 64}) {
        std::vector<std::optional<double>> mebibytes;
        for (const char* mechanism : {"flt_gm", "toeplitz_1d"}) {
          INTERLACER_RETURN_IF_ERROR(
              run_.Step(std::string(mechanism) + ", width " + std::to_string(width)));
          attention::CostRequest request;
          request.mechanism = mechanism;
          request.length = length;
          request.width = width;
          request.with_gradients = with_gradients;
          request.limit_s = run_.limit_s;
          request.options = {{"score", "favor_pos"}, {"features", 64}};
          if (mechanism == std::string("flt_gm")) request.options["frequencies"] = 32;
          INTERLACER_ASSIGN_OR_RETURN(const attention::Cost cost, attention::MeasureCost(request));
          AddPoint(with_gradients ? "flt_memory_with_gradients" : "flt_memory", mechanism, width,
                   length, cost);
          mebibytes.push_back(cost.peak_bytes
                                  ? std::optional(static_cast<double>(*cost.peak_bytes) / (1 << 20))
                                  : std::nullopt);
        }
        const auto ratio = mebibytes[0] && mebibytes[1] && *mebibytes[1] > 0
                               ? std::optional(*mebibytes[0] / *mebibytes[1])
                               : std::nullopt;
        table.rows.push_back({std::to_string(width), with_gradients ? "yes" : "no",
                              FigureText(mebibytes[0]), FigureText(mebibytes[1]),
                              FigureText(ratio)});
        if (width != 64) continue;
        page_.claims.push_back(AtMost(
            {.text =
                 std::string("FLT takes less memory than the log-linear Performer, width 64, ") +
                 (with_gradients ? "with gradients" : "forward") + ": ratio",
             .source = "flt, Sec. 4.1.2",
             .paper = "O(L(m + r) + Ld) against O(Lmd)"},
            ratio, 1));
      }
    }
    page_.tables.push_back(table);
    return Status::Ok();
  }

  Status CrossTreeAlgorithms() {
    const std::int64_t size = run_.is_quick ? 256 : 8192;
    std::vector<double> diameters, seconds[2];
    const char* const algorithms[] = {"centroid", "diameter"};
    bool is_slow[2] = {false, false};
    for (const std::int64_t spine : Doublings(8, size)) {
      diameters.push_back(static_cast<double>(spine - 1));
      for (std::size_t a = 0; a < 2; ++a) {
        INTERLACER_RETURN_IF_ERROR(
            run_.Step(std::string(algorithms[a]) + ", diameter " + std::to_string(spine - 1)));
        seconds[a].push_back(NAN);
        if (is_slow[a]) continue;
        attention::CostRequest request;
        request.mechanism = "tree_any";
        request.way = "fastmult";
        request.options = {{"algorithm", algorithms[a]}};
        request.length = size;
        request.limit_s = run_.limit_s;
        request.parents = Caterpillar(size, spine, 7);
        const auto cost = attention::MeasureCost(request);
        // By histograms of a long tree there is too much to hold.
        is_slow[a] = !cost.ok() || cost->cpu_seconds > 4 * run_.limit_s;
        if (!cost.ok()) continue;
        seconds[a].back() = cost->cpu_seconds;
        AddPoint("tree_crossing", algorithms[a], 8, spine - 1, *cost);
      }
    }
    ChartSpec chart;
    chart.title = "Two algorithms for masks on trees";
    chart.x_label = "log2 of the diameter, " + std::to_string(size) + " tokens";
    chart.y_label = "log10 of CPU seconds";
    chart.alt_text = "Seconds by centroids and by histograms against the diameter of the tree";
    HtmlTable table;
    table.caption = "Masks on trees of " + std::to_string(size) + " tokens, seconds";
    table.header = {"diameter", "by centroids", "by histograms"};
    for (std::size_t a = 0; a < 2; ++a) {
      ChartSeries line{a == 0 ? "by centroids" : "by histograms", {}, {}, {}, {}, a};
      for (std::size_t i = 0; i < diameters.size(); ++i) {
        line.x.push_back(std::log2(diameters[i]));
        line.y.push_back(std::log10(seconds[a][i]));
      }
      chart.series.push_back(line);
    }
    for (std::size_t i = 0; i < diameters.size(); ++i) {
      table.rows.push_back(
          {FigureText(diameters[i]), FigureText(seconds[0][i]), FigureText(seconds[1][i])});
    }
    const double claimed = std::pow(std::log2(static_cast<double>(size)), 2);
    chart.marker_x = std::log2(claimed);
    chart.marker_label = "log^2 L";
    page_.charts.push_back(chart);
    page_.tables.push_back(table);
    page_.claims.push_back(
        WithinRange({.text = "trees: histograms are faster than centroids up to a diameter of "
                             "log^2 L, up to a constant factor: the crossing",
                     .source = "gkat, Cor. 6.4",
                     .paper = FigureText(claimed)},
                    Crossing(diameters, seconds[0], seconds[1]), claimed / kCrossingFactor,
                    claimed * kCrossingFactor));
    return Status::Ok();
  }

  const MaskRun& run_;
  MaskPage page_;
};

}  // namespace

StatusOr<MaskPage> ComplexityPage(const MaskRun& run) { return ComplexityMaker(run).Make(); }

}  // namespace interlacer
