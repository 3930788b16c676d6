// Layers of graph networks that attend over walks or neighbours, and baselines without scores.

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "model/attention/catalog/catalog.h"
#include "model/attention/catalog/walk_masks.h"
#include "model/attention/core/masked_attention.h"
#include "model/attention/core/random_features.h"
#include "model/attention/masks/basic_masks.h"
#include "model/attention/masks/drawn_walks.h"
#include "model/attention/masks/graph.h"
#include "model/attention/masks/walk_features.h"

namespace interlacer::attention {
namespace {

constexpr double kLeakySlope = 0.2;

/// Small weights of a layer, by head: [H,rows,columns].
torch::Tensor LayerWeights(const Options& options, const AttentionInputs& inputs, std::int64_t rows,
                           std::int64_t columns, std::uint32_t part) {
  std::vector<torch::Tensor> heads;
  for (std::int64_t h = 0; h < inputs.heads(); ++h) {
    heads.push_back(NormalMatrix(static_cast<std::uint64_t>(options.Int("seed")),
                                 RandomStream::kWeightInit, static_cast<std::uint32_t>(h),
                                 100 + part, rows, columns));
  }
  return (at::stack(heads) / std::sqrt(static_cast<double>(rows))).to(inputs.q.scalar_type());
}

OptionSpec SeedOption() { return Integer("seed", 0, 0, INT64_MAX, "of all that is random"); }

NamedTensors AdditiveParameters(const Options& options, const AttentionInputs& inputs) {
  return {{"a_left", LayerWeights(options, inputs, inputs.width(), 1, 0).squeeze(2)},
          {"a_right", LayerWeights(options, inputs, inputs.width(), 1, 1).squeeze(2)}};
}

/// a_left q_i and a_right k_j: [B,H,L,1] each.
std::pair<torch::Tensor, torch::Tensor> AdditiveParts(const AttentionInputs& inputs) {
  return {at::matmul(inputs.q, inputs.parameters.at("a_left").unsqueeze(2)),
          at::matmul(inputs.k, inputs.parameters.at("a_right").unsqueeze(2))};
}

torch::Tensor DenseAdditive(const AttentionInputs& inputs) {
  const auto [left, right] = AdditiveParts(inputs);
  return at::leaky_relu(left + right.transpose(2, 3), kLeakySlope);
}

torch::Tensor PairAdditive(const AttentionInputs& inputs, const MaskPairs& pairs, double delta) {
  const auto [left, right] = AdditiveParts(inputs);
  const std::int64_t length = inputs.length();
  const torch::Tensor logits =
      left.reshape({-1, length}).index_select(1, RowsOf(*pairs.pattern)) +
      right.reshape({-1, length}).index_select(1, ColumnsOf(*pairs.pattern));
  return AttendPairLogits(at::leaky_relu(logits, kLeakySlope), inputs, pairs, delta);
}

/// Adj + 1 with weights 1, each pair once: the neighbourhood of GAT.
MaskPairs Neighbourhood(const AttentionInputs& inputs) {
  const WalkTerms reach = EnumeratedTerms(AdjacencyOf(inputs), 1);
  return {reach.pattern,
          at::ones({1, reach.pattern->entry_count()}, inputs.q.options().requires_grad(false))};
}

/// Runs of tokens that no edge leaves, of at most the size of the longest such run, side by side:
/// what is dense among `size` tokens of each needs no L x L array. Small graphs that are packed
/// into one are such runs.
struct TokenBlocks {
  std::int64_t count = 1, size = 0;
  std::vector<std::int64_t> slots;  ///< of every token among count * size

