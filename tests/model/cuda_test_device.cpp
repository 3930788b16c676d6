#include <ATen/Functions.h>

#include <cmath>
#include <utility>

#include "model/cuda/built_backend.h"
#include "model/cuda/device_choice.h"
#include "tests/device/device_array.h"
#include "tests/model/test_device.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

const torch::Device kDevice(at::kCUDA, 0);

/// torch keeps what it frees for later tensors of the same size class: up to 1 MiB, up to 10 MiB,
/// above. As an integer this NaN is larger than any index.
void LeaveNanInFreeMemory() {
  std::vector<torch::Tensor> tensors;
  for (const auto& [count, size_bytes] : {std::pair{64, 1 << 19}, {16, 5 << 20}, {2, 32 << 20}}) {
    for (int i = 0; i < count; ++i) {
      tensors.push_back(at::full({size_bytes / 4}, NAN, at::device(kDevice).dtype(at::kFloat)));
    }
  }
}

/// Before any test: torch must not have settled on the CPU.
class OpensTheDevice : public ::testing::Environment {
  void SetUp() override { MissingTestDevice(); }
};
[[maybe_unused]] const auto* const kOpensTheDevice =
    ::testing::AddGlobalTestEnvironment(new OpensTheDevice);

}  // namespace

struct TestDevice::State {};

TestDevice::TestDevice() { LeaveNanInFreeMemory(); }
TestDevice::~TestDevice() = default;
torch::Device TestDevice::place() const { return kDevice; }
const CudaBackend* TestDevice::cuda() const { return BuiltCudaBackend(); }
double TestDevice::gradient_order_tolerance() const { return kCudaGradientOrderTolerance; }
double TestDevice::message_passing_gradient_tolerance() const {
  return kCudaMessagePassingGradientTolerance;
}
double TestDevice::encoder_tolerance() const { return kBfloat16OpTolerance; }
double TestDevice::color_tolerance() const { return kCudaColorTolerance; }
double TestDevice::bfloat16_step_tolerance() const { return kCudaBfloat16StepTolerance; }

std::string MissingTestDevice() {
  static const auto choice = ChooseDevice(DeviceRequest::kCuda, BuiltCudaBackend());
  return choice.ok() ? "" : choice.status().message();
}

bool IsTestDeviceRequired() { return IsSwitchedOn("INTERLACER_REQUIRE_DEVICE"); }

}  // namespace interlacer::testing
