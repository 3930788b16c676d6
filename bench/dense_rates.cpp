#include "bench/dense_rates.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "bench/case.h"

namespace interlacer::bench {

std::vector<DenseRate> MeasureDenseRates() {
  constexpr int kTries = 5;
  struct Shape {
    std::int64_t m, n, k;
  };
  const at::NoGradGuard no_grad;
  std::vector<DenseRate> rates;
  for (const auto& [type, name] :
       {std::pair{at::kFloat, "f32"}, std::pair{at::kBFloat16, "bf16"}}) {
    for (const Shape& s : {Shape{65536, 128, 128}, Shape{65536, 512, 128}, Shape{65536, 128, 512},
                           Shape{128, 128, 65536}, Shape{4096, 1024, 1024}}) {
      const at::Tensor a = at::randn({s.m, s.k}).to(type), b = at::randn({s.n, s.k}).to(type);
      double best_ms = TimeMs([&] { at::linear(a, b); });
      for (int i = 0; i < kTries; ++i) {
        best_ms = std::min(best_ms, TimeMs([&] { at::linear(a, b); }));
      }
      const double flops = 2.0 * static_cast<double>(s.m * s.n) * static_cast<double>(s.k);
      rates.push_back({name,
                       std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k),
                       flops / (best_ms * 1e-3)});
    }
  }
  return rates;
}

}  // namespace interlacer::bench
