/// Global ReLU linear attention against eager LibTorch in the same type.

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <memory>
#include <utility>

#include "bench/errors.h"
#include "bench/host_platform.h"
#include "bench/peers/eager_attention.h"
#include "bench/stage_cases.h"
#include "bench/tensors.h"
#include "model/ops/linear_attention_op.h"

namespace interlacer::bench {
namespace {

constexpr LinearAttentionEpsilons kLinearEpsilons;
constexpr AttentionEpsilons kEagerLinearEpsilons{kLinearEpsilons.feature,
                                                 kLinearEpsilons.normalizer};

struct LinearProblem {
  torch::Tensor q, k, v;
};

GateResult Check(const LinearProblem& p) {
  const at::NoGradGuard no_grad;
  PoisonAllocator(p.v);
  const torch::Tensor got = LinearAttention(p.q, p.k, p.v, kLinearHeads, kLinearEpsilons);
  GateResult gate;
  gate.error = RelativeError(
      got, EagerLinearAttention(p.q.to(at::kDouble), p.k.to(at::kDouble), p.v.to(at::kDouble),
                                kLinearHeads, kEagerLinearEpsilons));
  gate.error_bound = 1e-5;
  return gate;
}

}  // namespace

std::vector<Case> MakeLinearAttentionCases(const Options& options) {
  if (options.dtype != "f32") {
    throw UsageError("--dtype: linear_attention computes in f32, got " + options.dtype);
  }
  if (options.d % kLinearHeads != 0) throw UsageError("--d: expected a multiple of 4 heads");
  const std::vector<std::int64_t> shape{options.tokens(), options.d};
  const auto problem = std::make_shared<const LinearProblem>(
      LinearProblem{RandomTensor(shape, options.seed, 0), RandomTensor(shape, options.seed, 1),
                    RandomTensor(shape, options.seed, 2)});
  Case base = LinearAttentionCase("linear_attention/", options);
  base.ours = "two_pass";
  Case item = Against(base, "torch_eager");
  item.goal = 2;
  item.peer_version = "torch " INTERLACER_BENCH_TORCH_VERSION;
  item.gate = [problem] { return Check(*problem); };
  item.run_ours = Timed([problem] {
    const at::NoGradGuard no_grad;
    LinearAttention(problem->q, problem->k, problem->v, kLinearHeads, kLinearEpsilons);
  });
  item.run_peer = Timed([problem] {
    const at::NoGradGuard no_grad;
    EagerLinearAttention(problem->q, problem->k, problem->v, kLinearHeads, kEagerLinearEpsilons);
  });
  return {std::move(item)};
}

}  // namespace interlacer::bench