  /// x [B,H,L,n] -> [B count,H,size,n], 0 where there is no token.
  torch::Tensor Split(const torch::Tensor& x) const {
    return at::zeros({x.size(0), x.size(1), count * size, x.size(3)},
                     x.options().requires_grad(false))
        .index_copy(2, at::tensor(slots, at::kLong), x)
        .reshape({x.size(0), x.size(1), count, size, x.size(3)})
        .transpose(1, 2)
        .reshape({x.size(0) * count, x.size(1), size, x.size(3)});
  }
  /// And back.
  torch::Tensor Join(const torch::Tensor& x) const {
    return x.reshape({-1, count, x.size(1), size, x.size(3)})
        .transpose(1, 2)
        .reshape({x.size(0) / count, x.size(1), count * size, x.size(3)})
        .index_select(2, at::tensor(slots, at::kLong));
  }
  /// Entries of a matrix without any between blocks: [count,1 or H,size,size].
  torch::Tensor Dense(const MaskPairs& pairs) const {
    std::vector<std::int64_t> places;
    for (std::int64_t i = 0; i < pairs.pattern->rows; ++i) {
      for (std::int64_t e = pairs.pattern->offsets[i]; e < pairs.pattern->offsets[i + 1]; ++e) {
        places.push_back(slots[i] * size + slots[pairs.pattern->indices[e]] % size);
      }
    }
    return at::zeros({pairs.values.size(0), count * size * size},
                     pairs.values.options().requires_grad(false))
        .index_add(1, at::tensor(places, at::kLong), pairs.values)
        .reshape({-1, count, size, size})
        .transpose(0, 1);
  }
};

TokenBlocks BlocksOf(const GraphInput& graph, std::int64_t length) {
  const torch::Tensor offsets = graph.offsets.contiguous(), ends = graph.neighbors.contiguous();
  const auto* offset = offsets.const_data_ptr<std::int64_t>();
  const auto* neighbor = ends.const_data_ptr<std::int64_t>();
  // Edges over the gap before every token, as differences.
  std::vector<std::int64_t> over(static_cast<std::size_t>(length) + 1, 0);
  for (std::int64_t i = 0; i < length; ++i) {
    for (std::int64_t e = offset[i]; e < offset[i + 1]; ++e) {
      ++over[std::min(i, neighbor[e]) + 1];
      --over[std::max(i, neighbor[e]) + 1];
    }
  }
  std::vector<std::int64_t> sizes;
  std::int64_t open = 0;
  for (std::int64_t i = 0; i < length; ++i) {
    open += over[i];
    if (open == 0) sizes.push_back(0);
    ++sizes.back();
  }
  TokenBlocks blocks;
  blocks.size = *std::max_element(sizes.begin(), sizes.end());
  std::int64_t filled = 0;
  for (const std::int64_t size : sizes) {
    if (filled + size > blocks.size) {
      ++blocks.count;
      filled = 0;
    }
    for (std::int64_t i = 0; i < size; ++i) {
      blocks.slots.push_back((blocks.count - 1) * blocks.size + filled++);
    }
  }
  return blocks;
}

/// GAT, and GKAT-0, which differs in its mask alone.
class AdditiveLayer : public Mechanism {
 public:
  AdditiveLayer(const Options& options, bool is_gat)
      : options_(options),
        is_gat_(is_gat),
        is_dot_(!is_gat && options.Is("score", "dot")),
        delta_(options.Real("delta")) {}

  std::vector<Way> Ways() const override { return {Way::kDense, Way::kPairs}; }

  NamedTensors InitialParameters(const AttentionInputs& inputs) const override {
    NamedTensors parameters;
    if (!is_dot_) parameters = AdditiveParameters(options_, inputs);
    if (!is_gat_) parameters.merge(FrequencyParameters(options_, inputs));
    return parameters;
  }

  torch::Tensor Run(Way way, const AttentionInputs& inputs) const override {
    const MaskPtr mask = MaskOf(inputs);
    torch::Tensor out;
    if (way == Way::kDense && IsDenseInBlocks()) {
      out = AttendInBlocks(inputs, *mask);
    } else if (way == Way::kDense) {
      out = AttendByLogits(LogitsOf(inputs), inputs, mask->Dense(), delta_);
    } else {
      out = is_dot_ ? AttendPairs(Scores(options_, "softmax"), inputs, mask->Pairs())
                    : PairAdditive(inputs, mask->Pairs(), delta_);
    }
    return options_.IsSet("elu") ? at::elu(out) : out;
  }

