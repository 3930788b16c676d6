#include "model/attention/core/causal.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <vector>

#include "model/attention/core/masked_attention.h"

namespace interlacer::attention {
namespace {

/// Gates below, 0 among them, have no logarithm through which float32 has their gradient.
constexpr double kLeastGate = 1e-37;

/// [B,H,L,L], row after row.
torch::Tensor ProductsOfGates(const torch::Tensor& gates) {
  const std::int64_t length = gates.size(2);
  torch::Tensor row = at::zeros({gates.size(0), gates.size(1), length}, gates.options());
  const torch::Tensor unit = at::eye(length, gates.options().requires_grad(false));
  std::vector<torch::Tensor> rows;
  for (std::int64_t i = 0; i < length; ++i) {
    row = row * gates.slice(2, i, i + 1).squeeze(3) + unit[i];
    rows.push_back(row);
  }
  return at::stack(rows, 2);
}

/// What the gates of a chunk leave at row i of key j: exp(fall_i - fall_j) kept_i,j+1; and of all
/// before the chunk: exp(fall_i) kept_i0.
struct GatesOfChunk {
  torch::Tensor fall;  ///< sums of logarithms, float64 [B,H,n,1]
  torch::Tensor kept;  ///< products of gates below kLeastGate, [B,H,n,n+1]; undefined without them
};

/// Rows before a small gate have the bits that they have without it: 1 stands for it in their sums
/// of logarithms, and for all other gates in products.
GatesOfChunk MakeGatesOfChunk(const torch::Tensor& gates) {
  const torch::Tensor is_small = gates < kLeastGate;
  GatesOfChunk chunk;
  chunk.fall = at::cumsum(at::log(gates.masked_fill(is_small, 1)).to(at::kDouble), 2);
  if (!is_small.any().item<bool>()) return chunk;
  const torch::Tensor small = gates.masked_fill(is_small.logical_not(), 1);
  const torch::Tensor of_state = at::ones_like(small.slice(2, 0, 1));
  chunk.kept = ProductsOfGates(at::cat({of_state, small}, 2)).slice(2, 1);
  return chunk;
}

}  // namespace

torch::Tensor AttendCausally(const ScaledFeatures& features, const torch::Tensor& v,
                             const torch::Tensor& gates) {
  // Each row against the largest scale that it sees.
  const torch::Tensor largest = std::get<0>(at::cummax(features.log_scale, 2));
  const torch::Tensor scale = at::exp((features.log_scale.transpose(2, 3) - largest).clamp_max(0));
  const torch::Tensor weights =
      at::tril(at::matmul(features.q, features.k.transpose(2, 3)) * scale);
  return AttendByWeights(gates.defined() ? weights * ProductsOfGates(gates) : weights, v,
                         features.delta);
}

torch::Tensor AttendCausallyByChunks(const FeaturesOfTokens& features_of, const torch::Tensor& v,
                                     const torch::Tensor& gates, std::int64_t chunk) {
  const std::int64_t length = v.size(2);
  // The sum over keys of earlier chunks, divided by exp(state_scale).
  torch::Tensor state, state_scale;
  const torch::Tensor out = at::empty(v.sizes(), v.options().requires_grad(false));
  std::vector<torch::Tensor> parts;
  for (std::int64_t first = 0; first < length; first += chunk) {
    const std::int64_t last = std::min(length, first + chunk);
    const ScaledFeatures features = features_of(first, last);
    const torch::Tensor &q = features.q, &k = features.k, &key_scale = features.log_scale;
    const torch::Tensor of_part = v.slice(2, first, last);
    const torch::Tensor own = at::cat({of_part, at::ones_like(of_part.slice(3, 0, 1))}, 3);
    if (first == 0) {
      state = at::zeros({v.size(0), v.size(1), k.size(3), own.size(3)}, out.options());
      state_scale = key_scale.slice(2, 0, 1);
    }
    // No row sees the scale of a later key, so that its bits do not depend on it.
    const torch::Tensor row_scale =
        std::get<0>(at::cummax(at::cat({state_scale, key_scale}, 2), 2)).slice(2, 1);
    const GatesOfChunk gate = gates.defined()
                                  ? MakeGatesOfChunk(gates.slice(2, first, last))
                                  : GatesOfChunk{at::zeros_like(row_scale, at::kDouble), {}};
    const torch::Tensor& fall = gate.fall;
    const torch::Tensor is_later =
        at::ones({last - first, last - first}, at::TensorOptions().dtype(at::kBool)).triu(1);
    const torch::Tensor between =
        (key_scale.transpose(2, 3) - row_scale + fall - fall.transpose(2, 3))
            .masked_fill(is_later, -std::numeric_limits<double>::infinity());
    torch::Tensor weights = at::matmul(q, k.transpose(2, 3)) * at::exp(between).to(q.scalar_type());
    torch::Tensor of_state = at::exp(state_scale - row_scale + fall).to(q.scalar_type());
    if (gate.kept.defined()) {
      weights = weights * gate.kept.slice(3, 1);
      of_state = of_state * gate.kept.slice(3, 0, 1);
    }
    const torch::Tensor sums = at::matmul(weights, own) + at::matmul(q, state) * of_state;
    torch::Tensor rows = Normalised(sums.slice(3, 0, -1), sums.slice(3, -1), features.delta);
    if (rows.requires_grad()) {
      parts.push_back(std::move(rows));
    } else {
      out.slice(2, first, last).copy_(rows);
    }

    const torch::Tensor end_scale = row_scale.slice(2, -1), end_fall = fall.slice(2, -1);
    torch::Tensor of_keys = at::exp(key_scale - end_scale + end_fall - fall).to(q.scalar_type());
    torch::Tensor of_earlier = at::exp(state_scale - end_scale + end_fall).to(q.scalar_type());
    if (gate.kept.defined()) {
      const torch::Tensor at_end = gate.kept.slice(2, -1).transpose(2, 3);
      of_keys = of_keys * at_end.slice(2, 1);
      of_earlier = of_earlier * at_end.slice(2, 0, 1);
    }
    state = state * of_earlier + at::matmul((k * of_keys).transpose(2, 3), own);
    state_scale = end_scale;
  }
  return parts.empty() ? out : at::cat(parts, 2);
}

torch::Tensor CausalMask(const AttentionInputs& inputs) {
  return at::tril(at::ones({1, inputs.length(), inputs.length()}, inputs.q.options()));
}

OptionSpec ChunkOption() { return Integer("chunk", 64, 1, 4096, "causal: tokens of a step"); }

}  // namespace interlacer::attention
