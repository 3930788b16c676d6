#include "tests/model/training/distributed_worker.h"

#include <signal.h>
#include <torch/types.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <string>

#include "common/duration.h"
#include "common/thread_pool.h"
#include "model/network/world_model.h"
#include "model/training/distributed_training.h"
#include "tests/model/training/tiny_run.h"

namespace interlacer::testing {
namespace {

constexpr char kValidate[] = "validate ";

/// Prints how many seconds a validation took.
class TroubleObserver : public TrainObserver {
 public:
  explicit TroubleObserver(std::string trouble) : trouble_(std::move(trouble)) {}
  bool OnStep(const TrainingRecord& record, std::int64_t) override {
    last_step_time_ = std::chrono::steady_clock::now();
    if (record.step != kTroubleAfter) return true;
    if (trouble_ == "die") _exit(9);
    if (trouble_ == "silent") raise(SIGSTOP);
    return trouble_ != "stop";
  }
  void OnValidation(const ValidationRecord&) override {
    std::cout << SecondsSince(last_step_time_) << "\n";
  }

 private:
  std::string trouble_;
  std::chrono::steady_clock::time_point last_step_time_;
};

Status TrainRank(const WorkerTask& task, const DistributedEnvironment& place) {
  TrainOptions options = TinyRun(task.folder + "/plane", task.folder + "/" + task.run, kRunSteps);
  options.config.training.batch_size = task.batch_size;
  // The average of rank 0 is kept, also by the rank whose own began anew with the resumed run.
  options.config.training.average_decay = 0.9;
  options.config.training.appearance_step_count = kTroubleAfter + 1;
  options.resume = task.what == "resume";
  const bool last_rank = place.rank == place.world_size - 1;
  if (last_rank && task.what == "other_data") options.datasets[0].path = task.folder + "/other";
  if (last_rank && task.what == "other_seed") ++options.seed;
  if (task.what.starts_with(kValidate)) {
    options.datasets[0].path = task.folder + "/data";
    options.config.training.validation_every = kRunSteps;
    options.config.training.validation_sample_count =
        std::stoi(task.what.substr(sizeof(kValidate) - 1));
  }
  TroubleObserver observer(last_rank ? task.what : "none");
  return Train(options, &observer).status();
}

void Expect(bool holds, const char* what) {
  if (!holds) throw StatusException(Internal(std::string("expected ") + what));
}

/// Two weights: both ranks have a gradient of the first, rank 1 alone of the second, nobody of the
/// third.
void ExchangeGradients(RankGroup* group, WorldModel* model) {
  const auto parameters = model->parameters();
  const float mine = group->is_first() ? 1.0F : 2.0F;
  parameters[0].mutable_grad() = torch::full_like(parameters[0], mine);
  if (!group->is_first()) parameters[1].mutable_grad() = torch::full_like(parameters[1], 5);
  SumGradients(group, model);
  Expect(parameters[0].grad().eq(3).all().item<bool>(), "the sum 3 of both ranks");
  Expect(parameters[1].grad().eq(5).all().item<bool>(), "rank 1's gradient on both ranks");
  Expect(!parameters[2].grad().defined(), "no gradient where no rank has one");
}

Status ExchangeRank(const WorkerTask& task, const DistributedEnvironment& place) {
  const auto group = JoinGroup(place, torch::kCPU);
  WorldModel model(TinyRun("", "", 1).config.model);
  const bool differ = task.what == "differ";
  InitializeWeights(&model, differ ? static_cast<std::uint64_t>(place.rank) : 0);
  if (!differ) ExchangeGradients(group.get(), &model);
  CheckEqualWeights(group.get(), model);
  return Status::Ok();
}

Status Run(const WorkerTask& task) {
  try {
    const DistributedEnvironment place = ValueOrThrow(ReadDistributedEnvironment());
    const bool exchange = task.what == "differ" || task.what == "gradients";
    return exchange ? ExchangeRank(task, place) : TrainRank(task, place);
  } catch (const StatusException& error) {
    return error.status();
  }
}

}  // namespace

int RunWorker(const WorkerTask& task) {
  SetThreadCount(1);
  const Status status = Run(task);
  if (!status.ok()) std::cerr << status.ToString() << "\n";
  return status.ok() ? 0 : 1;
}

}  // namespace interlacer::testing
