#pragma once

/// Packs the weights of dense layers as bfloat16 in the order in which tensor cores read them; CUDA
/// only.
///
/// A weight [out,in] in float32 is cut into blocks of 8 outputs by 32 inputs; of each block lane 4
/// g + t holds, in 16 bytes, output g at inputs 2t, 2t + 8, 2t + 16, 2t + 24 and their right
/// neighbours. Blocks of the same 32 inputs whose outputs are computed together are contiguous.
/// Widths are multiples of 32. Contract: common/kernels/cuda.h.

#include <cstdint>

#include "common/kernels/cuda.h"

namespace interlacer {

/// Outputs, or hidden inputs, that one piece in shared memory holds.
inline constexpr int kDensePiece = 32;

/// Where the blocks of a weight lie in a packed array, in units of 16 bytes unless said otherwise.
struct DenseLayout {
  int piece_vectors = 0;   ///< distance between pieces
  int offset = 0;          ///< of this weight within a piece
  int tiles_of_piece = 0;  ///< groups of 8 outputs in a piece, all weights together
  int steps_of_piece = 0;  ///< groups of 32 inputs in a piece
  int first_tile = 0;      ///< of this weight among all tiles of the pieces
  int tile_stride = 1;     ///< distance between consecutive tiles of this weight
};

struct DenseWeight {
  const float* weight = nullptr;
  int in_width = 0;
  int out_width = 0;
};

CudaError LaunchPackDense(const DenseWeight& dense, const DenseLayout& layout,
                          std::uint16_t* packed, CudaStream stream);

/// Packs two consecutive layers, [hidden,width] and [width,hidden], together: each piece holds
/// `piece` outputs of the first and the same number of inputs of the second.
/// packed [2 * width * hidden]
CudaError LaunchPackDensePair(const DenseWeight& first, const DenseWeight& second, int piece,
                              std::uint16_t* packed, CudaStream stream);

/// Packs a layer whose products are computed transposed, with the weights on the left side: of 16
/// outputs by 16 inputs lane 4 g + t holds, in 16 bytes, outputs g and g + 8 at inputs 2t and 2t +
/// 8, input by input, and their right neighbours. Outputs of the same inputs are contiguous; packed
/// [in * out].
CudaError LaunchPackTransposedDense(const DenseWeight& dense, std::uint16_t* packed,
                                    CudaStream stream);

/// Packs a layer in pieces of kDensePiece inputs with all its outputs; packed [in * out].
CudaError LaunchPackDenseByInputs(const DenseWeight& dense, std::uint16_t* packed,
                                  CudaStream stream);

/// Packs queries, keys and values [width,width] in pieces of kDensePiece outputs: queries first,
/// then keys and values alternating in groups of 8 outputs; packed [3 * width * width].
CudaError LaunchPackProjections(const DenseWeight& query, const DenseWeight& key,
                                const DenseWeight& value, std::uint16_t* packed, CudaStream stream);

}  // namespace interlacer
