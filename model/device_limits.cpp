#include "model/device_limits.h"

#include <string>
#include <string_view>
#include <utility>

#include "knn/kernels/grid_knn_cuda.h"
#include "knn/walk_lists.h"
#include "model/kernels/grf_attention_cuda.h"
#include "model/kernels/walk_sampler_cuda.h"

namespace interlacer {
namespace {

/// The most weighted edges at a token of which a device enumerates all walks.
constexpr std::int64_t kMaxEnumeratedDegree = [] {
  std::int64_t degree = 0;
  while (WalkCount(degree + 1) <= kMaxCudaWalks) ++degree;
  return degree;
}();

/// What the device's kernels support and what the configuration asks for at `field`; `advice` ends
/// the message.
Status NotOnDevice(std::string field, std::string expected, std::string got,
                   std::string_view advice = "") {
  std::string message = field + ": a CUDA device has kernels for " + expected + ", got " + got;
  return Unimplemented(reason::FEATURE_NOT_BUILT, std::move(message.append(advice)))
      .WithField(std::move(field))
      .WithMetadata("expected", std::move(expected))
      .WithMetadata("got", std::move(got));
}

}  // namespace

Status CheckFitsDevice(const InterlacerConfig& config, DeviceKind device) {
  if (device != DeviceKind::kCuda) return Status();
  if (config.graph.index != KnnBackend::kGrid) {
    return NotOnDevice("graph.index", std::string(KnnBackendName(KnnBackend::kGrid)),
                       std::string(KnnBackendName(config.graph.index)), "; use the device cpu");
  }
  const NetworkConfig& network = config.network;
  for (const auto& [field, mechanism] :
       {std::pair{"network.global.mechanism", network.global.mechanism},
        std::pair{"network.local.mechanism", network.local.mechanism}}) {
    if (!mechanism) continue;
    return NotOnDevice(field, "the layers of the model's own alone", mechanism->name,
                       "; use the device cpu");
  }
  const LocalLayer kind = network.local.kind;
  if (kind != LocalLayer::kGrfExact && kind != LocalLayer::kGrfSampled) return Status();
  for (const auto& [field, width] :
       {std::pair{"network.width", network.width},
        std::pair{"network.local.key_width", network.local.key_width}}) {
    if (width <= kMaxGrfCudaWidth) continue;
    return NotOnDevice(field,
                       "graph attention at most " + std::to_string(kMaxGrfCudaWidth) + " wide",
                       std::to_string(width), "; use the device cpu");
  }
  return Status();
}

Status CheckDeviceGraph(const InterlacerConfig& config) {
  const LocalLayerConfig& local = config.network.local;
  const std::int64_t k = config.graph.neighbor_count;
  if (local.kind == LocalLayer::kGrfExact && !PacksWalks(config)) {
    if (config.graph.symmetrise) {
      return NotOnDevice("graph.symmetrise", "graphs of directed edges for grf_exact", "true");
    }
    if (k > kMaxEnumeratedDegree) {
      return NotOnDevice("graph.neighbor_count",
                         "at most " + std::to_string(kMaxEnumeratedDegree) +
                             " weighted edges at a token for grf_exact",
                         std::to_string(k));
    }
  }
  if (local.kind == LocalLayer::kGrfSampled && local.walk_count > kMaxCudaWalks) {
    return NotOnDevice("network.local.walk_count",
                       "at most " + std::to_string(kMaxCudaWalks) + " walks from a token",
                       std::to_string(local.walk_count));
  }
  if (local.kind == LocalLayer::kMessagePassing &&
      local.anchor_neighbor_count > kMaxCudaNeighbors) {
    return NotOnDevice("network.local.anchor_neighbor_count",
                       "at most " + std::to_string(kMaxCudaNeighbors) + " neighbours of an anchor",
                       std::to_string(local.anchor_neighbor_count));
  }
  return Status();
}

}  // namespace interlacer
