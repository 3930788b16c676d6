#include "model/attention/masks/toeplitz.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "common/thread_pool.h"
#include "model/runtime/torch_status.h"

namespace interlacer::attention {
namespace {

/// Complex numbers that a step of the product holds at once.
constexpr std::int64_t kSpectrumBudget = std::int64_t{1} << 21;

/// A block of so many rows of a few columns stays in the nearest cache.
constexpr std::int64_t kRowsOfABlock = 128;

/// Smallest number >= n without prime factors above 5: such FFTs are fast.
std::int64_t FastSize(std::int64_t n) {
  for (std::int64_t size = n;; ++size) {
    std::int64_t rest = size;
    for (const std::int64_t prime : {2, 3, 5}) {
      while (rest % prime == 0) rest /= prime;
    }
    if (rest == 1) return size;
  }
}

/// Calls see(place in b, signed offset of every axis) in order.
template <typename See>
void ForEachOffset(const std::vector<std::int64_t>& grid, const See& see) {
  std::vector<std::int64_t> offset;
  for (const std::int64_t side : grid) offset.push_back(1 - side);
  const std::int64_t count = OffsetCount(grid);
  for (std::int64_t place = 0; place < count; ++place) {
    see(place, offset);
    for (auto axis = static_cast<std::int64_t>(grid.size()) - 1; axis >= 0; --axis) {
      if (++offset[axis] < grid[axis]) break;
      offset[axis] = 1 - grid[axis];
    }
  }
}

/// |y| <= noise: 0, else y: [H,C,L] with unit stride along L -> [H,L,C] of the type of `like`, in
/// one pass; LibTorch takes four. Bound: memory.
torch::Tensor RowsAbove(const torch::Tensor& noise, const torch::Tensor& y,
                        const torch::Tensor& like) {
  torch::Tensor out = at::empty({y.size(0), y.size(2), y.size(1)}, like.options());
  const std::int64_t columns = y.size(1), length = y.size(2);
  const std::int64_t blocks = (length + kRowsOfABlock - 1) / kRowsOfABlock;
  AT_DISPATCH_FLOATING_TYPES(like.scalar_type(), "RowsAbove", [&] {
    const double* from = y.const_data_ptr<double>();
    const double* least = noise.const_data_ptr<double>();
    auto* to = out.mutable_data_ptr<scalar_t>();
    ParallelFor(y.size(0) * blocks, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t head = i / blocks, first = i % blocks * kRowsOfABlock;
        const std::int64_t last = std::min(length, first + kRowsOfABlock);
        scalar_t* rows = to + head * length * columns;
        for (std::int64_t c = 0; c < columns; ++c) {
          const double* column = from + head * y.stride(0) + c * y.stride(1);
          const double zero_to = least[head * columns + c];
          for (std::int64_t l = first; l < last; ++l) {
            rows[l * columns + c] =
                static_cast<scalar_t>(std::abs(column[l]) <= zero_to ? 0 : column[l]);
          }
        }
      }
    });
  });
  return out;
}

/// Axes of one transform: MKL takes seven.
constexpr std::size_t kAxesOfATransform = 7;

/// The last axes by a real transform, those before by complex ones.
struct AxisGroups {
  explicit AxisGroups(const std::vector<std::int64_t>& sizes) {
    for (std::size_t last = sizes.size(); last > 0;) {
      const std::size_t first = last > kAxesOfATransform ? last - kAxesOfATransform : 0;
      of_sizes.emplace_back(sizes.begin() + first, sizes.begin() + last);
      for (axes.emplace_back(); first + axes.back().size() < last;) {
        axes.back().push_back(static_cast<std::int64_t>(first + axes.back().size()) + 2);
      }
      last = first;
    }
  }
  std::vector<std::vector<std::int64_t>> of_sizes, axes;
};

/// x [H,C,...] over the axes after the second, padded to `sizes`.
torch::Tensor Transformed(const torch::Tensor& x, const std::vector<std::int64_t>& sizes) {
  const AxisGroups groups(sizes);
  torch::Tensor spectrum = at::fft_rfftn(x, groups.of_sizes[0], groups.axes[0]);
  for (std::size_t g = 1; g < groups.axes.size(); ++g) {
    spectrum = at::fft_fftn(spectrum, groups.of_sizes[g], groups.axes[g]);
  }
  return spectrum;
}

torch::Tensor TransformedBack(torch::Tensor spectrum, const std::vector<std::int64_t>& sizes) {
  const AxisGroups groups(sizes);
  for (std::size_t g = groups.axes.size(); g-- > 1;) {
    spectrum = at::fft_ifftn(spectrum, groups.of_sizes[g], groups.axes[g]);
  }
  return at::fft_irfftn(spectrum, groups.of_sizes[0], groups.axes[0]);
}

class ToeplitzMask : public Mask {
 public:
  ToeplitzMask(std::vector<std::int64_t> grid, const torch::Tensor& b)
      : grid_(std::move(grid)), b_(b.to(at::kDouble)) {}

  torch::Tensor Dense() const override {
    std::int64_t length = 1;
    for (const std::int64_t side : grid_) length *= side;
    const torch::Tensor token = at::arange(length, at::kLong);
    torch::Tensor place = at::zeros({length, length}, at::kLong);
    std::int64_t stride = length;
    for (const std::int64_t side : grid_) {
      stride /= side;
      const torch::Tensor along = token.div(stride, "floor").remainder(side);
      place = place * (2 * side - 1) + (along.unsqueeze(1) - along.unsqueeze(0) + side - 1);
    }
    return b_.index_select(1, place.flatten()).reshape({b_.size(0), length, length});
  }

