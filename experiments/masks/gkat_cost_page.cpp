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
    {"GKAT", "gkat", ""},           {"GKAT-0", "gkat0", "dense"},
    {"GAT, dense", "gat", "dense"}, {"GAT, by edges", "gat", "pairs"},
    {"GCN", "gcn", "pairs"},        {"SGC", "sgc", "pairs"},
};

struct LayerCost {
  std::optional<double> training_s, inference_s, mebibytes;
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

void AddClaims(const Column& column, const std::map<std::string, LayerCost>& costs,
               MaskPage* page) {
  const auto& gkat = costs.at("GKAT");
  const auto& dense = costs.at("GAT, dense");
  const std::string name = column.name;
  const auto claim = [&](const std::string& text, double paper) {
    return MaskClaim{
        .text = name + ": " + text, .source = "gkat, Table 3", .paper = FigureText(paper)};
  };
  page->claims.push_back(
      AtMost(claim("memory of GKAT over that of GKAT-0, with gradients", column.memory),
             Ratio(gkat.mebibytes, costs.at("GKAT-0").mebibytes), 1));
  page->claims.push_back(Above(claim("training: dense GAT's time over GKAT's", column.training),
                               Ratio(dense.training_s, gkat.training_s), 1));
  page->claims.push_back(Above(claim("inference: dense GAT's time over GKAT's", column.inference),
                               Ratio(dense.inference_s, gkat.inference_s), 1));
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
      "walks of up to 3, 6 and 3 hops, walks kept from the run before, as for a graph that stays. "
      "GKAT goes the way that it chooses itself.",
      "Training: forward and gradients by q, k and v; inference: forward. The paper does not say "
      "how its GAT is computed; dense-masked, as its other layers are, is the peer of the claims, "
      "and the one by edges stands beside it. Layers whose arrays of nodes x nodes are expected to "
      "take more than the memory allowed are left out and decide nothing. The table's last row, "
      "accuracy, needs training and is not measured here."};
  page.points.columns = {"column",     "layer",       "way",       "nodes",
                         "training_s", "inference_s", "peak_bytes"};
  HtmlTable table;
  table.header = {"data",
                  "layer",
                  "way",
                  "training, s",
                  "inference, s",
                  "MiB with gradients",
                  "GAT by edges / this, training"};
  for (const Column& column : kColumns) {
    if (run.is_quick && column.nodes > 200) continue;
    std::map<std::string, LayerCost> costs;
    std::map<std::string, std::string> ways;
    for (const Layer& layer : kLayers) {
      LayerCost& cost = costs[layer.label];
      ways[layer.label] = "left out";
      nlohmann::ordered_json bytes;
      if (!IsTooLarge(column, layer, run)) {
        attention::CostRequest request;
        request.mechanism = layer.mechanism;
        request.way = layer.way;
        request.length = column.nodes;
        request.batch = run.is_quick ? 4 : column.batch;
        request.heads = column.heads;
        request.width = column.width;
        request.graph = GraphOf(column);
        request.limit_s = run.limit_s;
        if (layer.label == std::string("GKAT")) request.options["features"] = column.features;
        if (request.mechanism.rfind("gkat", 0) == 0) {
          request.options["hops"] = column.hops;
          request.options["keep_walks"] = true;
        }
        for (const bool with_gradients : {false, true}) {
          INTERLACER_RETURN_IF_ERROR(run.Step(std::string(column.name) + ", " + layer.label));
          request.with_gradients = with_gradients;
          INTERLACER_ASSIGN_OR_RETURN(const attention::Cost measured,
                                      attention::MeasureCost(request));
          ways[layer.label] = measured.way;
          (with_gradients ? cost.training_s : cost.inference_s) = measured.cpu_seconds;
          if (!with_gradients || !measured.peak_bytes) continue;
          bytes = *measured.peak_bytes;
          cost.mebibytes = static_cast<double>(*measured.peak_bytes) / (1 << 20);
        }
      }
      const auto json = [](const std::optional<double>& value) {
        return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
      };
      page.points.rows.push_back({column.name, layer.label, ways[layer.label], column.nodes,
                                  json(cost.training_s), json(cost.inference_s), bytes});
    }
    AddClaims(column, costs, &page);
    for (const Layer& layer : kLayers) {
      const LayerCost& cost = costs[layer.label];
      table.rows.push_back({column.name, layer.label, ways[layer.label],
                            FigureText(cost.training_s), FigureText(cost.inference_s),
                            FigureText(cost.mebibytes),
                            FigureText(Ratio(costs["GAT, by edges"].training_s, cost.training_s))});
    }
  }
  page.tables = {table};
  return page;
}

}  // namespace interlacer
