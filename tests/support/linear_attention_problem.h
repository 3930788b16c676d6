#pragma once

/// Problems of linear attention with random inputs, and what the CPU form makes of them.

#include <cstdint>
#include <vector>

#include "model/kernels/linear_attention.h"
#include "tests/support/numeric.h"

namespace interlacer::testing {

template <typename T>
struct LinearProblem {
  LinearAttentionShape shape;
  std::vector<T> q, k, v, grad_out, key_mask;

  std::int64_t count() const { return shape.n * shape.heads * shape.head_width; }
  std::int64_t state_count() const {
    return std::int64_t{shape.heads} * shape.head_width * (shape.head_width + 1);
  }
  LinearAttentionInputs<T> inputs() const {
    return {q.data(), k.data(), v.data(), key_mask.empty() ? nullptr : key_mask.data()};
  }
};

template <typename T>
LinearProblem<T> MakeLinearProblem(const LinearAttentionShape& shape, std::uint64_t seed) {
  LinearProblem<T> p;
  p.shape = shape;
  p.q = RandomNormal<T>(p.count(), seed, 1);
  p.k = RandomNormal<T>(p.count(), seed, 2);
  p.v = RandomNormal<T>(p.count(), seed, 3);
  p.grad_out = RandomNormal<T>(p.count(), seed, 4);
  return p;
}

template <typename T>
struct LinearResult {
  std::vector<T> out, normalizer, state, grad_q, grad_k, grad_v;
};

template <typename T>
LinearResult<T> AttendLinearly(const LinearProblem<T>& p, ParallelForFunction parallel_for) {
  constexpr LinearAttentionEpsilons kEpsilons;
  LinearResult<T> r;
  r.out = r.grad_q = r.grad_k = r.grad_v = Poisoned<T>(p.count());
  r.normalizer = Poisoned<T>(p.shape.n * p.shape.heads);
  r.state = Poisoned<T>(p.state_count());
  std::vector<T> scratch = Poisoned<T>(LinearAttentionScratchCount(p.shape));
  LinearAttentionForward<T>(p.shape, p.inputs(), kEpsilons,
                            {r.out.data(), r.normalizer.data(), r.state.data()}, scratch.data(),
                            parallel_for);
  scratch = Poisoned<T>(LinearAttentionScratchCount(p.shape));
  LinearAttentionBackward<T>(
      p.shape, p.inputs(), {r.out.data(), r.normalizer.data(), r.state.data(), p.grad_out.data()},
      kEpsilons, {r.grad_q.data(), r.grad_k.data(), r.grad_v.data()}, scratch.data(), parallel_for);
  return r;
}

}  // namespace interlacer::testing
