#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/attention/masks/tree.h"

namespace interlacer::attention {

Forest ForestOf(const AttentionInputs& inputs) {
  const std::int64_t n = inputs.length();
  const torch::Tensor parents = inputs.tree.parents.contiguous();
  const torch::Tensor weights = inputs.tree.weights.defined()
                                    ? inputs.tree.weights.to(at::kDouble).contiguous()
                                    : at::ones({n}, at::kDouble);
  Forest forest;
  const auto* parent = parents.const_data_ptr<std::int64_t>();
  const double* length = weights.const_data_ptr<double>();
  forest.parents.assign(parent, parent + n);
  forest.lengths.assign(length, length + n);
  forest.length_tensor = weights;
  forest.child_offsets.assign(static_cast<std::size_t>(n) + 1, 0);
  for (const std::int64_t p : forest.parents) {
    if (p != -1) ++forest.child_offsets[p + 1];
  }
  for (std::int64_t i = 0; i < n; ++i) forest.child_offsets[i + 1] += forest.child_offsets[i];
  forest.children.resize(static_cast<std::size_t>(forest.child_offsets[n]));
  std::vector<std::int64_t> next(forest.child_offsets.begin(), forest.child_offsets.end() - 1);
  for (std::int64_t i = 0; i < n; ++i) {
    if (forest.parents[i] == -1) {
      forest.order.push_back(i);
    } else {
      forest.children[next[forest.parents[i]]++] = i;
    }
  }
  for (std::size_t head = 0; head < forest.order.size(); ++head) {
    const std::int64_t at = forest.order[head];
    for (std::int64_t c = forest.child_offsets[at]; c < forest.child_offsets[at + 1]; ++c) {
      forest.order.push_back(forest.children[c]);
    }
  }
  return forest;
}

std::int64_t DiameterOf(const Forest& forest) {
  std::vector<std::int64_t> height(forest.parents.size(), 0);
  std::int64_t diameter = 0;
  for (auto at = forest.order.rbegin(); at != forest.order.rend(); ++at) {
    const std::int64_t parent = forest.parents[*at];
    if (parent == -1) continue;
    diameter = std::max(diameter, height[parent] + height[*at] + 1);
    height[parent] = std::max(height[parent], height[*at] + 1);
  }
  return diameter;
}

torch::Tensor TreeDistances(const Forest& forest, bool is_hops) {
  const std::int64_t n = forest.size();
  torch::Tensor distances = at::full({n, n}, -1, at::kDouble);
  double* distance = distances.mutable_data_ptr<double>();
  std::vector<std::int64_t> stack;
  for (std::int64_t start = 0; start < n; ++start) {
    double* row = distance + start * n;
    row[start] = 0;
    stack.assign(1, start);
    while (!stack.empty()) {
      const std::int64_t at = stack.back();
      stack.pop_back();
      const auto go = [&](std::int64_t to, double length) {
        if (row[to] != -1) return;
        row[to] = row[at] + (is_hops ? 1 : length);
        stack.push_back(to);
      };
      if (forest.parents[at] != -1) go(forest.parents[at], forest.lengths[at]);
      for (std::int64_t c = forest.child_offsets[at]; c < forest.child_offsets[at + 1]; ++c) {
        go(forest.children[c], forest.lengths[forest.children[c]]);
      }
    }
  }
  return distances;
}

torch::Tensor TreeLengths(const Forest& forest) {
  const torch::Tensor distances = TreeDistances(forest, false);
  if (!forest.length_tensor.requires_grad()) return distances;
  // Edges from a token to its root; a path has those of one end alone, the symmetric difference.
  const std::int64_t n = forest.size();
  torch::Tensor above = at::zeros({n, n}, at::kDouble);
  for (const std::int64_t at : forest.order) {
    if (forest.parents[at] == -1) continue;
    above[at].copy_(above[forest.parents[at]]);
    above[at][at] = 1;
  }
  const torch::Tensor depth = at::mv(above, forest.length_tensor);
  const torch::Tensor shared =
      at::matmul(above * forest.length_tensor.unsqueeze(0), above.transpose(0, 1));
  return (depth.unsqueeze(1) + depth.unsqueeze(0) - 2 * shared).masked_fill(distances < 0, -1);
}

bool FitsHistograms(const Forest& forest) {
  return forest.size() == 0 || DiameterOf(forest) < kMaxHistogramEntries / forest.size();
}

TreeAlgorithm ChooseTreeAlgorithm(const Forest& forest) {
  if (!FitsHistograms(forest)) return TreeAlgorithm::kCentroid;
  const double log_size = std::log2(static_cast<double>(forest.size()) + 1);
  return static_cast<double>(DiameterOf(forest)) < log_size * log_size ? TreeAlgorithm::kDiameter
                                                                       : TreeAlgorithm::kCentroid;
}

}  // namespace interlacer::attention
