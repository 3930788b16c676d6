#include "bench/device/device_ceilings.h"

#include <string>

#include "bench/device/graph_work.h"
#include "bench/kernels/device_rates_cuda.h"

namespace interlacer::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kCopyBytes = 512 * kMiB;
constexpr std::int64_t kFlushBytes = 256 * kMiB;
/// Fits into the L2 of an A100 and of all newer devices.
constexpr std::int64_t kL2Bytes = 16 * kMiB;
constexpr int kL2Passes = 16;

double MeasureCopy() {
  const CheckedStream stream;
  const DeviceArray<char> from(stream, kCopyBytes), to(stream, kCopyBytes);
  const double ms =
      MedianMs([&](cudaStream_t on) { return LaunchCopy(from.get(), to.get(), kCopyBytes, on); });
  return 2e3 * static_cast<double>(kCopyBytes) / ms;
}

double MeasureL2Read() {
  const CheckedStream stream;
  const DeviceArray<float> from(
      stream, std::vector<float>(static_cast<std::size_t>(kL2Bytes) / sizeof(float), 0.5F));
  const DeviceArray<float> sums(stream, kReadBlocks);
  const double ms = MedianMs(
      [&](cudaStream_t on) { return LaunchRead(from.get(), kL2Bytes, kL2Passes, sums.get(), on); });
  return 1e3 * static_cast<double>(kL2Bytes) * kL2Passes / ms;
}

double MeasureEmptyGraphMs(int kernels) {
  int device = 0, multiprocessors = 0;
  RequireCuda(cudaGetDevice(&device), "cudaGetDevice");
  RequireCuda(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
              "cudaDeviceGetAttribute");
  return MedianMs([=](cudaStream_t on) {
    CudaError error;
    for (int i = 0; i < kernels && error.ok(); ++i) error = LaunchEmpty(multiprocessors, on);
    return error;
  });
}

Json Ceiling(const std::string& name, double value, const char* unit) {
  return {{"schema", "interlacer.bench/1"},
          {"stage", "ceilings"},
          {"case", name},
          {"device", "cuda"},
          {"value", value},
          {"unit", unit},
          {"threads", 1}};
}

}  // namespace

double DeviceCopyBytesPerSecond() {
  static const double rate = MeasureCopy();
  return rate;
}

void FlushDeviceCaches() {
  static const CheckedStream stream;
  static const DeviceArray<char> other(stream, kFlushBytes);
  other.Poison();
}

std::vector<Json> MeasureDeviceCeilings() {
  std::vector<Json> ceilings{Ceiling("hbm_copy_512MiB", DeviceCopyBytesPerSecond() * 1e-9, "GB/s"),
                             Ceiling("l2_read_16MiB", MeasureL2Read() * 1e-9, "GB/s")};
  for (const int kernels : {1, 5, 20}) {
    ceilings.push_back(Ceiling("empty_graph_" + std::to_string(kernels) + "_kernels",
                               1e3 * MeasureEmptyGraphMs(kernels), "us"));
  }
  return ceilings;
}

}  // namespace interlacer::bench
