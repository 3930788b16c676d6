#include <cmath>
#include <map>
#include <utility>

#include "experiments/masks/cost_series.h"
#include "experiments/masks/graphs.h"
#include "experiments/masks/pages.h"

namespace interlacer {
namespace {

/// A column of the table: sizes of its data and what the paper printed.
struct Column {
  const char* name;
  std::int64_t nodes, edges;  ///< edges 0: a binary tree and one more edge
  std::int64_t batch, heads, width;
  int features, hops;
  double memory, training, inference;
};

constexpr Column kColumns[] = {
    {"caveman", 109, 149, 128, 2, 9, 16, 3, 0.54, 1.40, 1.46},
    {"circle", 110, 103, 128, 2, 9, 16, 3, 0.53, 1.41, 1.49},
    {"grid", 109, 148, 128, 2, 9, 16, 3, 0.55, 1.42, 1.49},
    {"ladder", 110, 146, 128, 2, 9, 16, 3, 0.52, 1.40, 1.47},
    {"tree", 50, 0, 128, 8, 4, 8, 6, 0.95, 1.10, 1.12},
    {"citeseer", 3327, 4732, 1, 1, 8, 256, 3, 0.18, 5.10, 5.21},
    {"pubmed", 19717, 44338, 1, 1, 8, 256, 3, 0.07, 9.50, 9.54},
};
/// Bytes of a dense layer with gradients: arrays of nodes x nodes that are there at once.
constexpr double kDenseArrays = 8;

struct Layer {
  const char* label;
  const char* mechanism;
  const char* way;
};
constexpr Layer kLayers[] = {
    {"GKAT, fastmult", "gkat", "fastmult"}, {"GKAT, pairs", "gkat", "pairs"},
    {"GKAT, dense", "gkat", "dense"},       {"GKAT-0, dense", "gkat0", "dense"},
    {"GKAT-0, pairs", "gkat0", "pairs"},    {"GAT, dense", "gat", "dense"},
    {"GAT, pairs", "gat", "pairs"},         {"GCN, pairs", "gcn", "pairs"},
    {"SGC, pairs", "sgc", "pairs"},
};
/// Those that claims are about: the paper's algorithm, and the mask's entries in a list.
constexpr const char* kClaimedLayers[] = {"GKAT, fastmult", "GKAT, pairs"};

struct LayerCost {
  std::string way;
  std::string left_out;  ///< why nothing was measured
  std::optional<double> training_s, inference_s, mebibytes;
  std::optional<std::int64_t> bytes;
};

std::optional<double> Ratio(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a || !b || *b <= 0) return std::nullopt;
  return *a / *b;
}

attention::EdgeLists GraphOf(const Column& column) {
  if (column.edges > 0) return RandomGraph(column.nodes, column.edges, 11);
  return TreeGraph(RandomBinaryTree(column.nodes, 11));
}

/// Whether a dense layer is expected to take more memory than allowed.
bool IsTooLarge(const Column& column, const Layer& layer, const MaskRun& run) {
  const auto nodes = static_cast<double>(column.nodes);
  const auto maps = static_cast<double>(column.batch * column.heads);
  return layer.way == std::string("dense") &&
         kDenseArrays * 4 * maps * nodes * nodes > static_cast<double>(run.most_bytes);
}

/// One layer of a column; left out where it would take too much memory.
StatusOr<LayerCost> MeasureLayer(const Column& column, const Layer& layer, const MaskRun& run) {
  LayerCost cost{layer.way, {}, {}, {}, {}, {}};
  if (IsTooLarge(column, layer, run)) {
    cost.left_out = "arrays of nodes x nodes above the memory allowed";
    return cost;
  }
  attention::CostRequest request;
  request.mechanism = layer.mechanism;
  request.way = layer.way;
  request.length = column.nodes;
  request.batch = run.is_quick ? 4 : column.batch;
  request.heads = column.heads;
  request.width = column.width;
  request.graph = GraphOf(column);
  request.limit_s = run.limit_s;
  if (request.mechanism == "gkat") request.options["features"] = column.features;
  if (request.mechanism.starts_with("gkat")) {
    request.options["hops"] = column.hops;
    request.options["keep_walks"] = true;
  }
  for (const bool with_gradients : {false, true}) {
    INTERLACER_RETURN_IF_ERROR(run.Step(std::string(column.name) + ", " + layer.label));
    request.with_gradients = with_gradients;
    const StatusOr<attention::Cost> measured = attention::MeasureCost(request);
    if (!measured.ok() && measured.status().code() == StatusCode::kResourceExhausted) {
      cost.left_out = measured.status().message();
      return cost;
    }
    INTERLACER_RETURN_IF_ERROR(measured.status());
    (with_gradients ? cost.training_s : cost.inference_s) = measured->cpu_seconds;
    if (!with_gradients || !measured->peak_bytes) continue;
    cost.bytes = *measured->peak_bytes;
    cost.mebibytes = static_cast<double>(*measured->peak_bytes) / (1 << 20);
  }
  return cost;
}

void AddClaims(const Column& column, const std::map<std::string, LayerCost>& costs,
               MaskPage* page) {
  const auto& dense = costs.at("GAT, dense");
  for (const char* label : kClaimedLayers) {
    const auto& gkat = costs.at(label);
    const std::string of = " over that of " + std::string(label);
    const auto claim = [&](const std::string& text, double paper) {
      return MaskClaim{.text = std::string(column.name) + ": " + text,
                       .source = "gkat, Table 3",
                       .paper = FigureText(paper)};
    };
    page->claims.push_back(AtMost(
        claim("memory of " + std::string(label) + ", over that of GKAT-0, dense, with gradients",
              column.memory),
        Ratio(gkat.mebibytes, costs.at("GKAT-0, dense").mebibytes), 1));
    page->claims.push_back(Above(claim("training: time of GAT, dense," + of, column.training),
                                 Ratio(dense.training_s, gkat.training_s), 1));
    page->claims.push_back(Above(claim("inference: time of GAT, dense," + of, column.inference),
                                 Ratio(dense.inference_s, gkat.inference_s), 1));
  }
}

ChartSpec CostChart(const std::string& title, const std::string& y_label) {
  ChartSpec chart;
  chart.title = title;
  chart.x_label = "set of graphs";
  chart.y_label = y_label;
  chart.alt_text = title + " of nine layers by set of graphs";
  for (const Layer& layer : kLayers) {
    chart.series.push_back({layer.label, {}, {}, {}, {}, chart.series.size()});
  }
  return chart;
}

/// A point a layer, side by side at the column's place.
void AddToChart(std::size_t at, const std::map<std::string, LayerCost>& costs,
                std::optional<double> LayerCost::*value, ChartSpec* chart) {
  constexpr double kApart = 0.08;
  const double middle = (static_cast<double>(chart->series.size()) - 1) / 2;
  for (std::size_t i = 0; i < chart->series.size(); ++i) {
    ChartSeries& series = chart->series[i];
    const std::optional<double> measured = costs.at(series.name).*value;
    series.x.push_back(static_cast<double>(at) + kApart * (static_cast<double>(i) - middle));
    series.y.push_back(measured ? std::log10(*measured) : NAN);
  }
}

}  // namespace

