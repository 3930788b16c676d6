#pragma once

/// Loads and holds the models of this process, in order; the first is the default.
///
/// LoadAll and WarmUpAll run on the loading thread; Find and Statuses may be called from any thread
/// at any time. A model that is READY does not change, but for its costs, until the registry is
/// destroyed; from then on
/// only the device worker uses its predictor, except for metadata(), device_name(),
/// is_device_fallback() and AsksNetwork. So load, warm-up, Lift and all later calls are on one
/// thread at a time. Errors of Find: NOT_FOUND MODEL_NOT_FOUND, UNAVAILABLE MODEL_LOADING,
/// FAILED_PRECONDITION MODEL_LOAD_FAILED.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "common/model_metadata.h"
#include "common/status.h"
#include "model/predictor.h"
#include "server/models/measured_costs.h"

namespace interlacer {

enum class ModelState { kLoading, kReady, kFailed };

struct ModelLoadStatus {
  std::string model_name;
  ModelState state = ModelState::kLoading;
  std::string failure_message;
};

/// What the calls of a model take of its device, as the warm-up found.
struct ModelMemory {
  std::int64_t held_bytes = 0;   ///< by a call between two units of its work
  std::int64_t peak_bytes = 0;   ///< by a call within a unit
  std::int64_t scene_bytes = 0;  ///< by a scene that is kept
  std::int64_t free_bytes = 0;   ///< before the first call
  std::int64_t total_bytes = 0;
};

struct ServedModel {
  std::unique_ptr<Predictor> predictor;
  /// The predictor's metadata with the costs measured at warm-up.
  ModelMetadata metadata;
  /// Since the warm-up; set in a READY model. Changes with what calls measure.
  std::unique_ptr<MeasuredCosts> costs;
  /// Absent where the device does not tell.
  std::optional<ModelMemory> memory{};
};

using PredictorFactory = std::function<StatusOr<std::unique_ptr<Predictor>>()>;
/// The first run of a model, which fills in the costs of its metadata. Returns CANCELLED when
/// stopped. Errors: FAILED_PRECONDITION MODEL_LOAD_FAILED when results differ from the expected
/// ones.
using WarmUpFunction = std::function<Status(std::stop_token, ServedModel*)>;

struct ModelSource {
  std::string name;
  PredictorFactory load;
  WarmUpFunction warm_up;
};

class ModelRegistry {
 public:
  explicit ModelRegistry(std::vector<ModelSource> sources);

  /// Loads every model, even after a failure; returns the first failure.
  Status LoadAll(std::stop_token stop);
  /// Warms up every loaded model and makes it READY; returns the first failure.
  Status WarmUpAll(std::stop_token stop);

  /// A READY model by name; an empty name means the default.
  StatusOr<const ServedModel*> Find(const std::string& name) const;
  std::vector<ModelLoadStatus> Statuses() const;
  /// The first READY model, or null.
  const ServedModel* FirstReady() const;
  /// Of the READY models that tell.
  std::vector<ModelMemory> Memories() const;

 private:
  struct Entry {
    ModelSource source;
    ModelState state = ModelState::kLoading;
    std::string failure_message;
    ServedModel model;
  };

  void SetFailed(Entry* entry, const Status& status);

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace interlacer