  torch::Tensor DenseMask(const AttentionInputs& inputs) const override {
    return MaskOf(inputs)->Dense();
  }

  bool IsDenseInBlocks() const override { return ClassTokensOf(options_) == 0; }
  std::int64_t DenseLength(const AttentionInputs& inputs) const override {
    return IsDenseInBlocks() ? BlocksOf(inputs.graph, inputs.length()).size : inputs.length();
  }

 private:
  torch::Tensor LogitsOf(const AttentionInputs& inputs) const {
    return is_dot_ ? Logits(inputs) : DenseAdditive(inputs);
  }

  torch::Tensor AttendInBlocks(const AttentionInputs& inputs, const Mask& mask) const {
    const TokenBlocks blocks = BlocksOf(inputs.graph, inputs.length());
    AttentionInputs split = inputs;
    for (torch::Tensor* tensor : {&split.q, &split.k, &split.v}) *tensor = blocks.Split(*tensor);
    split.key_mask = blocks.Split(inputs.KeyMask()).squeeze(3).squeeze(1);
    torch::Tensor entries;
    if (const auto factors = mask.FactorsOfPairs()) {
      entries =
          at::matmul(blocks.Dense(factors->left), blocks.Dense(factors->right).transpose(2, 3));
    } else {
      entries = blocks.Dense(mask.Pairs());
    }
    entries = entries.repeat({inputs.batch(), 1, 1, 1});
    return blocks.Join(AttendByLogits(LogitsOf(split), split, entries, delta_));
  }

  MaskPtr MaskOf(const AttentionInputs& inputs) const {
    const std::int64_t count = ClassTokensOf(options_);
    const AttentionInputs placed = inputs.Placed(count);
    MaskPtr mask = is_gat_ ? MakePairMask(Neighbourhood(placed)) : FrequencyMask(options_, placed);
    return WithClassTokens(std::move(mask), count, inputs.q);
  }

  Options options_;
  bool is_gat_, is_dot_;
  double delta_;
};

/// P x or P^T x of hop probabilities P, x [G,L,C] for G batches and heads.
using HopProduct = std::function<torch::Tensor(const torch::Tensor& x, bool is_transposed)>;

/// Psi Psi^T with Psi = sum over e of base^e P^e.
class WalkSumMask : public Mask {
 public:
  WalkSumMask(HopProduct hop, torch::Tensor base, std::int64_t hop_count)
      : hop_(std::move(hop)), base_(std::move(base)), hop_count_(hop_count) {}
  torch::Tensor Dense() const override { return {}; }
  std::vector<Way> Ways() const override { return {Way::kFastmult}; }
  torch::Tensor Product(const torch::Tensor& x) const override { return Sum(Sum(x, true), false); }

 private:
  torch::Tensor Sum(const torch::Tensor& x, bool is_transposed) const {
    torch::Tensor sum = x;
    for (std::int64_t e = 0; e < hop_count_; ++e) sum = x + base_ * hop_(sum, is_transposed);
    return sum;
  }
  HopProduct hop_;
  torch::Tensor base_;
  std::int64_t hop_count_;
};

/// GKAT whose walks go where queries and keys agree: hops with probabilities of
///   neighbors  exp(q_u k_v / sqrt d) over neighbours
///   product    scores times rwgnk's mask, the product of the kernels of tokens and of the graph
/// All walks of up to so many hops are summed, or over neighbours some are drawn; through those no
/// gradient flows to queries and keys, but for that of their scores. Products with the sum of all
/// walks do not show the lengths of its rows: with walk_alpha those have the dense way alone.
class DynamicWalks : public Mechanism {
 public:
  explicit DynamicWalks(const Options& options) : options_(options), scores_(options) {}

  std::vector<Way> Ways() const override {
    if (options_.Real("walk_alpha") > 0 && !IsDrawn()) return {Way::kDense};
    return {Way::kDense, Way::kFastmult};
  }

