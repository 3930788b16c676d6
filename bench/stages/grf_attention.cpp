/// Walk-masked local attention, forward or --backward, against eager LibTorch, which either gathers
/// the 40 walks of every token one by one, or uses our merged lists.

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "bench/clouds.h"
#include "bench/errors.h"
#include "bench/host_platform.h"
#include "bench/peers/eager_walks.h"
#include "bench/stage_cases.h"
#include "bench/tensors.h"
#include "knn/knn_index.h"
#include "knn/walk_lists.h"
#include "model/ops/grf_attention_op.h"

namespace interlacer::bench {
namespace {

/// Number of rows with a dense reference, which needs a whole row of the mask each.
constexpr std::int64_t kCheckedRows = 256;
/// Number of tokens in the gradient check, whose reference keeps every gathered row in float64.
constexpr std::int64_t kCheckedGradientTokens = 8192;
constexpr double kFloatBound = 1e-5;
constexpr GrfEpsilons kEpsilons;
constexpr AttentionEpsilons kEagerEpsilons{kEpsilons.feature, kEpsilons.normalizer};

struct Problem {
  KnnGraph graph;
  std::shared_ptr<const WalkMask> mask;
  WalkIndices walks;
  torch::Tensor q, k, v, coefficients, grad_out;
};

std::shared_ptr<Problem> MakeProblem(const Options& options) {
  auto problem = std::make_shared<Problem>();
  const std::vector<float> positions_m = InSpatialOrder(MakeCloud(options));
  problem->graph =
      MakeKnnIndex(KnnBackend::kGrid).value()->Graph(positions_m, kGraphNeighbors).value();
  WalkLists lists = BuildWalkLists(problem->graph).value();
  problem->walks = MakeWalkIndices(problem->graph, lists, at::kFloat);
  problem->mask = std::make_shared<WalkMask>(std::move(lists), kGraphNeighbors, options.backward);
  const std::vector<std::int64_t> shape{options.tokens(), options.d};
  problem->q = RandomTensor(shape, options.seed, 0).requires_grad_(options.backward);
  problem->k = RandomTensor(shape, options.seed, 1).requires_grad_(options.backward);
  problem->v = RandomTensor(shape, options.seed, 2).requires_grad_(options.backward);
  problem->grad_out = RandomTensor(shape, options.seed, 3);
  problem->coefficients =
      (RandomTensor({kMaxHops + 1}, options.seed, 4) * 0.4 + 0.6).requires_grad_(options.backward);
  return problem;
}

torch::Tensor Ours(const Problem& p) {
  const torch::Tensor weights = at::matmul(p.mask->loads().to(at::kFloat), p.coefficients.abs());
  return GrfAttention(p.q, p.k, p.v, weights, p.mask, kEpsilons);
}

std::vector<torch::Tensor> Gradients(const torch::Tensor& out, const std::vector<torch::Tensor>& of,
                                     const torch::Tensor& grad_out, bool keep_graph) {
  return torch::autograd::grad({out}, of, {grad_out}, keep_graph);
}

/// Row of the mask M = sum_t |f_t| W^t, W = adjacency / k, computed by powers of the graph alone.
std::vector<double> MaskRow(const Problem& p, std::int64_t root) {
  const KnnGraph& graph = p.graph;
  std::vector<double> row(graph.n), walk(graph.n);
  walk[root] = 1;
  for (int hops = 0; hops <= kMaxHops; ++hops) {
    const double f = std::abs(p.coefficients.const_data_ptr<float>()[hops]);
    for (std::int64_t j = 0; j < graph.n; ++j) row[j] += f * walk[j];
    std::vector<double> next(graph.n);
    for (std::int64_t i = 0; i < graph.n; ++i) {
      if (walk[i] == 0) continue;
      for (int e = 0; e < graph.out_degree; ++e) {
        next[graph.neighbors[i * graph.out_degree + e]] += walk[i] / graph.out_degree;
      }
    }
    walk = std::move(next);
  }
  return row;
}

/// Checks that the peers compute the same result; their gathered copies allow it at small sizes
/// only.
void RequirePeersAgree(const Problem& p, const torch::Tensor& out) {
  for (const torch::Tensor& peer :
       {EagerGrfAttention(p.q, p.k, p.v, p.walks.Prefixes(p.coefficients), kEagerEpsilons),
        EagerGrfAttention(p.q, p.k, p.v, p.walks.Pairs(p.coefficients), kEagerEpsilons)}) {
    const double error = RelativeError(peer, out);
    if (!(error <= kFloatBound)) throw std::runtime_error("a peer computes something else");
  }
}

GateResult CheckForward(const Problem& p) {
  const at::NoGradGuard no_grad;
  PoisonAllocator(p.v);
  const torch::Tensor out = Ours(p);
  if (p.graph.n <= kCheckedGradientTokens) RequirePeersAgree(p, out);
  const std::int64_t tokens = p.graph.n, rows = std::min(kCheckedRows, tokens);
  const torch::Tensor phi_q = at::relu(p.q.to(at::kDouble)) + kEpsilons.feature;
  const torch::Tensor phi_k = at::relu(p.k.to(at::kDouble)) + kEpsilons.feature;
  const torch::Tensor v = p.v.to(at::kDouble);
  std::vector<torch::Tensor> expected, got;
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t root = i * tokens / rows;
    const torch::Tensor load =
        at::matmul(phi_k, phi_q[root]) * at::tensor(MaskRow(p, root), at::kDouble);
    expected.push_back(at::matmul(load, v) / (load.sum() + kEpsilons.normalizer));
    got.push_back(out[root]);
  }
  GateResult gate;
  gate.error = RelativeError(at::stack(got), at::stack(expected));
  if (!at::isfinite(out).all().item<bool>()) gate.error = kPoison;
  gate.error_bound = kFloatBound;
  gate.reference = "dense (A.M)V float64, " + std::to_string(rows) + " rows";
  return gate;
}

/// Largest error of the four gradients against float64 autograd on the merged pairs.
GateResult CheckBackward(Options options) {
  options.n = std::min(options.n, kCheckedGradientTokens / options.timesteps);
  const auto p = MakeProblem(options);
  const std::vector<torch::Tensor> got =
      Gradients(Ours(*p), {p->q, p->k, p->v, p->coefficients}, p->grad_out, false);
  std::vector<torch::Tensor> inputs;
  for (const torch::Tensor& x : {p->q, p->k, p->v, p->coefficients}) {
    inputs.push_back(x.detach().to(at::kDouble).requires_grad_());
  }
  WalkIndices walks = p->walks;
  walks.pair_loads = walks.pair_loads.to(at::kDouble);
  const torch::Tensor out =
      EagerGrfAttention(inputs[0], inputs[1], inputs[2], walks.Pairs(inputs[3]), kEagerEpsilons);
  const std::vector<torch::Tensor> expected =
      Gradients(out, inputs, p->grad_out.to(at::kDouble), false);
  GateResult gate;
  gate.error = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = GradientError(got[i], expected[i]);
    if (!(error <= gate.error)) gate.error = error;
  }
  gate.error_kind = "rel_l2, direction and bias";
  gate.error_bound = 1e-3;
  gate.reference = "float64 autograd, " + std::to_string(options.tokens()) + " tokens";
  return gate;
}

