#include <ATen/Functions.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "common/check.h"
#include "common/thread_pool.h"
#include "model/attention/masks/tree.h"
#include "model/ops/saved_object.h"
#include "model/runtime/torch_status.h"

namespace interlacer::attention {
namespace {

/// Depth from which sums over f(d + l) go by FFT.
constexpr std::int64_t kDirectDepth = 64;

/// Groups of tokens of similar depth: a token at distance l of group g has slot g * depth + l.
struct CentroidGroups {
  std::vector<std::int64_t> tokens, slots;
  std::vector<double> signs;
  std::int64_t group_count = 0;
};
/// By depth, a power of two above every distance.
using CentroidLevels = std::map<std::int64_t, CentroidGroups>;

/// Cuts trees at centroids. A group holds what lies around one centroid with sign 1, or what of it
/// lies in one branch with sign -1: pairs of one branch are left to that branch.
class CentroidBuilder {
 public:
  explicit CentroidBuilder(const Forest& forest)
      : forest_(forest),
        is_cut_(forest.parents.size(), 0),
        size_(forest.parents.size(), 0),
        from_(forest.parents.size(), -1) {}

  CentroidLevels Build() {
    std::vector<std::int64_t> starts;
    for (std::int64_t i = 0; i < forest_.size(); ++i) {
      if (forest_.parents[i] == -1) starts.push_back(i);
    }
    while (!starts.empty()) {
      const std::int64_t start = starts.back();
      starts.pop_back();
      const std::int64_t centroid = CentroidOf(start);
      AddGroup(centroid, -1, 0, 1);
      is_cut_[centroid] = 1;
      ForNeighbors(centroid, [&](std::int64_t next) {
        AddGroup(next, centroid, 1, -1);
        starts.push_back(next);
      });
    }
    return std::move(levels_);
  }

 private:
  /// Neighbours that are not cut off.
  template <typename See>
  void ForNeighbors(std::int64_t at, const See& see) const {
    const std::int64_t parent = forest_.parents[at];
    if (parent != -1 && is_cut_[parent] == 0) see(parent);
    for (std::int64_t c = forest_.child_offsets[at]; c < forest_.child_offsets[at + 1]; ++c) {
      if (is_cut_[forest_.children[c]] == 0) see(forest_.children[c]);
    }
  }

  /// All of the piece around `start`, each after the token it was reached from (from_).
  void Collect(std::int64_t start, std::int64_t from) {
    visited_.assign(1, start);
    from_[start] = from;
    for (std::size_t head = 0; head < visited_.size(); ++head) {
      const std::int64_t at = visited_[head];
      ForNeighbors(at, [&](std::int64_t next) {
        if (next == from_[at]) return;
        from_[next] = at;
        visited_.push_back(next);
      });
    }
  }

  std::int64_t CentroidOf(std::int64_t start) {
    Collect(start, -1);
    const auto total = static_cast<std::int64_t>(visited_.size());
    for (const std::int64_t at : visited_) size_[at] = 1;
    for (auto at = visited_.rbegin(); at != visited_.rend(); ++at) {
      // The first, from the end, whose own part is at least half: all its branches are at most
      // half.
      if (2 * size_[*at] >= total) return *at;
      size_[from_[*at]] += size_[*at];
    }
    INTERLACER_CHECK(false, "a tree without a centroid");
    return start;
  }

  void AddGroup(std::int64_t start, std::int64_t from, std::int64_t first_distance, double sign) {
    Collect(start, from);
    distance_.resize(forest_.parents.size());
    std::int64_t deepest = 0;
    for (const std::int64_t at : visited_) {
      distance_[at] = at == start ? first_distance : distance_[from_[at]] + 1;
      deepest = std::max(deepest, distance_[at]);
    }
    std::int64_t depth = 1;
    while (depth <= deepest) depth *= 2;
    CentroidGroups& groups = levels_[depth];
    for (const std::int64_t at : visited_) {
      groups.tokens.push_back(at);
      groups.slots.push_back(groups.group_count * depth + distance_[at]);
      groups.signs.push_back(sign);
    }
    ++groups.group_count;
  }