  NamedTensors InitialParameters(const AttentionInputs& inputs) const override {
    NamedTensors parameters = scores_.InitialParameters(inputs);
    parameters.merge(FrequencyParameters(options_, inputs));
    return parameters;
  }

  torch::Tensor Run(Way way, const AttentionInputs& inputs) const override {
    const AttentionInputs placed = inputs.Placed(ClassTokensOf(options_));
    const Features features = scores_.MakeFeatures(inputs);
    const torch::Tensor base = BaseOf(inputs);
    if (way == Way::kDense) return AttendDense(features, inputs.v, DenseMaskOf(placed, base));
    // Every batch and head has a mask of its own: heads of one batch.
    const auto fold = [](const torch::Tensor& x) {
      return x.reshape({1, -1, x.size(2), x.size(3)});
    };
    MaskPtr mask;
    if (IsDrawn()) {
      const MaskPairs psi = DrawnFeatures(placed, base);
      mask = MakeSparseFactorMask({psi, psi});
    } else {
      mask = std::make_unique<WalkSumMask>(
          options_.Is("dynamic", "product") ? HopsOfProduct(placed) : HopsToNeighbors(placed), base,
          options_.Int("hops"));
    }
    mask = WithClassTokens(std::move(mask), ClassTokensOf(options_), inputs.q);
    return AttendFastmult({fold(features.q), fold(features.k), features.delta}, fold(inputs.v),
                          *mask)
        .reshape(inputs.v.sizes());
  }

  /// [B,H,L,L]: it depends on queries and keys.
  torch::Tensor DenseMask(const AttentionInputs& inputs) const override {
    return DenseMaskOf(inputs.Placed(ClassTokensOf(options_)), BaseOf(inputs));
  }

 private:
  /// Walks over neighbours that are drawn; those of rwgnk in the product are its own.
  bool IsDrawn() const {
    return options_.Is("dynamic", "neighbors") && options_.Is("estimator", "sampled");
  }

  /// What a hop counts, for every batch and head: [B*H,1,1].
  torch::Tensor BaseOf(const AttentionInputs& inputs) const {
    return (inputs.parameters.at("lambda").abs() * (1 - options_.Real("halt_probability")))
        .unsqueeze(0)
        .expand({inputs.batch(), inputs.heads()})
        .reshape({-1, 1, 1});
  }

  static Graph WalkGraphOf(const AttentionInputs& inputs) {
    return NonNegative(AdjacencyOf(inputs), "probabilities of hops");
  }

  /// Psi of every batch and head: values [B*H,nnz]. Batches have equal draws, but hops of their
  /// own.
  MaskPairs DrawnFeatures(const AttentionInputs& placed, const torch::Tensor& base) const {
    WalkSamplerOptions walks;
    walks.walk_count = static_cast<int>(options_.Int("walks"));
    walks.max_hops = static_cast<int>(options_.Int("hops"));
    walks.ensemble = static_cast<std::uint32_t>(options_.Int("ensemble"));
    std::vector<std::uint64_t> seeds;
    for (std::int64_t g = 0; g < placed.batch() * placed.heads(); ++g) {
      seeds.push_back(SeedOfHead(options_, placed, g % placed.heads()));
    }
    const MaskPairs hops = HopProbabilities(placed);
    const torch::Tensor exponents =
        at::arange(options_.Int("hops") + 1, base.options().requires_grad(false));
    return DividedByLengths(Combined(DrawnTerms(*hops.pattern, hops.values, walks, seeds),
                                     at::pow(base.squeeze(2), exponents.unsqueeze(0))),
                            options_.Real("walk_alpha"));
  }

  torch::Tensor DenseMaskOf(const AttentionInputs& placed, const torch::Tensor& base) const {
    const torch::Tensor psi = DensePsi(placed, base);
    const std::int64_t class_tokens = ClassTokensOf(options_), length = placed.length();
    return at::constant_pad_nd(at::matmul(psi, psi.transpose(1, 2))
                                   .expand({placed.batch() * placed.heads(), length, length})
                                   .reshape({placed.batch(), placed.heads(), length, length}),
                               {class_tokens, 0, class_tokens, 0}, 1);
  }

