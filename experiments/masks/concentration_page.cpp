#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "experiments/masks/graphs.h"
#include "experiments/masks/pages.h"

namespace interlacer {
namespace {

constexpr std::array kDistances{0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5};
constexpr double kTailHalt = 0.5;
/// Of the ring, for which c is 2.
constexpr double kEdgeWeight = 0.5;

struct Scene {
  std::string name;
  attention::EdgeLists graph;
  std::optional<double> edge_weight;
  std::vector<std::pair<std::int64_t, std::int64_t>> entries;
  int most_walks;
};

std::vector<Scene> Scenes() {
  return {{"ring of 20", CirculantGraph(20, 1), kEdgeWeight, {{0, 1}, {0, 2}}, 256},
          {"ring of 80", CirculantGraph(80, 1), kEdgeWeight, {{0, 1}, {0, 2}}, 64},
          {"grid 4 x 4", GridGraph(4), std::nullopt, {{0, 1}, {5, 6}}, 256},
          {"random graph of 24", RandomGraph(24, 60, 3), std::nullopt, {{0, 1}, {2, 3}}, 256}};
}

/// c = sum of |f_k| (max W_ij d_i / (1 - p))^k.
double LoadConstant(const attention::WalkSetting& walks) {
  const auto degree = [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    return static_cast<double>(walks.graph.offsets[at + 1] - walks.graph.offsets[at]);
  };
  double most = 0;
  for (std::int64_t i = 0; i < walks.graph.size(); ++i) {
    const auto first = walks.graph.offsets[static_cast<std::size_t>(i)];
    const auto end = walks.graph.offsets[static_cast<std::size_t>(i) + 1];
    for (std::int64_t edge = first; edge < end; ++edge) {
      const std::int64_t j = walks.graph.neighbors[static_cast<std::size_t>(edge)];
      const double weight = walks.edge_weight.value_or(1 / std::sqrt(degree(i) * degree(j)));
      most = std::max(most, weight * degree(i) / (1 - walks.halt_probability));
    }
  }
  double c = 0;
  for (std::size_t k = 0; k < walks.f.size(); ++k) {
    c += std::abs(walks.f[k]) * std::pow(most, static_cast<double>(k));
  }
  return c;
}

double Bound(double distance, double walks, double c) {
  const double terms = 2 * walks - 1;
  return 2 *
         std::exp(-distance * distance * std::pow(walks, 3) / (2 * terms * terms * std::pow(c, 4)));
}

struct Tail {
  std::array<double, kDistances.size()> share{};  ///< the larger of the entries
};

StatusOr<Tail> MeasureTail(const attention::WalkSetting& walks, const Scene& scene,
                           std::uint32_t trials, const MaskRun& run) {
  using attention::EstimateForm;
  INTERLACER_ASSIGN_OR_RETURN(const auto exact,
                              attention::ExactMask(walks, EstimateForm::kSymmetric));
  std::vector<Tail> tails(scene.entries.size());
  for (std::uint32_t trial = 0; trial < trials; ++trial) {
    if (trial % 256 == 0) {
      INTERLACER_RETURN_IF_ERROR(
          run.Step(scene.name + ", " + std::to_string(walks.walks) + " walks"));
    }
    INTERLACER_ASSIGN_OR_RETURN(const auto estimate,
                                attention::EstimateMask(walks, EstimateForm::kSymmetric, trial));
    for (std::size_t e = 0; e < scene.entries.size(); ++e) {
      const auto [i, j] = scene.entries[e];
      const auto at = static_cast<std::size_t>(i * walks.graph.size() + j);
      const double distance = std::abs(estimate[at] - exact[at]);
      for (std::size_t t = 0; t < kDistances.size(); ++t) {
        if (distance > kDistances[t]) tails[e].share[t] += 1.0 / trials;
      }
    }
  }
  Tail worst;
  for (const Tail& tail : tails) {
    for (std::size_t t = 0; t < kDistances.size(); ++t) {
      worst.share[t] = std::max(worst.share[t], tail.share[t]);
    }
  }
  return worst;
}

}  // namespace

StatusOr<MaskPage> ConcentrationPage(const MaskRun& run) {
  const std::uint32_t trials = run.is_quick ? 100 : 3000;
  MaskPage page;
  page.name = "concentration";
  page.title = "How far an entry of a mask estimate is from its mean";
  page.notes = {
      "Entries i, j of the symmetric estimate Phi Phi^T by n independent walks a node that halt "
      "with probability 1/2, f = 1, 0.3, 0.1. Shares of " +
      std::to_string(trials) +
      " draws that lie further than t from the exact mask, the larger one of two entries; beside "
      "the bound 2 exp(-t^2 n^3 / (2 (2n - 1)^2 c^4)) with c = sum |f_k| (max W_ij d_i / (1 - "
      "p))^k. Rings have weights 1/2, the others 1 / sqrt(d_i d_j). A bound above 1 says nothing."};
  page.points.columns = {"graph", "walks", "c", "t", "share", "bound"};
  HtmlTable table;
  table.caption = "Share of draws beyond t";
  table.header = {"graph", "walks", "c", "t", "share", "bound"};
  for (const Scene& scene : Scenes()) {
    attention::WalkSetting walks;
    walks.graph = scene.graph;
    walks.edge_weight = scene.edge_weight;
    walks.max_hops = 2;
    walks.halt_probability = kTailHalt;
    walks.f = {1, 0.3, 0.1};
    const double c = LoadConstant(walks);
    double closest = 0, useful = 0;
    bool is_below = true;
    ChartSpec chart;
    chart.title = scene.name;
    chart.x_label = "10 t";
    chart.y_label = "log10 of the share of draws";
    chart.alt_text = "Share of draws beyond t and the bound on it, " + scene.name;
    std::size_t style = 0;
    for (const int n : {16, 64, 256}) {
      if (n > scene.most_walks || (run.is_quick && n > 16)) continue;
      walks.walks = n;
      INTERLACER_ASSIGN_OR_RETURN(const Tail tail, MeasureTail(walks, scene, trials, run));
      ChartSeries measured{std::to_string(n) + " walks", {}, {}, {}, {}, style};
      ChartSeries bounds{"bound, " + std::to_string(n) + " walks", {}, {}, {}, {}, style + 3};
      ++style;
      for (std::size_t t = 0; t < kDistances.size(); ++t) {
        const double bound = Bound(kDistances[t], n, c);
        is_below = is_below && tail.share[t] <= bound;
        if (bound < 1) {
          closest = std::max(closest, tail.share[t] / bound);
          ++useful;
        }
        for (ChartSeries* series : {&measured, &bounds}) series->x.push_back(10 * kDistances[t]);
        measured.y.push_back(std::log10(tail.share[t]));
        bounds.y.push_back(std::log10(std::min(bound, 1.0)));
        page.points.rows.push_back({scene.name, n, c, kDistances[t], tail.share[t], bound});
        table.rows.push_back({scene.name, std::to_string(n), FigureText(c),
                              FigureText(kDistances[t]), FigureText(tail.share[t]),
                              FigureText(bound)});
      }
      chart.series.push_back(measured);
      chart.series.push_back(bounds);
    }
    page.charts.push_back(chart);
    MaskClaim claim{.text = scene.name + ": the share beyond t is below the bound",
                    .source = "grf-masking, Thm 3.1",
                    .paper = "bound, whatever N"};
    claim.rule = "at every t and n";
    claim.ours = useful > 0 ? "share / bound at most " + FigureText(closest) +
                                  " where the bound is "
                                  "below 1 (" +
                                  FigureText(useful) + " cells)"
                            : "no bound is below 1";
    if (useful > 0) claim.value = closest;
    claim.verdict = !is_below    ? Verdict::kDoesNotHold
                    : useful > 0 ? Verdict::kHolds
                                 : Verdict::kUndecided;
    page.claims.push_back(claim);
  }
  page.tables = {table};
  return page;
}

}  // namespace interlacer
