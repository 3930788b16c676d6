/// Global ReLU linear attention against eager LibTorch in the same type.

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <memory>
#include <utility>

#include "bench/errors.h"
#include "bench/host_platform.h"
#include "bench/peers/eager_attention.h"
#include "bench/tensors.h"
#include "model/ops/linear_attention_op.h"

namespace interlacer::bench {
namespace {

constexpr int kHeads = 4;
constexpr LinearAttentionEpsilons kEpsilons;
constexpr AttentionEpsilons kEagerEpsilons{kEpsilons.feature, kEpsilons.normalizer};

struct Problem {
  torch::Tensor q, k, v;
};

GateResult Check(const Problem& p) {
  const at::NoGradGuard no_grad;
  PoisonAllocator(p.v);
  const torch::Tensor got = LinearAttention(p.q, p.k, p.v, kHeads, kEpsilons);
  GateResult gate;
  gate.error =
      RelativeError(got, EagerLinearAttention(p.q.to(at::kDouble), p.k.to(at::kDouble),
                                              p.v.to(at::kDouble), kHeads, kEagerEpsilons));
  gate.error_bound = 1e-5;
  return gate;
}

}  // namespace

std::vector<Case> MakeLinearAttentionCases(const Options& options) {
  if (options.dtype != "f32") {
    throw UsageError("--dtype: linear_attention computes in f32, got " + options.dtype);
  }
  if (options.d % kHeads != 0) throw UsageError("--d: expected a multiple of 4 heads");
  const std::vector<std::int64_t> shape{options.tokens(), options.d};
  const auto problem = std::make_shared<const Problem>(
      Problem{RandomTensor(shape, options.seed, 0), RandomTensor(shape, options.seed, 1),
              RandomTensor(shape, options.seed, 2)});
  Case item;
  item.stage = "linear_attention";
  item.name = "linear_attention/" + std::to_string(options.tokens()) + "/d" +
              std::to_string(options.d) + "/torch_eager";
  item.ours = "two_pass";
  item.peer = "torch_eager";
  item.n = options.n;
  item.tokens = options.tokens();
  item.d = options.d;
  item.params = {{"heads", kHeads}};
  item.goal = 2;
  item.floor =
      Floor{Floor::Kind::kMemoryBytes, 4.0 * 4 * options.d * static_cast<double>(options.tokens())};
  item.peer_version = "torch " INTERLACER_BENCH_TORCH_VERSION;
  item.gate = [problem] { return Check(*problem); };
  item.run_ours = Timed([problem] {
    const at::NoGradGuard no_grad;
    LinearAttention(problem->q, problem->k, problem->v, kHeads, kEpsilons);
  });
  item.run_peer = Timed([problem] {
    const at::NoGradGuard no_grad;
    EagerLinearAttention(problem->q, problem->k, problem->v, kHeads, kEagerEpsilons);
  });
  return {std::move(item)};
}

}  // namespace interlacer::bench
