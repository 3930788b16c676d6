#pragma once

/// The radiance field's weights laid out for the dense kernels, with its forward and backward pass.
///
/// Activations are rows of strides padded to 16; outputs are [m,16] of which the first four count.
/// Immutable after construction; const methods may run together.

#include <cstdint>
#include <vector>

#include "render/cpu_kernels.h"
#include "render/renderer.h"

namespace interlacer {

inline constexpr int kFieldOutputStride = 16;
inline int PaddedTo16(int width) { return (width + 15) / 16 * 16; }

/// Activations of m samples.
struct FieldActivations {
  std::vector<float> inputs;   ///< [m, input_stride]
  std::vector<float> hidden1;  ///< [m, hidden_stride]
  std::vector<float> hidden2;  ///< [m, hidden_stride]
  std::vector<float> outputs;  ///< [m, 16], logits
};

/// Weight gradients in the padded layout of the kernels.
struct PaddedFieldGradients {
  std::vector<float> w1, b1, w2, b2, w3, b3;
};

class PackedField {
 public:
  PackedField(const RendererConfig& config, const FieldWeights& weights,
              const RenderKernels& kernels);

  int input_stride() const { return input_stride_; }
  void Resize(std::int64_t m, FieldActivations& activations) const;
  /// inputs -> hidden layers -> outputs of the first m rows.
  void Forward(std::int64_t m, FieldActivations& activations) const;
  /// Adds to `gradients` (sized on first use) and writes input_grad [m, input_stride].
  void Backward(std::int64_t m, const FieldActivations& activations, const float* output_grad,
                PaddedFieldGradients& gradients, std::vector<float>& input_grad) const;
  /// Adds padded gradients to the caller's.
  void Unpad(const PaddedFieldGradients& padded, const FieldGradients& gradients) const;

 private:
  const RenderKernels& kernels_;
  int input_width_, hidden_width_, input_stride_, hidden_stride_;
  /// [in][out] for the forward pass, [out][in] for the backward pass.
  std::vector<float> w1_forward_, w2_forward_, w3_forward_, w1_, w2_, w3_;
  std::vector<float> b1_, b2_, b3_;
};

}  // namespace interlacer
