#include "model/attention/core/random_features.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <vector>

namespace interlacer::attention {

std::uint64_t SeedOf(const Options& options, const AttentionInputs& inputs) {
  const auto seed = static_cast<std::uint64_t>(options.Int("seed"));
  const std::int64_t every = options.Has("redraw_every") ? options.Int("redraw_every") : 0;
  if (every == 0) return seed;
  return seed + static_cast<std::uint64_t>(inputs.step / every) * 0xD1B54A32D192ED03ull;
}

OptionSpec RedrawOption() {
  return Integer("redraw_every", 0, 0, INT64_MAX,
                 "steps after which walks, projections and noise are others; 0: never");
}

torch::Tensor NormalMatrix(std::uint64_t seed, RandomStream stream, std::uint32_t a,
                           std::uint32_t b, std::int64_t rows, std::int64_t columns) {
  torch::Tensor matrix = at::empty({rows, columns}, at::kDouble);
  double* numbers = matrix.mutable_data_ptr<double>();
  RandomSequence sequence(seed, stream, a, b);
  for (std::int64_t i = 0; i < rows * columns; ++i) numbers[i] = sequence.Normal();
  return matrix;
}

torch::Tensor RandomProjection(std::uint64_t seed, std::int64_t heads, std::int64_t m,
                               std::int64_t d, bool is_orthogonal,
                               const torch::TensorOptions& like) {
  std::vector<torch::Tensor> of_heads;
  for (std::int64_t h = 0; h < heads; ++h) {
    const auto head = static_cast<std::uint32_t>(h);
    const torch::Tensor lengths_from =
        NormalMatrix(seed, RandomStream::kRandomFeatures, head, 0, m, d);
    if (!is_orthogonal) {
      of_heads.push_back(lengths_from);
      continue;
    }
    std::vector<torch::Tensor> blocks;
    for (std::int64_t row = 0; row < m; row += d) {
      const auto block = static_cast<std::uint32_t>(1 + row / d);
      auto [q, r] =
          at::linalg_qr(NormalMatrix(seed, RandomStream::kRandomFeatures, head, block, d, d));
      // Without these signs Q is not distributed evenly and the features are biased.
      q = q * at::sign(r.diagonal()).unsqueeze(0);
      blocks.push_back(q.transpose(0, 1).slice(0, 0, std::min(d, m - row)));
    }
    of_heads.push_back(at::cat(blocks) * lengths_from.norm(2, {1}, true));
  }
  return at::stack(of_heads).to(like);
}

}  // namespace interlacer::attention
