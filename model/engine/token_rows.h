#pragma once

/// The tokens of a step for inference: the input rows of the token layers are written in one pass
/// for each kind (model/kernels/token_features.h).
///
/// Values equal those of TokenEncoder::forward up to rounding. No gradients. Nothing waits for a
/// device. Errors: StatusException DEVICE_LOST. Threads: as torch modules.

#include "model/network/tokens.h"

namespace interlacer {

struct CudaBackend;

/// The encoder and the input are in float32; without a backend on the host.
TokenSet EncodeTokens(const TokenEncoder& encoder, const StepInput& input, const CudaBackend* cuda);

}  // namespace interlacer
