// grf-masking, Sec. 4: clouds of more than 30000 particles, with neither scores nor mask as
// arrays. The peak of a whole step, neighbour search and walks included, is no more than that of
// 8192 particles, extrapolated linearly.

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>

#include "common/kernels/cpu_features.h"
#include "model/engine/step_engine.h"
#include "tests/model/tiny_scene.h"
#include "tests/support/counted_memory.h"

namespace interlacer::testing {
namespace {

constexpr int kExtrapolatedFrom = 8192;
constexpr double kMostRatio = 1.1;

/// Bytes a particle that `run` takes beyond what was there before, at most.
double PeakOf(int particles, const std::function<void()>& run) {
  const std::int64_t before = of_all.held.load();
  of_all.peak = before;
  run();
  return static_cast<double>(of_all.peak.load() - before) / particles;
}

struct Case {
  const char* name;
  LocalLayer local;
  bool is_served;  ///< in bfloat16 by fused layers, else layer by layer in float32
};

class StepMemory : public ::testing::TestWithParam<Case> {};

TEST_P(StepMemory, GrowsNoFasterThanParticles) {
  if (GetParam().is_served && !HostCpuFeatures().avx512_bf16) {
    GTEST_SKIP() << "layers are fused on processors with products of bfloat16";
  }
  CountAllocations();
  const at::NoGradGuard no_grad;
  InterlacerConfig config = TinyConfig();
  config.network.local.kind = GetParam().local;
  // Widths that the fused layers take.
  if (GetParam().is_served) config.network.width = config.network.local.key_width = 64;
  const auto model = MakeMovingModel(
      config, {GetParam().is_served ? DenseDtype::kBfloat16 : DenseDtype::kFloat32});
  const StepEngine engine(model.get());
  const auto peak_of = [&](int particles) {
    const StepInput input = MakeStepInput(particles, config);
    CloudTensors next;
    const double peak = PeakOf(
        particles, [&] { next = GetParam().is_served ? engine.Step(input) : model->Step(input); });
    EXPECT_TRUE(at::isfinite(next.positions_m).all().item<bool>()) << particles;
    return peak;
  };
  // The first step of a size also makes what later ones keep.
  peak_of(kExtrapolatedFrom);
  const double extrapolated = peak_of(kExtrapolatedFrom);
  // Two clouds of tokens in bfloat16 at least.
  EXPECT_GT(extrapolated, static_cast<double>(2 * 2 * config.network.width));
  for (const int particles : {32768, 131072}) {
    EXPECT_LE(peak_of(particles), kMostRatio * extrapolated) << particles << " particles";
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, StepMemory,
                         ::testing::Values(Case{"Served", LocalLayer::kGrfExact, true},
                                           Case{"OneByOne", LocalLayer::kGrfExact, false},
                                           Case{"SampledWalks", LocalLayer::kGrfSampled, false},
                                           Case{"MessagePassing", LocalLayer::kMessagePassing,
                                                false}),
                         [](const auto& test) { return std::string(test.param.name); });

/// What the rule is for: an array of n x n, even of bits.
TEST(StepMemoryRule, AnArrayOfAllPairsIsFound) {
  CountAllocations();
  const auto peak_of = [](std::int64_t particles) {
    return PeakOf(static_cast<int>(particles), [particles] {
      const torch::Tensor linear = at::empty({particles * 500}, at::kByte);
      const torch::Tensor pairs = at::empty({particles * particles / 8}, at::kByte);
      EXPECT_EQ(pairs.numel(), particles * particles / 8);
    });
  };
  const double extrapolated = peak_of(kExtrapolatedFrom);
  EXPECT_GT(peak_of(32768), kMostRatio * extrapolated);
}

}  // namespace
}  // namespace interlacer::testing
