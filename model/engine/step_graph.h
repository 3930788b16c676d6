#pragma once

/// Runs a model's inference step as one launch of a CUDA graph, recorded for shapes that recur.
///
/// Step gives the same bits as StepEngine::Step; weights must not change. Clouds
/// of a shape seen for the second time, in the same workspace and with the same graph seed, are
/// recorded. The step runs without a recording the first time, on a CPU, for graphs that are built
/// on the host (CheckDeviceGraph; logged), and after a recording failed (logged). Errors and
/// threads: as WorldModel.

#include <cstdint>
#include <list>
#include <memory>

#include "model/cuda/backend.h"
#include "model/engine/step_engine.h"

namespace interlacer {

class StepGraph {
 public:
  explicit StepGraph(std::shared_ptr<WorldModel> model);

  CloudTensors Step(const StepInput& input);
  /// The step that is recorded.
  const StepEngine& engine() const { return engine_; }
  /// Number of steps replayed so far.
  std::int64_t replay_count() const { return replay_count_; }

 private:
  struct Shape {
    std::int64_t older_count, newer_count, point_count;
    Box workspace;
    std::uint64_t graph_seed;
    bool operator==(const Shape&) const = default;
  };
  struct Recording {
    Shape shape;
    std::unique_ptr<RecordedWork> work;  ///< null until the shape recurs; outlives its tensors
    StepInput input;
    CloudTensors result;
  };

  static Shape ShapeOf(const StepInput& input);
  Recording* Find(const Shape& shape);
  void Record(const StepInput& input, Recording* recording);

  std::shared_ptr<WorldModel> model_;
  StepEngine engine_;
  bool can_record_ = false;
  std::list<Recording> recordings_;  ///< newest first
  std::int64_t replay_count_ = 0;
};

}  // namespace interlacer
