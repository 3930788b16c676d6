/// interlacer_sort_bench: our radix sort and prefix sums (common/kernels) against CUB's, from
/// captured graphs (bench/device/graph_work.h), results checked first. One JSON object a line. A
/// sort's figure includes what puts its keys back.

#include <algorithm>
#include <cstdio>
#include <cub/cub.cuh>
#include <exception>
#include <numeric>
#include <random>
#include <vector>

#include "bench/device/graph_work.h"
#include "common/kernels/radix_sort.h"
#include "tests/device/device_array.h"

namespace {

using namespace interlacer;
using bench::MedianMs;

void Print(const char* stage, int count, int bits, bool right, double ours_us, double cub_us) {
  cudaDeviceProp device = {};
  RequireCuda(cudaGetDeviceProperties(&device, 0), "device");
  std::printf(
      "{\"schema\": \"interlacer.sort_bench/1\", \"stage\": \"%s\", \"n\": %d, \"bits\": %d, "
      "\"correct\": %s, \"ours_us\": %.2f, \"cub_us\": %.2f, \"gpu\": \"%s\", \"cub\": %d}\n",
      stage, count, bits, right ? "true" : "false", ours_us, cub_us, device.name, CUB_VERSION);
}

void Sort(const CheckedStream& stream, int count, int bits) {
  std::mt19937 random(static_cast<unsigned>(count + bits));
  std::vector<std::uint32_t> keys(static_cast<std::size_t>(count)), order(keys.size());
  for (std::uint32_t& key : keys) key = static_cast<std::uint32_t>(random()) & ((1U << bits) - 1);
  std::iota(order.begin(), order.end(), 0U);
  const DeviceArray<std::uint32_t> given(stream, keys), keys_0(stream, count),
      keys_1(stream, count);
  const DeviceArray<std::uint32_t> values_0(stream, order), values_1(stream, count);
  const DeviceArray<std::uint32_t> places(stream, order), cub_keys(stream, count),
      cub_values(stream, count);
  const DeviceArray<std::int32_t> scratch(stream, RadixSortScratchCount(count));
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return keys[a] < keys[b]; });
  const RadixSortBuffers buffers{
      {keys_0.get(), keys_1.get()}, {values_0.get(), values_1.get()}, scratch.get()};
  const auto put_back = [&](cudaStream_t on) {
    return CudaError(cudaMemcpyAsync(keys_0.get(), given.get(), sizeof(std::uint32_t) * keys.size(),
                                     cudaMemcpyDeviceToDevice, on));
  };
  const auto ours = [&](cudaStream_t on) {
    const CudaError error = put_back(on);
    return !error.ok() ? error : LaunchRadixSort(buffers, count, bits, on);
  };
  std::size_t bytes = 0;
  const auto cub_sort = [&](void* temporary, cudaStream_t on) {
    return CudaError(cub::DeviceRadixSort::SortPairs(temporary, bytes, keys_0.get(), cub_keys.get(),
                                                     places.get(), cub_values.get(), count, 0, bits,
                                                     on));
  };
  RequireCuda(cub_sort(nullptr, stream.get()), "CUB");
  const DeviceArray<char> temporary(stream, static_cast<std::int64_t>(bytes));
  const auto theirs = [&](cudaStream_t on) {
    const CudaError error = put_back(on);
    return !error.ok() ? error : cub_sort(temporary.get(), on);
  };
  RequireCuda(ours(stream.get()), "sort");
  RequireCuda(theirs(stream.get()), "CUB");
  const bool right = (RadixSortResult(bits) == 1 ? values_1 : values_0).Read() == order &&
                     cub_values.Read() == order;
  Print("sort", count, bits, right, 1e3 * MedianMs(ours), 1e3 * MedianMs(theirs));
}

void Scan(const CheckedStream& stream, int count) {
  const DeviceArray<std::int32_t> ones(
      stream, std::vector<std::int32_t>(static_cast<std::size_t>(count), 1));
  const DeviceArray<std::int32_t> sums(stream, count);
  const DeviceArray<std::int32_t> scratch(stream, PrefixSumScratchCount(count));
  std::size_t bytes = 0;
  const auto cub_scan = [&](void* temporary, cudaStream_t on) {
    return static_cast<int>(
        cub::DeviceScan::InclusiveSum(temporary, bytes, ones.get(), sums.get(), count, on));
  };
  RequireCuda(cub_scan(nullptr, stream.get()), "CUB");
  const DeviceArray<char> temporary(stream, static_cast<std::int64_t>(bytes));
  const double cub_us =
      1e3 * MedianMs([&](cudaStream_t on) { return cub_scan(temporary.get(), on); });
  const bool cub_right = sums.Read().back() == count;
  // In place, so that sums of sums follow; their time is the same.
  RequireCuda(LaunchPrefixSum(ones.get(), count, scratch.get(), stream.get()), "scan");
  const bool right = cub_right && ones.Read().back() == count;
  const double ours_us = 1e3 * MedianMs([&](cudaStream_t on) {
                           return LaunchPrefixSum(ones.get(), count, scratch.get(), on);
                         });
  Print("scan", count, 32, right, ours_us, cub_us);
}

}  // namespace

int main() try {
  const CheckedStream stream;
  for (const int count : {4096, 32768, 65536, 131072, 1 << 20}) {
    for (const int bits : {16, 24, 31}) Sort(stream, count, bits);
    Scan(stream, count);
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
