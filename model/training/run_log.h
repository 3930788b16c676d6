#pragma once

/// The log of a training run: one JSON object per line, appended after every step.
///
/// Opening at step s drops the lines of later steps, so a resumed run continues its own log.
/// Errors: FAILED_PRECONDITION FILE_UNWRITABLE. One writer at a time.

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "common/status.h"

namespace interlacer {

struct TrainingRecord {
  std::int64_t step = 0;  ///< number of steps done
  double loss = 0;
  double reconstruction_loss = 0;  ///< of step 0
  double prediction_loss = 0;      ///< mean over predicted steps
  double depth_loss_m = 0;         ///< written where it is above 0, as is the next
  double track_loss_m = 0;
  double gradient_norm = 0;  ///< before clipping
  double learning_rate = 0;
  double seconds = 0;      ///< of this step
  double cpu_seconds = 0;  ///< of all threads of this process; other work hardly stretches it
};

struct ValidationRecord {
  std::int64_t step = 0;
  /// What training minimises, by its weights, without regularisation terms and noise.
  double loss = 0;
  double reconstruction_loss = 0;
  double prediction_loss = 0;
  double depth_loss_m = 0;  ///< written where it is above 0, as are the next two
  double track_loss_m = 0;
  double still_track_loss_m = 0;  ///< track loss of the prediction that nothing moves

  /// Whether no particle moves by enough to count (network.min_displacement_m): such a model gets
  /// next to no gradient and stays as it is.
  bool IsOfAModelThatMovesNothing() const;
};

class RunLog {
 public:
  static StatusOr<RunLog> Open(const std::string& path, std::int64_t resume_step);
  Status Write(const TrainingRecord& record);
  Status Write(const ValidationRecord& record);
  /// The last line of a run that has reached its end: `is_flat` where it stopped before its
  /// step_count.
  Status WriteEnd(std::int64_t step, bool is_flat);
  /// A line of another kind: a JSON object with "kind" and "step".
  Status WriteLine(const std::string& line);

 private:
  explicit RunLog(std::ofstream file) : file_(std::move(file)) {}
  std::ofstream file_;
};

/// Losses of the validations after more than `after_step` steps in a log, in order; runs of earlier
/// versions have none.
std::vector<double> ReadValidationLosses(const std::string& path, std::int64_t after_step = 0);

}  // namespace interlacer
