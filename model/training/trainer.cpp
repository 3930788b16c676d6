#include "model/training/trainer.h"

#include <torch/utils.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <optional>

#include "common/duration.h"
#include "common/folder_lock.h"
#include "common/thread_pool.h"
#include "model/cuda/device_choice.h"
#include "model/device_limits.h"
#include "model/runtime/torch_errors.h"
#include "model/training/distributed_training.h"
#include "model/training/run_directory.h"
#include "model/training/run_inputs.h"
#include "model/training/sample_prefetcher.h"
#include "model/training/sample_source.h"
#include "model/training/sequence_loss.h"
#include "model/training/step_draws.h"

namespace interlacer {
namespace {

using Clock = std::chrono::steady_clock;

/// Freezes or frees encoder and radiance field; the optimizer skips parameters without a gradient.
void SetAppearanceTrainable(WorldModel* model, bool learns) {
  for (auto& item : model->named_parameters()) {
    if (IsAppearance(item.key())) item.value().requires_grad_(learns);
  }
}

/// The step from which on sequences are of the length and clouds of the size that they have at
/// `step`: losses of others are no measure of what has been learnt since.
std::int64_t ComparableFrom(const TrainingConfig& training, std::int64_t step) {
  return std::max(HoldsFrom(training.rollout_steps, step),
                  HoldsFrom(training.particle_count, step));
}

/// A device takes a sequence in less time than a core needs to decode one.
int DrawsAtOnce(const torch::Device& device) {
  constexpr int kMost = 8;
  return device.is_cpu() ? 1 : std::clamp(ThreadCount() / 2, 1, kMost);
}

class TrainingRun {
 public:
  TrainingRun(const TrainOptions& options, const DistributedEnvironment& place,
              const DeviceChoice& device, TrainObserver* observer)
      : options_(options),
        place_(place),
        config_(options.config),
        paths_{options.output_dir},
        observer_(observer),
        model_(config_.model,
               WorldModelOptions{.recompute_blocks = config_.training.recompute_blocks,
                                 .device = device.kind()}),
        optimizer_(&model_, config_.training.weight_decay, config_.training.gradient_clip_norm) {
    model_.MoveTo(device.device, device.cuda);
    const double decay = config_.training.average_decay;
    if (decay > 0) average_ = std::make_unique<WeightEma>(&model_, decay);
  }

  StatusOr<TrainSummary> Run();

 private:
  Status Start(std::int64_t* steps_done);
  Status LoadInputs(std::string* common_inputs);
  Status CheckEqualRuns(const std::string& common_inputs);
  Status OpenRun(std::int64_t* steps_done);
  Status OnAllRanks(const Status& mine);
  SampleRequest RequestOf(std::int64_t first_step, std::int64_t number) const;
  StatusOr<TrainingRecord> OneStep(std::int64_t step, SamplePrefetcher* samples);
  Status ValidateAndSave(std::int64_t steps_done, bool validates, bool saves, RunLog* log);
  bool HasFlattened() const { return IsFlat(validation_losses_, config_.training.stop_when_flat); }
  Status Validate(std::int64_t steps_done, RunLog* log);
  Status AddValidation(std::int64_t step, int index, ValidationRecord* record);
  void PrepareAppearance(std::int64_t step);

