#include "model/learning/learner.h"

#include <torch/nn/functional/loss.h>
#include <torch/utils.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>
#include <utility>

#include "common/duration.h"
#include "common/random.h"
#include "model/learning/batch.h"
#include "model/learning/token_network.h"
#include "model/runtime/torch_errors.h"
#include "model/runtime/torch_status.h"
#include "model/training/optimizer.h"
#include "model/training/run_folder.h"
#include "model/training/run_log.h"

namespace interlacer {
namespace {

using Clock = std::chrono::steady_clock;

constexpr char kStateFile[] = "/state.safetensors";
constexpr char kWeights[] = "weights.", kBest[] = "best.", kOptimizer[] = "optimizer.";

nlohmann::ordered_json ToJson(const LearningScore& score) {
  return {{"loss", score.loss}, {"score", score.score}};
}

StatusOr<LearningScore> ScoreOf(const JsonObject& line, const char* key) {
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject object, line.GetObject(key));
  LearningScore score;
  INTERLACER_ASSIGN_OR_RETURN(score.loss, object.Get<double>("loss"));
  INTERLACER_ASSIGN_OR_RETURN(score.score, object.Get<double>("score"));
  return score;
}

StatusOr<EpochRecord> ParseEpoch(const JsonObject& line) {
  EpochRecord record;
  INTERLACER_ASSIGN_OR_RETURN(record.epoch, line.Get<std::int64_t>("step"));
  INTERLACER_ASSIGN_OR_RETURN(record.train, ScoreOf(line, "train"));
  INTERLACER_ASSIGN_OR_RETURN(record.validation, ScoreOf(line, "validation"));
  INTERLACER_ASSIGN_OR_RETURN(record.learning_rate, line.Get<double>("learning_rate"));
  INTERLACER_ASSIGN_OR_RETURN(record.seconds, line.Get<double>("seconds"));
  return record;
}

/// The epochs of a log, which must be 1, 2, ..., `count`.
StatusOr<std::vector<EpochRecord>> ReadEpochs(const std::string& path, std::int64_t count) {
  std::vector<EpochRecord> epochs;
  std::ifstream file(path);
  for (std::string text;
       static_cast<std::int64_t>(epochs.size()) < count && std::getline(file, text);) {
    INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json value, ParseJson(text, path));
    INTERLACER_ASSIGN_OR_RETURN(const JsonObject line, JsonObject::Make(value, path));
    INTERLACER_ASSIGN_OR_RETURN(EpochRecord record, ParseEpoch(line));
    if (record.epoch != static_cast<std::int64_t>(epochs.size()) + 1) break;
    epochs.push_back(std::move(record));
  }
  if (static_cast<std::int64_t>(epochs.size()) == count) return epochs;
  return Mismatch(reason::CHECKPOINT_INVALID, path,
                  "a line for each of the checkpoint's " + std::to_string(count) + " epochs",
                  std::to_string(epochs.size()));
}

/// 1 and on; 0 without epochs.
std::int64_t BestEpoch(const std::vector<EpochRecord>& epochs) {
  const auto best = std::min_element(
      epochs.begin(), epochs.end(),
      [](const auto& a, const auto& b) { return a.validation.loss < b.validation.loss; });
  return best == epochs.end() ? 0 : best->epoch;
}

std::vector<std::int64_t> Numbers(std::int64_t count) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// The order of an epoch, whatever the network: runs of one seed see the same examples.
std::vector<std::int64_t> OrderOf(std::int64_t count, std::uint64_t seed, std::int64_t epoch) {
  std::vector<std::int64_t> order = Numbers(count);
  RandomSequence random(seed, RandomStream::kSubsample, static_cast<std::uint32_t>(epoch));
  for (std::int64_t i = count - 1; i > 0; --i) {
    const auto other = random.Below(static_cast<std::uint32_t>(i + 1));
    std::swap(order[static_cast<std::size_t>(i)], order[other]);
  }
  return order;
}

/// Sums over examples.
struct Sums {
  double loss = 0, score = 0;
  std::int64_t count = 0;

  LearningScore Mean() const {
    return {loss / static_cast<double>(count), score / static_cast<double>(count)};
  }
};

class LearningRun {
 public:
  LearningRun(const ExampleSet& set, const LearningOptions& options)
      : set_(set),
        options_(options),
        config_(options.config),
        paths_{options.output_dir},
        network_(config_.network, set.form(), options.seed,
                 MakeBatch(set, LearningSplit::kTrain, std::vector<std::int64_t>{0})),
        optimizer_(&network_, config_.weight_decay,
                   config_.gradient_clip_norm > 0 ? config_.gradient_clip_norm
                                                  : std::numeric_limits<double>::infinity()) {}

  LearningResult Run();

 private:
  void Open();
  void Load();
  void Save();
  EpochRecord OneEpoch(std::int64_t epoch);
  LearningScore Evaluate(LearningSplit split);
  StatusException Diverged(const std::string& what) const;
  torch::Tensor OutputOf(const Batch& batch);
  torch::Tensor LossOf(const Batch& batch, Sums* sums);
  bool IsOver() const;
  void RequireGoingOn() const;

