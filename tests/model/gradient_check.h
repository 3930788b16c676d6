#pragma once

/// Compares autograd with central differences in float64, along every input element.

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace interlacer::testing {

using ScalarFunction = std::function<torch::Tensor(const std::vector<torch::Tensor>&)>;

/// Wherever both are.
inline bool AreEqual(const torch::Tensor& a, const torch::Tensor& b) {
  return at::equal(a.to(at::kCPU), b.to(at::kCPU));
}

inline double RelativeL2(const torch::Tensor& got, const torch::Tensor& expected) {
  const torch::Tensor reference = expected.to(at::kCPU, at::kDouble);
  const double scale = reference.norm().item<double>();
  return (got.to(at::kCPU, at::kDouble) - reference).norm().item<double>() /
         (scale > 0 ? scale : 1);
}

/// Copies of what the last backward pass left, by parameter name; without those it did not reach.
inline std::map<std::string, torch::Tensor> ParameterGradients(const torch::nn::Module& module) {
  std::map<std::string, torch::Tensor> gradients;
  for (const auto& item : module.named_parameters()) {
    if (item.value().grad().defined()) gradients[item.key()] = item.value().grad().clone();
  }
  return gradients;
}

/// d f / d input by central differences with step h.
inline torch::Tensor NumericGradient(const ScalarFunction& f, std::vector<torch::Tensor> inputs,
                                     std::size_t which, double h) {
  const at::NoGradGuard no_grad;
  for (torch::Tensor& input : inputs) input = input.detach().clone();
  torch::Tensor gradient = at::zeros_like(inputs[which]);
  double* x = inputs[which].mutable_data_ptr<double>();
  double* g = gradient.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < gradient.numel(); ++i) {
    const double center = x[i];
    x[i] = center + h;
    const double above = f(inputs).item<double>();
    x[i] = center - h;
    const double below = f(inputs).item<double>();
    x[i] = center;
    g[i] = (above - below) / (2 * h);
  }
  return gradient;
}

/// Every input's gradient agrees within `tolerance` (relative L2).
inline void ExpectGradientsMatch(const ScalarFunction& f, std::vector<torch::Tensor> inputs,
                                 double tolerance, double h = 1e-6) {
  for (torch::Tensor& input : inputs) input = input.detach().clone().requires_grad_();
  const auto gradients = torch::autograd::grad({f(inputs)}, inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_LT(RelativeL2(gradients[i], NumericGradient(f, inputs, i, h)), tolerance)
        << "input " << i;
  }
}

}  // namespace interlacer::testing