  /// [B*H,L,L], or [1,L,L] where all are equal.
  torch::Tensor DensePsi(const AttentionInputs& placed, const torch::Tensor& base) const {
    if (IsDrawn()) {
      const MaskPairs psi = DrawnFeatures(placed, base);
      return ToDense(*psi.pattern, psi.values);
    }
    const std::int64_t length = placed.length();
    torch::Tensor weights;
    if (options_.Is("dynamic", "product")) {
      const Features features = scores_.MakeFeatures(placed);
      weights = at::matmul(features.q, features.k.transpose(2, 3)) *
                FrequencyMask(options_, placed)->Dense();
    } else {
      const torch::Tensor edges = DenseOf(WalkGraphOf(placed)).to(placed.q.scalar_type());
      weights = SoftmaxWeights(Logits(placed), placed, edges.unsqueeze(0));
    }
    const torch::Tensor hops =
        Normalised(weights, weights.sum(3, true)).reshape({-1, length, length});
    torch::Tensor power = at::eye(length, placed.q.options().requires_grad(false)).unsqueeze(0);
    torch::Tensor psi = power;
    for (std::int64_t e = 0; e < options_.Int("hops"); ++e) {
      power = base * at::matmul(power, hops);
      psi = psi + power;
    }
    const double alpha = options_.Real("walk_alpha");
    return alpha > 0 ? psi * at::pow((psi * psi).sum(2, true), -0.5 * alpha) : psi;
  }

  /// The masked attention matrix acts through features, and is never there as a whole.
  HopProduct HopsOfProduct(const AttentionInputs& placed) const {
    const Features forth = scores_.MakeFeatures(placed);
    const Features back{forth.k, forth.q};
    const std::shared_ptr<const Mask> mask = FrequencyMask(options_, placed);
    const torch::Tensor sums = SumsByProducts(forth, at::ones_like(forth.k.slice(3, 0, 1)), *mask);
    return [=](const torch::Tensor& x, bool is_transposed) {
      const torch::Tensor unfolded =
          x.reshape({forth.q.size(0), forth.q.size(1), x.size(1), x.size(2)});
      // rwgnk's mask is its transpose.
      return (is_transposed ? SumsByProducts(back, Normalised(unfolded, sums), *mask)
                            : Normalised(SumsByProducts(forth, unfolded, *mask), sums))
          .reshape(x.sizes());
    };
  }

  static HopProduct HopsToNeighbors(const AttentionInputs& inputs) {
    return [hops = HopProbabilities(inputs)](const torch::Tensor& x, bool is_transposed) {
      return HeadwiseProduct(hops.pattern, hops.values, x, is_transposed);
    };
  }

  /// Of every batch and head: [B*H,E].
  static MaskPairs HopProbabilities(const AttentionInputs& inputs) {
    const Graph graph = WalkGraphOf(inputs);
    const std::int64_t length = inputs.length();
    const auto fold = [length](const torch::Tensor& x) {
      return x.reshape({-1, length, x.size(3)});
    };
    const torch::Tensor logits = SampledProducts(graph.pattern, fold(inputs.q), fold(inputs.k)) /
                                 std::sqrt(static_cast<double>(inputs.width()));
    const torch::Tensor rows = RowsOf(*graph.pattern);
    // No walk goes to padding.
    const torch::Tensor kept = inputs.KeyMask()
                                   .expand({inputs.batch(), inputs.heads(), length, 1})
                                   .reshape({-1, length})
                                   .index_select(1, ColumnsOf(*graph.pattern));
    const torch::Tensor edges = graph.weights.to(logits.scalar_type()) * kept;
    const torch::Tensor largest =
        RowMaxima(*graph.pattern, logits.masked_fill(edges == 0, -1e30), -1e29);
    const torch::Tensor weights =
        WeightedExponentials(logits - largest.index_select(1, rows), edges, kept);
    const torch::Tensor sums = at::zeros_like(largest).index_add(1, rows, weights);
    return {graph.pattern, Normalised(weights, sums.index_select(1, rows))};
  }

