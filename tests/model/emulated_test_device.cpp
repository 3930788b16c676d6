#include "tests/model/emulated_device.h"
#include "tests/model/test_device.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

/// bfloat16 keeps 7 bits of mantissa in dense layers; host and device round at different places.
/// Seen: 2e-3.
constexpr double kBfloat16StepTolerance = 5e-3;
/// Mean difference of colours after a step, of 1: where a particle moved by a rounding, its samples
/// change. Seen: 9e-5.
constexpr double kColorTolerance = 5e-4;

}  // namespace

struct TestDevice::State {
  EmulatedDevice emulated;
};

TestDevice::TestDevice() : state_(std::make_unique<State>()) {}
TestDevice::~TestDevice() = default;
torch::Device TestDevice::place() const { return at::kCPU; }
DeviceRequest TestDevice::request() const { return DeviceRequest::kCpu; }
double TestDevice::gradient_order_tolerance() const { return 0; }
double TestDevice::encoder_tolerance() const { return kFloatOpTolerance; }
double TestDevice::color_tolerance() const { return kColorTolerance; }
double TestDevice::bfloat16_step_tolerance() const { return kBfloat16StepTolerance; }

std::string MissingTestDevice() { return {}; }
bool IsTestDeviceRequired() { return true; }

}  // namespace interlacer::testing