  const Forest& forest_;
  std::vector<char> is_cut_;
  std::vector<std::int64_t> size_, from_, visited_, distance_;
  CentroidLevels levels_;
};

/// sum over l of f(d + l) y[l] for d < depth: y [H,G,depth,C], f [H,2 depth].
torch::Tensor HankelProduct(const torch::Tensor& f, const torch::Tensor& y, std::int64_t depth) {
  if (depth <= kDirectDepth) {
    const torch::Tensor at = at::arange(depth, at::kLong);
    const torch::Tensor places = (at.unsqueeze(1) + at.unsqueeze(0)).flatten();
    const torch::Tensor hankel = f.index_select(1, places).reshape({-1, 1, depth, depth});
    return at::matmul(hankel, y);
  }
  // A correlation; 2 depth places leave no room for it to wrap around.
  const torch::Tensor spectrum = at::fft_rfft(f, 2 * depth, 1).unsqueeze(1).unsqueeze(3) *
                                 at::conj(at::fft_rfft(y, 2 * depth, 2));
  return at::fft_irfft(spectrum, 2 * depth, 2).slice(2, 0, depth);
}

torch::Tensor CentroidProduct(const CentroidLevels& levels, const torch::Tensor& f,
                              const torch::Tensor& x) {
  torch::Tensor out = at::zeros_like(x), noise;
  for (const auto& [depth, groups] : levels) {
    const torch::Tensor tokens = at::tensor(groups.tokens, at::kLong);
    const torch::Tensor slots = at::tensor(groups.slots, at::kLong);
    const torch::Tensor signs =
        at::tensor(groups.signs, at::TensorOptions().dtype(at::kDouble)).reshape({1, -1, 1});
    const torch::Tensor table =
        at::constant_pad_nd(f.slice(1, 0, std::min(f.size(1), 2 * depth)),
                            {0, std::max<std::int64_t>(0, 2 * depth - f.size(1))});
    const torch::Tensor y =
        at::zeros({x.size(0), groups.group_count * depth, x.size(2)}, out.options())
            .index_add(1, slots, x.index_select(1, tokens))
            .reshape({x.size(0), groups.group_count, depth, x.size(2)});
    const torch::Tensor sums = HankelProduct(table, y, depth).flatten(1, 2);
    out = out.index_add(1, tokens, sums.index_select(1, slots) * signs);
    if (depth <= kDirectDepth) continue;
    const torch::Tensor of_groups = y.detach().norm(2, {2}) *
                                    table.detach().norm(2, {1}).reshape({-1, 1, 1}) *
                                    (8 * std::numeric_limits<double>::epsilon());
    if (!noise.defined()) noise = at::zeros(x.sizes(), x.options().requires_grad(false));
    noise.index_add_(1, tokens, of_groups.index_select(1, slots.div(depth, "floor")));
  }
  // What is below the rounding of the transforms is zero: a row without weight stays so.
  return noise.defined() ? WithoutNoise(out, noise) : out;
}

/// Numbers of hops from a token down to the deepest below it.
std::vector<std::int64_t> HeightsOf(const Forest& forest) {
  std::vector<std::int64_t> height(forest.parents.size(), 0);
  for (auto at = forest.order.rbegin(); at != forest.order.rend(); ++at) {
    const std::int64_t parent = forest.parents[*at];
    if (parent != -1) height[parent] = std::max(height[parent], height[*at] + 1);
  }
  return height;
}

/// Calls see(token, h) with h[l] = sum of one column x over tokens at l hops, l <= diameter. Keeps
/// the histograms of subtrees and those of two levels.
template <typename See>
void ForHistograms(const Forest& forest, std::int64_t diameter,
                   const std::vector<std::int64_t>& offsets, const double* x, const See& see) {
  std::vector<double> below(static_cast<std::size_t>(offsets.back()), 0);
  for (auto at = forest.order.rbegin(); at != forest.order.rend(); ++at) {
    below[offsets[*at]] += x[*at];
    const std::int64_t parent = forest.parents[*at];
    if (parent == -1) continue;
    const std::int64_t size = offsets[*at + 1] - offsets[*at];
    for (std::int64_t l = 0; l < size; ++l)
      below[offsets[parent] + l + 1] += below[offsets[*at] + l];
  }
  const auto below_at = [&](std::int64_t token, std::int64_t l) {
    return l >= 0 && l < offsets[token + 1] - offsets[token] ? below[offsets[token] + l] : 0.0;
  };
  std::vector<std::int64_t> level, next_level;
  std::vector<double> whole, next_whole;
  for (const std::int64_t root : forest.order) {
    if (forest.parents[root] != -1) break;  // roots come first
    level.assign(1, root);
    whole.assign(static_cast<std::size_t>(diameter) + 1, 0);
    for (std::int64_t l = 0; l <= diameter; ++l) whole[l] = below_at(root, l);
    while (!level.empty()) {
      next_level.clear();
      next_whole.clear();
      for (std::size_t p = 0; p < level.size(); ++p) {
        const double* of_parent = whole.data() + static_cast<std::int64_t>(p) * (diameter + 1);
        see(level[p], of_parent);
        for (std::int64_t c = forest.child_offsets[level[p]];
             c < forest.child_offsets[level[p] + 1]; ++c) {
          const std::int64_t child = forest.children[c];
          next_level.push_back(child);
          // At l hops: those below, and those at l - 1 hops of the parent that are not below.
          for (std::int64_t l = 0; l <= diameter; ++l) {
            next_whole.push_back(below_at(child, l) + (l > 0 ? of_parent[l - 1] : 0) -
                                 below_at(child, l - 2));
          }
        }
      }
      std::swap(level, next_level);
      std::swap(whole, next_whole);
    }
  }
}

struct HistogramTree {
  Forest forest;
  std::int64_t diameter = 0;
  std::vector<std::int64_t> offsets;  ///< of the histograms of subtrees
};

/// M x with M_ij = f[hops]; f [H,D], x [H,C,L], in which a column is contiguous.
class HistogramFunction : public torch::autograd::Function<HistogramFunction> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& f_in,
                               const torch::Tensor& x_in,
                               const std::shared_ptr<const HistogramTree>& tree) {
    const torch::Tensor f = f_in.contiguous(), x = x_in.contiguous();
    context->save_for_backward({f, x});
    SaveObject(context, "tree", tree);
    return Apply(*tree, f, x);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grads) {
    const auto saved = context->get_saved_variables();
    const auto tree = LoadObject<HistogramTree>(context, "tree");
    const torch::Tensor &f = saved[0], &x = saved[1];
    const torch::Tensor grad = grads[0].contiguous();
    const std::int64_t n = x.size(2), entry_count = tree->diameter + 1;
    torch::Tensor sums = at::zeros({x.size(0) * x.size(1), f.size(1)}, f.options());
    const double* in = x.const_data_ptr<double>();
    const double* from = grad.const_data_ptr<double>();
    double* to = sums.mutable_data_ptr<double>();
    ParallelFor(sums.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t column = begin; column < end; ++column) {
        double* of_column = to + column * f.size(1);
        ForHistograms(tree->forest, tree->diameter, tree->offsets, in + column * n,
                      [&](std::int64_t token, const double* h) {
                        const double g = from[column * n + token];
                        for (std::int64_t l = 0; l < entry_count; ++l) of_column[l] += g * h[l];
                      });
      }
    });
    // M is symmetric.
    return {sums.reshape({x.size(0), x.size(1), -1}).sum(1), Apply(*tree, f, grad),
            torch::Tensor()};
  }

 private:
  static torch::Tensor Apply(const HistogramTree& tree, const torch::Tensor& f,
                             const torch::Tensor& x) {
    torch::Tensor out = at::empty_like(x);
    const std::int64_t n = x.size(2), columns = x.size(1);
    const double* table = f.const_data_ptr<double>();
    const double* in = x.const_data_ptr<double>();
    double* result = out.mutable_data_ptr<double>();
    ParallelFor(x.size(0) * columns, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t column = begin; column < end; ++column) {
        const double* of_head = table + column / columns * f.size(1);
        ForHistograms(tree.forest, tree.diameter, tree.offsets, in + column * n,
                      [&](std::int64_t token, const double* h) {
                        double sum = 0;
                        for (std::int64_t l = 0; l <= tree.diameter; ++l) sum += of_head[l] * h[l];
                        result[column * n + token] = sum;
                      });
      }
    });
    return out;
  }
};

