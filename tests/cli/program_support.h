#pragma once

/// The two programs as a user runs them, and the small things that they need: a checkpoint of a
/// few thousand weights, short episodes, a server on a port of the kernel's choice.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/child_process.h"
#include "tests/support/eventually.h"
#include "tests/support/listening_server.h"

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
      "tokens": {"fourier_octaves": 2},
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
class ServerProcess : public ListeningServer {
 public:
  explicit ServerProcess(const std::string& checkpoint) : ListeningServer("tiny=" + checkpoint) {
    EXPECT_EQ(RunVerb({"probe", address(), "--wait", "60s"}).exit_code, 0) << process().Err();
  }
};

}  // namespace interlacer::testing
