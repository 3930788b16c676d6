#include "tests/model/emulated_device.h"
#include "tests/model/test_device.h"

namespace interlacer::testing {

struct TestDevice::State {
  EmulatedDevice emulated;
};

TestDevice::TestDevice() : state_(std::make_unique<State>()) {}
TestDevice::~TestDevice() = default;
torch::Device TestDevice::place() const { return at::kCPU; }
DeviceRequest TestDevice::request() const { return DeviceRequest::kCpu; }
double TestDevice::gradient_order_tolerance() const { return 0; }

std::string MissingTestDevice() { return {}; }
bool IsTestDeviceRequired() { return true; }

}  // namespace interlacer::testing
