#include "model/kernels/fused_dense.h"

#include "common/kernels/bfloat16.h"
#include "common/kernels/cpu_features.h"
#include "model/kernels/fused_chunks.h"

namespace interlacer {
namespace {

/// Runs body(first row, rows, scratch) on all chunks of rows, in parallel.
template <typename Body>
void ForEachChunk(std::int64_t n, std::int64_t scratch_count, ParallelForFunction parallel_for,
                  const Body& body) {
  parallel_for(n, kFusedRowsOfATask, [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::uint16_t> scratch(static_cast<std::size_t>(scratch_count));
    ForEachFusedChunk(begin, end,
                      [&](std::int64_t row, int rows) { body(row, rows, scratch.data()); });
  });
}

}  // namespace

bool CanFuseDense(int in_width, int out_width) {
  return !DenseFormsOfHost(in_width).empty() && out_width % kFusedPanelColumns == 0;
}

std::vector<const DenseForm*> DenseFormsOfHost(int in_width) {
  std::vector<const DenseForm*> forms;
  for (const auto& [form, runs] :
       {std::pair{&amx::kDenseForm, HostCpuFeatures().amx_bf16},
        std::pair{&avx512bf16::kDenseForm, HostCpuFeatures().avx512_bf16}}) {
    if (runs && in_width % form->inputs_multiple == 0) forms.push_back(form);
  }
  return forms;
}

PackedDense PackDense(const float* weight, const float* bias, int in_width, int out_width) {
  PackedDense packed{in_width, out_width, {}, bias, DenseFormsOfHost(in_width).front()};
  packed.weight.resize(static_cast<std::size_t>(in_width) * out_width);
  std::uint16_t* to = packed.weight.data();
  for (int panel = 0; panel < out_width; panel += kFusedPanelColumns) {
    for (int k = 0; k < in_width; k += 2) {
      for (int column = panel; column < panel + kFusedPanelColumns; ++column) {
        const float* from = weight + static_cast<std::int64_t>(column) * in_width + k;
        *to++ = ToBfloat16(from[0]);
        *to++ = ToBfloat16(from[1]);
      }
    }
  }
  return packed;
}

void NormDense(std::int64_t n, const float* h, const RowNorm& norm,
               std::span<const DenseOutput> outputs, ParallelForFunction parallel_for) {
  if (outputs.empty()) return;
  const int width = outputs.front().dense->in_width;
  ForEachChunk(n, FusedScratchCount(width), parallel_for,
               [&](std::int64_t row, int rows, std::uint16_t* scratch) {
                 avx512bf16::NormRows(rows, width, h + row * width, norm, scratch);
                 for (const DenseOutput& output : outputs) {
                   avx512bf16::DenseRows(rows, scratch, *output.dense,
                                         output.out + row * output.dense->out_width);
                 }
               });
}

void AddDense(std::int64_t n, const float* x, const PackedDense& dense, float* h,
              ParallelForFunction parallel_for) {
  ForEachChunk(n, FusedScratchCount(dense.in_width), parallel_for,
               [&](std::int64_t row, int rows, std::uint16_t* scratch) {
                 avx512bf16::RoundRows(rows, dense.in_width, x + row * dense.in_width, scratch);
                 avx512bf16::AddDenseRows(rows, scratch, dense, h + row * dense.out_width);
               });
}

void AddFeedForward(std::int64_t n, const RowNorm& norm, const PackedDense& first,
                    const PackedDense& second, float* h, ParallelForFunction parallel_for) {
  const int width = first.in_width;
  const std::int64_t input_count = FusedScratchCount(width);
  ForEachChunk(n, input_count + FusedScratchCount(first.out_width), parallel_for,
               [&](std::int64_t row, int rows, std::uint16_t* input) {
                 std::uint16_t* hidden = input + input_count;
                 avx512bf16::NormRows(rows, width, h + row * width, norm, input);
                 avx512bf16::DenseGeluRows(input, first, hidden);
                 avx512bf16::AddDenseRows(rows, hidden, second, h + row * width);
               });
}

}  // namespace interlacer
