#pragma once

/// The neighbour-attender of HD-VPD: anchors gather messages, all other tokens follow their anchor.
///
///   m_ij  = MLP_m[h_i, h_j, (x_j - x_i) / s]       anchor i, its nearest tokens j
///   u_i   = MLP_u[h_i, sum_j a_ij m_ij]             a_i = softmax_j(score . hidden layer of m_ij)
///   u_o   = MLP_o[h_o, h_a + u_a, (x_a - x_o) / s]  other token o, closest anchor a
/// The scores start at zero, which gives a plain mean. Threads: as torch modules. Sizes and scores
/// are ours. Source: hd-vpd (the neighbour-attender).

#include <memory>

#include "model/attention/mechanism.h"
#include "model/config.h"
#include "model/layers/feed_forward.h"

namespace interlacer {

class MessagePassing : public AttentionMechanism {
 public:
  MessagePassing(const NetworkConfig& config, Precision precision);
  torch::Tensor Forward(const torch::Tensor& h, const TokenGraph& graph) override;

 private:
  double offset_scale_m_;
  std::shared_ptr<FeedForward> message_, update_, follow_;
  torch::Tensor score_;  ///< [message_width]
};

}  // namespace interlacer
