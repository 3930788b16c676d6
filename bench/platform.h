#pragma once

/// Where cases run: the stages that have a form there, and what the place can do at best.
///
/// A program holds one platform a device. Threads: one at a time.

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

/// One case for every peer of the stage, missing ones too. Options that a stage does not take throw
/// UsageError.
struct Stage {
  const char* name;
  std::vector<Case> (*make_cases)(const Options& options);
};

struct Platform {
  std::string device;  ///< value of --device
  std::vector<Stage> stages;
  /// Why nothing can run here; empty where it can.
  std::string absent;
  /// Before anything else: threads.
  std::function<void(const Options& options)> prepare = [](const Options&) {};

  /// Units of a floor's kind in a second, and what a floor of memory is called.
  std::function<double(Floor::Kind kind, const std::string& dtype)> rate;
  std::string memory = "dram";
  std::function<void()> flush_caches = [] {};
  /// One object a ceiling: case, value, unit, threads.
  std::function<std::vector<nlohmann::ordered_json>()> measure_ceilings;
  /// Added to the machine's description.
  nlohmann::ordered_json machine = nlohmann::ordered_json::object();
};

/// Cases of options.stage; StageAbsent when it has no form here.
std::vector<Case> MakeCases(const Platform& platform, const Options& options);

}  // namespace interlacer::bench
