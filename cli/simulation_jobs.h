#pragma once

/// The episodes that one `simulate` command stands for, and how each is made or fetched.
///
/// Episode i of a command does task i mod (number of tasks) with seed `seed` + i, so that a list of
/// tasks gives equal shares; with other motions, each of them is an episode. A job is a function of
/// the command alone: shards of it, and the command as a whole, make the same bytes. Pure functions
/// over files; different jobs from different threads. Errors: those of data/sim/simulator.h and
/// data/episode_writer.h; NOT_FOUND FILE_NOT_FOUND for a part without the episode;
/// FAILED_PRECONDITION OUTPUT_EXISTS.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/dataset_folder.h"
#include "cli/shard.h"
#include "common/status.h"
#include "data/sim/simulator.h"

namespace interlacer::cli {

struct SimulateArguments {
  sim::SimulateOptions sim;  ///< task, seed and still are those of each job
  std::vector<std::string> tasks = {"push_block"};
  std::string output;
  std::vector<std::string> parts;  ///< folders that shards have written, to be merged
  Shard shard;
  int episode_count = 1;
  int job_count = 0;
  int motion_count = 0;  ///< other motions of each scene, instead of its own; 0: none
  std::uint64_t first_motion_seed = 0;
  bool with_still = false;
  bool resume = false;
  bool force = false;
};

/// One episode to make.
struct SimulationJob {
  std::string task;
  std::uint64_t seed = 0;
  bool still = false;
  std::optional<std::uint64_t> motion_seed;
};

/// The jobs of the shard, in order.
std::vector<SimulationJob> ListJobs(const SimulateArguments& arguments);

/// Simulates the episode into the output folder, or keeps the finished one with `resume`. A
/// finished one that another command line has made is refused with INVALID_ARGUMENT
/// ARGUMENT_INVALID.
StatusOr<MadeEpisode> MakeEpisode(const SimulateArguments& arguments, const SimulationJob& job);

/// Takes the finished episode over from the part that has it: by hard links where the file system
/// allows it, else by copies. Episodes of another command line are refused as by MakeEpisode.
StatusOr<MadeEpisode> FetchEpisode(const SimulateArguments& arguments, const SimulationJob& job);

/// Adds the episodes to their split of dataset.json, which may hold earlier ones.
Status AddToDataset(const SimulateArguments& arguments, const std::vector<MadeEpisode>& made);

}  // namespace interlacer::cli
