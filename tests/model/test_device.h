#pragma once

/// The device of the model's tests; one body for two programs. model_emulated_test has the kernels
/// run on the CPU (tests/device/emulation), model_device_test has the first CUDA device and skips
/// where LibTorch has none.
///
/// While one lives, memory that torch
/// gives without filling it holds NaN or the largest integer: always where the device is emulated;
/// on a CUDA device only in blocks that were free when the TestDevice was made, and that nobody has
/// used since, never while a step is recorded. Not thread-safe.

#include <gtest/gtest.h>
#include <torch/types.h>

#include <memory>
#include <string>
#include <vector>

#include "model/cuda/device_choice.h"
#include "model/network/world_model.h"

namespace interlacer::testing {

class TestDevice {
 public:
  TestDevice();
  TestDevice(const TestDevice&) = delete;
  TestDevice& operator=(const TestDevice&) = delete;
  ~TestDevice();

  /// Where its tensors live: host memory where it is emulated.
  torch::Device place() const;
  /// How operations run on it.
  const CudaBackend* cuda() const;
  DeviceChoice choice() const {
    DeviceChoice choice;
    choice.device = place();
    choice.cuda = cuda();
    return choice;
  }
  void Place(WorldModel* model) const { model->MoveTo(place(), cuda()); }
  /// Relative: torch's own gradients on CUDA devices sum in no fixed order; nothing else does.
  double gradient_order_tolerance() const;
  /// Of message passing's gradients in a training sequence against the host's, relative.
  double message_passing_gradient_tolerance() const;
  /// Of features against the host's, relative, and of colours rendered from them: the encoder's
  /// bfloat16 products are of another library on a CUDA device, and the host's own where it is
  /// emulated.
  double encoder_tolerance() const;
  double color_tolerance() const;
  /// Of a step in bfloat16 against the host's, relative to its motion.
  double bfloat16_step_tolerance() const;

  torch::Tensor Put(const torch::Tensor& tensor) const { return tensor.to(place()); }
  std::vector<torch::Tensor> Put(const std::vector<torch::Tensor>& tensors) const {
    std::vector<torch::Tensor> put;
    for (const torch::Tensor& tensor : tensors) put.push_back(Put(tensor));
    return put;
  }
  CloudTensors Put(const CloudTensors& cloud) const {
    return {Put(cloud.positions_m), Put(cloud.features)};
  }
  StepInput Put(const StepInput& input) const {
    const SurfaceInput& surface = input.surface;
    return {Put(input.older),
            Put(input.newer),
            Put(input.kinematic_points_m),
            input.workspace,
            input.graph_seed,
            {Put(surface.normals), Put(surface.is_gripper), Put(surface.older_motion),
             Put(surface.newer_motion)}};
  }

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Why there is no device; empty if there is one.
std::string MissingTestDevice();
/// Whether a missing device is a failure (INTERLACER_REQUIRE_DEVICE).
bool IsTestDeviceRequired();

}  // namespace interlacer::testing

/// First line of a test that has a TestDevice.
#define INTERLACER_SKIP_WITHOUT_TEST_DEVICE()                                      \
  do {                                                                             \
    const std::string missing_device = ::interlacer::testing::MissingTestDevice(); \
    if (missing_device.empty()) break;                                             \
    if (::interlacer::testing::IsTestDeviceRequired()) FAIL() << missing_device;   \
    GTEST_SKIP() << missing_device;                                                \
  } while (false)
