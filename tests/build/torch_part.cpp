#include <ATen/ATen.h>

#include "tests/build/parts.h"

namespace interlacer::one_process {

double TorchGradientOfSquareAtThree() {
  at::Tensor w = at::full({1}, 3.0, at::dtype(at::kDouble)).requires_grad_(true);
  (w * w).sum().backward();
  return w.grad().item<double>();
}

}  // namespace interlacer::one_process
