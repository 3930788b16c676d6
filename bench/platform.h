#pragma once

/// A device on which cases run: its stages and its roofline ceilings.
///
/// A program has one platform per device. Threads: one at a time.

#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/case.h"
#include "bench/options.h"

namespace interlacer::bench {

struct StageAbsent : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Makes one case for every peer of a stage, missing ones included. Options that a stage does not
/// support throw UsageError.
struct Stage {
  const char* name;
  std::vector<Case> (*make_cases)(const Options& options);
};

struct Platform {
  std::string device;  ///< value of --device
  std::vector<Stage> stages;
  /// Why nothing can run here; empty if it can.
  std::string absent;
  /// Called before anything else, to set thread counts.
  std::function<void(const Options& options)> prepare = [](const Options&) {};

  /// Rate of a floor's kind in units per second, and the name of a memory floor.
  std::function<double(Floor::Kind kind, const std::string& dtype)> rate;
  std::string memory = "dram";
  std::function<void()> flush_caches = [] {};
  /// One object per ceiling: case, value, unit, threads.
  std::function<std::vector<nlohmann::ordered_json>()> measure_ceilings;
  /// Additions to the machine's description.
  nlohmann::ordered_json machine = nlohmann::ordered_json::object();
};

/// Cases of options.stage; throws StageAbsent when the platform does not have the stage.
std::vector<Case> MakeCases(const Platform& platform, const Options& options);

}  // namespace interlacer::bench
