#pragma once

/// Row loops of GRF attention, one set per instruction set; model/kernels/grf_attention.cpp
/// spreads them over threads. Contract and formulas: model/kernels/grf_attention.h.
///
/// All sets give equal bits: sums run over sixteen lanes whatever the register width, and products
/// and sums are rounded separately (-ffp-contract=off). Each call handles the rows [begin, end).

#include <cstdint>

#include "common/kernels/instruction_sets.h"
#include "model/kernels/grf_attention.h"

namespace interlacer {
INTERLACER_FOR_INSTRUCTION_SETS(
    /** phi_row is scratch of qk_width + v_width. */
    template <typename T, typename Pairs>
    void GrfForwardRows(const GrfShape& shape, const Pairs& pairs, const GrfInputs<T>& in,
                        const GrfEpsilons& epsilons, std::int64_t begin, std::int64_t end,
                        T* phi_row, T* out, T* normalizer);
    /** Leaves value_load [nnz] and key_load [nnz] for GrfBackwardColumns; adds to the weights'
     * gradients by code, or sets them by pair. */
    template <typename T, typename Pairs>
    void GrfBackwardRows(const GrfShape& shape, const Pairs& pairs, const GrfInputs<T>& in,
                         const GrfSaved<T>& saved, const GrfEpsilons& epsilons, std::int64_t begin,
                         std::int64_t end, T* phi_row, T* grad_q, T* grad_weights, T* value_load,
                         T* key_load);
    template <typename T>
    void GrfBackwardColumns(const GrfShape& shape, const GrfTransposedPairs& transposed,
                            const GrfInputs<T>& in, const T* grad_out, const GrfEpsilons& epsilons,
                            std::int64_t begin, std::int64_t end, const T* value_load,
                            const T* key_load, T* grad_k, T* grad_v);)
}  // namespace interlacer
