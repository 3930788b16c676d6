#pragma once

/// Graph diffusion masks M = exp(-lambda T), by the action of the exponential on columns.
///
///   laplacian   T = Deg - Adj
///   normalised  T = (Deg - Adj) Deg^-1, with 1 / 0 := 0
///   neg_adjacency  T = -Adj
///   heat        T = -W, W = Deg^-1/2 Adj Deg^-1/2
/// The last two grow with lambda: rows of a connected component have a factor exp(lambda rho), rho
/// a bound of the eigenvalues of its Adj, or 1, and 0 of a token without edges. At most e^60 of it
/// is there; the rest cancels in D^-1, but for delta and class tokens.
/// lambda [H] >= 0 is the time of diffusion: large values flatten. The graph is undirected with
/// weights >= 0; edges of weight 0 connect. Product in float64 by K <= kMaxHeatTerms sparse
/// products for a column, with z = lambda rho, rho the largest degree, 1, or of -Adj the largest
/// bound:
///   kTaylor     the mean of so many hops as a Poisson number of mean z: all terms are >= 0, and
///               entries of any size above 1e-30 of the largest of their component have their
///               digits; K near z
///   kChebyshev  to 1e-13 of the largest entries of a component, below which there is 0; K near
///               sqrt(z), or z where that is smaller
///   kAuto       Taylor for z <= 32, and for -Adj as far as K allows, since parts of a component
///               may have far smaller entries than others; else Chebyshev
/// Dense by halving and squaring, with all digits of entries of any size. Gradients in x of any
/// order, in lambda of first. Errors: StatusException SCHEMA_INVALID at "graph" for other graphs,
/// OUT_OF_RANGE at "parameters.lambda" beyond that number of terms. Thread-safety: const. Source:
/// gkat, Sec. 4, Sec. 4.1 and Thm 4.1 (there t = 1 / lambda); grf-masking, App. B.4.

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "model/attention/masks/graph.h"

namespace interlacer::attention {

inline constexpr int kMaxHeatTerms = 20000;

enum class HeatMethod { kAuto, kChebyshev, kTaylor };

/// e^-z I_k(z) for k = 0 ... until the sum of what follows is below `tolerance`, z >= 0.
std::vector<double> ScaledBesselNumbers(double z, double tolerance);

/// Probabilities of a Poisson number of mean z to be 0, 1, ... until those of all that follow are
/// below `tolerance`, z >= 0.
std::vector<double> PoissonNumbers(double z, double tolerance);

/// `graph` has the adjacency's weights.
MaskPtr MakeHeatMask(const Graph& graph, const std::string& operator_name, torch::Tensor lambda,
                     HeatMethod method = HeatMethod::kAuto);

/// Closed forms of exp(-lambda Laplacian) on grids of sides n_1 ... n_D in row-major order; axis by
/// axis, O(L log L) for a column. `is_torus`: the ends of an axis are neighbours.
MaskPtr MakeGridHeatMask(std::vector<std::int64_t> grid, torch::Tensor lambda, bool is_torus);
/// All sides 2: ((1 + e^{-2 lambda}) / 2)^D tanh(lambda)^{Hamming distance}.
MaskPtr MakeHypercubeHeatMask(std::int64_t dimensions, torch::Tensor lambda);

}  // namespace interlacer::attention
