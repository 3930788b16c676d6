#include "model/engine/step_graph.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "common/log.h"
#include "model/device_limits.h"
#include "model/runtime/torch_errors.h"

namespace interlacer {
namespace {

/// Each recording holds the memory of a step.
constexpr std::size_t kMaxRecordings = 4;

CloudTensors Cloned(const CloudTensors& cloud) {
  return {cloud.positions_m.clone(), cloud.features.clone()};
}

SurfaceInput Cloned(const SurfaceInput& surface) {
  return {surface.normals.clone(), surface.is_gripper.clone(), surface.older_motion.clone(),
          surface.newer_motion.clone()};
}

void LogUnrecorded(const std::string& why) {
  Log(LogLevel::kWarning, "steps are not recorded as CUDA graphs", {{"why", why}});
}

void CopyInto(const CloudTensors& from, const CloudTensors& to) {
  to.positions_m.copy_(from.positions_m);
  to.features.copy_(from.features);
}

void CopyInto(const SurfaceInput& from, const SurfaceInput& to) {
  to.normals.copy_(from.normals);
  to.is_gripper.copy_(from.is_gripper);
  to.older_motion.copy_(from.older_motion);
  to.newer_motion.copy_(from.newer_motion);
}

}  // namespace

StepGraph::StepGraph(std::shared_ptr<WorldModel> model)
    : model_(std::move(model)), engine_(model_.get()) {
  if (model_->cuda() == nullptr) return;
  const Status status = CheckDeviceGraph(model_->config());
  can_record_ = status.ok();
  if (!can_record_) LogUnrecorded(status.message());
}

StepGraph::Shape StepGraph::ShapeOf(const StepInput& input) {
  return {input.older.positions_m.size(0), input.newer.positions_m.size(0),
          input.kinematic_points_m.size(1), input.workspace, input.graph_seed};
}

StepGraph::Recording* StepGraph::Find(const Shape& shape) {
  const auto found = std::find_if(recordings_.begin(), recordings_.end(),
                                  [&](const Recording& r) { return r.shape == shape; });
  if (found == recordings_.end()) return nullptr;
  recordings_.splice(recordings_.begin(), recordings_, found);
  return &recordings_.front();
}

void StepGraph::Record(const StepInput& input, Recording* recording) {
  recording->input = {Cloned(input.older), Cloned(input.newer), input.kinematic_points_m.clone(),
                      input.workspace,     input.graph_seed,    Cloned(input.surface)};
  recording->work = model_->cuda()->record(
      model_->device(), [this, recording] { recording->result = engine_.Step(recording->input); });
}

CloudTensors StepGraph::Step(const StepInput& input) {
  const at::NoGradGuard no_grad;
  if (!can_record_) return engine_.Step(input);
  const Shape shape = ShapeOf(input);
  Recording* const recording = Find(shape);
  if (recording == nullptr) {
    recordings_.push_front({shape, nullptr, {}, {}});
    if (recordings_.size() > kMaxRecordings) recordings_.pop_back();
    return engine_.Step(input);
  }
  if (!recording->work) {
    try {
      Record(input, recording);
    } catch (const std::exception& error) {
      LogUnrecorded(FirstLine(error.what()));
      can_record_ = false;
      recordings_.clear();
      return engine_.Step(input);
    }
  }
  CopyInto(input.older, recording->input.older);
  CopyInto(input.newer, recording->input.newer);
  recording->input.kinematic_points_m.copy_(input.kinematic_points_m);
  CopyInto(input.surface, recording->input.surface);
  recording->work->Replay();
  ++replay_count_;
  return Cloned(recording->result);
}

}  // namespace interlacer
