#include "bench/device/grf_problem.h"

#include "bench/clouds.h"
#include "bench/stage_cases.h"
#include "common/kernels/bfloat16.h"
#include "common/thread_pool.h"
#include "knn/walk_lists.h"

namespace interlacer::bench {
namespace {

constexpr double kCoefficients[kMaxHops + 1] = {1, 0.9, 0.7, 0.5};

std::vector<float> MakeTable() {
  const std::vector<double> loads = WalkCodeLoads(kGraphNeighbors);
  std::vector<float> table;
  for (std::size_t code = 0; code < 256; ++code) {
    double weight = 0;
    for (std::size_t hop = 0; hop <= kMaxHops; ++hop) {
      weight += kCoefficients[hop] * loads[4 * code + hop];
    }
    table.push_back(static_cast<float>(weight));
  }
  return table;
}

std::vector<double> Widened(const std::vector<float>& values, bool bf16 = false) {
  std::vector<double> wide;
  wide.reserve(values.size());
  for (const float value : values) wide.push_back(bf16 ? FromBfloat16(ToBfloat16(value)) : value);
  return wide;
}

}  // namespace

GrfProblem::GrfProblem(const Options& options)
    : width(options.d), walks(MakeWalkProblem(options)), table(MakeTable()) {
  const std::size_t count = static_cast<std::size_t>(n() * width);
  std::uint32_t draw = 0;
  for (std::vector<float>* values : {&q, &k, &v, &grad_out}) {
    *values = RandomValues(count, options.seed, draw++);
  }
}

GrfProblem::Answer GrfProblem::Forward(bool bf16) const {
  const std::vector<double> wide_q = Widened(q, bf16), wide_k = Widened(k, bf16),
                            wide_v = Widened(v, bf16), wide_table = Widened(table);
  Answer answer{std::vector<double>(v.size()), std::vector<double>(static_cast<std::size_t>(n()))};
  GrfAttentionForward<double>(
      shape(), {walks.lists.offsets.data(), walks.lists.entries.data(), wide_table.data()},
      {wide_q.data(), wide_k.data(), wide_v.data()}, {}, answer.out.data(),
      answer.normalizer.data(), ParallelFor);
  return answer;
}

std::vector<double> GrfProblem::Backward() const {
  const Answer forward = Forward(false);
  const std::vector<double> wide_q = Widened(q), wide_k = Widened(k), wide_v = Widened(v),
                            wide_table = Widened(table), wide_grad = Widened(grad_out);
  const TransposedLists transposed = Transpose(walks.lists);
  std::vector<double> scratch(static_cast<std::size_t>(
      GrfBackwardScratchCount(n(), static_cast<std::int64_t>(walks.lists.entries.size()))));
  std::vector<double> gradients(3 * q.size() + table.size());
  double* const at = gradients.data();
  GrfAttentionBackward<double>(
      shape(), {walks.lists.offsets.data(), walks.lists.entries.data(), wide_table.data()},
      {transposed.offsets.data(), transposed.roots.data(), transposed.entry_index.data()},
      {wide_q.data(), wide_k.data(), wide_v.data()},
      {forward.out.data(), forward.normalizer.data(), wide_grad.data()}, {},
      {at, at + q.size(), at + 2 * q.size(), at + 3 * q.size()}, scratch.data(), ParallelFor);
  return gradients;
}

GrfDeviceProblem::GrfDeviceProblem(const GrfProblem& host)
    : offsets(stream, host.walks.lists.offsets),
      entries(stream, host.walks.lists.entries),
      table(stream, host.table),
      q(stream, host.q),
      k(stream, host.k),
      v(stream, host.v),
      out(stream, host.n() * host.width),
      normalizer(stream, host.n()) {}

}  // namespace interlacer::bench
