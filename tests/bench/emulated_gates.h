#pragma once

/// Gates of the device's stages with the kernels on the CPU (tests/device/emulation).
///
/// With BENCH_TORCH_DEVICE=cpu the Python peers of BENCH_PYTHON run too, on the CPU; else they are
/// skipped. A test program includes this once: it says in place of bench/device/device_absence.cpp
/// what is absent.

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "bench/device/device_platform.h"
#include "bench/runner.h"
#include "tests/bench/small_options.h"

namespace interlacer::bench {

std::string DeviceAbsence() {
  return std::getenv("BENCH_TORCH_DEVICE") == nullptr ? "emulated" : "";
}

inline void ExpectGatesPass(const std::vector<Case>& cases, const Options& options) {
  Platform platform;
  platform.device = "cuda";
  platform.rate = [](Floor::Kind, const std::string&) { return 1.0; };
  for (const Case& item : cases) {
    // All have ours in common: it is timed in the first one, and where there is a peer.
    Options asked = options;
    if (!item.skipped.empty() && &item != &cases.front()) asked.rounds = 0;
    const Outcome outcome = RunCase(platform, item, asked);
    PrintRow(outcome, std::cout);
    EXPECT_TRUE(outcome.correct) << outcome.json.dump(1);
    EXPECT_EQ(outcome.json["ours_ms"].is_number(), asked.rounds > 0);
    EXPECT_EQ(outcome.json["peer_ms"].is_number(), asked.rounds > 0 && !outcome.skipped);
    if (!item.skipped.empty()) {
      EXPECT_EQ(outcome.json["skipped"], DeviceAbsence());
    }
    if (item.floor && asked.rounds > 0) {
      EXPECT_EQ(outcome.json["floor_kind"], platform.memory);
    }
  }
}

}  // namespace interlacer::bench
