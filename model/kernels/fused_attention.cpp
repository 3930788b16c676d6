#include "model/kernels/fused_attention.h"

#include <vector>

#include "model/kernels/fused_attention_rows.h"
#include "model/kernels/fused_chunks.h"
#include "model/kernels/linear_attention_rows.h"

namespace interlacer {
namespace {

/// Computes phi(K)^T V and phi(K)^T 1 over all rows, divided by n; layout of the heads as in
/// linear_attention_rows.h.
std::vector<float> LinearState(std::int64_t n, const FusedProjections& layers, int heads,
                               const LinearAttentionEpsilons& epsilons, const float* h,
                               ParallelForFunction parallel_for) {
  const int width = layers.key.in_width;
  const int head_width = width / heads;
  const std::int64_t head_count = static_cast<std::int64_t>(head_width) * (head_width + 1);
  const std::int64_t count = heads * head_count;
  const std::int64_t tasks = FusedTaskCount(n);
  std::vector<float> partial(static_cast<std::size_t>(tasks * count));
  parallel_for(n, kFusedRowsOfATask, [&](std::int64_t begin, std::int64_t end) {
    float* state = partial.data() + begin / kFusedRowsOfATask * count;
    std::vector<std::uint16_t> input(static_cast<std::size_t>(FusedScratchCount(width)));
    std::vector<float> keys(input.size()), values(input.size());
    std::vector<float> scratch(static_cast<std::size_t>(LinearRowScratchCount(head_width)));
    ForEachFusedChunk(begin, end, [&](std::int64_t row, int rows) {
      avx512bf16::NormRows(rows, width, h + row * width, layers.norm, input.data());
      avx512bf16::DenseRows(rows, input.data(), layers.key, keys.data());
      avx512bf16::DenseRows(rows, input.data(), layers.value, values.data());
      for (int head = 0; head < heads; ++head) {
        const int at = head * head_width;
        avx512::LinearAddState<float>(
            {rows, width, heads, head_width}, keys.data() + at, values.data() + at, nullptr,
            static_cast<float>(epsilons.feature), scratch.data(), state + head * head_count);
      }
    });
  });
  // Partial states are added in the order of tasks: equal bits for any thread count.
  std::vector<float> state(static_cast<std::size_t>(count));
  for (std::int64_t task = 0; task < tasks; ++task) {
    for (std::int64_t x = 0; x < count; ++x) state[x] += partial[task * count + x];
  }
  const float scale = 1.0F / static_cast<float>(n);
  for (float& x : state) x *= scale;
  return state;
}

/// Folds the state into the output layer: W_out S^T [width,width] maps phi(q) / den to the update.
std::vector<float> FoldState(const std::vector<float>& state, const float* out_weight, int width,
                             int head_width) {
  std::vector<float> folded(static_cast<std::size_t>(width) * width);
  for (int o = 0; o < width; ++o) {
    for (int i = 0; i < width; ++i) {
      const int head = i / head_width;
      const float* row = state.data() +
                         static_cast<std::int64_t>(head) * head_width * (head_width + 1) +
                         static_cast<std::int64_t>(i % head_width) * head_width;
      const float* weight = out_weight + static_cast<std::int64_t>(o) * width + head * head_width;
      float sum = 0;
      for (int b = 0; b < head_width; ++b) sum += row[b] * weight[b];
      folded[static_cast<std::size_t>(o) * width + i] = sum;
    }
  }
  return folded;
}

/// The denominators' vectors z of all heads, concatenated.
std::vector<float> DenominatorRow(const std::vector<float>& state, int heads, int head_width) {
  std::vector<float> z;
  for (int head = 0; head < heads; ++head) {
    const float* at = state.data() +
                      static_cast<std::int64_t>(head) * head_width * (head_width + 1) +
                      static_cast<std::int64_t>(head_width) * head_width;
    z.insert(z.end(), at, at + head_width);
  }
  return z;
}

}  // namespace

void AddLinearAttention(std::int64_t n, const FusedProjections& layers, int heads,
                        const LinearAttentionEpsilons& epsilons, RowRange changed, float* h,
                        ParallelForFunction parallel_for) {
  if (n == 0) return;
  const int width = layers.query.in_width;
  const int head_width = width / heads;
  const std::vector<float> state = LinearState(n, layers, heads, epsilons, h, parallel_for);
  const std::vector<float> z = DenominatorRow(state, heads, head_width);
  const std::vector<float> folded = FoldState(state, layers.out_weight, width, head_width);
  const PackedDense out = PackDense(folded.data(), layers.out_bias, width, width);
  float* first = h + changed.begin * width;
  parallel_for(
      changed.end - changed.begin, kFusedRowsOfATask, [&](std::int64_t begin, std::int64_t end) {
        std::vector<std::uint16_t> input(static_cast<std::size_t>(FusedScratchCount(width)));
        std::vector<float> queries(input.size());
        ForEachFusedChunk(begin, end, [&](std::int64_t row, int rows) {
          avx512bf16::NormRows(rows, width, first + row * width, layers.norm, input.data());
          avx512bf16::DenseRows(rows, input.data(), layers.query, queries.data());
          avx512bf16::LinearQueryRows(rows, heads, head_width, queries.data(), z.data(), epsilons,
                                      input.data());
          avx512bf16::AddDenseRows(rows, input.data(), out, first + row * width);
        });
      });
}

void AddGrfAttention(std::int64_t n, const FusedProjections& layers,
                     const GrfPackedPairs<float>& pairs, const GrfEpsilons& epsilons,
                     RowRange changed, std::uint16_t* keys_values, float* h,
                     ParallelForFunction parallel_for) {
  const int width = layers.query.in_width;
  const int key_width = layers.key.out_width;
  const std::int64_t stride = key_width + width;
  const auto feature = static_cast<float>(epsilons.feature);
  const std::int64_t input_count = FusedScratchCount(width);
  parallel_for(n, kFusedRowsOfATask, [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::uint16_t> input(static_cast<std::size_t>(input_count));
    ForEachFusedChunk(begin, end, [&](std::int64_t row, int rows) {
      std::uint16_t* to = keys_values + row * stride;
      avx512bf16::NormRows(rows, width, h + row * width, layers.norm, input.data());
      avx512bf16::DensePhiRows(rows, input.data(), layers.key, feature, stride, to);
      avx512bf16::DenseToBfloat16Rows(rows, input.data(), layers.value, stride, to + key_width);
    });
  });
  const PackedDense out = PackDense(layers.out_weight, layers.out_bias, width, width);
  const avx512bf16::GrfBfloat16 grf{key_width, width, pairs, keys_values,
                                    static_cast<float>(epsilons.normalizer)};
  parallel_for(
      changed.end - changed.begin, kFusedRowsOfATask, [&](std::int64_t begin, std::int64_t end) {
        std::vector<std::uint16_t> input(static_cast<std::size_t>(input_count));
        std::vector<std::uint16_t> phi_q(static_cast<std::size_t>(FusedScratchCount(key_width)));
        ForEachFusedChunk(changed.begin + begin, changed.begin + end,
                          [&](std::int64_t row, int rows) {
                            float* to = h + row * width;
                            avx512bf16::NormRows(rows, width, to, layers.norm, input.data());
                            avx512bf16::DensePhiRows(rows, input.data(), layers.query, feature,
                                                     key_width, phi_q.data());
                            avx512bf16::GrfRows(grf, row, rows, phi_q.data(), input.data());
                            avx512bf16::AddDenseRows(rows, input.data(), out, to);
                          });
      });
}

}  // namespace interlacer
