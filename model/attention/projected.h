#pragma once

/// Attention between dense projections: out(Mix(query(h), key(h), value(h))).
///
/// Subclasses define how queries, keys and values of all tokens are mixed. Parameters: query, key,
/// value, out, each with weight and bias. Threads: as torch modules.

#include <cstdint>
#include <memory>

#include "model/attention/mechanism.h"
#include "model/layers/feed_forward.h"

namespace interlacer {

class ProjectedAttention : public AttentionMechanism {
 public:
  torch::Tensor Forward(const torch::Tensor& h, const TokenGraph& graph) final;
  torch::Tensor AddTo(torch::Tensor h, LayerNorm& norm, const TokenGraph& graph,
                      const RowRange& rows, const NormedFeedForward& next) final;

 protected:
  ProjectedAttention(std::int64_t width, std::int64_t key_width, Precision precision);
  /// q, k [T,key_width], v [T,width] in the type of h  ->  [T,width]
  virtual torch::Tensor Mix(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                            const TokenGraph& graph) = 0;

  /// Adds the update to the rows of h in place, with norm, projections and mixing fused; false
  /// where there is no fused form. Call only where CanFuse holds for all four projections.
  virtual bool AddFused(torch::Tensor& h, const AttentionLayers& layers, const TokenGraph& graph,
                        const RowRange& rows);
  /// As AddFused on a device, including the feed-forward layers; call only where CanFuseOnDevice
  /// holds.
  virtual bool AddFusedOnDevice(torch::Tensor& h, const DeviceAttention& attention,
                                const TokenGraph& graph, const RowRange& rows,
                                const DeviceFeedForward& next);

 private:
  void AddOnHost(torch::Tensor& h, const AttentionLayers& layers, const TokenGraph& graph,
                 const RowRange& rows);

  std::shared_ptr<Dense> query_, key_, value_, out_;
  PackedWeights packed_;
};

}  // namespace interlacer
