#include "model/attention/masks/toeplitz.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <string>
#include <utility>

#include "common/thread_pool.h"
#include "model/runtime/torch_status.h"

namespace interlacer::attention {
namespace {

/// Complex numbers that a step of the product holds at once.
constexpr std::int64_t kSpectrumBudget = std::int64_t{1} << 22;

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

/// Calls block(head, first token, token after the last) over all blocks of rows.
template <typename Block>
void ForEachBlock(std::int64_t heads, std::int64_t length, const Block& block) {
  const std::int64_t blocks = (length + kRowsOfABlock - 1) / kRowsOfABlock;
  ParallelFor(heads * blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = i % blocks * kRowsOfABlock;
      block(i / blocks, first, std::min(length, first + kRowsOfABlock));
    }
  });
}

/// Calls see(first token, token after the last, how far their places are beyond them) for tokens of
/// lines of `side` that lie `padded` apart, line by line.
template <typename See>
void ForEachLine(std::int64_t first, std::int64_t last, std::int64_t side, std::int64_t padded,
                 const See& see) {
  for (std::int64_t begin = first; begin < last;) {
    const std::int64_t line = begin / side, end = std::min(last, (line + 1) * side);
    see(begin, end, line * (padded - side));
    begin = end;
  }
}

/// x [H,L,C] -> float64 [H,C,L / side,padded], the last axis filled with zeros, in one pass;
/// LibTorch takes two. Bound: memory.
torch::Tensor PaddedColumns(const torch::Tensor& x, std::int64_t side, std::int64_t padded) {
  const std::int64_t heads = x.size(0), length = x.size(1), columns = x.size(2);
  const std::int64_t lines = length / side, stride = x.stride(1);
  torch::Tensor out = at::empty({heads, columns, lines, padded}, at::kDouble);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "PaddedColumns", [&] {
    const scalar_t* from = x.const_data_ptr<scalar_t>();
    double* to = out.mutable_data_ptr<double>();
    ForEachBlock(heads, length, [&](std::int64_t head, std::int64_t first, std::int64_t last) {
      for (std::int64_t c = 0; c < columns; ++c) {
        const scalar_t* column = from + head * x.stride(0) + c * x.stride(2);
        double* places = to + (head * columns + c) * lines * padded;
        ForEachLine(first, last, side, padded,
                    [&](std::int64_t begin, std::int64_t end, std::int64_t shift) {
                      for (std::int64_t l = begin; l < end; ++l) {
                        places[l + shift] = static_cast<double>(column[l * stride]);
                      }
                      if (end % side != 0) return;
                      std::fill(places + end + shift, places + end + shift + padded - side, 0.0);
                    });
      }
    });
  });
  return out;
}

/// |y| <= noise: 0, else y: [H,C,L / side,padded] -> `out` [H,L,C], which may be columns of a wider
/// one, in one pass; LibTorch takes five. Bound: memory.
void WriteRowsAbove(const torch::Tensor& noise, const torch::Tensor& y, std::int64_t side,
                    const torch::Tensor& out) {
  const std::int64_t heads = y.size(0), columns = y.size(1), lines = y.size(2), padded = y.size(3);
  const std::int64_t stride = out.stride(1);
  AT_DISPATCH_FLOATING_TYPES(out.scalar_type(), "WriteRowsAbove", [&] {
    const double* from = y.const_data_ptr<double>();
    const double* least = noise.const_data_ptr<double>();
    auto* to = out.mutable_data_ptr<scalar_t>();
    ForEachBlock(
        heads, lines * side, [&](std::int64_t head, std::int64_t first, std::int64_t last) {
          scalar_t* rows = to + head * out.stride(0);
          for (std::int64_t c = 0; c < columns; ++c) {
            const double* column = from + (head * columns + c) * lines * padded;
            const double zero_to = least[head * columns + c];
            ForEachLine(first, last, side, padded,
                        [&](std::int64_t begin, std::int64_t end, std::int64_t shift) {
                          for (std::int64_t l = begin; l < end; ++l) {
                            const double value = column[l + shift];
                            rows[l * stride + c] =
                                static_cast<scalar_t>(std::abs(value) <= zero_to ? 0 : value);
                          }
                        });
          }
        });
  });
}

/// Complex transforms over `axes` of these sizes, as many at a time as MKL takes.
template <typename Transform>
torch::Tensor OverAxes(torch::Tensor x, const std::vector<std::int64_t>& sizes,
                       const std::vector<std::int64_t>& axes, const Transform& transform) {
  constexpr std::size_t kAtOnce = 7;
  for (std::size_t first = 0; first < axes.size(); first += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, axes.size() - first);
    x = transform(x, at::IntArrayRef(sizes).slice(first, count),
                  at::IntArrayRef(axes).slice(first, count));
  }
  return x;
}

torch::Tensor ToFrequencies(torch::Tensor x, const std::vector<std::int64_t>& sizes,
                            const std::vector<std::int64_t>& axes) {
  return OverAxes(std::move(x), sizes, axes,
                  [](const torch::Tensor& t, at::IntArrayRef size, at::IntArrayRef axis) {
                    return at::fft_fftn(t, size, axis);
                  });
}

