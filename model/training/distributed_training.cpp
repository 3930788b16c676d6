#include "model/training/distributed_training.h"

#include <torch/types.h>

#include "common/sha256.h"
#include "model/network/world_model.h"

namespace interlacer {
namespace {

constexpr std::int64_t kBucketValues = std::int64_t{4} << 20;

/// Copies `tensors` into contiguous float32 buckets, calls `exchange` on each, and copies back.
template <typename Exchange>
void InBuckets(std::vector<torch::Tensor> tensors, const Exchange& exchange) {
  const torch::NoGradGuard no_grad;
  for (std::size_t begin = 0; begin < tensors.size();) {
    std::vector<torch::Tensor> flat;
    std::int64_t count = 0;
    std::size_t end = begin;
    // A tensor larger than a bucket gets a bucket of its own.
    for (; end < tensors.size() && (end == begin || count + tensors[end].numel() <= kBucketValues);
         ++end) {
      flat.push_back(tensors[end].reshape({-1}));
      count += tensors[end].numel();
    }
    torch::Tensor bucket = torch::cat(flat);
    exchange(&bucket);
    std::int64_t offset = 0;
    for (; begin < end; ++begin) {
      torch::Tensor& tensor = tensors[begin];
      tensor.copy_(bucket.slice(0, offset, offset + tensor.numel()).view(tensor.sizes()));
      offset += tensor.numel();
    }
  }
}

/// Combines `count` numbers of all ranks by `exchange`.
template <typename Exchange>
std::vector<double> Exchanged(const RankGroup& group, const std::vector<double>& values,
                              const Exchange& exchange) {
  torch::Tensor tensor = torch::tensor(values, torch::kFloat64).to(group.device());
  exchange(&tensor);
  const torch::Tensor host = tensor.cpu();
  return {host.data_ptr<double>(), host.data_ptr<double>() + host.numel()};
}

std::vector<double> SumOf(RankGroup* group, const std::vector<double>& values) {
  return Exchanged(*group, values, [&](torch::Tensor* tensor) { group->Sum(tensor); });
}

std::vector<double> OfFirst(RankGroup* group, const std::vector<double>& values) {
  return Exchanged(*group, values, [&](torch::Tensor* tensor) { group->Broadcast(tensor); });
}

/// Rank 0 may hold no state for a parameter that never had a gradient: then no rank does.
void BroadcastOptimizer(RankGroup* group, const WorldModel& model, ModelOptimizer* optimizer) {
  NamedTensors mine = optimizer->State(), common;
  std::vector<double> steps;
  for (const auto& item : model.named_parameters()) {
    const auto step = mine.find(item.key() + ".step");
    steps.push_back(step == mine.end() ? 0.0 : step->second.item<double>());
  }
  // Rank 0's steps decide on all ranks which moments follow, so that all send equal buckets.
  steps = OfFirst(group, steps);
  std::vector<torch::Tensor> moments;
  std::size_t index = 0;
  for (const auto& item : model.named_parameters()) {
    const auto step = static_cast<std::int64_t>(steps[index++]);
    if (step == 0) continue;
    common[item.key() + ".step"] = torch::tensor({step}, torch::kInt64);
    for (const char* suffix : {".exp_avg", ".exp_avg_sq"}) {
      torch::Tensor& moment = common[item.key() + suffix];
      const auto known = mine.find(item.key() + suffix);
      moment = known == mine.end() ? torch::zeros_like(item.value()) : known->second.clone();
      moments.push_back(moment);
    }
  }
  InBuckets(moments, [&](torch::Tensor* bucket) { group->Broadcast(bucket); });
  ThrowIfError(optimizer->LoadState(common));
}

}  // namespace

void BroadcastTrainingState(RankGroup* group, WorldModel* model, ModelOptimizer* optimizer,
                            std::int64_t* steps_done) {
  if (group->alone()) return;
  InBuckets(model->parameters(), [&](torch::Tensor* bucket) { group->Broadcast(bucket); });
  BroadcastOptimizer(group, *model, optimizer);
  *steps_done = static_cast<std::int64_t>(OfFirst(group, {static_cast<double>(*steps_done)})[0]);
  CheckEqualWeights(group, *model);
}

void SumGradients(RankGroup* group, WorldModel* model) {
  if (group->alone()) return;
  const std::vector<torch::Tensor> parameters = model->parameters();
  std::vector<double> has_gradient;
  for (const torch::Tensor& parameter : parameters) {
    has_gradient.push_back(parameter.grad().defined() ? 1.0 : 0.0);
  }
  // A parameter without a gradient here may have one on another rank.
  has_gradient = SumOf(group, has_gradient);
  std::vector<torch::Tensor> gradients;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (has_gradient[i] == 0) continue;
    torch::Tensor& gradient = parameters[i].mutable_grad();
    if (!gradient.defined()) gradient = torch::zeros_like(parameters[i]);
    gradients.push_back(gradient);
  }
  InBuckets(gradients, [&](torch::Tensor* bucket) { group->Sum(bucket); });
}

void SumNumbers(RankGroup* group, std::vector<double*> numbers) {
  if (group->alone()) return;
  std::vector<double> values;
  for (const double* number : numbers) values.push_back(*number);
  values = SumOf(group, values);
  for (std::size_t i = 0; i < numbers.size(); ++i) *numbers[i] = values[i];
}

bool AnyRank(RankGroup* group, bool value) {
  double count = value ? 1 : 0;
  SumNumbers(group, {&count});
  return count > 0;
}

std::string WeightsDigest(const WorldModel& model) {
  Sha256 digest;
  for (const torch::Tensor& parameter : model.parameters()) {
    const torch::Tensor host = parameter.detach().cpu().contiguous();
    digest.Update({static_cast<const std::uint8_t*>(host.data_ptr()), host.nbytes()});
  }
  return digest.HexDigest();
}

bool EqualOnAllRanks(RankGroup* group, const std::string& text) {
  if (group->alone()) return true;
  // Digests travel as numbers, because ranks exchange tensors only.
  const std::string digest = Sha256Hex(text);
  const std::vector<double> letters(digest.begin(), digest.end());
  const bool differs = OfFirst(group, letters) != letters;
  return !AnyRank(group, differs);
}

void CheckEqualWeights(RankGroup* group, const WorldModel& model) {
  if (group->alone()) return;
  if (!EqualOnAllRanks(group, WeightsDigest(model))) {
    throw StatusException(
        Internal("weights differ between the processes of the run; expected rank "
                 "0's on all of them"));
  }
}

}  // namespace interlacer