  Options options_;
  Scores scores_;
};

/// Sums over neighbours without scores: GCN, and Chebyshev filters. q and k are not read.
class Convolution : public Mechanism {
 public:
  Convolution(const Options& options, bool is_chebyshev)
      : options_(options),
        order_(is_chebyshev ? options.Int("order") : 0),
        is_chebyshev_(is_chebyshev) {}

  std::vector<Way> Ways() const override { return {Way::kDense, Way::kPairs}; }

  NamedTensors InitialParameters(const AttentionInputs& inputs) const override {
    const std::int64_t width = inputs.value_width();
    NamedTensors parameters;
    for (std::int64_t k = 0; k <= order_; ++k) {
      parameters["weight_" + std::to_string(k)] =
          LayerWeights(options_, inputs, width, width, static_cast<std::uint32_t>(2 + k));
    }
    parameters["bias"] =
        at::zeros({inputs.heads(), width}, inputs.q.options().requires_grad(false));
    return parameters;
  }

  torch::Tensor Run(Way way, const AttentionInputs& inputs) const override {
    const Graph graph = SymmetricallyNormalised(
        NonNegative(AdjacencyOf(inputs), "a graph convolution"), options_.Chosen("degrees"));
    const torch::Tensor values = inputs.v * inputs.KeyMask();
    const torch::Tensor weights = graph.weights.to(inputs.q.scalar_type());
    const torch::Tensor dense =
        way == Way::kDense ? ToDense(*graph.pattern, weights) : torch::Tensor();
    const auto spread = [&](const torch::Tensor& x) {
      if (way == Way::kDense) return at::matmul(dense, x);
      const torch::Tensor columns = x.permute({2, 0, 1, 3}).reshape({1, x.size(2), -1});
      return SparseProduct(graph.pattern, weights, columns)
          .reshape({x.size(2), x.size(0), x.size(1), x.size(3)})
          .permute({1, 2, 0, 3});
    };
    const auto weigh = [&](const torch::Tensor& x, std::int64_t k) {
      return at::matmul(x, inputs.parameters.at("weight_" + std::to_string(k)));
    };
    torch::Tensor sum;
    if (is_chebyshev_) {
      // The Laplacian 1 - W, rescaled to [-1,1] by its largest eigenvalue 2, is -W.
      torch::Tensor before = values, now = -spread(values);
      sum = weigh(values, 0);
      for (std::int64_t k = 1; k <= order_; ++k) {
        sum = sum + weigh(now, k);
        const torch::Tensor next = -2 * spread(now) - before;
        before = now;
        now = next;
      }
    } else {
      sum = weigh(spread(values), 0);
    }
    const torch::Tensor biased = sum + inputs.parameters.at("bias").unsqueeze(1);
    return options_.IsSet("relu") ? at::relu(biased) : biased;
  }

