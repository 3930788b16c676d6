#pragma once

/// Graph random features: sparse features of a mask from random walks, linear in coefficients f.
///
/// Phi = sum over t <= hops of f_t Omega_t, where Omega_t is an unbiased estimate of W^t, or W^t
/// itself where walks are enumerated. WalkTerms holds all Omega_t in one sparse pattern.
///   symmetric   M = Phi1 Phi2^T, with one ensemble for both (its diagonal is biased upwards) or
///   two asymmetric  M = Phi, f then being the coefficients alpha of the power series ad hoc walks
///   without importance weights: loads 1 in place of products of W d / (1 - p)
/// Walks are a function of graph, options and seed. Memory: the entries of Phi times hops + 1.
/// Errors: StatusException with those of model/graph/walk_sampler.h and RequireVisits;
/// RESOURCE_EXHAUSTED HOST_MEMORY where enumerated features take more than kMaxEnumeratedLoads
/// numbers, or sampled ones more than kMaxSampledLoads. Thread-safety: pure functions. Source:
/// grf-masking, Alg. 1, Alg. 2 (without its division by the number of walks), Eq. 21, App. D.

#include <torch/types.h>

#include <string>
#include <vector>

#include "model/attention/masks/graph.h"
#include "model/graph/walk_sampler.h"

namespace interlacer::attention {

/// How many hops a walk takes: geometric, by the halting probability; uniform on 0 ... max_hops;
/// power, P(at least t) = 1 / (t + 1), cut at max_hops.
enum class LengthLaw { kGeometric, kUniform, kPower };

/// P(a walk takes at least t hops), t <= max_hops, where there is no dead end: what loads of t hops
/// are divided by. Of `options`: max_hops, halt_probability.
double ShareOfWalks(LengthLaw law, const WalkSamplerOptions& options, int t);

/// Entries times hops + 1: half a GiB, and a GiB.
inline constexpr std::int64_t kMaxEnumeratedLoads = std::int64_t{1} << 26;
inline constexpr std::int64_t kMaxSampledLoads = std::int64_t{1} << 27;
/// Walks of a token times hops + 1: what a thread holds of one token at once, 128 MiB.
inline constexpr std::int64_t kMaxVisits = std::int64_t{1} << 23;

/// Throws for more numbers than `most`.
void RequireLoads(std::size_t count, int hops, std::int64_t most = kMaxEnumeratedLoads);
/// Throws CONFIG_INVALID at "options.walks" for more than kMaxVisits visits.
void RequireVisits(const WalkSamplerOptions& options);

struct WalkTerms {
  SparsePatternPtr pattern;
  torch::Tensor loads;  ///< float64 [1 or H,nnz,hops+1], with a gradient to the graph's weights
};

/// iid, antithetic, repelling or repelling_per_prefix; StatusException ARGUMENT_INVALID at
/// "sampler" for another name.
WalkSampler SamplerNamed(const std::string& name);

WalkTerms SampledTerms(const Graph& graph, const WalkSamplerOptions& options);
/// Independent walks of another law of lengths; loads are divided by the probability of as many
/// hops. Of `options`: walk_count, max_hops, seed, ensemble.
WalkTerms SampledTerms(const Graph& graph, const WalkSamplerOptions& options, LengthLaw law);
/// Powers W^0 ... W^hops, entry by entry. With a gradient to weights also entries that are 0
/// because a weight is.
WalkTerms EnumeratedTerms(const Graph& graph, int hops);
/// The graph with weights (1 - p) / d, by which every walk has load 1.
Graph WithoutImportanceWeights(const Graph& graph, double halt_probability);

/// Walks of their own for every head, in one pattern: loads [H,nnz,hops+1].
WalkTerms OfHeads(const std::vector<WalkTerms>& heads);

/// Phi for f [H,hops+1]: values [H,nnz] of f's type.
MaskPairs Combined(const WalkTerms& terms, const torch::Tensor& f);

}  // namespace interlacer::attention
