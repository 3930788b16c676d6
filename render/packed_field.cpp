#include "render/packed_field.h"

#include <algorithm>

namespace interlacer {
namespace {

/// [rows,columns] -> [rows,stride], zero padded.
std::vector<float> Pad(std::span<const float> w, int rows, int columns, int stride) {
  std::vector<float> padded(static_cast<std::size_t>(rows) * stride, 0.f);
  for (int r = 0; r < rows; ++r) {
    std::copy_n(w.data() + r * columns, columns, padded.data() + r * stride);
  }
  return padded;
}

/// [rows,columns] -> [columns,stride] transposed, zero padded.
std::vector<float> PadTransposed(std::span<const float> w, int rows, int columns, int stride) {
  std::vector<float> padded(static_cast<std::size_t>(columns) * stride, 0.f);
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < columns; ++c) padded[c * stride + r] = w[r * columns + c];
  }
  return padded;
}

void AddUnpadded(const std::vector<float>& padded, int rows, int columns, int stride,
                 std::span<float> target) {
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < columns; ++c) target[r * columns + c] += padded[r * stride + c];
  }
}

}  // namespace

PackedField::PackedField(const RendererConfig& config, const FieldWeights& weights,
                         const RenderKernels& kernels)
    : kernels_(kernels),
      input_width_(FieldInputWidth(config)),
      hidden_width_(config.hidden_width),
      input_stride_(PaddedTo16(input_width_)),
      hidden_stride_(PaddedTo16(hidden_width_)),
      w1_forward_(PadTransposed(weights.w1, hidden_width_, input_width_, hidden_stride_)),
      w2_forward_(PadTransposed(weights.w2, hidden_width_, hidden_width_, hidden_stride_)),
      w3_forward_(PadTransposed(weights.w3, kFieldOutputWidth, hidden_width_, kFieldOutputStride)),
      w1_(Pad(weights.w1, hidden_width_, input_width_, input_stride_)),
      w2_(Pad(weights.w2, hidden_width_, hidden_width_, hidden_stride_)),
      w3_(Pad(weights.w3, kFieldOutputWidth, hidden_width_, hidden_stride_)),
      b1_(Pad(weights.b1, 1, hidden_width_, hidden_stride_)),
      b2_(Pad(weights.b2, 1, hidden_width_, hidden_stride_)),
      b3_(Pad(weights.b3, 1, kFieldOutputWidth, kFieldOutputStride)) {}

void PackedField::Resize(std::int64_t m, FieldActivations& activations) const {
  activations.inputs.resize(m * input_stride_);
  activations.hidden1.resize(m * hidden_stride_);
  activations.hidden2.resize(m * hidden_stride_);
  activations.outputs.resize(m * kFieldOutputStride);
}

void PackedField::Forward(std::int64_t m, FieldActivations& a) const {
  DenseLayer layer{.m = m, .y_stride = hidden_stride_, .relu = true};
  layer.x_width = input_width_;
  layer.x_stride = input_stride_;
  layer.x = a.inputs.data();
  layer.w = w1_forward_.data();
  layer.bias = b1_.data();
  layer.y = a.hidden1.data();
  kernels_.dense_forward(layer);
  layer.x_width = hidden_width_;
  layer.x_stride = hidden_stride_;
  layer.x = a.hidden1.data();
  layer.w = w2_forward_.data();
  layer.bias = b2_.data();
  layer.y = a.hidden2.data();
  kernels_.dense_forward(layer);
  layer.x = a.hidden2.data();
  layer.w = w3_forward_.data();
  layer.bias = b3_.data();
  layer.relu = false;
  layer.y = a.outputs.data();
  layer.y_stride = kFieldOutputStride;
  kernels_.dense_forward(layer);
}

void PackedField::Backward(std::int64_t m, const FieldActivations& a, const float* output_grad,
                           PaddedFieldGradients& gradients, std::vector<float>& input_grad) const {
  gradients.w1.resize(w1_.size());
  gradients.b1.resize(b1_.size());
  gradients.w2.resize(w2_.size());
  gradients.b2.resize(b2_.size());
  gradients.w3.resize(w3_.size());
  gradients.b3.resize(b3_.size());
  std::vector<float> hidden1_grad(m * hidden_stride_), hidden2_grad(m * hidden_stride_);
  input_grad.resize(m * input_stride_);

  // Layer 3, then 2, then 1: weights from (input, output gradient), then the input's gradient.
  kernels_.dense_weight_gradient({m, hidden_stride_, kFieldOutputWidth, kFieldOutputStride,
                                  a.hidden2.data(), output_grad, gradients.w3.data(),
                                  gradients.b3.data()});
  DenseLayer back{.m = m, .y_stride = hidden_stride_};
  back.x_width = kFieldOutputWidth;
  back.x_stride = kFieldOutputStride;
  back.x = output_grad;
  back.w = w3_.data();
  back.mask = a.hidden2.data();
  back.y = hidden2_grad.data();
  kernels_.dense_forward(back);

  kernels_.dense_weight_gradient({m, hidden_stride_, hidden_width_, hidden_stride_,
                                  a.hidden1.data(), hidden2_grad.data(), gradients.w2.data(),
                                  gradients.b2.data()});
  back.x_width = hidden_width_;
  back.x_stride = hidden_stride_;
  back.x = hidden2_grad.data();
  back.w = w2_.data();
  back.mask = a.hidden1.data();
  back.y = hidden1_grad.data();
  kernels_.dense_forward(back);

  kernels_.dense_weight_gradient({m, input_stride_, hidden_width_, hidden_stride_, a.inputs.data(),
                                  hidden1_grad.data(), gradients.w1.data(), gradients.b1.data()});
  back.x = hidden1_grad.data();
  back.w = w1_.data();
  back.mask = nullptr;
  back.y = input_grad.data();
  back.y_stride = input_stride_;
  kernels_.dense_forward(back);
}

void PackedField::Unpad(const PaddedFieldGradients& padded, const FieldGradients& g) const {
  if (padded.w1.empty()) return;
  AddUnpadded(padded.w1, hidden_width_, input_width_, input_stride_, g.w1);
  AddUnpadded(padded.b1, 1, hidden_width_, hidden_stride_, g.b1);
  AddUnpadded(padded.w2, hidden_width_, hidden_width_, hidden_stride_, g.w2);
  AddUnpadded(padded.b2, 1, hidden_width_, hidden_stride_, g.b2);
  AddUnpadded(padded.w3, kFieldOutputWidth, hidden_width_, hidden_stride_, g.w3);
  AddUnpadded(padded.b3, 1, kFieldOutputWidth, kFieldOutputStride, g.b3);
}

}  // namespace interlacer
