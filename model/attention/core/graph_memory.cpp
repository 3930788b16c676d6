#include "model/attention/core/graph_memory.h"

#include <ATen/Functions.h>

namespace interlacer::attention {
namespace {

bool AreEqualNumbers(const torch::Tensor& a, const torch::Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  return a.scalar_type() == b.scalar_type() && at::equal(a, b);
}

torch::Tensor CopyOf(const torch::Tensor& tensor) {
  return tensor.defined() ? tensor.detach().clone() : tensor;
}

}  // namespace

std::shared_ptr<const void> GraphMemory::GetAny(
    const GraphInput& graph, const std::string& slot, std::uint64_t version,
    const std::function<std::shared_ptr<const void>()>& make) {
  // Such weights are being learned, and what is made of them carries their gradient.
  if (graph.weights.defined() && graph.weights.requires_grad()) return make();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!AreEqualNumbers(graph.offsets, graph_.offsets) ||
      !AreEqualNumbers(graph.neighbors, graph_.neighbors) ||
      !AreEqualNumbers(graph.weights, graph_.weights)) {
    kept_.clear();
    graph_ = {CopyOf(graph.offsets), CopyOf(graph.neighbors), CopyOf(graph.weights)};
  }
  Kept& kept = kept_[slot];
  if (kept.value == nullptr || kept.version != version) {
    kept = {};
    kept = {version, make()};
  }
  return kept.value;
}

}  // namespace interlacer::attention
