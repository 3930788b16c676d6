#pragma once

/// A checkpoint for those who predict with it: torch-free door of `interlacer export`.
///
/// The same configuration and metadata, weights in float16: half the bytes, values to 11 bits,
/// which is more than bfloat16 layers keep of them. Training cannot be resumed from it, but may
/// begin with it. Errors: those of model/files/checkpoint.h. Threads: as model/files/checkpoint.h.

#include <string>

#include "common/status.h"

namespace interlacer {

/// Metadata of the exported weights: the hash of those they came from.
inline constexpr char kExportedFromKey[] = "exported_from_sha256";

struct CheckpointHashes {
  std::string from_sha256;  ///< weights that were read
  std::string to_sha256;    ///< weights that were written
};

StatusOr<CheckpointHashes> ExportCheckpoint(const std::string& from_dir, const std::string& to_dir);

}  // namespace interlacer
