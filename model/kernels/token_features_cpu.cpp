#include <vector>

#include "common/kernels/cpu_features.h"
#include "model/kernels/token_features.h"

#define INTERLACER_KERNEL_NAMESPACE cpu
#include "model/kernels/token_features_body.h"

namespace interlacer {
namespace {

constexpr std::int64_t kTokensOfATask = 64 * kTokenLanes;

decltype(&cpu::TokenFeatureRows) ChooseRows() {
  if (HostCpuFeatures().avx512) return avx512::TokenFeatureRows;
  if (HostCpuFeatures().avx2) return avx2::TokenFeatureRows;
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
