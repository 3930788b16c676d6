#include "bench/ceilings.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "bench/case.h"
#include "bench/dense_rates.h"
#include "bench/kernels/register_rates.h"
#include "common/thread_pool.h"

namespace interlacer::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kTries = 7;
/// 256 MiB: more than the last-level cache of most machines.
constexpr std::size_t kCacheFloats = std::size_t{64} << 20;

double BestSeconds(const std::function<void()>& run) {
  run();
  double best_ms = TimeMs(run);
  for (int i = 1; i < kTries; ++i) best_ms = std::min(best_ms, TimeMs(run));
  return best_ms * 1e-3;
}

/// Runs body once on every thread of the pool.
void OnEveryThread(int threads, const std::function<void(int thread)>& body) {
  ParallelFor(threads, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) body(static_cast<int>(i));
  });
}

double MeasureCopy(int threads) {
  constexpr std::size_t kFloats = std::size_t{32} << 20;  // 128 MiB
  const std::vector<float> from(kFloats, 1.0f);
  std::vector<float> to(kFloats);
  const std::size_t share = kFloats / threads;
  const double seconds = BestSeconds([&] {
    OnEveryThread(threads, [&](int thread) {
      std::memcpy(to.data() + thread * share, from.data() + thread * share, share * sizeof(float));
    });
  });
  return 2.0 * static_cast<double>(share * threads * sizeof(float)) / seconds;
}

/// Measures repeated reads of `bytes` of memory, separate for each thread.
double MeasureRead(int threads, std::size_t bytes) {
  const int passes = static_cast<int>((std::size_t{256} << 20) / bytes);
  std::vector<std::vector<float>> data(threads, std::vector<float>(bytes / sizeof(float), 1.0f));
  std::vector<float> sums(threads);
  const double seconds = BestSeconds([&] {
    OnEveryThread(threads, [&](int thread) {
      sums[thread] = ReadAgainAndAgain(data[thread].data(), data[thread].size(), passes);
    });
  });
  return static_cast<double>(threads) * static_cast<double>(bytes) * passes / seconds;
}

double MeasureRegisters(RegisterRate rate, int threads) {
  constexpr std::int64_t kIterations = 20'000'000;
  double flops = 0;
  const double seconds = BestSeconds([&] {
    OnEveryThread(threads, [&](int thread) {
      const double done = rate.run(kIterations);
      if (thread == 0) flops = done;
    });
  });
  return flops * threads / seconds;
}

Json Ceiling(const std::string& name, double value, const char* unit, int threads) {
  return {{"schema", "interlacer.bench/1"},
          {"stage", "ceilings"},
          {"case", name},
          {"value", value},
          {"unit", unit},
          {"threads", threads}};
}

}  // namespace

double CopyBytesPerSecond() {
  static const double rate = MeasureCopy(ThreadCount());
  return rate;
}

double DenseFlopsPerSecond(const std::string& dtype) {
  static const std::vector<DenseRate> rates = MeasureDenseRates();
  double best = 0;
  for (const DenseRate& rate : rates) {
    if (rate.dtype == dtype) best = std::max(best, rate.flops_per_second);
  }
  return best;
}

void FlushCaches() {
  static const std::vector<float> other(kCacheFloats, 1.0f);
  static std::vector<float> sums(ThreadCount());
  const std::size_t share = other.size() / sums.size();
  OnEveryThread(static_cast<int>(sums.size()), [&](int thread) {
    sums[thread] = ReadAgainAndAgain(other.data() + thread * share, share, 1);
  });
}

std::vector<Json> MeasureCeilings() {
  std::vector<Json> ceilings;
  const int all = ThreadCount();
  for (const int threads : {1, all}) {
    for (const RegisterRate& rate : RegisterRates()) {
      ceilings.push_back(
          Ceiling(rate.name, MeasureRegisters(rate, threads) * 1e-9, "GFLOP/s", threads));
    }
    ceilings.push_back(Ceiling("dram_copy", MeasureCopy(threads) * 1e-9, "GB/s", threads));
    ceilings.push_back(
        Ceiling("read_8MiB_a_thread", MeasureRead(threads, 8 << 20) * 1e-9, "GB/s", threads));
    ceilings.push_back(
        Ceiling("read_512KiB_a_thread", MeasureRead(threads, 512 << 10) * 1e-9, "GB/s", threads));
    if (all == 1) break;
  }
  for (const DenseRate& rate : MeasureDenseRates()) {
    ceilings.push_back(Ceiling("matmul_" + rate.dtype + "_" + rate.shape,
                               rate.flops_per_second * 1e-9, "GFLOP/s", all));
  }
  return ceilings;
}

}  // namespace interlacer::bench
