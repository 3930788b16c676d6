#include "model/attention/core/mask.h"

#include "common/check.h"

namespace interlacer::attention {

torch::Tensor Mask::Product(const torch::Tensor&) const {
  INTERLACER_CHECK(false, "this mask has no product");
  return {};
}

MaskPairs Mask::Pairs() const {
  INTERLACER_CHECK(false, "this mask has no pairs");
  return {};
}

}  // namespace interlacer::attention
