#pragma once

/// Loops of ReLU linear attention over a range of tokens and one head, one set per instruction set;
/// model/kernels/linear_attention.cpp spreads them over threads. Contract and formulas:
/// model/kernels/linear_attention.h. The sets give equal bits (model/kernels/grf_attention_rows.h).
///
/// Pointers start at the head's first column of the range's first token; rows are `row_stride`
/// apart. A state is [width + 1, width]: the rows of S, then z; its gradient has the same form.
/// Every scratch pointer needs LinearRowScratchCount(width) values.

#include <cstdint>

#include "common/kernels/instruction_sets.h"

namespace interlacer {

inline constexpr std::int64_t LinearRowScratchCount(int width) {
  return static_cast<std::int64_t>(width) * (width + 2);
}

struct LinearRange {
  std::int64_t tokens = 0;
  int row_stride = 0;
  int heads = 0;  ///< distance between denominators of neighbouring tokens
  int width = 0;
};

INTERLACER_FOR_INSTRUCTION_SETS(
    /** state += sum over tokens of m_j phi(k_j) [v_j | 1]^T, in token order. */
    template <typename T> void LinearAddState(const LinearRange& range, const T* k, const T* v,
                                              const T* key_mask, T epsilon, T* scratch, T* state);
    template <typename T>
    void LinearApplyState(const LinearRange& range, const T* q, const T* state, T epsilon, T delta,
                          T* scratch, T* out, T* normalizer);
    /** Writes grad_q and adds to grad_state. */
    template <typename T>
    void LinearQueryBackward(const LinearRange& range, const T* q, const T* out,
                             const T* normalizer, const T* grad_out, const T* state, T epsilon,
                             T* scratch, T* grad_q, T* grad_state);
    /** grad_state is already scaled by 1/n. */
    template <typename T>
    void LinearKeyBackward(const LinearRange& range, const T* k, const T* v, const T* key_mask,
                           const T* grad_state, T epsilon, T* scratch, T* grad_k, T* grad_v);)

}  // namespace interlacer