class DistanceTreeMask : public Mask {
 public:
  DistanceTreeMask(Forest forest, const torch::Tensor& f, TreeAlgorithm algorithm)
      : f_(f.to(at::kDouble)), algorithm_(algorithm) {
    auto tree = std::make_shared<HistogramTree>();
    tree->diameter = DiameterOf(forest);
    INTERLACER_CHECK(f.size(1) > tree->diameter, "values of f up to the diameter");
    if (algorithm == TreeAlgorithm::kCentroid) {
      levels_ = CentroidBuilder(forest).Build();
    } else {
      tree->offsets.assign(1, 0);
      for (const std::int64_t height : HeightsOf(forest)) {
        tree->offsets.push_back(tree->offsets.back() + height + 1);
      }
    }
    tree->forest = std::move(forest);
    tree_ = std::move(tree);
  }

  torch::Tensor Dense() const override {
    const torch::Tensor hops = TreeDistances(tree_->forest, true).to(at::kLong);
    return f_.index_select(1, hops.clamp_min(0).flatten())
        .reshape({f_.size(0), hops.size(0), hops.size(1)})
        .masked_fill(hops < 0, 0);
  }

  std::vector<Way> Ways() const override { return {Way::kDense, Way::kFastmult}; }

  torch::Tensor Product(const torch::Tensor& x_in) const override {
    const torch::Tensor x = x_in.to(at::kDouble);
    const torch::Tensor product =
        algorithm_ == TreeAlgorithm::kCentroid
            ? CentroidProduct(levels_, f_, x)
            : HistogramFunction::apply(f_, x.transpose(1, 2), tree_).transpose(1, 2);
    return product.to(x_in.scalar_type());
  }

 private:
  torch::Tensor f_;
  TreeAlgorithm algorithm_;
  CentroidLevels levels_;
  std::shared_ptr<const HistogramTree> tree_;
};

}  // namespace

MaskPtr MakeTreeMask(Forest forest, torch::Tensor f, TreeAlgorithm algorithm) {
  if (algorithm == TreeAlgorithm::kDiameter && !FitsHistograms(forest)) {
    throw StatusException(
        ResourceExhausted(reason::HOST_MEMORY,
                          "options.algorithm: expected tokens times diameter of at most 2^26 for "
                          "diameter, got more; centroid takes any tree")
            .WithField("options.algorithm"));
  }
  return std::make_unique<DistanceTreeMask>(std::move(forest), f, algorithm);
}

}  // namespace interlacer::attention
