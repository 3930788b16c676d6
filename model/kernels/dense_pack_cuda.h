#pragma once

/// Weights of dense layers in bfloat16, in the order in which tensor cores take them; CUDA only.
///
/// A weight [out,in] in float32 is cut into blocks of 8 outputs by 32 inputs; of each block lane
/// 4 g + t holds, in 16 bytes, output g at inputs 2t, 2t + 8, 2t + 16, 2t + 24 and their right
/// neighbours. Blocks of one 32 inputs and all outputs that are computed together stand together.
/// Widths are multiples of 32. Streams and errors as model/kernels/packed_grf_cuda.h.

#include <cstdint>

namespace interlacer {

/// Outputs, or hidden inputs, that pass through shared memory in one piece.
inline constexpr int kDensePiece = 32;

/// Where the blocks of a weight stand in a packed array; counts of 16 bytes where not said.
struct DenseLayout {
  int piece_vectors = 0;   ///< from piece to piece
  int offset = 0;          ///< of this weight in a piece
  int tiles_of_piece = 0;  ///< groups of 8 outputs of a piece, all weights together
  int steps_of_piece = 0;  ///< groups of 32 inputs of a piece
  int first_tile = 0;      ///< of this weight among the tiles that the pieces hold
  int tile_stride = 1;     ///< from one of this weight's tiles to its next
};

struct DenseWeight {
  const float* weight = nullptr;
  int in_width = 0;
  int out_width = 0;
};

int LaunchPackDense(const DenseWeight& dense, const DenseLayout& layout, std::uint16_t* packed,
                    void* stream);

/// Two layers of which the second takes what the first gives, [hidden,width] and [width,hidden]: a
/// piece holds `piece` outputs of the first and as many inputs of the second.
/// packed [2 * width * hidden]
int LaunchPackDensePair(const DenseWeight& first, const DenseWeight& second, int piece,
                        std::uint16_t* packed, void* stream);

/// A layer of which products are computed transposed, weights on their left side: of 16 outputs by
/// 16 inputs lane 4 g + t holds, in 16 bytes, outputs g and g + 8 at inputs 2t and 2t + 8, input by
/// input, and their right neighbours. Outputs of the same inputs stand together; packed [in * out].
int LaunchPackTransposedDense(const DenseWeight& dense, std::uint16_t* packed, void* stream);

/// A layer in pieces of kDensePiece inputs with all its outputs; packed [in * out].
int LaunchPackDenseByInputs(const DenseWeight& dense, std::uint16_t* packed, void* stream);

/// Queries, keys and values [width,width] in pieces of kDensePiece outputs: queries first, then
/// keys and values in turn, 8 outputs each; packed [3 * width * width].
int LaunchPackProjections(const DenseWeight& query, const DenseWeight& key,
                          const DenseWeight& value, std::uint16_t* packed, void* stream);

}  // namespace interlacer
