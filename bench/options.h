#pragma once

/// The command line of interlacer_bench. Errors: those of CLI11, which main converts to exit code
/// 2.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace interlacer::bench {

/// Exit codes of the program.
enum ExitCode { kPassed = 0, kFailed = 1, kUsage = 2, kAbsent = 3 };

/// In place of a peer: ours is timed alone.
inline constexpr char kNoPeer[] = "none";

struct Options {
  std::string stage;
  std::string peer;    ///< empty: all peers; kNoPeer: none
  std::int64_t n = 0;  ///< number of particles of one time
  int timesteps = 1;
  std::string cloud = "sheet";
  std::string device = "cpu";
  std::string dtype = "f32";
  std::string inputs = "warm";
  int d = 128;
  int threads = 0;
  int rounds = 7;  ///< 0: run gates only
  std::uint64_t seed = 0;
  float support_m = 0.175f;
  int image_width_px = 0;
  int image_height_px = 0;
  int rollout_steps = 2;  ///< number of steps of a training sequence
  int batch = 1;          ///< number of sequences of a training update
  bool backward = false;
  bool list = false;
  bool ceilings = false;
  bool require_peer = false;
  std::optional<double> gate;  ///< fraction of every goal that must be reached
  std::string json = "-";

  std::int64_t tokens() const { return n * timesteps; }
};

/// Returns nothing and sets `exit_code` when the program should stop: usage error or --help.
std::optional<Options> ParseOptions(int argc, const char* const* argv, int* exit_code);

}  // namespace interlacer::bench