torch::Tensor FromFrequencies(torch::Tensor x, const std::vector<std::int64_t>& sizes,
                              const std::vector<std::int64_t>& axes) {
  return OverAxes(std::move(x), sizes, axes,
                  [](const torch::Tensor& t, at::IntArrayRef size, at::IntArrayRef axis) {
                    return at::fft_ifftn(t, size, axis);
                  });
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
    const Spectrum& kernel = KernelSpectrum();
    std::int64_t spectrum = x.size(0);
    for (const std::int64_t size : kernel.padded) spectrum *= size;
    const std::int64_t step = std::clamp<std::int64_t>(kSpectrumBudget / spectrum, 1, x.size(2));
    const bool has_gradient =
        at::GradMode::is_enabled() && (x.requires_grad() || kernel.numbers.requires_grad());
    std::vector<torch::Tensor> parts;
    const torch::Tensor out = has_gradient ? torch::Tensor() : at::empty(x.sizes(), x.options());
    for (std::int64_t first = 0; first < x.size(2); first += step) {
      const std::int64_t last = std::min(first + step, x.size(2));
      if (has_gradient) {
        parts.push_back(ProductOfColumns(x.slice(2, first, last), kernel));
      } else {
        WriteProductOfColumns(x.slice(2, first, last), kernel, out.slice(2, first, last));
      }
    }
    if (!has_gradient) return out;
    return parts.size() == 1 ? parts[0] : at::cat(parts, 2);
  }

 private:
  /// Of b, with the padded sizes; `outer` are the axes of [H,C,...] but the last.
  struct Spectrum {
    std::vector<std::int64_t> padded, outer;
    torch::Tensor numbers;
    torch::Tensor norms;  ///< of b, head by head: [1 or H,1,1]
    std::vector<std::int64_t> outer_sizes() const { return {padded.begin(), padded.end() - 1}; }
  };

  /// One for all products, the first of which makes it: b does not change.
  const Spectrum& KernelSpectrum() const {
    std::call_once(is_made_, [this] {
      // Whether or not the first product asks for gradients, a later one may.
      const at::AutoGradMode with_gradients(true);
      std::vector<std::int64_t> axes;
      for (std::size_t a = 0; a < grid_.size(); ++a) {
        spectrum_.padded.push_back(FastSize(2 * grid_[a] - 1));
        axes.push_back(static_cast<std::int64_t>(a) + 2);
      }
      spectrum_.outer = {axes.begin(), axes.end() - 1};
      spectrum_.numbers = ToFrequencies(at::fft_rfft(Kernel(spectrum_.padded, axes)),
                                        spectrum_.outer_sizes(), spectrum_.outer);
      spectrum_.norms = b_.detach().norm(2, {1}).reshape({-1, 1, 1});
    });
    return spectrum_;
  }

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

  /// Convolutions of `columns` [H,C,lines,padded], of the same shape; beyond the tokens of a line
  /// there is anything. Lines along the last axis are transformed where there are tokens alone:
  /// before the other axes are padded, and after they are cut again.
  torch::Tensor Convolved(const torch::Tensor& columns, const Spectrum& kernel) const {
    const std::vector<std::int64_t> outer_sizes = kernel.outer_sizes();
    std::vector<std::int64_t> shape{columns.size(0), columns.size(1)};
    shape.insert(shape.end(), grid_.begin(), grid_.end());
    shape.back() = kernel.padded.back();
    torch::Tensor spectrum =
        ToFrequencies(at::fft_rfft(columns.reshape(shape)), outer_sizes, kernel.outer);
    spectrum =
        at::GradMode::is_enabled() && (spectrum.requires_grad() || kernel.numbers.requires_grad())
            ? spectrum * kernel.numbers
            : spectrum.mul_(kernel.numbers.detach());
    spectrum = FromFrequencies(std::move(spectrum), outer_sizes, kernel.outer);
    for (const std::int64_t axis : kernel.outer) {
      spectrum = spectrum.slice(axis, 0, grid_[axis - 2]);
    }
    return at::fft_irfft(spectrum, shape.back()).reshape(columns.sizes());
  }

  /// What is below the rounding of the transforms is zero: a row without weight stays so. [H,C,1].
  static torch::Tensor NoiseOf(const torch::Tensor& columns, const Spectrum& kernel) {
    return columns.detach().flatten(2).norm(2, {2}, true) *
           (kernel.norms * 8 * std::numeric_limits<double>::epsilon());
  }

  void WriteProductOfColumns(const torch::Tensor& x, const Spectrum& kernel,
                             const torch::Tensor& out) const {
    const torch::Tensor columns = PaddedColumns(x, grid_.back(), kernel.padded.back());
    WriteRowsAbove(NoiseOf(columns, kernel), Convolved(columns, kernel), grid_.back(), out);
  }

  /// The same by operations that have gradients.
  torch::Tensor ProductOfColumns(const torch::Tensor& x, const Spectrum& kernel) const {
    const std::int64_t side = grid_.back();
    const torch::Tensor columns = at::constant_pad_nd(
        x.transpose(1, 2).to(at::kDouble).reshape({x.size(0), x.size(2), -1, side}),
        {0, kernel.padded.back() - side});
    const torch::Tensor rows = Convolved(columns, kernel).slice(3, 0, side).flatten(2);
    return WithoutNoise(rows, NoiseOf(columns, kernel)).transpose(1, 2).to(x.scalar_type());
  }

  std::vector<std::int64_t> grid_;
  torch::Tensor b_;
  mutable Spectrum spectrum_;
  mutable std::once_flag is_made_;
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
