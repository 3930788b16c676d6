#include <ATen/Functions.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/number_text.h"
#include "common/thread_pool.h"
#include "model/attention/masks/tree.h"
#include "model/ops/saved_object.h"
#include "model/runtime/torch_status.h"

namespace interlacer::attention {
namespace {

/// Logarithms of the largest mask entries that leave room for sums.
constexpr double kMaxLogEntry = 600;
constexpr double kMaxLogFloatEntry = 60;

/// Sums of one column block of a head: `below` [L,C] over the subtree of a token, seen from it, and
/// `beside` [L,C] over the rest of the tree, seen from its parent. No sum is ever taken back, so
/// nothing cancels.
struct TreeSums {
  std::vector<double> below, beside;
};

TreeSums SumsOf(const Forest& forest, const double* t, const double* x, std::int64_t width) {
  const auto row = [width](std::vector<double>& rows, std::int64_t i) {
    return rows.data() + i * width;
  };
  TreeSums sums;
  sums.below.assign(x, x + forest.size() * width);
  sums.beside.assign(sums.below.size(), 0);
  for (auto at = forest.order.rbegin(); at != forest.order.rend(); ++at) {
    const std::int64_t parent = forest.parents[*at];
    if (parent == -1) continue;
    double* to = row(sums.below, parent);
    const double* from = row(sums.below, *at);
    for (std::int64_t c = 0; c < width; ++c) to[c] += t[*at] * from[c];
  }
  std::vector<double> running(static_cast<std::size_t>(width));
  for (const std::int64_t at : forest.order) {
    const std::int64_t first = forest.child_offsets[at], last = forest.child_offsets[at + 1];
    const double* own = x + at * width;
    const double* outside = row(sums.beside, at);
    const double through = forest.parents[at] == -1 ? 0 : t[at];
    for (std::int64_t c = 0; c < width; ++c) running[c] = own[c] + through * outside[c];
    const auto pass = [&](std::int64_t child) {
      double* to = row(sums.beside, child);
      const double* from = row(sums.below, child);
      for (std::int64_t c = 0; c < width; ++c) {
        to[c] += running[c];
        running[c] += t[child] * from[c];
      }
    };
    for (std::int64_t p = first; p < last; ++p) pass(forest.children[p]);
    std::fill(running.begin(), running.end(), 0);
    for (std::int64_t p = last; p-- > first;) pass(forest.children[p]);
  }
  return sums;
}

torch::Tensor Apply(const Forest& forest, const torch::Tensor& t, const torch::Tensor& x) {
  torch::Tensor out = at::empty_like(x);
  const std::int64_t n = forest.size(), width = x.size(2);
  const double* through = t.const_data_ptr<double>();
  const double* in = x.const_data_ptr<double>();
  double* result = out.mutable_data_ptr<double>();
  ParallelFor(x.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t h = begin; h < end; ++h) {
      const TreeSums sums = SumsOf(forest, through + h * n, in + h * n * width, width);
      for (std::int64_t i = 0; i < n; ++i) {
        const double outside = forest.parents[i] == -1 ? 0 : through[h * n + i];
        for (std::int64_t c = 0; c < width; ++c) {
          const std::int64_t at = i * width + c;
          result[h * n * width + at] = sums.below[at] + outside * sums.beside[at];
        }
      }
    }
  });
  return out;
}

