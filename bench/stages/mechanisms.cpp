// Every mechanism of the attention library as it is taken where no way is asked for, on the CPU:
// for up to 4096 tokens beside its own dense form in LibTorch, or beside LibTorch's
// scaled_dot_product_attention where it has no other form; for more beside the latter, which works
// in blocks; some masks of graphs also beside SciPy's sparse matrices; and masks by Fourier
// transforms beside the transforms alone. One head of width d, float32.

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/child_peer.h"
#include "bench/host_platform.h"
#include "bench/tensors.h"
#include "model/attention/catalog/catalog.h"
#include "model/attention/core/attention.h"
#include "model/attention/files/random_inputs.h"
#include "model/attention/masks/toeplitz.h"
#include "model/runtime/torch_status.h"

namespace interlacer::bench {
namespace {

using attention::Attention;
using attention::AttentionInputs;
using attention::MechanismInfo;
using attention::Way;
using attention::WayName;

constexpr std::int64_t kLongestDense = 4096;
/// Number of tokens of the gate's own run in float64.
constexpr std::int64_t kGateTokens = 256;
/// The ratio that keeps a product within one and a half times its transforms.
constexpr double kTransformGoal = 1 / 1.5;

struct MechanismProblem {
  MechanismProblem(const MechanismInfo& info, const Options& options)
      : made(ValueOrThrow(Attention::Make(info, attention::FastOptions(info.name)))),
        inputs(
            attention::LongInputs(info, {.length = options.n, .width = options.d}, options.seed)) {
    inputs.parameters = ValueOrThrow(made.InitialParameters(inputs));
  }
  torch::Tensor Run(std::optional<Way> way = std::nullopt, Way* used = nullptr) const {
    const at::NoGradGuard no_grad;
    return ValueOrThrow(made.Run(inputs, way, used));
  }
  Attention made;
  AttentionInputs inputs;
};

/// The way that the timed problem takes, in float32 on fewer tokens, where another one might be
/// chosen, against the dense one in float64.
GateResult Check(const MechanismProblem& timed, const MechanismInfo& info, const Options& options) {
  Way way{};
  timed.Run(std::nullopt, &way);
  Options small = options;
  small.n = std::min(options.n, kGateTokens);
  MechanismProblem problem(info, small);
  const torch::Tensor got = problem.Run(way);
  AttentionInputs& inputs = problem.inputs;
  for (torch::Tensor* tensor :
       {&inputs.q, &inputs.k, &inputs.v, &inputs.key_mask, &inputs.positions, &inputs.mask,
        &inputs.gates, &inputs.graph.weights, &inputs.tree.weights}) {
    if (tensor->defined() && tensor->is_floating_point()) *tensor = tensor->to(at::kDouble);
  }
  for (auto& [name, tensor] : inputs.parameters) {
    if (tensor.is_floating_point()) tensor = tensor.to(at::kDouble);
  }
  GateResult gate;
  gate.error = RelativeError(got, problem.Run(Way::kDense));
  gate.error_bound = 1e-3;
  gate.reference = "dense in float64, " + std::to_string(small.n) + " tokens";
  gate.params = {{"way", WayName(way)}};
  return gate;
}

Case DescribeMechanism(const Options& options, const std::string& name, const std::string& ours) {
  Case item;
  item.stage = "mechanisms";
  item.name = "mechanisms/" + name + "/" + std::to_string(options.n) + "/d" +
              std::to_string(options.d) + "/f32";
  item.ours = ours;
  item.n = options.n;
  item.tokens = options.n;
  item.d = options.d;
  item.peer_version = "torch " INTERLACER_BENCH_TORCH_VERSION;
  return item;
}

Case MechanismCase(const MechanismInfo& info, bool has_fast_way, const Options& options) {
  const auto problem = OnFirstUse<MechanismProblem>(
      [&info, options] { return std::make_unique<MechanismProblem>(info, options); });
  const bool by_dense = has_fast_way && options.n <= kLongestDense;
  Case item = Against(DescribeMechanism(options, info.name, "way_taken"),
                      by_dense ? "torch_dense" : "torch_sdpa");
  item.gate = Once([problem, &info, options] { return Check(problem(), info, options); });
  item.run_ours = [problem] {
    const MechanismProblem& ready = problem();
    return TimeMs([&ready] { ready.Run(); });
  };
  if (by_dense) {
    item.run_peer = [problem] {
      const MechanismProblem& ready = problem();
      return TimeMs([&ready] { ready.Run(Way::kDense); });
    };
  } else {
    item.run_peer = [problem] {
      const AttentionInputs& inputs = problem().inputs;
      const at::NoGradGuard no_grad;
      c10::optional<torch::Tensor> bias;
      if (inputs.mask.defined()) bias = at::log(inputs.mask).unsqueeze(0);
      return TimeMs([&] { at::scaled_dot_product_attention(inputs.q, inputs.k, inputs.v, bias); });
    };
  }
  return item;
}

/// In the order of bench/peers/graph_attention_scipy.py.
constexpr std::string_view kInScipy[] = {"fastmult", "gat_mask", "grf_exact", "gcn"};

template <typename T>
void LoadTensor(const std::string& name, const torch::Tensor& tensor, at::ScalarType type,
                ChildPeer* child) {
  const torch::Tensor values = tensor.to(type).contiguous();
  child->Load(name, std::span(values.const_data_ptr<T>(), static_cast<std::size_t>(values.numel())),
              values.sizes().vec());
}

/// Starts SciPy on the problem; throws PeerError where it is absent or gives something else.
std::shared_ptr<ChildPeer> StartScipy(const MechanismProblem& problem, std::int32_t mechanism,
                                      const Options& options) {
  auto child = std::make_shared<ChildPeer>("graph_attention_scipy.py", options.threads);
  child->Load("mechanism", std::span(&mechanism, 1), {1});
  const AttentionInputs& inputs = problem.inputs;
  LoadTensor<std::int32_t>("offsets", inputs.graph.offsets, at::kInt, child.get());
  LoadTensor<std::int32_t>("neighbors", inputs.graph.neighbors, at::kInt, child.get());
  const std::pair<const char*, const torch::Tensor*> rows[] = {
      {"q", &inputs.q}, {"k", &inputs.k}, {"v", &inputs.v}};
  for (const auto& [name, tensor] : rows) {
    LoadTensor<float>(name, tensor->select(0, 0).select(0, 0), at::kFloat, child.get());
  }
  for (const auto& [name, tensor] : inputs.parameters) {
    LoadTensor<float>(name, tensor, at::kFloat, child.get());
  }
  child->RunMs();
  const std::vector<double> out = child->Fetch("out");
  if (RelativeError(at::tensor(out, at::kDouble), problem.Run().flatten()) > 1e-4) {
    throw PeerError("graph_attention_scipy.py: gives another result");
  }
  return child;
}

Case ScipyCase(const MechanismInfo& info, std::int32_t mechanism, const Options& options) {
  const auto problem = std::make_shared<const MechanismProblem>(info, options);
  Case item = Against(DescribeMechanism(options, info.name, "way_taken"), "scipy");
  item.gate = Once([problem, &info, options] { return Check(*problem, info, options); });
  item.run_ours = [problem] { return TimeMs([&problem] { problem->Run(); }); };
  try {
    const auto child = StartScipy(*problem, mechanism, options);
    item.peer_version = child->version();
    item.run_peer = [child] { return child->RunMs(); };
  } catch (const PeerError& error) {
    item.skipped = error.what();
  }
  return item;
}

/// The product of a mask with d columns on a grid, and the transforms that it is made of.
struct TransformProblem {
  TransformProblem(const Options& options, std::vector<std::int64_t> sides)
      : grid(std::move(sides)),
        b(RandomTensor({1, attention::OffsetCount(grid)}, options.seed, 0)),
        x(RandomTensor({1, options.n, options.d}, options.seed, 1)),
        mask(attention::MakeToeplitzMask(grid, b)),
        columns(x.transpose(1, 2).to(at::kDouble).contiguous()) {
    std::vector<std::int64_t> shape{1, options.d};
    shape.insert(shape.end(), grid.begin(), grid.end());
    columns = columns.reshape(shape);
    for (std::size_t a = 0; a < grid.size(); ++a) {
      padded.push_back(2 * grid[a]);
      axes.push_back(static_cast<std::int64_t>(a) + 2);
    }
  }
  torch::Tensor Transforms() const {
    return at::fft_irfftn(at::fft_rfftn(columns, padded, axes), padded, axes);
  }
  std::vector<std::int64_t> grid;
  torch::Tensor b, x;
  attention::MaskPtr mask;
  torch::Tensor columns;
  std::vector<std::int64_t> padded, axes;
};

Case TransformCase(const Options& options, const std::string& name,
                   const std::vector<std::int64_t>& grid) {
  const auto problem = OnFirstUse<TransformProblem>(
      [options, grid] { return std::make_unique<TransformProblem>(options, grid); });
  Case item = Against(DescribeMechanism(options, name + "_product", "mask_product"), "torch_fft");
  item.goal = kTransformGoal;
  item.gate = [problem] {
    const at::NoGradGuard no_grad;
    const TransformProblem& ready = problem();
    GateResult gate;
    if (ready.x.size(1) > kLongestDense) {
      // Row 0 alone: M_0j = b[-j].
      const torch::Tensor all = ready.mask->Product(ready.x).select(1, 0);
      std::vector<std::int64_t> shape;
      for (const std::int64_t side : ready.grid) shape.push_back(2 * side - 1);
      torch::Tensor row = ready.b.to(at::kDouble).reshape(shape);
      for (std::size_t a = 0; a < shape.size(); ++a) {
        const auto axis = static_cast<std::int64_t>(a);
        row = row.slice(axis, 0, ready.grid[a]).flip({axis});
      }
      gate.error = RelativeError(
          all, at::matmul(row.reshape({1, 1, -1}), ready.x.to(at::kDouble)).squeeze(1));
      gate.reference = "first row in float64";
    } else {
      gate.error = RelativeError(ready.mask->Product(ready.x),
                                 at::matmul(ready.mask->Dense(), ready.x.to(at::kDouble)));
      gate.reference = "dense in float64";
    }
    gate.error_bound = 1e-5;
    return gate;
  };
  item.run_ours = [problem] {
    const at::NoGradGuard no_grad;
    const TransformProblem& ready = problem();
    return TimeMs([&ready] { ready.mask->Product(ready.x); });
  };
  item.run_peer = [problem] {
    const at::NoGradGuard no_grad;
    const TransformProblem& ready = problem();
    return TimeMs([&ready] { ready.Transforms(); });
  };
  return item;
}

}  // namespace

std::vector<Case> MakeMechanismCases(const Options& options) {
  if (options.dtype != "f32") {
    throw UsageError("--dtype: mechanisms compute in f32, got " + options.dtype);
  }
  if ((options.n & (options.n - 1)) != 0) {
    throw UsageError("--n: mechanisms take a power of two, got " + std::to_string(options.n));
  }
  std::vector<Case> cases;
  for (const MechanismInfo& info : attention::Catalog()) {
    const Attention made = ValueOrThrow(Attention::Make(info, attention::FastOptions(info.name)));
    // One without a fast way has no place above the dense lengths.
    const bool has_fast_way = made.Ways().size() > 1;
    if (has_fast_way || options.n <= kLongestDense) {
      cases.push_back(MechanismCase(info, has_fast_way, options));
    }
    const auto in_scipy = std::find(std::begin(kInScipy), std::end(kInScipy), info.name);
    if (in_scipy == std::end(kInScipy)) continue;
    cases.push_back(
        ScipyCase(info, static_cast<std::int32_t>(in_scipy - std::begin(kInScipy)), options));
  }
  std::int64_t side = 1;
  while (4 * side * side <= options.n) side *= 2;
  cases.push_back(TransformCase(options, "toeplitz_1d", {options.n}));
  cases.push_back(TransformCase(options, "toeplitz_nd", {options.n / side, side}));
  return cases;
}

}  // namespace interlacer::bench
