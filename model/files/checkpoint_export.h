#pragma once

/// Exports a checkpoint for prediction, with weights in float16; the torch-free interface of
/// `interlacer export`.
///
/// The configuration and metadata are copied. float16 halves the size and keeps 11 bits of each
/// value, more than bfloat16 layers use. Training cannot be resumed from an exported checkpoint,
/// but can start from it. Errors and threads: as model/files/checkpoint.h.

#include <string>

#include "common/status.h"

namespace interlacer {

/// Metadata key of exported weights: the hash of the weights they came from.
inline constexpr char kExportedFromKey[] = "exported_from_sha256";

struct CheckpointHashes {
  std::string from_sha256;  ///< weights that were read
  std::string to_sha256;    ///< weights that were written
};

StatusOr<CheckpointHashes> ExportCheckpoint(const std::string& from_dir, const std::string& to_dir);

}  // namespace interlacer
