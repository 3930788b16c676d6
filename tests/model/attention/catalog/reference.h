#pragma once

/// Every mechanism from its formula, with plain loops over doubles: no tensors, no FFT, no sparse
/// products, nothing shared with what is tested but walks and the numbers of parameters.

#include <optional>
#include <string>
#include <vector>

#include "tests/model/attention/catalog/scenes.h"

namespace interlacer::testing {

/// Square or not, row by row.
struct Matrix {
  std::size_t rows = 0, columns = 0;
  std::vector<double> entries;

  Matrix() = default;
  Matrix(std::size_t r, std::size_t c) : rows(r), columns(c), entries(r * c, 0) {}
  double& operator()(std::size_t i, std::size_t j) { return entries[i * columns + j]; }
  double operator()(std::size_t i, std::size_t j) const { return entries[i * columns + j]; }
};

Matrix Identity(std::size_t n);
Matrix Times(const Matrix& a, const Matrix& b);
Matrix Transposed(const Matrix& a);
Matrix Sum(const Matrix& a, const Matrix& b, double scale_b = 1);
Matrix Scaled(Matrix a, double scale);
/// By elimination with pivots.
Matrix Inverse(Matrix a);
/// Taylor series after halving, then squares.
Matrix Exponential(const Matrix& a);
/// The last two dimensions of a tensor at [b,h], or a matrix.
Matrix ToMatrix(const torch::Tensor& tensor);

/// What a mechanism is run with: options with all defaults, inputs with all parameters and without
/// class tokens, one head.
struct ReferenceCase {
  const AttentionInputs& inputs;
  const nlohmann::json& options;
  std::int64_t head;

  double Real(const char* name) const { return options.at(name).get<double>(); }
  bool Is(const char* name, const char* word) const {
    return options.contains(name) && options.at(name) == word;
  }
  /// Of the head, as a row or matrix.
  Matrix Parameter(const char* name) const;
  double Number(const char* name) const { return Parameter(name)(0, 0); }
  std::string Degrees() const { return options.value("degrees", "out"); }
  std::size_t length() const { return static_cast<std::size_t>(inputs.length()); }
};

/// M of a mechanism that is scores times a mask.
std::optional<Matrix> ReferenceMask(const std::string& mechanism, const ReferenceCase& of);

/// Output [B,H,L,dv], or nothing for a mechanism that only has statistics to go by.
std::optional<torch::Tensor> ReferenceAttention(const std::string& mechanism,
                                                const AttentionInputs& inputs,
                                                const nlohmann::json& options);

/// The graph's weights as given or 1, and those of masks: 1 / sqrt(d_i d_j) where none are given.
Matrix Adjacency(const AttentionInputs& inputs);
/// `degrees` as the option of that name.
Matrix MaskWeights(const AttentionInputs& inputs, const std::string& degrees = "out");
/// Features of walks with loads as the mechanism's options say: sum of f_t over prefixes.
Matrix WalkFeatures(const ReferenceCase& of, const std::vector<double>& f, std::uint32_t ensemble,
                    bool has_importance_weights);

}  // namespace interlacer::testing