  const ExampleSet& set_;
  const LearningOptions& options_;
  const LearningConfig& config_;
  RunPaths paths_;
  TokenNetwork network_;
  ModelOptimizer optimizer_;
  NamedTensors best_;
  std::vector<EpochRecord> epochs_;
};

std::string RunJson(const ExampleSet& set, const LearningOptions& options) {
  const nlohmann::ordered_json run{{"network", ToJson(options.config.network)},
                                   {"training", TrainingToJson(options.config)},
                                   {"data", nlohmann::ordered_json::parse(set.Description())},
                                   {"seed", options.seed}};
  return JsonText(run, 2) + "\n";
}

void LearningRun::Open() {
  const bool has_run = ValueOrThrow(OpenRunFolder(
      paths_, RunJson(set_, options_), options_.resume ? EarlierRun::kResume : EarlierRun::kRefuse,
      [] { return Status(); }));
  if (has_run && ValueOrThrow(FindCheckpoint(paths_))) Load();
}

void LearningRun::Load() {
  const std::string path = paths_.checkpoint() + kStateFile;
  const TensorFile state = ValueOrThrow(ReadTensorFile(path));
  const auto epochs = ValueOrThrow(OptimizerSteps(state.metadata));
  epochs_ = ValueOrThrow(ReadEpochs(paths_.log(), epochs));
  NamedTensors optimizer;
  const torch::NoGradGuard no_grad;
  for (const auto& [name, tensor] : state.tensors) {
    if (name.starts_with(kOptimizer)) optimizer[name.substr(sizeof(kOptimizer) - 1)] = tensor;
  }
  for (auto& item : network_.named_parameters()) {
    const auto now = state.tensors.find(kWeights + item.key());
    const auto best = state.tensors.find(kBest + item.key());
    for (const auto& found : {now, best}) {
      if (found != state.tensors.end() && found->second.sizes() == item.value().sizes()) continue;
      throw StatusException(Mismatch(reason::CHECKPOINT_INVALID, path + ": " + item.key(),
                                     DescribeTensor(item.value()), "nothing of this shape"));
    }
    item.value().copy_(now->second);
    best_[item.key()] = best->second;
  }
  ThrowIfError(optimizer_.LoadState(optimizer));
}

void LearningRun::Save() {
  TensorFile state;
  for (const auto& item : network_.named_parameters()) {
    state.tensors[kWeights + item.key()] = item.value().detach();
  }
  for (const auto& [name, tensor] : best_) state.tensors[kBest + name] = tensor;
  for (const auto& [name, tensor] : optimizer_.State()) state.tensors[kOptimizer + name] = tensor;
  state.metadata[kOptimizerStepsKey] = std::to_string(epochs_.size());
  ThrowIfError(ReplaceCheckpoint(paths_, [&](const std::string& folder) {
    return WriteTensorFile(folder + kStateFile, state);
  }));
}

StatusException LearningRun::Diverged(const std::string& what) const {
  return StatusException(DataLoss(reason::PREDICTION_NOT_FINITE,
                                  what + " in epoch " + std::to_string(epochs_.size() + 1) +
                                      "; a lower learning_rate may help"));
}

/// Weights that have diverged make numbers of finite examples that are none; examples are checked
/// when a batch is made.
torch::Tensor LearningRun::OutputOf(const Batch& batch) {
  try {
    return network_.Forward(batch);
  } catch (const StatusException& error) {
    if (error.status().reason() != reason::NOT_FINITE) throw;
    throw Diverged("a number that is none at " + error.status().field());
  }
}

/// The mean over the batch; sums grow by its examples.
torch::Tensor LearningRun::LossOf(const Batch& batch, Sums* sums) {
  namespace functional = torch::nn::functional;
  const torch::Tensor out = OutputOf(batch);
  const bool is_class = set_.form().task == LearningTask::kClassification;
  const torch::Tensor loss = is_class ? functional::cross_entropy(out, batch.targets)
                                      : functional::mse_loss(out, batch.targets);
  const torch::Tensor scores = is_class ? (out.detach().argmax(1) == batch.targets).to(at::kDouble)
                                        : (out.detach() - batch.targets).abs().mean(1);
  if (!std::isfinite(loss.item<double>())) {
    throw Diverged("loss " + std::to_string(loss.item<double>()));
  }
  sums->loss += loss.item<double>() * static_cast<double>(batch.size());
  sums->score += scores.sum().item<double>();
  sums->count += batch.size();
  return loss;
}

void LearningRun::RequireGoingOn() const {
  if (!options_.stop.stop_requested()) return;
  throw StatusException(Cancelled("stopped in epoch " + std::to_string(epochs_.size() + 1) +
                                  "; the run can be resumed"));
}

LearningScore LearningRun::Evaluate(LearningSplit split) {
  const torch::NoGradGuard no_grad;
  const std::vector<std::int64_t> all = Numbers(set_.size(split));
  Sums sums;
  for (std::size_t begin = 0; begin < all.size(); begin += config_.batch_size) {
    RequireGoingOn();
    const std::size_t count = std::min<std::size_t>(config_.batch_size, all.size() - begin);
    LossOf(MakeBatch(set_, split, std::span(all).subspan(begin, count)), &sums);
  }
  return sums.Mean();
}

