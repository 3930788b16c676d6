#include "model/files/checkpoint_export.h"

#include "model/files/checkpoint.h"
#include "model/runtime/torch_errors.h"

namespace interlacer {

StatusOr<CheckpointHashes> ExportCheckpoint(const std::string& from_dir,
                                            const std::string& to_dir) {
  CheckpointHashes hashes;
  const auto rewrite = [&]() -> Status {
    INTERLACER_ASSIGN_OR_RETURN(Checkpoint checkpoint, LoadCheckpoint(from_dir, {}));
    checkpoint.metadata[kExportedFromKey] = checkpoint.weights_sha256;
    INTERLACER_RETURN_IF_ERROR(
        SaveCheckpoint(to_dir, *checkpoint.model, checkpoint.metadata, StoredWeights::kFloat16,
                       checkpoint.robot ? from_dir + "/" + kCheckpointRobotFolder : ""));
    INTERLACER_ASSIGN_OR_RETURN(const Checkpoint written, LoadCheckpoint(to_dir, {}));
    hashes = {checkpoint.weights_sha256, written.weights_sha256};
    return Status::Ok();
  };
  INTERLACER_RETURN_IF_ERROR(CatchTorchErrors(rewrite, "export"));
  return hashes;
}

}  // namespace interlacer