StatusOr<MaskPage> GkatCostPage(const MaskRun& run) {
  MaskPage page;
  page.name = "gkat_cost";
  page.title = "Cost of a GKAT layer beside other layers on graphs";
  page.notes = {
      "One layer's attention without its linear maps, float32, on random graphs of the table's "
      "sizes: motifs 128 graphs of about 110 nodes and two heads of width 9, trees 128 of 50 nodes "
      "and eight heads of width 4, Citeseer and Pubmed one graph and one head of width 8. The "
      "library takes one graph for a batch: all 128 share theirs. Random features 16, 8 and 256, "
      "walks of up to 3, 6 and 3 hops, walks kept from the run before, as for a graph that stays.",
      "Every layer goes the way that its name says. Of GKAT fastmult is the paper's algorithm "
      "(products x -> M x on features of keys times values) and pairs a list of the mask's "
      "entries; dense makes arrays of nodes x nodes, as GKAT-0 does in the paper. Claims are about "
      "the first two.",
      "Training: forward and gradients by q, k and v; inference: forward. The paper does not say "
      "how its GAT is computed; dense-masked, as its other layers are, is the peer of the claims, "
      "and the one by edges, pairs, stands beside it. What is expected to take more memory than "
      "allowed is left out and decides nothing. The table's last row, accuracy, needs training and "
      "is not measured here."};
  page.points.columns = {"column",     "layer",       "way",       "nodes",
                         "training_s", "inference_s", "peak_bytes"};
  HtmlTable table;
  table.header = {"data",
                  "layer",
                  "training, s",
                  "inference, s",
                  "MiB with gradients",
                  "GAT by edges / this, training",
                  "left out"};
  page.charts = {CostChart("Training", "log10 of CPU seconds"),
                 CostChart("Inference", "log10 of CPU seconds"),
                 CostChart("Memory with gradients", "log10 of MiB")};
  constexpr std::optional<double> LayerCost::*kCharted[] = {
      &LayerCost::training_s, &LayerCost::inference_s, &LayerCost::mebibytes};
  for (const Column& column : kColumns) {
    if (run.is_quick && column.nodes > 200) continue;
    std::map<std::string, LayerCost> costs;
    for (const Layer& layer : kLayers) {
      INTERLACER_ASSIGN_OR_RETURN(costs[layer.label], MeasureLayer(column, layer, run));
      const LayerCost& cost = costs[layer.label];
      const auto json = [](const auto& value) {
        return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
      };
      page.points.rows.push_back({column.name, layer.label, cost.way, column.nodes,
                                  json(cost.training_s), json(cost.inference_s), json(cost.bytes)});
    }
    AddClaims(column, costs, &page);
    for (const Layer& layer : kLayers) {
      const LayerCost& cost = costs[layer.label];
      table.rows.push_back({column.name, layer.label, FigureText(cost.training_s),
                            FigureText(cost.inference_s), FigureText(cost.mebibytes),
                            FigureText(Ratio(costs["GAT, pairs"].training_s, cost.training_s)),
                            cost.left_out.empty() ? "-" : cost.left_out});
    }
    for (std::size_t i = 0; i < page.charts.size(); ++i) {
      ChartSpec& chart = page.charts[i];
      AddToChart(chart.x_names.size(), costs, kCharted[i], &chart);
      chart.x_names.emplace_back(column.name);
    }
  }
  page.tables = {table};
  return page;
}

}  // namespace interlacer
