#include <vector>

#include "model/kernels/instruction_set.h"
#include "model/kernels/token_features.h"

#define INTERLACER_KERNEL_NAMESPACE cpu
#include "model/kernels/token_features_body.h"

namespace interlacer {
namespace {

constexpr std::int64_t kTokensOfATask = 64 * kTokenLanes;

decltype(&cpu::TokenFeatureRows) ChooseRows() {
  switch (BestInstructionSet()) {
    case InstructionSet::kAvx512:
      return avx512::TokenFeatureRows;
    case InstructionSet::kAvx2:
      return avx2::TokenFeatureRows;
    case InstructionSet::kGeneric:
      break;
  }
  return cpu::TokenFeatureRows;
}

}  // namespace

void WriteTokenFeatures(const TokenFeatures& tokens, float* out, ParallelForFunction parallel_for) {
  const auto rows = ChooseRows();
  parallel_for(tokens.n, kTokensOfATask, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> columns(static_cast<std::size_t>(kTokenLanes) * TokenFeatureWidth(tokens));
    rows(tokens, begin, end, columns.data(), out);
  });
}

}  // namespace interlacer
