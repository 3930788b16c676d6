#pragma once

/// Attention between dense projections: out(Mix(query(h), key(h), value(h))).
///
/// Subclasses define how queries, keys and values of all tokens are mixed. Parameters: query, key,
/// value, out, each with weight and bias. Threads: as torch modules.

#include <cstdint>
#include <memory>

#include "model/attention/mechanism.h"
#include "model/layers/layers.h"

namespace interlacer {

class ProjectedAttention : public AttentionMechanism {
 public:
  torch::Tensor Forward(const torch::Tensor& h, const TokenGraph& graph) final;
  /// q, k [T,key_width], v [T,width] in the type of h  ->  [T,width]
  virtual torch::Tensor Mix(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                            const TokenGraph& graph) const = 0;

  const Dense& query() const { return *query_; }
  const Dense& key() const { return *key_; }
  const Dense& value() const { return *value_; }
  const Dense& out() const { return *out_; }

 protected:
  ProjectedAttention(std::int64_t width, std::int64_t key_width, Precision precision);

 private:
  std::shared_ptr<Dense> query_, key_, value_, out_;
};

}  // namespace interlacer
