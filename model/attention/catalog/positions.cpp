// Relative positions in the logits by features of places.

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>

#include "model/attention/catalog/catalog.h"
#include "model/attention/catalog/coded.h"
#include "model/attention/core/random_features.h"
#include "model/attention/masks/fourier.h"
#include "model/attention/masks/toeplitz.h"
#include "model/runtime/torch_status.h"

namespace interlacer::attention {
namespace {

/// A few arrays of so many are made: half a GiB in float64.
constexpr double kMaxTransformNumbers = 1 << 24;
constexpr double kTwoPi = 6.283185307179586;

/// A weight of g, clipped.
torch::Tensor WeightOf(const Options& options, const AttentionInputs& inputs, const char* name) {
  const double most = options.Real("max_weight");
  return inputs.parameters.at(name).clamp(-most, most);
}

/// Real and imaginary parts of g at all samples: [H,r], the second may be undefined.
struct Transform {
  torch::Tensor real, imaginary;
};

struct FourierKind {
  std::function<NamedTensors(const Options&, const AttentionInputs&)> parameters;
  std::function<Transform(const Options&, const AttentionInputs&, const torch::Tensor& xi)> g;
  /// Of positions; 0: any.
  std::int64_t dimensions = 0;
  /// What makes of places those that g is of; null: 1.
  std::function<double(const Options&)> position_scale = nullptr;
  /// Whether samples may be drawn from the density that the kernel is the transform of.
  bool has_own_density = false;
};

torch::Tensor SpreadNumbers(const Options& options, const AttentionInputs& inputs,
                            at::IntArrayRef shape, double deviation, std::uint32_t part) {
  std::int64_t count = 1;
  for (const std::int64_t side : shape) count *= side;
  return (NormalMatrix(static_cast<std::uint64_t>(options.Int("seed")), RandomStream::kWeightInit,
                       200 + part, 0, count, 1) *
          deviation)
      .reshape(shape)
      .to(inputs.q.scalar_type());
}

std::vector<double> Repeated(const Options& options, double value) {
  return std::vector<double>(static_cast<std::size_t>(options.Int("terms")), value);
}

NamedTensors MixtureParameters(const Options& options, const AttentionInputs& inputs) {
  const std::int64_t terms = options.Int("terms"), l = inputs.positions.size(1);
  NamedTensors parameters{
      {"weight", PerHead(inputs, Repeated(options, options.Real("weight")))},
      {"center", SpreadNumbers(options, inputs, {inputs.heads(), terms, l}, 0.3, 0)},
      {"width", PerHead(inputs, Repeated(options, BeforeSoftplus(options.Real("width"))))}};
  if (options.IsSet("complex_g")) {
    parameters["weight_imaginary"] = PerHead(inputs, Repeated(options, options.Real("weight") / 2));
  }
  return parameters;
}

Transform MixtureTransform(const Options& options, const AttentionInputs& inputs,
                           const torch::Tensor& xi) {
  const torch::Tensor width =
      at::softplus(inputs.parameters.at("width")).clamp(0.05, 0.9).unsqueeze(2);
  const torch::Tensor apart =
      xi.reshape({1, 1, xi.size(0), xi.size(1)}) - inputs.parameters.at("center").unsqueeze(2);
  const torch::Tensor bells = at::exp(-(apart * apart).sum(3) / (2 * width * width));
  const auto mixed = [&](const char* weight) {
    return (WeightOf(options, inputs, weight).unsqueeze(2) * bells).sum(1);
  };
  return {mixed("weight"),
          options.IsSet("complex_g") ? mixed("weight_imaginary") : torch::Tensor()};
}

NamedTensors BellParameters(const Options& options, const AttentionInputs& inputs) {
  std::vector<double> widths;
  for (std::int64_t t = 0; t < options.Int("terms"); ++t) {
    widths.push_back(BeforeSoftplus(options.Real("width") * static_cast<double>(t + 1)));
  }
  return {{"weight", PerHead(inputs, Repeated(options, options.Real("weight")))},
          {"width", PerHead(inputs, widths)}};
}

Transform BellTransform(const Options& options, const AttentionInputs& inputs,
                        const torch::Tensor& xi) {
  const torch::Tensor width = at::softplus(inputs.parameters.at("width")).unsqueeze(2);
  const torch::Tensor square = (xi * xi).sum(1).reshape({1, 1, -1});
  const torch::Tensor bells = at::exp(-0.5 * kTwoPi * kTwoPi * width * width * square);
  return {(WeightOf(options, inputs, "weight").unsqueeze(2) * bells).sum(1), {}};
}

/// By what a learnt width is multiplied at least: samples of the first width's density have an
/// infinite variance below 1 / sqrt 2 of it for Gaussian kernels, and below 1/2 for those of
/// Cauchy.
constexpr double kLeastScale = 0.75;

NamedTensors KernelParameters(const Options& options, const AttentionInputs& inputs) {
  NamedTensors parameters{{"c", PerHead(inputs, options.Real("weight"))}};
  if (options.IsSet("learn_width")) parameters["scale"] = PerHead(inputs, BeforeSoftplus(1));
  return parameters;
}

/// K(x / a) is the transform of a^l p(a xi), for the density p of K in l dimensions.
Transform KernelTransform(const Options& options, const AttentionInputs& inputs,
                          const torch::Tensor& xi) {
  torch::Tensor scaled = xi.unsqueeze(0), scale;
  if (options.IsSet("learn_width")) {
    scale = at::softplus(inputs.parameters.at("scale")).clamp_min(kLeastScale).reshape({-1, 1, 1});
    scaled = scaled * scale;
  }
  torch::Tensor density;
  if (options.Is("kernel", "gaussian")) {
    density = at::exp(-scaled * scaled / 2) / std::sqrt(kTwoPi);
  } else if (options.Is("kernel", "laplace")) {
    density = 2 / (kTwoPi * (1 + scaled * scaled));
  } else {
    density = 0.5 * at::exp(-scaled.abs());
  }
  if (scale.defined()) density = density * scale;
  return {WeightOf(options, inputs, "c").unsqueeze(1) * density.prod(2), {}};
}

/// Of "kernel" the density that the kernel is the transform of, by which all samples weigh alike.
std::string ProposalOf(const Options& options) {
  const std::string& proposal = options.Chosen("proposal");
  if (proposal != "kernel") return proposal;
  if (options.Is("kernel", "gaussian")) return "normal";
  return options.Is("kernel", "laplace") ? "cauchy" : "laplace";
}

NamedTensors LocalParameters(const Options& options, const AttentionInputs& inputs) {
  std::vector<double> radii;
  for (std::int64_t t = 0; t < options.Int("terms"); ++t) {
    radii.push_back(options.Real("radius") * static_cast<double>(t + 1));
  }
  return {{"weight", PerHead(inputs, Repeated(options, options.Real("weight")))},
          {"radius", PerHead(inputs, radii)}};
}

Transform LocalTransform(const Options& options, const AttentionInputs& inputs,
                         const torch::Tensor& xi) {
  const torch::Tensor windows =
      WindowTransform(inputs.parameters.at("radius").unsqueeze(2), xi.reshape({1, 1, -1}), 1);
  return {(WeightOf(options, inputs, "weight").unsqueeze(2) * windows).sum(1), {}};
}

NamedTensors WindowParameters(const Options& options, const AttentionInputs& inputs) {
  const std::int64_t axes = inputs.positions.size(1), terms = options.Int("terms");
  std::vector<double> radii;
  for (std::int64_t t = 0; t < terms; ++t) {
    radii.insert(radii.end(), static_cast<std::size_t>(axes),
                 options.Real("radius") * static_cast<double>(t + 1));
  }
  return {{"weight", PerHead(inputs, Repeated(options, options.Real("weight")))},
          {"radius", PerHead(inputs, radii).reshape({inputs.heads(), terms, axes})}};
}

/// One order for all axes, or one each.
std::vector<std::int64_t> OrdersOf(const Options& options, std::int64_t axes) {
  const auto count = static_cast<std::size_t>(axes);
  if (!options.Has("order")) return std::vector<std::int64_t>(count, 1);
  const std::vector<std::int64_t> orders = options.Ints("order");
  if (orders.size() == 1) return std::vector<std::int64_t>(count, orders[0]);
  if (orders.size() == count) return orders;
  throw StatusException(
      Mismatch(reason::CONFIG_INVALID, "options.order",
               "one number, or one for each of the " + std::to_string(axes) + " coordinates",
               std::to_string(orders.size())));
}

/// Radius v of order kappa: windows of radius v / kappa, kappa times convolved.
Transform WindowsTransform(const Options& options, const AttentionInputs& inputs,
                           const torch::Tensor& xi) {
  const std::vector<std::int64_t> orders = OrdersOf(options, xi.size(1));
  const torch::Tensor& radius = inputs.parameters.at("radius");
  torch::Tensor windows = at::ones({}, xi.options());
  for (std::int64_t a = 0; a < xi.size(1); ++a) {
    const auto order = static_cast<double>(orders[static_cast<std::size_t>(a)]);
    windows = windows * WindowTransform(radius.slice(2, a, a + 1) / order,
                                        xi.select(1, a).reshape({1, 1, -1}), order);
  }
  return {(WeightOf(options, inputs, "weight").unsqueeze(2) * windows).sum(1), {}};
}

void RequireDimensions(const AttentionInputs& inputs, std::int64_t dimensions) {
  if (dimensions == 0 || inputs.positions.size(1) == dimensions) return;
  throw StatusException(Mismatch(reason::SHAPE_MISMATCH, "positions",
                                 "[L," + std::to_string(dimensions) + "]",
                                 "[L," + std::to_string(inputs.positions.size(1)) + "]"));
}

CodedParts FourierParts(FourierKind kind) {
  return {[kind](const Options& options, const AttentionInputs& inputs) {
            RequireDimensions(inputs, kind.dimensions);
            const double terms =
                options.Has("terms") ? static_cast<double>(options.Int("terms")) : 1;
            RequireNumbers("frequencies",
                           terms * static_cast<double>(options.Int("frequencies")) *
                               static_cast<double>(inputs.heads() * inputs.positions.size(1)),
                           kMaxTransformNumbers, "heads x terms x frequencies x coordinates");
            NamedTensors parameters = kind.parameters(options, inputs);
            parameters["xi"] = DrawFrequencies(ProposalOf(options), options.Real("extent"),
                                               SeedOf(options, inputs), options.Int("frequencies"),
                                               inputs.positions.size(1))
                                   .to(inputs.q.scalar_type());
            return parameters;
          },
          [kind](const Options& options, const AttentionInputs& inputs) -> Codes {
            const torch::Tensor& xi = inputs.parameters.at("xi");
            const torch::Tensor density =
                DensityOf(ProposalOf(options), options.Real("extent"), xi.to(at::kDouble))
                    .to(xi.scalar_type());
            const Transform g = kind.g(options, inputs, xi);
            const torch::Tensor share = 1 / (density * static_cast<double>(xi.size(0)));
            const torch::Tensor places = kind.position_scale
                                             ? inputs.positions * kind.position_scale(options)
                                             : inputs.positions;
            const FourierFeatures features = MakeFourierFeatures(
                g.real * share, g.imaginary.defined() ? g.imaginary * share : torch::Tensor(), xi,
                places, options.IsSet("balance"));
            return {Appended(ScaledTokens(inputs.q), features.left),
                    Appended(ScaledTokens(inputs.k), features.right)};
          },
          [](const Options& options, const AttentionInputs& inputs) {
            return inputs.width() + 2 * options.Int("frequencies");
          },
          /*is_appended=*/true};
}

MechanismInfo FourierInfo(std::string name, std::string text, std::string source,
                          std::vector<OptionSpec> own, FourierKind kind) {
  std::vector<std::string> proposals{"normal", "uniform", "cauchy", "truncated_normal", "laplace"};
  std::string of_proposals = "density that samples are drawn from";
  if (kind.has_own_density) {
    proposals.insert(proposals.begin(), "kernel");
    of_proposals += "; kernel: that of which K is the transform, by which all weigh alike";
  }
  return Coded(
      {std::move(name),
       std::move(text),
       "O(L m (d + 2 frequencies + dv))",
       std::move(source),
       {"positions"},
       Joined(std::move(own),
              {Number("weight", 0.1, -1e3, 1e3, "initial weight of g, or of each of its terms"),
               Integer("frequencies", 16, 1, 65536, "samples r of g"),
               Flag("balance", false,
                    "roots of |g| on both sides, in place of all of g on that of the keys"),
               Number("max_weight", 1e3, 0, 1e3, "larger weights of g count as this"),
               Word("proposal", std::move(proposals), std::move(of_proposals)),
               Number("extent", 4, 1e-3, 1e6,
                      "uniform, truncated_normal: largest sample along an axis")}),
       nullptr},
      FourierParts(std::move(kind)));
}

OptionSpec TermsOption() { return Integer("terms", 2, 1, 4096, "terms T of g"); }

// Factorised Toeplitz logits.

NamedTensors FactorParameters(const Options& options, const AttentionInputs& inputs) {
  constexpr std::size_t kMaxFactorSides = 8;
  RequireOffsets(inputs.grid, kMaxFactorSides);
  std::vector<double> b;
  const torch::Tensor distances = OffsetDistances(inputs.grid);
  for (std::int64_t i = 0; i < distances.size(0); ++i) {
    b.push_back(options.Real("slope") * static_cast<double>(distances[i].item<std::int64_t>()));
  }
  const std::int64_t columns = std::min(options.Int("rank") + 8, inputs.length());
  return {{"b", PerHead(inputs, b)},
          {"probe", NormalMatrix(static_cast<std::uint64_t>(options.Int("seed")),
                                 RandomStream::kRandomFeatures, 0xFAC7, 0, inputs.length(), columns)
                        .to(inputs.q.scalar_type())}};
}

/// Columns [L,n] that no earlier ones span: of others no basis can be made, nor its gradient.
torch::Tensor IndependentColumns(const torch::Tensor& columns) {
  constexpr double kDependent = 1e-8;
  std::vector<std::int64_t> kept;
  torch::Tensor basis = columns.detach().slice(1, 0, 0);
  const double largest = columns.detach().norm(2, {0}).max().item<double>();
  for (std::int64_t c = 0; c < columns.size(1); ++c) {
    torch::Tensor rest = columns.detach().slice(1, c, c + 1);
    for (int pass = 0; pass < 2; ++pass) {
      rest = rest - at::matmul(basis, at::matmul(basis.transpose(0, 1), rest));
    }
    const double length = rest.norm().item<double>();
    if (length <= kDependent * largest) continue;
    basis = at::cat({basis, rest / length}, 1);
    kept.push_back(c);
  }
  return columns.index_select(1, at::tensor(kept, at::kLong));
}

/// N ~ Q (Q^T N) with Q an orthonormal basis of N G: nearly the best of so many columns. Of as many
/// as tokens it is N itself, and so is its gradient where N has no full rank.
Codes FactorCodes(const Options&, const AttentionInputs& inputs) {
  const torch::Tensor b = inputs.parameters.at("b").to(at::kDouble);
  const torch::Tensor probe = inputs.parameters.at("probe").to(at::kDouble).unsqueeze(0);
  std::vector<torch::Tensor> left, right;
  for (std::int64_t h = 0; h < b.size(0); ++h) {
    const torch::Tensor of_head = b.slice(0, h, h + 1);
    if (probe.size(2) == probe.size(1)) {
      left.push_back(at::eye(probe.size(1), at::kDouble));
      right.push_back(MakeToeplitzMask(inputs.grid, of_head)->Dense()[0].transpose(0, 1));
      continue;
    }
    const torch::Tensor columns =
        IndependentColumns(MakeToeplitzMask(inputs.grid, of_head)->Product(probe)[0]);
    // Twice: one pass leaves columns that are not orthogonal where N has small singular values.
    const torch::Tensor once = std::get<0>(at::linalg_qr(columns));
    const torch::Tensor basis = std::get<0>(at::linalg_qr(once));
    // The transpose has the offsets in reverse.
    const torch::Tensor rest =
        MakeToeplitzMask(inputs.grid, of_head.flip(1))->Product(basis.unsqueeze(0))[0];
    // Zeros in place of the columns that are left out.
    const std::vector<std::int64_t> padding{0, probe.size(2) - basis.size(1)};
    left.push_back(at::constant_pad_nd(basis, padding));
    right.push_back(at::constant_pad_nd(rest, padding));
  }
  return {Appended(ScaledTokens(inputs.q), at::stack(left).to(inputs.q.scalar_type())),
          Appended(ScaledTokens(inputs.k), at::stack(right).to(inputs.q.scalar_type()))};
}

}  // namespace

std::vector<MechanismInfo> PositionMechanisms() {
  return {
      FourierInfo(
          "flt_gm",
          "Learned Fourier transform of relative positions, g a mixture of Gaussians: logits "
          "+ f(r_i - r_j).",
          "flt, Sec. 3.3, Eq. 6",
          {TermsOption(), Number("width", 0.3, 0.05, 0.9, "initial deviation"),
           Flag("complex_g", false, "an imaginary part too: f need not be even")},
          {&MixtureParameters, &MixtureTransform}),
      FourierInfo(
          "flt_shift_invariant",
          "Logits + c K(s_i - s_j) for a shift-invariant kernel of positions s, of a width that "
          "may be learnt.",
          "flt, Sec. 3.3, Eq. 7",
          {Word("kernel", {"gaussian", "laplace", "cauchy"},
                "exp(-|s|^2 / 2); exp(-|s|_1); product of 1 / (1 + s^2)"),
           Number("width", 1, 1e-3, 1e3, "s: positions over it, in their unit"),
           Flag("learn_width", false,
                "every head multiplies the width by the softplus of a parameter, 0.75 at "
                "least and 1 at first")},
          {&KernelParameters, &KernelTransform, 0,
           [](const Options& options) { return 1 / kTwoPi / options.Real("width"); }, true}),
      FourierInfo(
          "flt_local",
          "Logits + sum of weights of windows |r_i - r_j| <= radius, positions of one number.",
          "flt, Eq. 8, 9 and 13",
          {TermsOption(), Number("radius", 1, 1e-6, 1e6, "initial radius of the first window")},
          {&LocalParameters, &LocalTransform, 1}),
      FourierInfo(
          "flt_local_nd", "Logits + sum of weights of boxes of radii around a token.",
          "flt, Eq. 10 and 11",
          {Integer("terms", 1, 1, 4096, "boxes T"),
           Number("radius", 1, 1e-6, 1e6, "initial radius of the first box along every axis")},
          {&WindowParameters, &WindowsTransform}),
      FourierInfo(
          "flt_local_smooth",
          "Logits + sum of weights of windows of every axis convolved with themselves: zero beyond "
          "the "
          "radius, smoother with every order.",
          "flt, Eq. 12 (with the power on the whole ratio)",
          {Integers(
               "order", {2}, 1, 16,
               "convolved windows, whose radii add up to the radius: for all axes, or for each"),
           Integer("terms", 1, 1, 4096, "products of windows T"),
           Number("radius", 1, 1e-6, 1e6, "initial radius of the first along every axis")},
          {&WindowParameters, &WindowsTransform}),
      FourierInfo(
          "flt_gauss3d", "Logits + mixture of Gaussians of the distance of points in space.",
          "flt, Sec. 4.3",
          {TermsOption(), Number("width", 0.5, 1e-3, 1e3, "initial deviation, in positions' unit")},
          {&BellParameters, &BellTransform, 3}),
      Coded(
          {"factor",
           "Relative positions on a grid in the logits, b[i - j], by a random factorisation of low "
           "rank.",
           "O(L log L rank + L m (d + rank + dv))",
           "flt, Sec. 4 (baselines)",
           {"grid"},
           {Integer("rank", 8, 1, 4096, "rank, to which 8 columns are added"),
            Number("slope", -0.05, -100, 100, "initial b: slope times the sum of |offset|")},
           nullptr},
          {&FactorParameters, &FactorCodes,
           [](const Options& options, const AttentionInputs& inputs) {
             return inputs.width() +
                    std::min(options.Int("rank") + 8, inputs.length() - ClassTokensOf(options));
           },
           /*is_appended=*/true}),
  };
}

}  // namespace interlacer::attention
