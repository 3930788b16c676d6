#pragma once

/// The two programs as a user runs them, and the small things that they need: a checkpoint of a
/// few thousand weights, short episodes, a server on a port of the kernel's choice.

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/child_process.h"

namespace interlacer::testing {

using Words = std::vector<std::string>;

/// Exit code of a verb that SIGINT ended.
inline constexpr int kInterrupted = 130;

inline Words Interlacer(Words arguments) {
  arguments.insert(arguments.begin(), INTERLACER_PROGRAM);
  return arguments;
}

inline ProcessResult RunVerb(Words arguments) {
  return ChildProcess(Interlacer(std::move(arguments))).Wait();
}

/// Polls until `is_true` or 60 s have passed; what it was at last.
inline bool Eventually(const std::function<bool()>& is_true) {
  for (int i = 0; i < 12000 && !is_true(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return is_true();
}

/// The model and training of a run that takes milliseconds a step.
inline std::string WriteTinyRunConfig(const std::string& path, int step_count,
                                      const std::string& local_kind = "grf_exact") {
  std::ofstream(path)
      << R"({"preset": "small",
    "model": {"base": "small", "name": "tiny",
      "data": {"cameras": [{"name": "left", "width_px": 64, "height_px": 48},
                           {"name": "right", "width_px": 64, "height_px": 48}],
               "particle_count": 256, "min_particle_count": 64},
      "encoder": {"widths": [8, 16]},
      "tokens": {"fourier_octaves": 2, "limb_rings": 1, "limb_ring_points": 3},
      "network": {"width": 32, "block_count": 1, "local": {"kind": ")" +
             local_kind + R"(", "key_width": 16}},
      "renderer": {"samples_per_ray": 24, "hidden_width": 16}},
    "training": {"step_count": )" +
             std::to_string(step_count) +
             R"(, "batch_size": 1, "rollout_steps": [{"from_step": 0, "value": 1}], "rays_per_step": 64,
      "learning_rate": [{"from_step": 0, "value": 0.005}], "reconstruction_weight": 1, "checkpoint_every": 5}})";
  return path;
}

/// Every file below `folder`, by its relative path.
inline std::map<std::string, std::string> FilesOf(const std::string& folder) {
  namespace fs = std::filesystem;
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    files[fs::relative(entry.path(), folder).string()] = {std::istreambuf_iterator<char>(file), {}};
  }
  return files;
}

/// interlacer-server with one checkpoint on a free port of loopback, ready when made.
class ServerProcess {
 public:
  explicit ServerProcess(const std::string& checkpoint)
      : process_({INTERLACER_SERVER_PROGRAM, "--model", "tiny=" + checkpoint, "--address",
                  "127.0.0.1:0", "--metrics-address", "", "--log-format", "json"}) {
    const std::regex listening(R"re("listening".*"port":"(\d+)")re");
    Eventually([&] {
      std::smatch match;
      const std::string log = process_.Err();
      if (std::regex_search(log, match, listening)) address_ = "127.0.0.1:" + match[1].str();
      return !address_.empty() || !process_.IsRunning();
    });
    EXPECT_FALSE(address_.empty()) << process_.Err();
    EXPECT_EQ(RunVerb({"probe", address_, "--wait", "60s"}).exit_code, 0) << process_.Err();
  }

  const std::string& address() const { return address_; }
  ProcessResult Stop() {
    process_.Signal(SIGTERM);
    return process_.Wait();
  }

 private:
  ChildProcess process_;
  std::string address_;
};

}  // namespace interlacer::testing