  const TrainOptions& options_;
  DistributedEnvironment place_;
  const RunConfig& config_;
  RunPaths paths_;
  TrainObserver* observer_;
  WorldModel model_;
  ModelOptimizer optimizer_;
  std::unique_ptr<WeightEma> average_;  // null without averaging
  std::unique_ptr<SampleSource> source_;
  std::unique_ptr<RankGroup> ranks_;
  std::optional<FolderLock> lock_;         // of the run's folder, on rank 0
  std::vector<double> validation_losses_;  // since ComparableFrom; on rank 0 only
};

Status TrainingRun::Start(std::int64_t* steps_done) {
  if (config_.training.batch_size < place_.world_size) {
    return Mismatch(reason::CONFIG_INVALID, "training.batch_size",
                    "a sequence for each of " + std::to_string(place_.world_size) + " processes",
                    std::to_string(config_.training.batch_size));
  }
  std::int64_t parameter_count = 0;
  for (const torch::Tensor& parameter : model_.parameters()) parameter_count += parameter.numel();
  INTERLACER_RETURN_IF_ERROR(CheckStateFits(parameter_count, average_ != nullptr));
  ranks_ = JoinGroup(place_, model_.device());
  std::string common_inputs;
  INTERLACER_RETURN_IF_ERROR(OnAllRanks(LoadInputs(&common_inputs)));
  INTERLACER_RETURN_IF_ERROR(CheckEqualRuns(common_inputs));
  // Last, because it may end an earlier run.
  *steps_done = 0;
  INTERLACER_RETURN_IF_ERROR(OnAllRanks(ranks_->is_first() ? OpenRun(steps_done) : Status::Ok()));
  BroadcastTrainingState(ranks_.get(), &model_, &optimizer_, steps_done);
  return Status::Ok();
}

/// This process's error, or that another has one.
Status TrainingRun::OnAllRanks(const Status& mine) {
  if (!AnyRank(ranks_.get(), !mine.ok()) || !mine.ok()) return mine;
  return Internal("another process of the run could not go on; it says why");
}

/// Loads what the run begins with. Only rank 0 has first weights; the others get its state.
Status TrainingRun::LoadInputs(std::string* common_inputs) {
  INTERLACER_ASSIGN_OR_RETURN(source_,
                              MakeDatasetSource(config_.model, options_.datasets, options_.seed));
  // A run alone compares them with nobody; opening its folder reads the same manifests.
  if (!ranks_->alone()) {
    INTERLACER_ASSIGN_OR_RETURN(*common_inputs, CommonInputs(options_));
  }
  if (!ranks_->is_first()) return Status::Ok();
  if (const std::string note = source_->note(); !note.empty()) observer_->OnNote(note);
  // Short episodes and cameras that are none of the model's show in a sequence alone.
  if (options_.overwrite) {
    INTERLACER_RETURN_IF_ERROR(source_->Draw(RequestAt(config_, options_.seed, 0, 0)).status());
  }
  InitializeWeights(&model_, options_.seed);
  if (!options_.initial_checkpoint.empty()) {
    INTERLACER_ASSIGN_OR_RETURN(const Checkpoint initial,
                                LoadCheckpoint(options_.initial_checkpoint, {}));
    INTERLACER_RETURN_IF_ERROR(CopySharedWeights(*initial.model, &model_));
    if (options_.reset_heads) ResetHeads(&model_);
  }
  if (!options_.initial_appearance.empty()) {
    INTERLACER_ASSIGN_OR_RETURN(const Checkpoint initial,
                                LoadCheckpoint(options_.initial_appearance, {}));
    INTERLACER_RETURN_IF_ERROR(CopyAppearance(*initial.model, &model_));
  }
  return Status::Ok();
}

/// Processes with other settings or data would sum gradients of other losses.
Status TrainingRun::CheckEqualRuns(const std::string& common_inputs) {
  for (const auto& [what, text] : {std::pair("configuration", RunConfigToJson(config_)),
                                   std::pair("seed and data", common_inputs)}) {
    if (EqualOnAllRanks(ranks_.get(), text)) continue;
    return Mismatch(reason::CONFIG_INVALID, what, "rank 0's in all processes of the run",
                    "another in one or more");
  }
  return Status::Ok();
}

/// The folder of the run, which rank 0 alone touches, and what is resumed.
Status TrainingRun::OpenRun(std::int64_t* steps_done) {
  INTERLACER_ASSIGN_OR_RETURN(FolderLock lock, FolderLock::Take(paths_.dir));
  lock_.emplace(std::move(lock));
  INTERLACER_RETURN_IF_ERROR(PrepareRunDirectory(options_, paths_));
  if (!options_.resume) return Status::Ok();
  INTERLACER_ASSIGN_OR_RETURN(*steps_done,
                              LoadRunState(paths_, &model_, &optimizer_, average_.get()));
  return Status::Ok();
}

/// Appearance is frozen at its average, because the weights of a single step are noisy. Rank 0's
/// average counts, since those of the others start anew when a run is resumed.
void TrainingRun::PrepareAppearance(std::int64_t step) {
  if (config_.training.freeze_appearance) SetAppearanceTrainable(&model_, false);
  const std::int64_t step_count = config_.training.appearance_step_count;
  if (step_count == 0) return;
  SetAppearanceTrainable(&model_, step < step_count);
  if (step != step_count || average_ == nullptr) return;
  average_->Settle(IsAppearance);
  BroadcastTrainingState(ranks_.get(), &model_, &optimizer_, &step);
}

/// Of the number-th sequence of this process in a run from `first_step` on.
SampleRequest TrainingRun::RequestOf(std::int64_t first_step, std::int64_t number) const {
  const int size = ranks_->size(), rank = ranks_->rank();
  const std::int64_t of_a_step = (config_.training.batch_size - rank + size - 1) / size;
  return RequestAt(config_, options_.seed, first_step + number / of_a_step,
                   static_cast<int>(rank + number % of_a_step * size));
}

StatusOr<TrainingRecord> TrainingRun::OneStep(std::int64_t step, SamplePrefetcher* samples) {
  const auto start = Clock::now();
  const std::clock_t cpu_start = std::clock();
  const int batch = config_.training.batch_size;
  TrainingRecord record;
  record.step = step + 1;
  PrepareAppearance(step);
  for (int i = ranks_->rank(); i < batch; i += ranks_->size()) {
    INTERLACER_ASSIGN_OR_RETURN(TrainingSample sample, samples->Take());
    const std::int64_t index = step * batch + i;
    Augment(config_.training, options_.seed, index, &sample);
    const SequenceLoss loss = ComputeSequenceLoss(
        &model_, sample, LossOptionsAt(config_.training, options_.seed, step, index));
    // The loss of a batch is a mean, so accumulating parts of it is exact. A scene that stands
    // still teaches nothing to dynamics whose loss renders nothing.
    if (loss.total.requires_grad()) (loss.total / batch).backward();
    record.loss += loss.total.item<double>() / batch;
    record.reconstruction_loss += loss.reconstruction / batch;
    record.prediction_loss += loss.prediction / batch;
    record.depth_loss_m += loss.depth_m / batch;
    record.track_loss_m += loss.track_m / batch;
  }
  SumGradients(ranks_.get(), &model_);
  SumNumbers(ranks_.get(), {&record.loss, &record.reconstruction_loss, &record.prediction_loss,
                            &record.depth_loss_m, &record.track_loss_m});
  record.learning_rate = ValueAt(config_.training.learning_rate, step);
  record.gradient_norm = optimizer_.Step(record.learning_rate);
  record.seconds = SecondsSince(start);
  record.cpu_seconds = static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC;
  if (!std::isfinite(record.loss) || !std::isfinite(record.gradient_norm)) {
    return DataLoss(reason::PREDICTION_NOT_FINITE, "loss " + std::to_string(record.loss) +
                                                       ", gradient norm " +
                                                       std::to_string(record.gradient_norm) +
                                                       " at step " + std::to_string(step + 1));
  }
  return record;
}

/// Adds the share of one sample to the means.
Status TrainingRun::AddValidation(std::int64_t step, int index, ValidationRecord* record) {
  const torch::NoGradGuard no_grad;
  INTERLACER_ASSIGN_OR_RETURN(const TrainingSample sample,
                              source_->Draw(ValidationRequestAt(config_, step, index)));
  const SequenceLoss loss =
      ComputeSequenceLoss(&model_, sample, ValidationLossOptionsAt(config_.training, step, index));
  const int count = config_.training.validation_sample_count;
  record->depth_loss_m += loss.depth_m / count;
  record->track_loss_m += loss.track_m / count;
  record->still_track_loss_m += loss.still_track_m / count;
  record->reconstruction_loss += loss.reconstruction / count;
  record->prediction_loss += loss.prediction / count;
  return Status::Ok();
}

/// Rank 0 validates, because the averages of others are not those of the run. They answer it after
/// each sample: a validation of many would else be taken for the silence of a process.
Status TrainingRun::Validate(std::int64_t steps_done, RunLog* log) {
  const bool is_first = ranks_->is_first();
  const int count = config_.training.validation_sample_count;
  if (!AnyRank(ranks_.get(), is_first && count > 0 && source_->Has(Split::kValidation))) {
    return Status::Ok();
  }
  ValidationRecord record;
  record.step = steps_done;
  const std::int64_t step = std::max<std::int64_t>(steps_done - 1, 0);
  for (int i = 0; i < count; ++i) {
    INTERLACER_RETURN_IF_ERROR(
        OnAllRanks(is_first ? AddValidation(step, i, &record) : Status::Ok()));
  }
  if (!is_first) return Status::Ok();
  const TrainingConfig& training = config_.training;
  record.loss = training.reconstruction_weight * record.reconstruction_loss +
                training.video_weight * record.prediction_loss +
                training.depth_weight * record.depth_loss_m +
                training.track_weight * record.track_loss_m;
  validation_losses_.push_back(record.loss);
  observer_->OnValidation(record);
  return log->Write(record);
}

/// Validates and saves with the averaged weights, if there are any. Validating comes first: a run
/// that is killed between the two then resumes before the validation, not after one whose result is
/// lost. `log` is null on the ranks other than 0.
Status TrainingRun::ValidateAndSave(std::int64_t steps_done, bool validates, bool saves,
                                    RunLog* log) {
  if (log == nullptr) return validates ? Validate(steps_done, nullptr) : Status::Ok();
  if (!saves && !validates) return Status::Ok();
  if (average_) average_->Swap();
  Status status;
  if (validates) status = Validate(steps_done, log);
  if (status.ok() && saves) {
    status = SaveRunState(paths_, model_, optimizer_, average_.get(), steps_done, options_,
                          source_->robot_folder());
  }
  if (average_) average_->Swap();
  return status;
}

StatusOr<TrainSummary> TrainingRun::Run() {
  const TrainingConfig& training = config_.training;
  std::int64_t steps_done = 0;
  INTERLACER_RETURN_IF_ERROR(Start(&steps_done));
  std::optional<RunLog> log;  // on rank 0 only
  if (ranks_->is_first()) {
    INTERLACER_ASSIGN_OR_RETURN(log, RunLog::Open(paths_.log(), steps_done));
    // A validation has the sequences of the step before it.
    const std::int64_t last_step = std::max<std::int64_t>(steps_done - 1, 0);
    validation_losses_ = ReadValidationLosses(paths_.log(), ComparableFrom(training, last_step));
  }
  SamplePrefetcher samples(
      source_.get(),
      [this, first_step = steps_done](std::int64_t number) {
        return RequestOf(first_step, number);
      },
      DrawsAtOnce(model_.device()));
  TrainSummary summary{steps_done, 0, paths_.checkpoint()};
  bool go_on = true;
  bool is_flat = AnyRank(ranks_.get(), HasFlattened());
  while (go_on && !is_flat && summary.steps_done < training.step_count) {
    if (ComparableFrom(training, summary.steps_done) == summary.steps_done) {
      validation_losses_.clear();
    }
    INTERLACER_ASSIGN_OR_RETURN(const TrainingRecord record, OneStep(summary.steps_done, &samples));
    summary.steps_done = record.step;
    if (average_) average_->Update(record.step);
    summary.final_loss = record.loss;
    if (log) INTERLACER_RETURN_IF_ERROR(log->Write(record));
    go_on = !AnyRank(ranks_.get(), !observer_->OnStep(record, training.step_count));
    const bool last = record.step == training.step_count;
    const bool validates = last || record.step % training.validation_every == 0;
    const bool may_end = validates && training.stop_when_flat.window > 0;
    const bool saves = last || !go_on || may_end || record.step % training.checkpoint_every == 0;
    if (saves) CheckEqualWeights(ranks_.get(), model_);
    INTERLACER_RETURN_IF_ERROR(
        ValidateAndSave(record.step, validates, saves, log ? &*log : nullptr));
    if (may_end) is_flat = AnyRank(ranks_.get(), HasFlattened());
  }
  AnyRank(ranks_.get(), false);  // rank 0 serves the rendezvous, so it must leave last
  if (!go_on) {
    return Cancelled("stopped after step " + std::to_string(summary.steps_done) +
                     "; the run can be resumed");
  }
  if (log) INTERLACER_RETURN_IF_ERROR(log->WriteEnd(summary.steps_done, is_flat));
  return summary;
}

}  // namespace

StatusOr<TrainSummary> Train(const TrainOptions& options, TrainObserver* observer) {
  INTERLACER_RETURN_IF_ERROR(ValidateConfig(options.config.model));
  INTERLACER_RETURN_IF_ERROR(ValidateTrainingConfig(options.config.training));
  UseKernelThreadCount();
  TrainSummary summary;
  const auto run = [&]() -> Status {
    INTERLACER_ASSIGN_OR_RETURN(const DistributedEnvironment place, ReadDistributedEnvironment());
    INTERLACER_ASSIGN_OR_RETURN(DeviceChoice device,
                                ChooseDevice(options.device, options.cuda, place.local_rank));
    const Status fits = CheckFitsDevice(options.config.model, device.kind());
    if (!fits.ok() && options.device != DeviceRequest::kAuto) return fits;
    if (!fits.ok()) device = CpuInstead(fits.message());
    if (device.kind() == DeviceKind::kCuda) {
      ConvolveReproducibly();
      if (options.config.training.tf32) AllowTf32(true);
    }
    INTERLACER_ASSIGN_OR_RETURN(summary, TrainingRun(options, place, device, observer).Run());
    return Status();
  };
  INTERLACER_RETURN_IF_ERROR(CatchTorchErrors(run, "training step"));
  return summary;
}

}  // namespace interlacer