 private:
  Options options_;
  std::int64_t order_;
  bool is_chebyshev_;
};

}  // namespace

std::vector<MechanismInfo> GraphLayerMechanisms() {
  const OptionSpec elu = Flag("elu", false, "ELU of the output, as in a layer");
  const OptionSpec delta =
      Number("delta", 0, 0, 1, "added to a row's sum of scores times mask; 1e-9 in the layer");
  const OptionSpec relu = Flag("relu", true, "ReLU of the output, as in a layer");
  std::vector<OptionSpec> dynamic_options{
      Word("dynamic", {"neighbors", "product"},
           "hops by exp(q_u k_v / sqrt d) over neighbours, or by scores times rwgnk's mask"),
      Integer("hops", 3, 0, 64, "hops tau of a walk"),
      Number("lambda", 1, 0, 1, "initial weight of a hop"),
      Number("halt_probability", 0, 0, 0.999, "p: hops count (1 - p)^e"),
      Number("alpha", 1, 0, 1, "product: vectors of rwgnk are divided by their length^alpha"),
      Number("walk_alpha", 0, 0, 1,
             "vectors of the walks themselves are divided by their length^walk_alpha, which only "
             "drawn ones have a fast way for"),
      Word("estimator", {"exact", "sampled"},
           "all walks, or a sample: over neighbours drawn by the probabilities of hops, anew as "
           "redraw_every says; product: of rwgnk's"),
      Integer("walks", 50, 1, 100000, "sampled: walks of a token"),
      Integer("ensemble", 0, 0, 1 << 30, "another number: other walks of the same seed"),
      Flag("walks_per_head", false, "independent walks for every head"),
      KeepWalksOption(),
      ClassTokensOption()};
  dynamic_options =
      Joined(std::move(dynamic_options), ScoreOptions({"favor_pos", "relu", "elu1", "square"}));
  return {
      {"gkat0",
       "GKAT with softmax scores: rwgnk's mask times exp(q k / sqrt d), or times "
       "exp(LeakyReLU(a_left q_i + a_right k_j)).",
       "dense O(L^2 (d + dv)); pairs O(nnz(M) (d + dv))",
       "gkat, Sec. 4.2 and 5.1",
       {"graph"},
       Joined({Word("score", {"dot", "additive"}, "scores of queries and keys"), elu, delta,
               ClassTokensOption()},
              FrequencyOptions()),
       [](const Options& options) {
         return std::make_unique<const AdditiveLayer>(options, false);
       }},
      Masked({"gkat",
              "GKAT: rwgnk's mask times positive random features of softmax.",
              "O(nnz(Psi) m dv)",
              "gkat, Sec. 4.2 and 5.1",
              {"graph"},
              Joined({elu}, FrequencyOptions()),
              nullptr},
             {AlwaysWays({Way::kDense, Way::kFastmult, Way::kPairs, Way::kFeatures}),
              &FrequencyParameters, &FrequencyMask,
              [](const Options& options, const torch::Tensor& out) {
                return options.IsSet("elu") ? at::elu(out) : out;
              }},
             {"favor_pos"}),
      {"gkat_dynamic",
       "GKAT whose walks hop to neighbours with probabilities of exp(q_u k_v / sqrt d), or to any "
       "token with those of rwgnk's masked attention; all walks of up to tau hops, or drawn ones.",
       "O(hops E m dv) for every batch, sampled O(nnz(Psi) m dv); product O(hops nnz(Psi) m^2 dv)",
       "gkat, App. A.5.2",
       {"graph"},
       dynamic_options,
       [](const Options& options) { return std::make_unique<const DynamicWalks>(options); }},
      {"gat",
       "Graph attention network: exp(LeakyReLU(a_left q_i + a_right k_j)) over neighbours and the "
       "token itself.",
       "O((L + E) dv)",
       "gkat, Sec. 5.1 (baselines)",
       {"graph"},
       {elu, delta, SeedOption(), ClassTokensOption()},
       [](const Options& options) { return std::make_unique<const AdditiveLayer>(options, true); }},
      {"gcn",
       "Graph convolution: ReLU(Deg^-1/2 Adj Deg^-1/2 V weight + bias). Reads no q and k.",
       "O(E dv + L dv^2)",
       "gkat, Sec. 5.1 (baselines)",
       {"graph"},
       {relu, DegreesOption(), SeedOption()},
       [](const Options& options) { return std::make_unique<const Convolution>(options, false); }},
      {"sgc",
       "Spectral graph convolution: Chebyshev polynomials of the rescaled Laplacian. Reads no q "
       "and "
       "k.",
       "O(order (E dv + L dv^2))",
       "gkat, Sec. 5.1 (baselines)",
       {"graph"},
       {Integer("order", 2, 0, 32, "degree of the polynomial"), relu, DegreesOption(),
        SeedOption()},
       [](const Options& options) { return std::make_unique<const Convolution>(options, true); }},
  };
}

}  // namespace interlacer::attention