/// M x with M_ij the product of t over the edges between i and j; t [H,L] of the edges to parents.
class EdgeProductFunction : public torch::autograd::Function<EdgeProductFunction> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& t_in,
                               const torch::Tensor& x_in,
                               const std::shared_ptr<const Forest>& forest) {
    const torch::Tensor t = t_in.contiguous(), x = x_in.contiguous();
    context->save_for_backward({t, x});
    SaveObject(context, "forest", forest);
    return Apply(*forest, t, x);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grads) {
    const auto saved = context->get_saved_variables();
    const auto forest = LoadObject<Forest>(context, "forest");
    const torch::Tensor &t = saved[0], &x = saved[1];
    const torch::Tensor grad = grads[0].contiguous();
    const std::int64_t n = forest->size(), width = x.size(2);
    torch::Tensor to_t = at::zeros_like(t), to_x = at::empty_like(x);
    const double* through = t.const_data_ptr<double>();
    const double* in = x.const_data_ptr<double>();
    const double* from = grad.const_data_ptr<double>();
    double* edge = to_t.mutable_data_ptr<double>();
    double* result = to_x.mutable_data_ptr<double>();
    ParallelFor(x.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t h = begin; h < end; ++h) {
        const TreeSums of_x = SumsOf(*forest, through + h * n, in + h * n * width, width);
        const TreeSums of_g = SumsOf(*forest, through + h * n, from + h * n * width, width);
        for (std::int64_t i = 0; i < n; ++i) {
          const bool is_root = forest->parents[i] == -1;
          const double outside = is_root ? 0 : through[h * n + i];
          for (std::int64_t c = 0; c < width; ++c) {
            const std::int64_t at = i * width + c;
            result[h * n * width + at] = of_g.below[at] + outside * of_g.beside[at];
            // Pairs whose path crosses this edge, in both directions.
            if (is_root) continue;
            edge[h * n + i] += of_x.below[at] * of_g.beside[at] + of_x.beside[at] * of_g.below[at];
          }
        }
      }
    });
    return {to_t, to_x, torch::Tensor()};
  }
};

class AffineTreeMask : public Mask {
 public:
  AffineTreeMask(Forest forest, const torch::Tensor& slope, const torch::Tensor& offset)
      : forest_(std::make_shared<const Forest>(std::move(forest))),
        slope_(slope.to(at::kDouble)),
        offset_(offset.to(at::kDouble)) {}

  torch::Tensor Dense() const override {
    const torch::Tensor distances = TreeLengths(*forest_);
    // Sums of rounded lengths may be a little below 0, as -1 is not.
    const torch::Tensor is_apart = distances < -0.5;
    const torch::Tensor exponent = slope_.reshape({-1, 1, 1}) * distances.masked_fill(is_apart, 0) +
                                   offset_.reshape({-1, 1, 1});
    return at::exp(exponent).masked_fill(is_apart, 0);
  }

  std::vector<Way> Ways() const override { return {Way::kDense, Way::kFastmult}; }

  torch::Tensor Product(const torch::Tensor& x) const override {
    const torch::Tensor t = at::exp(slope_.unsqueeze(1) * forest_->length_tensor);
    const torch::Tensor sums = EdgeProductFunction::apply(t, x.to(at::kDouble), forest_);
    return (sums * at::exp(offset_).reshape({-1, 1, 1})).to(x.scalar_type());
  }

 private:
  std::shared_ptr<const Forest> forest_;
  torch::Tensor slope_, offset_;
};

/// Length of the longest path.
double ExtentOf(const Forest& forest) {
  std::vector<double> reach(forest.parents.size(), 0);
  double extent = 0;
  for (auto at = forest.order.rbegin(); at != forest.order.rend(); ++at) {
    const std::int64_t parent = forest.parents[*at];
    if (parent == -1) continue;
    extent = std::max(extent, reach[parent] + reach[*at] + forest.lengths[*at]);
    reach[parent] = std::max(reach[parent], reach[*at] + forest.lengths[*at]);
  }
  return extent;
}

}  // namespace

MaskPtr MakeAffineTreeMask(Forest forest, torch::Tensor slope, torch::Tensor offset) {
  const double steepest = std::max(0.0, slope.detach().max().item<double>());
  const double largest =
      steepest * ExtentOf(forest) + std::abs(offset.detach().abs().max().item<double>());
  const double limit = slope.scalar_type() == at::kFloat ? kMaxLogFloatEntry : kMaxLogEntry;
  if (!(largest <= limit)) {
    throw StatusException(
        Status(StatusCode::kOutOfRange, reason::SCHEMA_INVALID,
               "parameters.slope: expected slope * distance + offset of at most " +
                   NumberText(limit) + " over the whole tree, got " + NumberText(largest))
            .WithField("parameters.slope"));
  }
  return std::make_unique<AffineTreeMask>(std::move(forest), slope, offset);
}

}  // namespace interlacer::attention