  std::vector<Way> Ways() const override { return {Way::kDense, Way::kFastmult}; }

  torch::Tensor Product(const torch::Tensor& x) const override {
    if (x.size(2) == 0) return x;
    std::vector<std::int64_t> padded, axes;
    std::int64_t spectrum = x.size(0);
    for (std::size_t a = 0; a < grid_.size(); ++a) {
      padded.push_back(FastSize(2 * grid_[a] - 1));
      axes.push_back(static_cast<std::int64_t>(a) + 2);
      spectrum *= padded.back();
    }
    const torch::Tensor kernel = Transformed(Kernel(padded, axes), padded);
    const double kernel_norm = b_.detach().norm().item<double>();
    const std::int64_t step = std::clamp<std::int64_t>(kSpectrumBudget / spectrum, 1, x.size(2));
    std::vector<torch::Tensor> parts;
    for (std::int64_t first = 0; first < x.size(2); first += step) {
      parts.push_back(ProductOfColumns(x.slice(2, first, std::min(first + step, x.size(2))), kernel,
                                       padded, axes, kernel_norm));
    }
    return parts.size() == 1 ? parts[0] : at::cat(parts, 2);
  }

 private:
  /// Offset delta stands at delta modulo the padded sizes: [1 or H,1,P...].
  torch::Tensor Kernel(const std::vector<std::int64_t>& padded,
                       const std::vector<std::int64_t>& axes) const {
    std::vector<std::int64_t> shape{b_.size(0), 1}, to_start, padding;
    for (const std::int64_t side : grid_) {
      shape.push_back(2 * side - 1);
      to_start.push_back(1 - side);
    }
    for (std::size_t a = grid_.size(); a-- > 0;) {
      padding.insert(padding.end(), {0, padded[a] - (2 * grid_[a] - 1)});
    }
    return at::roll(at::constant_pad_nd(b_.reshape(shape), padding), to_start, axes);
  }

  torch::Tensor ProductOfColumns(const torch::Tensor& x, const torch::Tensor& kernel,
                                 const std::vector<std::int64_t>& padded,
                                 const std::vector<std::int64_t>& axes, double kernel_norm) const {
    std::vector<std::int64_t> shape{x.size(0), x.size(2)};
    shape.insert(shape.end(), grid_.begin(), grid_.end());
    const torch::Tensor columns =
        x.transpose(1, 2).to(at::kDouble, false, false, at::MemoryFormat::Contiguous);
    torch::Tensor spectrum = Transformed(columns.reshape(shape), padded);
    const bool is_learned = at::GradMode::is_enabled() && kernel.requires_grad();
    spectrum = is_learned ? spectrum * kernel : spectrum.mul_(kernel);
    torch::Tensor y = TransformedBack(std::move(spectrum), padded);
    for (std::size_t a = 0; a < grid_.size(); ++a) y = y.slice(axes[a], 0, grid_[a]);
    y = y.flatten(2);
    // What is below the rounding of the transforms is zero: a row without weight stays so.
    const torch::Tensor noise = columns.detach().norm(2, {2}, true) *
                                (kernel_norm * 8 * std::numeric_limits<double>::epsilon());
    if (at::GradMode::is_enabled() && y.requires_grad()) {
      return y.masked_fill(y.detach().abs() <= noise, 0).transpose(1, 2).to(x.scalar_type());
    }
    return RowsAbove(noise, y, x);
  }

  std::vector<std::int64_t> grid_;
  torch::Tensor b_;
};

}  // namespace

void RequireOffsets(const std::vector<std::int64_t>& grid, std::size_t max_sides) {
  if (grid.size() > max_sides) {
    throw StatusException(Mismatch(reason::SHAPE_MISMATCH, "grid",
                                   "at most " + std::to_string(max_sides) + " sides",
                                   std::to_string(grid.size())));
  }
  if (OffsetCount(grid) > kMaxOffsets) {
    throw StatusException(Mismatch(reason::SHAPE_MISMATCH, "grid",
                                   "at most " + std::to_string(kMaxOffsets) + " offsets",
                                   std::to_string(OffsetCount(grid))));
  }
}

std::int64_t OffsetCount(const std::vector<std::int64_t>& grid) {
  std::int64_t count = 1;
  for (const std::int64_t side : grid) count *= std::max<std::int64_t>(0, 2 * side - 1);
  return count;
}

torch::Tensor OffsetDistances(const std::vector<std::int64_t>& grid) {
  torch::Tensor distances = at::empty({OffsetCount(grid)}, at::kLong);
  auto* distance = distances.mutable_data_ptr<std::int64_t>();
  ForEachOffset(grid, [distance](std::int64_t place, const std::vector<std::int64_t>& offset) {
    distance[place] = 0;
    for (const std::int64_t along : offset) distance[place] += std::abs(along);
  });
  return distances;
}

torch::Tensor IsLaterOffset(const std::vector<std::int64_t>& grid) {
  torch::Tensor is_later = at::empty({OffsetCount(grid)}, at::kLong);
  auto* later = is_later.mutable_data_ptr<std::int64_t>();
  ForEachOffset(grid, [later](std::int64_t place, const std::vector<std::int64_t>& offset) {
    // Row-major order is that of the first axis on which two places differ.
    const auto first =
        std::find_if(offset.begin(), offset.end(), [](std::int64_t along) { return along != 0; });
    later[place] = first != offset.end() && *first < 0 ? 1 : 0;
  });
  return is_later;
}

MaskPtr MakeToeplitzMask(std::vector<std::int64_t> grid, torch::Tensor b) {
  return std::make_unique<ToeplitzMask>(std::move(grid), b);
}

}  // namespace interlacer::attention