EpochRecord LearningRun::OneEpoch(std::int64_t epoch) {
  const auto start = Clock::now();
  EpochRecord record;
  record.epoch = epoch;
  const std::vector<std::int64_t> order =
      OrderOf(set_.size(LearningSplit::kTrain), options_.seed, epoch);
  const std::size_t batch_size = config_.batch_size;
  const std::size_t batch_count = (order.size() + batch_size - 1) / batch_size;
  Sums sums;
  for (std::size_t i = 0; i < batch_count; ++i) {
    RequireGoingOn();
    const std::size_t begin = i * batch_size, end = std::min(begin + batch_size, order.size());
    Batch batch =
        MakeBatch(set_, LearningSplit::kTrain, std::span(order).subspan(begin, end - begin));
    batch.step =
        (epoch - 1) * static_cast<std::int64_t>(batch_count) + static_cast<std::int64_t>(i);
    record.learning_rate = ValueAt(config_.learning_rate, batch.step);
    const torch::Tensor loss = LossOf(batch, &sums);
    loss.backward();
    const double norm = optimizer_.Step(record.learning_rate);
    if (!std::isfinite(norm)) {
      throw Diverged("gradient norm " + std::to_string(norm));
    }
  }
  record.train = sums.Mean();
  record.validation = Evaluate(LearningSplit::kValidation);
  record.seconds = SecondsSince(start);
  return record;
}

bool LearningRun::IsOver() const {
  const auto done = static_cast<std::int64_t>(epochs_.size());
  return done >= config_.epoch_count ||
         (config_.patience > 0 && done - BestEpoch(epochs_) >= config_.patience);
}

LearningResult LearningRun::Run() {
  Open();
  RunLog log = ValueOrThrow(RunLog::Open(paths_.log(), static_cast<std::int64_t>(epochs_.size())));
  while (!IsOver()) {
    epochs_.push_back(OneEpoch(static_cast<std::int64_t>(epochs_.size()) + 1));
    const EpochRecord& record = epochs_.back();
    if (BestEpoch(epochs_) == record.epoch) {
      for (const auto& item : network_.named_parameters()) {
        best_[item.key()] = item.value().detach().clone();
      }
    }
    const nlohmann::ordered_json line{{"kind", "epoch"},
                                      {"step", record.epoch},
                                      {"train", ToJson(record.train)},
                                      {"validation", ToJson(record.validation)},
                                      {"learning_rate", record.learning_rate},
                                      {"seconds", record.seconds}};
    ThrowIfError(log.WriteLine(line.dump()));
    if (IsOver() || record.epoch % config_.checkpoint_every == 0) Save();
    options_.on_epoch(record);
  }
  const torch::NoGradGuard no_grad;
  for (auto& item : network_.named_parameters()) item.value().copy_(best_.at(item.key()));
  return {network_.ParameterCount(), epochs_, BestEpoch(epochs_), Evaluate(LearningSplit::kTest)};
}

Status CheckSizes(const ExampleSet& set) {
  for (const LearningSplit split :
       {LearningSplit::kTrain, LearningSplit::kValidation, LearningSplit::kTest}) {
    if (set.size(split) > 0) continue;
    return Mismatch(reason::ARGUMENT_INVALID, std::string(SplitName(split)), "one example or more",
                    "none");
  }
  return Status::Ok();
}

}  // namespace

StatusOr<LearningResult> Learn(const ExampleSet& set, const LearningOptions& options) {
  INTERLACER_RETURN_IF_ERROR(CheckSizes(set));
  UseKernelThreadCount();
  LearningResult result;
  INTERLACER_RETURN_IF_ERROR(CatchTorchErrors(
      [&] {
        ThrowIfError(CheckLearning(options.config));
        result = LearningRun(set, options).Run();
        return Status::Ok();
      },
      "learner"));
  return result;
}

StatusOr<LearningScore> ScoreOfTrivialPrediction(const ExampleSet& set) {
  INTERLACER_RETURN_IF_ERROR(CheckSizes(set));
  LearningScore score;
  INTERLACER_RETURN_IF_ERROR(CatchTorchErrors(
      [&] {
        const auto targets = [&](LearningSplit split) {
          return MakeBatch(set, split, Numbers(set.size(split))).targets;
        };
        const torch::Tensor known = targets(LearningSplit::kTrain);
        const torch::Tensor asked = targets(LearningSplit::kTest);
        if (set.form().task == LearningTask::kRegression) {
          const torch::Tensor error = asked - known.mean(0);
          score = {error.square().mean().item<double>(), error.abs().mean().item<double>()};
          return Status::Ok();
        }
        const torch::Tensor shares =
            at::bincount(known, {}, set.form().target_width).to(at::kDouble) /
            static_cast<double>(known.size(0));
        score.loss = -shares.log().index_select(0, asked).mean().item<double>();
        score.score = (asked == shares.argmax(0)).to(at::kDouble).mean().item<double>();
        return Status::Ok();
      },
      "trivial prediction"));
  return score;
}

}  // namespace interlacer
