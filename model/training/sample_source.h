#pragma once

/// Interface for the source of training sequences.
///
/// A training draw depends on (seed, index) alone: data sets by weight, then a window of the split
/// uniformly, or by a share from those in which an object truly moves 1 cm or more, as far as the
/// data set knows (Philox stream 8), so that a resumed run sees the same sequences. A validation
/// draw depends on its index alone, so that losses of runs with different seeds are comparable.
/// Errors: those of reading episodes; FAILED_PRECONDITION ARGUMENT_INVALID when a data set has no
/// window of the requested length. Threads: Draw may run in several threads at once.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "model/config.h"
#include "model/training/sample.h"
#include "model/training/train_options.h"

namespace interlacer {

enum class Split { kTrain, kValidation };

/// Seed of all validation draws: sequences, particles and rays.
inline constexpr std::uint64_t kValidationSeed = 0;

struct SampleRequest {
  Split split = Split::kTrain;
  std::int64_t index = 0;  ///< of the sequence
  int rollout_steps = 1;
  std::int64_t particle_count = 0;  ///< per time
  /// Of the draws, so many come from windows in which an object moves, where a data set has such.
  double moving_share = 0;
  bool with_views = true;    ///< whether target_steps are read
  bool with_tracks = false;  ///< whether true tracks are read, where there are any
};

class SampleSource {
 public:
  virtual ~SampleSource() = default;
  virtual StatusOr<TrainingSample> Draw(const SampleRequest& request) = 0;
  /// False when no data set has a window in that split.
  virtual bool Has(Split split) const = 0;
  /// The robot folder of the first training episode that has one; empty if none has.
  virtual std::string robot_folder() const = 0;
  /// What the trainer should tell its user about the episodes; empty for nothing.
  virtual std::string note() const { return ""; }
};

/// Reads `datasets`, images at the size of the model's cameras.
StatusOr<std::unique_ptr<SampleSource>> MakeDatasetSource(
    const InterlacerConfig& config, const std::vector<TrainingDataset>& datasets,
    std::uint64_t seed);

}  // namespace interlacer
