#include "model/attention/core/sparse.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/kernels/cpu_features.h"
#include "common/thread_pool.h"
#include "model/attention/kernels/sparse_rows.h"
#include "model/ops/saved_object.h"

namespace interlacer::attention {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kRowsOfATask = 64;

/// Rows of one batch entry at a time, side by side: body(batch entry, first row, end).
template <typename Body>
void ForRows(std::int64_t batch, std::int64_t rows, const Body& body) {
  ParallelFor(batch * rows, kRowsOfATask, [&](std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      const std::int64_t g = begin / rows;
      const std::int64_t stop = std::min(end, (g + 1) * rows);
      body(g, begin - g * rows, stop - g * rows);
      begin = stop;
    }
  });
}

torch::Tensor Product(const SparsePattern& pattern, torch::Tensor values, torch::Tensor x,
                      bool is_transposed) {
  values = values.contiguous();
  x = x.contiguous();
  const std::int64_t rows = is_transposed ? pattern.columns : pattern.rows;
  const std::int64_t columns = is_transposed ? pattern.rows : pattern.columns;
  INTERLACER_CHECK(values.dim() == 2 && x.dim() == 3 && values.size(0) == x.size(0) &&
                       values.size(1) == pattern.entry_count() && x.size(1) == columns &&
                       values.scalar_type() == x.scalar_type(),
                   "operands of a sparse product");
  torch::Tensor out = at::empty({x.size(0), rows, x.size(2)}, x.options());
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "SparseProduct", [&] {
    const auto multiply = INTERLACER_FORM_OF_HOST(MultiplyRows<scalar_t>);
    const SparseRows sparse = is_transposed
                                  ? SparseRows{pattern.column_offsets.data(), pattern.row_of.data(),
                                               pattern.entry_of.data()}
                                  : SparseRows{pattern.offsets.data(), pattern.indices.data()};
    const scalar_t* weights = values.const_data_ptr<scalar_t>();
    const scalar_t* source = x.const_data_ptr<scalar_t>();
    scalar_t* target = out.mutable_data_ptr<scalar_t>();
    const std::int64_t width = x.size(2);
    ForRows(x.size(0), rows, [&](std::int64_t g, std::int64_t begin, std::int64_t end) {
      multiply(sparse, weights + g * pattern.entry_count(), source + g * columns * width, width,
               begin, end, target + g * rows * width);
    });
  });
  return out;
}

torch::Tensor Sampled(const SparsePattern& pattern, torch::Tensor a, torch::Tensor b) {
  a = a.contiguous();
  b = b.contiguous();
  INTERLACER_CHECK(a.dim() == 3 && b.dim() == 3 && a.size(0) == b.size(0) &&
                       a.size(1) == pattern.rows && b.size(1) == pattern.columns &&
                       a.size(2) == b.size(2) && a.scalar_type() == b.scalar_type(),
                   "operands of sampled products");
  const std::int64_t width = a.size(2);
  const std::int64_t rows = pattern.rows;
  torch::Tensor out = at::empty({a.size(0), pattern.entry_count()}, a.options());
  AT_DISPATCH_FLOATING_TYPES(a.scalar_type(), "SampledProducts", [&] {
    const scalar_t* left = a.const_data_ptr<scalar_t>();
    const scalar_t* right = b.const_data_ptr<scalar_t>();
    scalar_t* results = out.mutable_data_ptr<scalar_t>();
    const auto sample = INTERLACER_FORM_OF_HOST(SampleRows<scalar_t>);
    const SparseRows sparse{pattern.offsets.data(), pattern.indices.data()};
    ForRows(a.size(0), rows, [&](std::int64_t g, std::int64_t begin, std::int64_t end) {
      sample(sparse, left + g * rows * width, right + g * pattern.columns * width, width, begin,
             end, results + g * pattern.entry_count());
    });
  });
  return out;
}

class ProductFunction : public torch::autograd::Function<ProductFunction> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& values,
                               const torch::Tensor& x, const SparsePatternPtr& pattern,
                               bool is_transposed) {
    context->save_for_backward({values, x});
    context->saved_data["is_transposed"] = is_transposed;
    SaveObject(context, "pattern", pattern);
    return Product(*pattern, values, x, is_transposed);
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    const auto pattern = LoadObject<SparsePattern>(context, "pattern");
    const torch::Tensor &values = saved[0], &x = saved[1];
    const bool is_transposed = context->saved_data["is_transposed"].toBool();
    const torch::Tensor to_values = is_transposed ? SampledProducts(pattern, x, grads[0])
                                                  : SampledProducts(pattern, grads[0], x);
    const torch::Tensor to_x = is_transposed ? SparseProduct(pattern, values, grads[0])
                                             : TransposedProduct(pattern, values, grads[0]);
    return {to_values, to_x, torch::Tensor(), torch::Tensor()};
  }
};

