#pragma once

/// One measurement: our implementation of a stage against one peer, on the same inputs.
///
/// A case owns its inputs through its functions; large inputs are created on first use. Its
/// functions may throw: the runner turns exceptions into a failed gate or a skipped peer. Threads:
/// one at a time.

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

namespace interlacer::bench {

/// Runs one side once; returns the wall time in ms of the measured part.
using Work = std::function<double()>;

/// Error of our result against a reference, on the inputs of this run.
struct GateResult {
  double error = std::numeric_limits<double>::quiet_NaN();
  std::string error_kind = "rel_l2";
  double error_bound = 0;
  std::string reference = "float64";
  std::optional<double> recall;
  /// What only the problem itself tells; goes to the parameters of the case.
  nlohmann::ordered_json params = nlohmann::ordered_json::object();

  /// Whether the result is within its bounds; NaN never is.
  bool correct() const { return error <= error_bound && (!recall || *recall == 1.0); }
};

/// A time to compare with: `amount` units at a rate that was measured in the same run. For bytes
/// that is the rate of a copy; for dense products that of LibTorch's best matrix product, which is
/// below what registers reach, so that kernels may be faster.
struct Floor {
  enum class Kind { kMemoryBytes, kDenseFlops };
  Kind kind = Kind::kMemoryBytes;
  double amount = 0;
};

struct Case {
  std::string stage;
  std::string name;  ///< stable: equal options give equal names
  std::string ours;
  std::string peer;
  std::string dtype = "f32";
  std::string cloud;  ///< empty for stages without a cloud
  std::int64_t n = 0;
  std::int64_t tokens = 0;
  int d = 0;
  nlohmann::ordered_json params = nlohmann::ordered_json::object();
  std::optional<double> goal;      ///< smallest acceptable ratio of medians
  std::optional<double> goal_p99;  ///< smallest acceptable ratio of the 99th percentiles
  std::optional<Floor> floor;
  std::string peer_version;

  std::function<GateResult()> gate;
  Work run_ours;
  Work run_peer;        ///< empty when the peer is missing
  std::string skipped;  ///< why the peer is missing
  /// For neighbour searches: the fraction of exact neighbours that the last `run_peer` found.
  std::function<double()> peer_recall;
};

/// Copies `base` for a comparison with `peer`, whose name is appended to the name of the case.
inline Case Against(const Case& base, const std::string& peer) {
  Case item = base;
  item.peer = peer;
  item.name += "/" + peer;
  return item;
}

/// Wall time of a call in ms.
template <typename Function>
double TimeMs(Function&& function) {
  const auto start = std::chrono::steady_clock::now();
  std::forward<Function>(function)();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

template <typename Function>
Work Timed(Function function) {
  return [function = std::move(function)]() mutable { return TimeMs(function); };
}

/// A value that is created on first use, so that cases can be named without a device.
template <typename T, typename Make>
std::function<T&()> OnFirstUse(Make make) {
  return [held = std::make_shared<std::unique_ptr<T>>(), make = std::move(make)]() -> T& {
    if (!*held) *held = make();
    return **held;
  };
}

/// Computes a gate once for several cases with the same inputs.
template <typename Function>
std::function<GateResult()> Once(Function gate) {
  auto known = std::make_shared<std::optional<GateResult>>();
  return [known, gate = std::move(gate)]() mutable {
    if (!*known) *known = gate();
    return **known;
  };
}

}  // namespace interlacer::bench
