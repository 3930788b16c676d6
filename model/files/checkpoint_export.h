#pragma once

/// Exports a checkpoint for prediction, with weights in float16; the torch-free interface of
/// `interlacer export`.
///
/// The configuration and metadata are copied, but for what is asked for otherwise. float16 halves
/// the size and keeps 11 bits of each value, more than bfloat16 layers use. Training cannot be
/// resumed from an exported checkpoint, but can start from it. Errors and threads: as
/// model/files/checkpoint.h.

#include <optional>
#include <string>

#include "common/status.h"

namespace interlacer {

/// Metadata key of exported weights: the hash of the weights they came from.
inline constexpr char kExportedFromKey[] = "exported_from_sha256";

struct CheckpointHashes {
  std::string from_sha256;  ///< weights that were read
  std::string to_sha256;    ///< weights that were written
};

/// Of a model that is told the rule of contact; where neither is set, all is exported as it is.
struct GuessSettings {
  /// Added to the bias of what particles take of the guess.
  double more_trust = 0;
  /// lifting.contact_point_count of the export.
  std::optional<int> contact_point_count = {};
};

/// INVALID_ARGUMENT CONFIG_INVALID for settings of a guess that the model does not have, or with
/// which it is none; ARGUMENT_INVALID for a trust that is not within +-100. The trust is added to
/// what the checkpoint has, whatever was added before.
StatusOr<CheckpointHashes> ExportCheckpoint(const std::string& from_dir, const std::string& to_dir,
                                            const GuessSettings& guess = {});

}  // namespace interlacer
