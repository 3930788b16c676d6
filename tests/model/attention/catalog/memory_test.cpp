// No fast way builds an L x L array: peaks of LibTorch's allocator and of the process at L = 20000.

#include <ATen/Functions.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>

#include "model/attention/catalog/catalog.h"
#include "tests/model/attention/catalog/scenes.h"

namespace interlacer::testing {
namespace {

using attention::Attention;
using attention::Catalog;
using attention::MechanismInfo;
using attention::Way;

constexpr std::int64_t kLength = 20000;
/// A quarter of the L x L numbers in float32, and an eighth of the doubles.
constexpr std::int64_t kMostTensorBytes = kLength * kLength;
/// The whole process: an array of L x L would not fit beside LibTorch itself.
constexpr std::int64_t kMostProcessBytes = std::int64_t{1400} << 20;

std::atomic<std::int64_t> held{0}, peak{0};

/// LibTorch's own allocator, with a count of the bytes that are out.
class CountingAllocator : public c10::Allocator {
 public:
  explicit CountingAllocator(c10::Allocator* base) : base_(base) {}
  c10::DataPtr allocate(std::size_t size) override {
    auto* block = new Block{base_->allocate(size), static_cast<std::int64_t>(size)};
    const std::int64_t now = held += block->size;
    std::int64_t most = peak;
    while (now > most && !peak.compare_exchange_weak(most, now)) {
    }
    return {block->memory.get(), block, &Free, c10::Device(c10::DeviceType::CPU)};
  }
  void copy_data(void* to, const void* from, std::size_t count) const override {
    default_copy_data(to, from, count);
  }

 private:
  struct Block {
    c10::DataPtr memory;
    std::int64_t size;
  };
  static void Free(void* context) {
    auto* block = static_cast<Block*>(context);
    held -= block->size;
    delete block;
  }
  c10::Allocator* base_;
};

/// For the rest of the process: tensors may outlive any scope.
void CountAllocations() {
  static CountingAllocator* const counting = [] {
    auto* made = new CountingAllocator(c10::GetDefaultCPUAllocator());
    c10::SetCPUAllocator(made, 0xFF);
    return made;
  }();
  static_cast<void>(counting);
}

std::int64_t ProcessPeakBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

AttentionInputs LargeInputs(const MechanismInfo& mechanism) {
  // A hypercube has a power of two of corners.
  const bool is_hypercube = mechanism.name == "gdk_hypercube";
  const std::int64_t n = is_hypercube ? 1 << 14 : kLength;
  AttentionInputs inputs;
  inputs.q = Normals({1, 1, n, 3}, 1, at::kFloat);
  inputs.k = Normals({1, 1, n, 3}, 2, at::kFloat);
  inputs.v = Normals({1, 1, n, 2}, 3, at::kFloat);
  inputs.grid = is_hypercube                      ? std::vector<std::int64_t>(14, 2)
                : mechanism.name == "toeplitz_1d" ? std::vector<std::int64_t>{n}
                                                  : std::vector<std::int64_t>{100, n / 100};
  inputs.positions = Normals({n, mechanism.name == "flt_local" ? 1 : 3}, 4, at::kFloat);
  inputs.segments = at::arange(n, at::kLong).div(100, "floor");
  inputs.tree = RandomForest(n, 5);
  EdgeList edges = RingEdges(n);
  for (std::int64_t i = 0; i < n; i += 3) edges.emplace_back(i, (i * 7919 + 13) % n);
  edges.erase(std::remove_if(edges.begin(), edges.end(),
                             [](const auto& edge) { return edge.first == edge.second; }),
              edges.end());
  inputs.graph = UndirectedInput(n, edges);
  inputs.gates = at::sigmoid(Normals({1, 1, n}, 6, at::kFloat));
  return inputs;
}

class LongInputs : public ::testing::TestWithParam<std::size_t> {};

TEST_P(LongInputs, TakeLinearMemory) {
  CountAllocations();
  const MechanismInfo& mechanism = Catalog()[GetParam()];
  nlohmann::json options = OptionVariants(mechanism)[0];
  const auto set = [&](const char* name, const nlohmann::json& value) {
    for (const auto& spec : mechanism.options) {
      if (spec.name == name) options[name] = value;
    }
  };
  set("walks", 4);
  set("hops", 3);
  set("chunk", 64);
  set("abs", false);
  if (mechanism.name == "malpha_dense") options["positive"] = "coefficients";
  const Attention made = Attention::Make(mechanism, options).value();
  if (made.Ways().size() == 1) GTEST_SKIP() << "dense only";
  const AttentionInputs inputs = LargeInputs(mechanism);
  for (const Way way : made.Ways()) {
    if (way == Way::kDense) continue;
    peak = held.load();
    const auto out = made.Run(inputs, way);
    ASSERT_TRUE(out.ok()) << out.status().ToString();
    EXPECT_TRUE(at::isfinite(*out).all().item<bool>());
    EXPECT_LT(peak.load(), kMostTensorBytes) << WayName(way);
    EXPECT_LT(ProcessPeakBytes(), kMostProcessBytes) << WayName(way);
  }
  const auto chosen = made.Run(inputs);
  ASSERT_TRUE(chosen.ok());
  EXPECT_LT(peak.load(), kMostTensorBytes);
}

INSTANTIATE_TEST_SUITE_P(Catalog, LongInputs, ::testing::Range<std::size_t>(0, Catalog().size()),
                         [](const ::testing::TestParamInfo<std::size_t>& parameter) {
                           return Catalog()[parameter.param].name;
                         });

/// flt, Sec. 3: with gradients learned transforms hold O(L m), products with a mask O(L m dv).
TEST(AttentionMemory, OfLearnedTransformsHasNoFactorOfTheWidth) {
  CountAllocations();
  const auto peak_of = [](const char* name, Way way, std::int64_t width) {
    constexpr std::int64_t kTokens = 4096;
    AttentionInputs inputs;
    inputs.q = Normals({1, 1, kTokens, 4}, 1, at::kFloat).requires_grad_();
    inputs.k = Normals({1, 1, kTokens, 4}, 2, at::kFloat).requires_grad_();
    inputs.v = Normals({1, 1, kTokens, width}, 3, at::kFloat).requires_grad_();
    inputs.grid = {kTokens};
    inputs.positions = at::arange(kTokens, at::kFloat).unsqueeze(1) / kTokens;
    nlohmann::json options{{"score", "favor_pos"}, {"features", 64}};
    if (way == Way::kFeatures) options["frequencies"] = 8;
    const Attention made =
        Attention::Make(*attention::FindMechanism(name).value(), options).value();
    const std::int64_t before = held.load();
    peak = before;
    const auto out = made.Run(inputs, way);
    EXPECT_TRUE(out.ok()) << out.status().ToString();
    return static_cast<double>(peak.load() - before);
  };
  const auto growth = [&](const char* name, Way way) {
    return peak_of(name, way, 64) / peak_of(name, way, 8);
  };
  EXPECT_LT(growth("flt_gm", Way::kFeatures), 2);
  EXPECT_GT(growth("toeplitz_1d", Way::kFastmult), 3);
}

TEST(AttentionMemory, ThePeakIsSeen) {
  CountAllocations();
  peak = held.load();
  const torch::Tensor block = at::empty({kLength, 1000}, at::kFloat);
  EXPECT_GE(peak.load(), block.numel() * 4);
}

}  // namespace
}  // namespace interlacer::testing
