#pragma once

/// What studies of masks measure: time and memory of a mechanism, estimates of a mask by random
/// walks and how sparse their features are; for programs without LibTorch.
///
/// Graphs are undirected and without self loops. Time and memory are of this process: measure one
/// thing at a time, after SetThreadCount (common/thread_pool.h), which counts for LibTorch here
/// too. Errors: those of Attention, FindMechanism and model/graph/walk_sampler.h; INVALID_ARGUMENT
/// ARGUMENT_INVALID at "way" or "length". Thread-safety: walks are pure functions, measurements one
/// at a time. Source: grf-masking, Alg. 1 and App. D.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/json.h"
#include "common/status.h"
#include "model/attention/files/edge_lists.h"

namespace interlacer::attention {

struct CostRequest {
  std::string mechanism;
  nlohmann::json options = nlohmann::json::object();
  std::string way;  ///< empty: as Attention::Run without a way
  std::int64_t length = 0;
  std::int64_t batch = 1, heads = 1, width = 8;
  std::optional<EdgeLists> graph;  ///< in place of a random one; of `length` nodes
  std::optional<std::vector<std::int64_t>> parents;  ///< of a tree, in place of a random one
  bool with_gradients = false;  ///< of the sum of the output's entries by q, k and v
  int repeats = 3;
  /// A first run that took longer, which also gets its memory from the system, is repeated once.
  double limit_s = 10;
};

struct Cost {
  std::string way;
  /// Of the process, least of the runs: with one thread the time on an idle machine, nearly
  /// whatever else runs.
  double cpu_seconds = 0;
  /// Of resident memory beyond what the process held before, inputs included in that; absent where
  /// the kernel does not tell.
  std::optional<std::int64_t> peak_bytes;
};
/// float32, the same inputs for the same request.
StatusOr<Cost> MeasureCost(const CostRequest& request);

/// CPU seconds of softmax attention without a mask, one head, float32, in blocks of 512 rows: what
/// the dense way costs where its L x L arrays do not fit. Least of two runs.
StatusOr<double> MeasureBlockedDense(std::int64_t length, std::int64_t width);

enum class MemoryAccess {
  kStream,  ///< 256 bytes a token, copied in order
  kGather,  ///< 4 rows of 64 bytes a token, copied from random places of one such row a token
};
/// CPU seconds of moving so much memory and nothing else: what caches make of a cost that grows as
/// the length. Least of ten runs.
StatusOr<double> MeasureMemoryAccess(MemoryAccess access, std::int64_t length);

struct WalkSetting {
  EdgeLists graph;
  /// Weight of every edge; absent: 1 / sqrt(d_i d_j).
  std::optional<double> edge_weight;
  std::string sampler = "iid";  ///< repelling, repelling_per_prefix, antithetic, iid
  int walks = 4;
  int max_hops = 3;
  double halt_probability = 0.5;
  std::vector<double> f;  ///< f_0 ... f_max_hops
  std::uint64_t seed = 0;
};

enum class EstimateForm {
  kSymmetric,   ///< Phi Phi^T with Phi = sum of f_t W^t
  kAsymmetric,  ///< Phi
};
/// [n,n] row-major, by enumeration of all walks.
StatusOr<std::vector<double>> ExactMask(const WalkSetting& setting, EstimateForm form);
/// [n,n] by random walks; draws of other numbers are independent.
StatusOr<std::vector<double>> EstimateMask(const WalkSetting& setting, EstimateForm form,
                                           std::uint32_t draw);
/// Entries that are not zero in the feature of every node, [n].
StatusOr<std::vector<std::int64_t>> CountFeatureEntries(const WalkSetting& setting,
                                                        std::uint32_t draw);

}  // namespace interlacer::attention
