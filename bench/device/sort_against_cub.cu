/// interlacer_sort_bench: our radix sort and prefix sums (common/kernels) against CUB's, from
/// captured graphs, results checked first. One JSON object a line: medians of fifteen figures, each
/// the mean of two hundred replays. A sort's figure includes what puts its keys back.

#include <algorithm>
#include <cstdio>
#include <cub/cub.cuh>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include "common/kernels/radix_sort.h"
#include "tests/device/device_array.h"

namespace {

using namespace interlacer;
using Launch = std::function<int(cudaStream_t)>;

constexpr int kFigures = 15, kReplays = 200;

void Require(int error, const char* what) {
  if (error == 0) return;
  std::fprintf(stderr, "error: %s: %s\n", what,
               cudaGetErrorString(static_cast<cudaError_t>(error)));
  std::exit(1);
}

double MedianUs(const CheckedStream& stream, const Launch& launch) {
  Require(launch(stream.get()), "launch");
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t replay = nullptr;
  cudaEvent_t begin = nullptr, end = nullptr;
  Require(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), "capture");
  Require(launch(stream.get()), "launch in a capture");
  Require(cudaStreamEndCapture(stream.get(), &graph), "capture");
  Require(cudaGraphInstantiate(&replay, graph, 0), "graph");
  Require(cudaEventCreate(&begin), "event");
  Require(cudaEventCreate(&end), "event");
  std::vector<float> figures_us;
  for (int i = 0; i < kFigures; ++i) {
    Require(cudaEventRecord(begin, stream.get()), "event");
    for (int r = 0; r < kReplays; ++r) Require(cudaGraphLaunch(replay, stream.get()), "replay");
    Require(cudaEventRecord(end, stream.get()), "event");
    Require(cudaEventSynchronize(end), "event");
    float ms = 0;
    Require(cudaEventElapsedTime(&ms, begin, end), "event");
    figures_us.push_back(1e3F * ms / kReplays);
  }
  std::sort(figures_us.begin(), figures_us.end());
  return figures_us[kFigures / 2];
}

void Print(const char* stage, int count, int bits, bool right, double ours_us, double cub_us) {
  cudaDeviceProp device = {};
  Require(cudaGetDeviceProperties(&device, 0), "device");
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
    return static_cast<int>(cudaMemcpyAsync(keys_0.get(), given.get(),
                                            sizeof(std::uint32_t) * keys.size(),
                                            cudaMemcpyDeviceToDevice, on));
  };
  const auto ours = [&](cudaStream_t on) {
    const int error = put_back(on);
    return error != 0 ? error : LaunchRadixSort(buffers, count, bits, on);
  };
  std::size_t bytes = 0;
  const auto cub_sort = [&](void* temporary, cudaStream_t on) {
    return static_cast<int>(cub::DeviceRadixSort::SortPairs(temporary, bytes, keys_0.get(),
                                                            cub_keys.get(), places.get(),
                                                            cub_values.get(), count, 0, bits, on));
  };
  Require(cub_sort(nullptr, stream.get()), "CUB");
  const DeviceArray<char> temporary(stream, static_cast<std::int64_t>(bytes));
  const auto theirs = [&](cudaStream_t on) {
    const int error = put_back(on);
    return error != 0 ? error : cub_sort(temporary.get(), on);
  };
  Require(ours(stream.get()), "sort");
  Require(theirs(stream.get()), "CUB");
  const bool right = (RadixSortResult(bits) == 1 ? values_1 : values_0).Read() == order &&
                     cub_values.Read() == order;
  Print("sort", count, bits, right, MedianUs(stream, ours), MedianUs(stream, theirs));
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
  Require(cub_scan(nullptr, stream.get()), "CUB");
  const DeviceArray<char> temporary(stream, static_cast<std::int64_t>(bytes));
  const double cub_us =
      MedianUs(stream, [&](cudaStream_t on) { return cub_scan(temporary.get(), on); });
  const bool cub_right = sums.Read().back() == count;
  // In place, so that sums of sums follow; their time is the same.
  Require(LaunchPrefixSum(ones.get(), count, scratch.get(), stream.get()), "scan");
  const bool right = cub_right && ones.Read().back() == count;
  Print("scan", count, 32, right,
        MedianUs(
            stream,
            [&](cudaStream_t on) { return LaunchPrefixSum(ones.get(), count, scratch.get(), on); }),
        cub_us);
}

}  // namespace

int main() {
  const CheckedStream stream;
  for (const int count : {4096, 32768, 65536, 131072, 1 << 20}) {
    for (const int bits : {16, 24, 31}) Sort(stream, count, bits);
    Scan(stream, count);
  }
}
