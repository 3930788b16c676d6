#include "bench/device/linear_problem.h"

#include <cstdint>
#include <span>

#include "bench/clouds.h"
#include "bench/device/python_peers.h"
#include "bench/errors.h"
#include "bench/stage_cases.h"
#include "common/kernels/bfloat16.h"
#include "common/thread_pool.h"

namespace interlacer::bench {
namespace {

std::vector<float> Draw(const Options& options, std::uint32_t which) {
  std::vector<float> values =
      RandomValues(static_cast<std::size_t>(options.tokens() * options.d), options.seed, which);
  if (options.dtype == "bf16") {
    for (float& x : values) x = RoundedToBfloat16(x);
  }
  return values;
}

}  // namespace

LinearAttentionShape LinearShapeOf(const Options& options) {
  return {options.tokens(), kLinearHeads, options.d / kLinearHeads};
}

LinearProblem::LinearProblem(const Options& options)
    : shape(LinearShapeOf(options)),
      is_bf16(options.dtype == "bf16"),
      q(Draw(options, 0)),
      k(Draw(options, 1)),
      v(Draw(options, 2)) {}

std::vector<double> LinearProblem::Forward() const {
  const std::vector<double> queries(q.begin(), q.end()), keys(k.begin(), k.end()),
      values(v.begin(), v.end());
  std::vector<double> out(q.size()), normalizer(static_cast<std::size_t>(shape.n * kLinearHeads)),
      state(static_cast<std::size_t>(kLinearHeads * (shape.head_width + 1) * shape.head_width)),
      scratch(static_cast<std::size_t>(LinearAttentionScratchCount(shape)));
  LinearAttentionForward<double>(shape, {queries.data(), keys.data(), values.data(), nullptr}, {},
                                 {out.data(), normalizer.data(), state.data()}, scratch.data(),
                                 ParallelFor);
  return out;
}

std::vector<Case> AgainstLinearTorch(const Case& base, const Options& options,
                                     const std::shared_ptr<const LinearProblem>& problem,
                                     const std::function<std::vector<double>&()>& expected,
                                     double bound) {
  const PythonPeers peers("linear_torch.py", options, [problem](ChildPeer* child) {
    const std::vector<std::int64_t> shape{problem->shape.n, kLinearHeads,
                                          problem->shape.head_width};
    child->Load("q", problem->q, shape);
    child->Load("k", problem->k, shape);
    child->Load("v", problem->v, shape);
    const std::int32_t flags[1] = {1};
    if (problem->is_bf16) child->Load("flags", std::span(flags), {1});
  });
  const PeerCheck check{
      [expected](const std::vector<double>& out) { return RelativeL2(out, expected()); }, bound};
  return {peers.Against(base, "torch_eager", check, 2), peers.Against(base, "torch_compile", check),
          peers.Against(base, "torch_eager_graph", check)};
}

}  // namespace interlacer::bench
