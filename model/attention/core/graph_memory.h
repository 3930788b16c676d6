#pragma once

/// What was made of a graph, kept for the next call on the same graph.
///
/// The graph is the same if its numbers are: it is copied and compared, in O(E). Another one takes
/// the place of all that is kept. Thread-safety: safe; calls wait for each other.

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace interlacer::attention {

/// Out-edges in CSR form: int64 [L+1] and [E]; weights [E], or none.
struct GraphInput {
  torch::Tensor offsets, neighbors, weights;
};

class GraphMemory {
 public:
  /// What is kept in `slot` for this graph and `version`, or what `make` returns, which is kept in
  /// its place. A slot holds values of one type. With weights that require a gradient nothing is
  /// kept.
  template <typename T>
  std::shared_ptr<const T> Get(const GraphInput& graph, const std::string& slot,
                               std::uint64_t version, const std::function<T()>& make) {
    return std::static_pointer_cast<const T>(GetAny(graph, slot, version, [&make] {
      return std::shared_ptr<const void>(std::make_shared<const T>(make()));
    }));
  }

 private:
  struct Kept {
    std::uint64_t version = 0;
    std::shared_ptr<const void> value;
  };
  std::shared_ptr<const void> GetAny(const GraphInput& graph, const std::string& slot,
                                     std::uint64_t version,
                                     const std::function<std::shared_ptr<const void>()>& make);

  std::mutex mutex_;
  GraphInput graph_;
  std::map<std::string, Kept> kept_;
};

}  // namespace interlacer::attention
