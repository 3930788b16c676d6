#include "cli/simulation_jobs.h"

#include <filesystem>
#include <utility>

#include "cli/describe.h"
#include "cli/output.h"
#include "common/number_text.h"
#include "data/dataset.h"
#include "data/manifest.h"
#include "data/sim/episode_export.h"

namespace interlacer::cli {
namespace {

namespace fs = std::filesystem;

/// Not the folder's name, so that the same command writes the same bytes to any folder.
std::string DatasetName(const sim::RobotSetup& robot) {
  return std::string(robot.model->name) + (robot.arm_count == 1 ? "-one-arm" : "-bimanual");
}

std::string IdOf(const SimulateArguments& arguments, const SimulationJob& job) {
  sim::SimulatedEpisode episode;
  episode.setup = arguments.sim.robot;
  episode.task = job.task;
  episode.split = arguments.sim.split;
  episode.seed = job.seed;
  episode.still = job.still;
  episode.motion_seed = job.motion_seed;
  return sim::EpisodeId(episode);
}

/// The command that repeats one episode of a longer run.
std::string CommandOf(const SimulateArguments& arguments, const SimulationJob& job) {
  std::string command =
      Format("interlacer simulate --task %s --seed %llu --steps %d --width %d --height %d",
             job.task.c_str(), static_cast<unsigned long long>(job.seed), arguments.sim.step_count,
             arguments.sim.width_px, arguments.sim.height_px);
  const sim::RobotSetup& robot = arguments.sim.robot;
  if (robot.model != &sim::KukaIiwa()) command += " --robot " + std::string(robot.model->name);
  if (robot.arm_count != sim::kMaxArmCount) command += Format(" --arms %d", robot.arm_count);
  if (job.still) command += " --still";
  if (job.motion_seed) {
    command += Format(" --motions 1 --motion-seed %llu",
                      static_cast<unsigned long long>(*job.motion_seed));
  }
  if (arguments.sim.depth_noise_m > 0) {
    command += " --depth-noise " + ExactNumberText(arguments.sim.depth_noise_m);
  }
  if (arguments.sim.split != sim::Split::kTrain) {
    command += " --split " + sim::NameOf(arguments.sim.split);
  }
  return command;
}

Status FetchFiles(const fs::path& from, const fs::path& to, bool force) {
  INTERLACER_ASSIGN_OR_RETURN(OutputFolder folder,
                              OutputFolder::Create(to.string(), kManifestFile, force));
  INTERLACER_RETURN_IF_ERROR(folder.Take(from));
  return folder.Commit();
}

}  // namespace

std::vector<SimulationJob> ListJobs(const SimulateArguments& arguments) {
  std::vector<SimulationJob> jobs;
  for (int i = 0; i < arguments.episode_count; ++i) {
    if (!arguments.shard.Owns(i)) continue;
    const std::string& task = arguments.tasks[i % arguments.tasks.size()];
    const std::uint64_t seed = arguments.sim.seed + static_cast<std::uint64_t>(i);
    for (int motion = 0; motion < arguments.motion_count; ++motion) {
      jobs.push_back({task, seed, false, arguments.first_motion_seed + motion});
    }
    if (arguments.motion_count > 0) continue;
    jobs.push_back({task, seed, arguments.sim.still, {}});
    if (arguments.with_still && !arguments.sim.still) jobs.push_back({task, seed, true, {}});
  }
  return jobs;
}

StatusOr<MadeEpisode> MakeEpisode(const SimulateArguments& arguments, const SimulationJob& job) {
  const std::string id = IdOf(arguments, job), command = CommandOf(arguments, job);
  const fs::path dir = fs::path(arguments.output) / id;
  if (arguments.resume && IsEpisodeFolder(dir)) return KeepEpisode(dir, id, command);
  sim::SimulateOptions options = arguments.sim;
  options.task = job.task;
  options.seed = job.seed;
  options.still = job.still;
  options.motion_seed = job.motion_seed;
  INTERLACER_ASSIGN_OR_RETURN(const sim::SimulatedEpisode episode, sim::SimulateEpisode(options));
  INTERLACER_RETURN_IF_ERROR(
      sim::WriteSimulatedEpisode(episode, dir.string(), {command, arguments.force}));
  return DescribeEpisode(dir, id);
}

StatusOr<MadeEpisode> FetchEpisode(const SimulateArguments& arguments, const SimulationJob& job) {
  const std::string id = IdOf(arguments, job), command = CommandOf(arguments, job);
  const fs::path dir = fs::path(arguments.output) / id;
  if (arguments.resume && IsEpisodeFolder(dir)) return KeepEpisode(dir, id, command);
  for (const std::string& part : arguments.parts) {
    const fs::path from = fs::path(part) / id;
    if (!IsEpisodeFolder(from)) continue;
    INTERLACER_ASSIGN_OR_RETURN(const EpisodeManifest manifest, ReadManifest(from.string()));
    INTERLACER_RETURN_IF_ERROR(CheckMadeBy(manifest.source.command, from, command));
    INTERLACER_RETURN_IF_ERROR(FetchFiles(from, dir, arguments.force));
    return DescribeEpisode(dir, id);
  }
  return NotFound(reason::FILE_NOT_FOUND,
                  "no part has the episode " + id + "; a shard is missing or unfinished")
      .WithField(id);
}

Status AddToDataset(const SimulateArguments& arguments, const std::vector<MadeEpisode>& made) {
  Dataset fresh;
  fresh.name = DatasetName(arguments.sim.robot);
  fresh.license = "MIT";
  return AddToDataset(arguments.output, sim::NameOf(arguments.sim.split), std::move(fresh), made);
}

}  // namespace interlacer::cli
