#pragma once

/// Bounds from theory on walk estimates: error probability, sparsity, number of walks.
///
/// Pure functions, thread-safe. Source: grf-masking, Thm 3.1 and Lemma 3.2.

#include <span>

namespace interlacer {

/// c = sum_t |f_t| (largest_step_load)^t, where largest_step_load = max W_ij d_i / (1 - p_halt).
double LoadNorm(std::span<const double> coefficients, double largest_step_load);

/// Pr(|estimate - exact| > error) of a mask entry off the diagonal is at most this, for
/// walk_count independent walks a node and load norm c; does not depend on the graph's size.
double ErrorProbabilityBound(double error, int walk_count, double c);

/// Smallest number of walks whose ErrorProbabilityBound is at most `probability`; INT_MAX where
/// that many or more are needed.
int WalksForBound(double error, double probability, double c);

/// With at least 1 - `probability`, none of walk_count walks visits more nodes than this; a row
/// then has at most walk_count times as many entries. The start counts as visited. The lemma's
/// real number is rounded up: without that the statement fails. Without halting it is infinite.
double VisitedNodesBound(double probability, int walk_count, double halt_probability);

/// The same of another law of lengths: shares[t] is the probability of at least t hops, and a walk
/// visits at most shares.size() nodes, one at least.
int VisitedNodesBound(double probability, int walk_count, std::span<const double> shares);

}  // namespace interlacer
