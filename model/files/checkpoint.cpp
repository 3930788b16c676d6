#include "model/files/checkpoint.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "common/file_io.h"
#include "common/json.h"
#include "common/sha256.h"
#include "robots/robot_folder.h"

namespace interlacer {
namespace {

constexpr char kConfigFile[] = "config.json";
constexpr std::int64_t kMaxConfigBytes = std::int64_t{1} << 20;

std::string PathIn(const std::string& dir, const char* file) {
  return (std::filesystem::path(dir) / file).string();
}

/// Float32 holds every value of the types that other tools store weights in.
bool IsShortFloat(at::ScalarType type) { return type == at::kHalf || type == at::kBFloat16; }

/// Copies stored values into the model. Names, shapes and types must agree, except that stored
/// values may be float16 or bfloat16.
Status AssignWeights(const NamedTensors& stored, WorldModel* model) {
  const at::NoGradGuard no_grad;
  std::size_t used = 0;
  for (const auto& item : model->named_parameters()) {
    const auto found = stored.find(item.key());
    if (found == stored.end()) {
      return CheckpointInvalid(item.key(), DescribeTensor(item.value()), "no such tensor");
    }
    const torch::Tensor& value = found->second;
    if (value.sizes() != item.value().sizes() ||
        (value.scalar_type() != item.value().scalar_type() && !IsShortFloat(value.scalar_type()))) {
      return CheckpointInvalid(item.key(), DescribeTensor(item.value()), DescribeTensor(value));
    }
    if (!at::isfinite(value).all().item<bool>()) {
      return CheckpointInvalid(item.key(), "finite values", "NaN or infinity");
    }
    item.value().copy_(value);
    ++used;
  }
  if (used == stored.size()) return Status();
  const auto parameters = model->named_parameters();
  for (const auto& [name, value] : stored) {
    if (!parameters.contains(name)) {
      return CheckpointInvalid(name, "no such tensor", DescribeTensor(value));
    }
  }
  return Status();
}

}  // namespace

Status SaveCheckpoint(const std::string& dir, const WorldModel& model, TensorMetadata metadata,
                      StoredWeights stored, const std::string& robot_folder) {
  TensorFile weights;
  for (const auto& item : model.named_parameters()) {
    torch::Tensor value = item.value().detach();
    if (stored == StoredWeights::kFloat16) {
      value = value.to(at::kHalf);
      if (!at::isfinite(value).all().item<bool>()) {
        return CheckpointInvalid(item.key(), "values within 65504, as float16 holds them",
                                 "larger ones");
      }
    }
    weights.tensors[item.key()] = value;
  }
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (error) {
    return FailedPrecondition(reason::FILE_UNWRITABLE, dir + ": " + error.message()).WithField(dir);
  }
  if (!robot_folder.empty()) {
    INTERLACER_ASSIGN_OR_RETURN(const Robot robot,
                                CopyRobot(robot_folder, PathIn(dir, kCheckpointRobotFolder)));
    metadata[kRobotSha256Key] = robot.sha256;
  }
  weights.metadata = std::move(metadata);
  INTERLACER_RETURN_IF_ERROR(WriteJsonFile(PathIn(dir, kConfigFile), ConfigToJson(model.config())));
  return WriteTensorFile(PathIn(dir, kWeightsFile), weights);
}

namespace {

/// Adds the file's path to the field of an error inside it. The reason becomes CHECKPOINT_INVALID:
/// for a caller that loads a checkpoint its configuration is data, not an option.
Status InFile(const std::string& path, const Status& status) {
  if (status.reason() != reason::CHECKPOINT_INVALID && status.reason() != reason::CONFIG_INVALID) {
    return status;
  }
  Status located = AsCheckpointInvalid(status);
  if (located.field() == path) return located;  // of the file as a whole
  return std::move(located).WithFieldPrefix(path + ":");
}

/// The checkpoint's robot; null if there is no folder and `metadata` names none.
StatusOr<std::shared_ptr<const Robot>> LoadRobot(const std::string& dir,
                                                 const TensorMetadata& metadata) {
  const std::string folder = PathIn(dir, kCheckpointRobotFolder);
  const auto named = metadata.find(kRobotSha256Key);
  std::error_code error;
  if (named == metadata.end() && !std::filesystem::exists(folder, error) && !error) {
    return std::shared_ptr<const Robot>();
  }
  INTERLACER_ASSIGN_OR_RETURN(Robot robot, ReadRobot(folder));
  if (named != metadata.end() && robot.sha256 != named->second) {
    return Mismatch(reason::HASH_MISMATCH, folder, named->second, robot.sha256);
  }
  return std::make_shared<const Robot>(std::move(robot));
}

}  // namespace

StatusOr<Checkpoint> LoadCheckpoint(const std::string& dir, const WorldModelOptions& options) {
  const std::string config_path = PathIn(dir, kConfigFile);
  const std::string weights_path = PathIn(dir, kWeightsFile);
  INTERLACER_ASSIGN_OR_RETURN(const std::string config_text,
                              ReadTextFile(config_path, kMaxConfigBytes));
  const StatusOr<InterlacerConfig> config = ParseConfigJson(config_text, config_path);
  if (!config.ok()) return InFile(config_path, config.status());
  StatusOr<TensorFile> read = ReadTensorFile(weights_path);
  if (!read.ok()) return InFile(weights_path, read.status());
  TensorFile weights = *std::move(read);
  Checkpoint checkpoint;
  checkpoint.model = std::make_shared<WorldModel>(*config, options);
  INTERLACER_RETURN_IF_ERROR(
      InFile(weights_path, AssignWeights(weights.tensors, checkpoint.model.get())));
  checkpoint.metadata = std::move(weights.metadata);
  checkpoint.weights_sha256 = std::move(weights.sha256);
  INTERLACER_ASSIGN_OR_RETURN(checkpoint.robot, LoadRobot(dir, checkpoint.metadata));
  checkpoint.config_sha256 = Sha256Hex(config_text);
  return checkpoint;
}

}  // namespace interlacer
