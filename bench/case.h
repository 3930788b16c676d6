#pragma once

/// One thing that is measured: our implementation of a stage against one peer, on the same inputs.
///
/// A case owns its inputs through its functions; they are made on first use where they are large.
/// Exceptions leave its functions: the runner turns them into a failed gate or a skipped peer.
/// Threads: one at a time.

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

/// Runs a side once; returns the wall time in ms of the part that counts.
using Work = std::function<double()>;

/// How far our result is from a reference on inputs of this run.
struct GateResult {
  double error = std::numeric_limits<double>::quiet_NaN();
  std::string error_kind = "rel_l2";
  double error_bound = 0;
  std::string reference = "float64";
  std::optional<double> recall;

  /// NaN never passes.
  bool correct() const { return error <= error_bound && (!recall || *recall == 1.0); }
};

/// The least time a machine of the measured ceilings would need.
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
  std::string cloud;  ///< empty where there is none
  std::int64_t n = 0;
  std::int64_t tokens = 0;
  int d = 0;
  nlohmann::ordered_json params = nlohmann::ordered_json::object();
  std::optional<double> goal;      ///< least ratio of medians
  std::optional<double> goal_p99;  ///< least ratio of the 99th percentiles
  std::optional<Floor> floor;
  std::string peer_version;

  std::function<GateResult()> gate;
  Work run_ours;
  Work run_peer;        ///< empty when the peer is missing
  std::string skipped;  ///< why it is missing
  /// Of neighbour searches: share of the exact neighbours in what the last `run_peer` found.
  std::function<double()> peer_recall;
};

/// One comparison of `base`: the peer's name, which also ends the name of the case.
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

/// A value that is made when it is first asked for: cases can be named without a device.
template <typename T, typename Make>
std::function<T&()> OnFirstUse(Make make) {
  return [held = std::make_shared<std::unique_ptr<T>>(), make = std::move(make)]() -> T& {
    if (!*held) *held = make();
    return **held;
  };
}

/// The same gate for several cases on the same inputs: computed once.
template <typename Function>
std::function<GateResult()> Once(Function gate) {
  auto known = std::make_shared<std::optional<GateResult>>();
  return [known, gate = std::move(gate)]() mutable {
    if (!*known) *known = gate();
    return **known;
  };
}

}  // namespace interlacer::bench
