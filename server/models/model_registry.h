#pragma once

/// The models of this process, in order; the first is the default.
///
/// Load and WarmUp run on the loading thread; Find and Statuses may be called from anywhere at any
/// time. An engine that is READY stays as it is until the registry dies. Errors of Find: NOT_FOUND
/// MODEL_NOT_FOUND, UNAVAILABLE MODEL_LOADING, FAILED_PRECONDITION MODEL_LOAD_FAILED.

#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "common/status.h"
#include "server/models/engine.h"

namespace interlacer {

enum class ModelState { kLoading, kReady, kFailed };

struct ModelLoadStatus {
  std::string model_name;
  ModelState state = ModelState::kLoading;
  std::string failure_message;
};

struct ModelSource {
  std::string name;
  EngineFactory load;
};

class ModelRegistry {
 public:
  explicit ModelRegistry(std::vector<ModelSource> sources);

  /// Loads every model; the first failure is returned and the rest still tried.
  Status LoadAll(std::stop_token stop);
  /// Warms up every loaded model and makes it READY; the first failure is returned.
  Status WarmUpAll(std::stop_token stop);

  /// A READY model by name; an empty name means the default.
  StatusOr<Engine*> Find(const std::string& name) const;
  std::vector<ModelLoadStatus> Statuses() const;
  /// The first READY engine, or null.
  const Engine* FirstReady() const;

 private:
  struct Entry {
    ModelSource source;
    ModelState state = ModelState::kLoading;
    std::string failure_message;
    std::unique_ptr<Engine> engine;
  };

  void SetFailed(Entry* entry, const Status& status);

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace interlacer
