#include "tests/model/emulated_device.h"
#include "tests/model/test_device.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
struct TestDevice::State {
  EmulatedDevice emulated;
};

TestDevice::TestDevice() : state_(std::make_unique<State>()) {}
TestDevice::~TestDevice() = default;
torch::Device TestDevice::place() const { return at::kCPU; }
const CudaBackend* TestDevice::cuda() const { return state_->emulated.backend(); }
double TestDevice::gradient_order_tolerance() const { return 0; }
double TestDevice::message_passing_gradient_tolerance() const { return kFloatGradientTolerance; }
double TestDevice::encoder_tolerance() const { return kFloatOpTolerance; }
double TestDevice::color_tolerance() const { return kEmulatedColorTolerance; }
double TestDevice::bfloat16_step_tolerance() const { return kEmulatedBfloat16StepTolerance; }

std::string MissingTestDevice() { return {}; }
bool IsTestDeviceRequired() { return true; }

}  // namespace interlacer::testing