class SampledFunction : public torch::autograd::Function<SampledFunction> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& a,
                               const torch::Tensor& b, const SparsePatternPtr& pattern) {
    context->save_for_backward({a, b});
    SaveObject(context, "pattern", pattern);
    return Sampled(*pattern, a, b);
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    const auto pattern = LoadObject<SparsePattern>(context, "pattern");
    return {SparseProduct(pattern, grads[0], saved[1]),
            TransposedProduct(pattern, grads[0], saved[0]), torch::Tensor()};
  }
};

}  // namespace

SparsePatternPtr MakePattern(std::int64_t rows, std::int64_t columns,
                             std::vector<std::int64_t> offsets, std::vector<std::int64_t> indices) {
  INTERLACER_CHECK(static_cast<std::int64_t>(offsets.size()) == rows + 1 &&
                       offsets.back() == static_cast<std::int64_t>(indices.size()),
                   "offsets of a sparse pattern");
  auto pattern = std::make_shared<SparsePattern>();
  pattern->rows = rows;
  pattern->columns = columns;
  pattern->offsets = std::move(offsets);
  pattern->indices = std::move(indices);
  std::vector<std::int64_t>& starts = pattern->column_offsets;
  starts.assign(static_cast<std::size_t>(columns) + 1, 0);
  for (const std::int64_t column : pattern->indices) ++starts[column + 1];
  for (std::int64_t c = 0; c < columns; ++c) starts[c + 1] += starts[c];
  std::vector<std::int64_t> next(starts.begin(), starts.end() - 1);
  pattern->row_of.resize(pattern->indices.size());
  pattern->entry_of.resize(pattern->indices.size());
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t e = pattern->offsets[i]; e < pattern->offsets[i + 1]; ++e) {
      const std::int64_t place = next[pattern->indices[e]]++;
      pattern->row_of[place] = i;
      pattern->entry_of[place] = e;
    }
  }
  return pattern;
}

torch::Tensor RowsOf(const SparsePattern& pattern) {
  torch::Tensor rows = at::empty({pattern.entry_count()}, at::kLong);
  std::int64_t* row = rows.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < pattern.rows; ++i) {
    std::fill(row + pattern.offsets[i], row + pattern.offsets[i + 1], i);
  }
  return rows;
}

torch::Tensor ColumnsOf(const SparsePattern& pattern) {
  return at::tensor(pattern.indices, at::kLong);
}

torch::Tensor SparseProduct(const SparsePatternPtr& pattern, const torch::Tensor& values,
                            const torch::Tensor& x) {
  return ProductFunction::apply(values, x, pattern, false);
}

torch::Tensor TransposedProduct(const SparsePatternPtr& pattern, const torch::Tensor& values,
                                const torch::Tensor& x) {
  return ProductFunction::apply(values, x, pattern, true);
}

torch::Tensor SampledProducts(const SparsePatternPtr& pattern, const torch::Tensor& a,
                              const torch::Tensor& b) {
  return SampledFunction::apply(a, b, pattern);
}

torch::Tensor HeadwiseProduct(const SparsePatternPtr& pattern, const torch::Tensor& values,
                              const torch::Tensor& x, bool is_transposed) {
  const auto product = is_transposed ? &TransposedProduct : &SparseProduct;
  if (values.size(0) == x.size(0)) return product(pattern, values, x);
  INTERLACER_CHECK(values.size(0) == 1, "values of one head or of all");
  const torch::Tensor folded = x.permute({1, 0, 2}).reshape({1, x.size(1), x.size(0) * x.size(2)});
  return product(pattern, values, folded)
      .reshape({is_transposed ? pattern->columns : pattern->rows, x.size(0), x.size(2)})
      .permute({1, 0, 2});
}

torch::Tensor RowMaxima(const SparsePattern& pattern, const torch::Tensor& values, double least) {
  const torch::Tensor numbers = values.detach().contiguous();
  torch::Tensor maxima = at::full({numbers.size(0), pattern.rows}, least, numbers.options());
  AT_DISPATCH_FLOATING_TYPES(numbers.scalar_type(), "RowMaxima", [&] {
    const scalar_t* value = numbers.const_data_ptr<scalar_t>();
    scalar_t* most = maxima.mutable_data_ptr<scalar_t>();
    for (std::int64_t r = 0; r < numbers.size(0) * pattern.rows; ++r) {
      const std::int64_t first = r / pattern.rows * pattern.entry_count();
      for (std::int64_t e = pattern.offsets[r % pattern.rows];
           e < pattern.offsets[r % pattern.rows + 1]; ++e) {
        most[r] = std::max(most[r], value[first + e]);
      }
    }
  });
  return maxima;
}

torch::Tensor ToDense(const SparsePattern& pattern, const torch::Tensor& values) {
  const torch::Tensor places = RowsOf(pattern) * pattern.columns + ColumnsOf(pattern);
  return at::zeros({values.size(0), pattern.rows * pattern.columns}, values.options())
      .index_add(1, places, values)
      .reshape({values.size(0), pattern.rows, pattern.columns});
}

}  // namespace interlacer::attention
