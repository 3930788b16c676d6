#include "server/models/model_registry.h"

#include <chrono>
#include <string>
#include <utility>

#include "common/log.h"

namespace interlacer {

ModelRegistry::ModelRegistry(std::vector<ModelSource> sources) {
  for (ModelSource& source : sources) entries_.push_back({std::move(source), {}, {}, {}});
}

Status ModelRegistry::LoadAll(std::stop_token stop) {
  Status first_failure;
  for (Entry& entry : entries_) {
    if (stop.stop_requested()) return Cancelled("loading was stopped");
    StatusOr<std::unique_ptr<Predictor>> predictor = entry.source.load();
    if (predictor.ok()) {
      entry.model.predictor = *std::move(predictor);
      entry.model.metadata = entry.model.predictor->metadata();
      continue;
    }
    SetFailed(&entry, predictor.status());
    if (first_failure.ok()) first_failure = predictor.status();
  }
  return first_failure;
}

Status ModelRegistry::WarmUpAll(std::stop_token stop) {
  Status first_failure;
  for (Entry& entry : entries_) {
    if (entry.model.predictor == nullptr) continue;
    if (stop.stop_requested()) return Cancelled("warm-up was stopped");
    if (Status status = entry.source.warm_up(stop, &entry.model); !status.ok()) {
      SetFailed(&entry, status);
      if (first_failure.ok()) first_failure = status;
      continue;
    }
    entry.model.costs =
        std::make_unique<MeasuredCosts>(entry.model.metadata, std::chrono::steady_clock::now());
    std::lock_guard lock(mutex_);
    entry.state = ModelState::kReady;
  }
  return first_failure;
}

StatusOr<const ServedModel*> ModelRegistry::Find(const std::string& name) const {
  std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_) {
    if (!name.empty() && entry.source.name != name) continue;
    switch (entry.state) {
      case ModelState::kReady:
        return &entry.model;
      case ModelState::kLoading:
        return Unavailable(reason::MODEL_LOADING, "model " + entry.source.name + " loads");
      case ModelState::kFailed:
        return FailedPrecondition(reason::MODEL_LOAD_FAILED,
                                  "model " + entry.source.name + " could not be loaded");
    }
  }
  std::string known;
  for (const Entry& entry : entries_) known += (known.empty() ? "" : ", ") + entry.source.name;
  return NotFound(reason::MODEL_NOT_FOUND, "model_name: expected one of " + known + ", got " + name)
      .WithField("model_name")
      .WithMetadata("expected", known)
      .WithMetadata("got", name);
}

std::vector<ModelLoadStatus> ModelRegistry::Statuses() const {
  std::lock_guard lock(mutex_);
  std::vector<ModelLoadStatus> statuses;
  for (const Entry& entry : entries_) {
    statuses.push_back({entry.source.name, entry.state, entry.failure_message});
  }
  return statuses;
}

const ServedModel* ModelRegistry::FirstReady() const {
  std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_) {
    if (entry.state == ModelState::kReady) return &entry.model;
  }
  return nullptr;
}

std::vector<ModelMemory> ModelRegistry::Memories() const {
  std::lock_guard lock(mutex_);
  std::vector<ModelMemory> memories;
  for (const Entry& entry : entries_) {
    if (entry.state == ModelState::kReady && entry.model.memory) {
      memories.push_back(*entry.model.memory);
    }
  }
  return memories;
}

void ModelRegistry::SetFailed(Entry* entry, const Status& status) {
  Log(LogLevel::kError, "a model could not be loaded",
      {{"model", entry->source.name}, {"error", status.ToString()}});
  std::lock_guard lock(mutex_);
  entry->state = ModelState::kFailed;
  entry->failure_message = status.reason();
}

}  // namespace interlacer
