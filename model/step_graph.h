#pragma once

/// A model's inference step as one launch of a CUDA graph, recorded for the shapes that come back.
///
/// Step is WorldModel::Step without gradients: equal bits; weights must stay as they are. Clouds of
/// a shape seen for the second time, in the same workspace and with the same graph seed, are
/// recorded; the first time, on a CPU, for graphs that a device leaves to the host
/// (CheckDeviceGraph; logged), and after a recording failed (logged) the step runs as it is. Errors
/// and threads: as WorldModel.

#include <array>
#include <cstdint>
#include <list>
#include <memory>

#include "model/cuda/recorded_work.h"
#include "model/network/world_model.h"

namespace interlacer {

class StepGraph {
 public:
  explicit StepGraph(std::shared_ptr<WorldModel> model);

  CloudTensors Step(const StepInput& input);
  /// Steps that were replayed so far.
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
    std::unique_ptr<RecordedWork> work;  ///< null until the shape comes back; outlives its tensors
    StepInput input;
    CloudTensors result;
  };

  static Shape ShapeOf(const StepInput& input);
  Recording* Find(const Shape& shape);
  void Record(const StepInput& input, Recording* recording);

  std::shared_ptr<WorldModel> model_;
  bool can_record_ = false;
  std::list<Recording> recordings_;  ///< newest first
  std::int64_t replay_count_ = 0;
};

}  // namespace interlacer