/// Forward: one call. Backward: one backward pass through a retained graph.
Work MakeWork(std::shared_ptr<Problem> p, bool backward,
              std::function<torch::Tensor(const Problem&)> forward) {
  if (!backward) {
    return Timed([p, forward] {
      const at::NoGradGuard no_grad;
      forward(*p);
    });
  }
  const auto out = std::make_shared<torch::Tensor>();
  return [p, forward, out] {
    if (!out->defined()) *out = forward(*p);
    return TimeMs([&] { Gradients(*out, {p->q, p->k, p->v, p->coefficients}, p->grad_out, true); });
  };
}

}  // namespace

std::vector<Case> MakeGrfAttentionCases(const Options& options) {
  if (options.dtype != "f32") {
    throw UsageError("--dtype: grf_attention computes in f32, got " + options.dtype);
  }
  const auto problem = MakeProblem(options);

  Case base = GrfAttentionCase(options.backward ? "grf_attention_backward/" : "grf_attention/",
                               options, problem->mask->pair_count());
  base.ours = "fused_lists";
  base.gate = Once([problem, options] {
    return options.backward ? CheckBackward(options) : CheckForward(*problem);
  });
  base.run_ours = MakeWork(problem, options.backward, &Ours);
  base.peer_version = "torch " INTERLACER_BENCH_TORCH_VERSION;

  Case prefixes = Against(base, "torch_eager_prefixes");
  prefixes.goal = options.backward ? 20 : 50;
  prefixes.run_peer = MakeWork(problem, options.backward, [](const Problem& p) {
    return EagerGrfAttention(p.q, p.k, p.v, p.walks.Prefixes(p.coefficients), kEagerEpsilons);
  });
  Case pairs = Against(base, "torch_eager_merged");
  if (!options.backward) pairs.goal = 10;
  pairs.run_peer = MakeWork(problem, options.backward, [](const Problem& p) {
    return EagerGrfAttention(p.q, p.k, p.v, p.walks.Pairs(p.coefficients), kEagerEpsilons);
  });
  return {std::move(prefixes), std::move(pairs)};
}

}  // namespace interlacer::bench
