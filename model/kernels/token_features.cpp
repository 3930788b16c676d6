#include "model/kernels/token_features.h"

#include <vector>

#include "common/kernels/cpu_features.h"
#include "model/kernels/token_features_rows.h"

namespace interlacer {
namespace {

constexpr std::int64_t kTokensOfATask = 64 * kTokenLanes;

}  // namespace

void WriteTokenFeatures(const TokenFeatures& tokens, float* out, ParallelForFunction parallel_for) {
  const auto rows = INTERLACER_FORM_OF_HOST(TokenFeatureRows);
  parallel_for(tokens.n, kTokensOfATask, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> columns(static_cast<std::size_t>(kTokenLanes) * TokenFeatureWidth(tokens));
    rows(tokens, begin, end, columns.data(), out);
  });
}

}  // namespace interlacer
