#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/cli/describe.h"
#include "client/cli/numbers.h"
#include "client/cli/output.h"
#include "client/cli/verbs/verbs.h"
#include "common/sha256.h"
#include "data/dataset.h"
#include "data/manifest.h"
#include "data/sim/episode_export.h"
#include "data/sim/simulator.h"

namespace interlacer::cli {
namespace {

namespace fs = std::filesystem;

struct SimulateArguments {
  sim::SimulateOptions sim;
  std::string output;
  std::string split = "train";
  int episode_count = 1;
  int job_count = 0;
  bool with_still = false;
  bool resume = false;
  bool force = false;
};

/// One episode to make.
struct Job {
  std::uint64_t seed = 0;
  bool still = false;
};

struct MadeEpisode {
  std::string id;
  std::string manifest_sha256;
};

std::vector<Job> ListJobs(const SimulateArguments& arguments) {
  std::vector<Job> jobs;
  for (int i = 0; i < arguments.episode_count; ++i) {
    const std::uint64_t seed = arguments.sim.seed + static_cast<std::uint64_t>(i);
    jobs.push_back({seed, arguments.sim.still});
    if (arguments.with_still && !arguments.sim.still) jobs.push_back({seed, true});
  }
  return jobs;
}

std::string IdOf(const SimulateArguments& arguments, const Job& job) {
  sim::SimulatedEpisode episode;
  episode.task = arguments.sim.task;
  episode.seed = job.seed;
  episode.still = job.still;
  return sim::EpisodeId(episode);
}

/// What repeats one episode of a longer run.
std::string CommandOf(const SimulateArguments& arguments, const Job& job) {
  return Format("interlacer simulate --task %s --seed %llu --steps %d --width %d --height %d%s%s",
                arguments.sim.task.c_str(), static_cast<unsigned long long>(job.seed),
                arguments.sim.step_count, arguments.sim.width_px, arguments.sim.height_px,
                job.still ? " --still" : "",
                arguments.sim.depth_noise_m > 0
                    ? Format(" --depth-noise %g", arguments.sim.depth_noise_m).c_str()
                    : "");
}

StatusOr<MadeEpisode> MakeEpisode(const SimulateArguments& arguments, const Job& job) {
  const std::string id = IdOf(arguments, job);
  const fs::path dir = fs::path(arguments.output) / id;
  std::error_code error;
  if (!arguments.resume || !fs::exists(dir / kManifestFile, error)) {
    sim::SimulateOptions options = arguments.sim;
    options.seed = job.seed;
    options.still = job.still;
    INTERLACER_ASSIGN_OR_RETURN(const sim::SimulatedEpisode episode, sim::SimulateEpisode(options));
    INTERLACER_RETURN_IF_ERROR(sim::WriteSimulatedEpisode(
        episode, dir.string(), {CommandOf(arguments, job), arguments.force}));
  }
  INTERLACER_ASSIGN_OR_RETURN(const std::string sha256,
                              Sha256OfFile((dir / kManifestFile).string()));
  return MadeEpisode{id, sha256};
}

/// Episodes on several threads; what is finished stays when one fails or the user stops.
class Factory {
 public:
  Factory(const SimulateArguments& arguments, const VerbContext& context)
      : arguments_(arguments),
        context_(context),
        jobs_(ListJobs(arguments)),
        progress_(context.MakeProgress("simulate", static_cast<std::int64_t>(jobs_.size()))) {}

  Status Run() {
    const int wanted = arguments_.job_count > 0
                           ? arguments_.job_count
                           : static_cast<int>(std::thread::hardware_concurrency());
    const int count = std::clamp(wanted, 1, static_cast<int>(jobs_.size()));
    {
      std::vector<std::jthread> workers;
      for (int i = 0; i < count; ++i) workers.emplace_back([this] { Work(); });
    }
    progress_->Finish();
    if (!status_.ok()) return status_;
    return context_.stop().stop_requested() ? Cancelled("stopped; --resume goes on") : Status::Ok();
  }

  const std::vector<MadeEpisode>& made() const { return made_; }

 private:
  void Work() {
    while (!context_.stop().stop_requested()) {
      const std::size_t i = next_++;
      if (i >= jobs_.size()) return;
      StatusOr<MadeEpisode> episode = MakeEpisode(arguments_, jobs_[i]);
      const std::lock_guard lock(mutex_);
      if (!episode.ok()) {
        if (status_.ok()) status_ = episode.status();
        next_ = jobs_.size();
        return;
      }
      made_.push_back(*std::move(episode));
      progress_->Update(static_cast<std::int64_t>(made_.size()));
    }
  }

  const SimulateArguments& arguments_;
  const VerbContext& context_;
  const std::vector<Job> jobs_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;  // guards the rest
  const std::unique_ptr<Progress> progress_;
  std::vector<MadeEpisode> made_;
  Status status_;
};

/// Adds the episodes to the split of dataset.json, which may hold earlier ones.
Status AddToDataset(const SimulateArguments& arguments, const std::vector<MadeEpisode>& made) {
  Dataset dataset;
  std::error_code error;
  if (fs::exists(fs::path(arguments.output) / kDatasetFile, error)) {
    INTERLACER_ASSIGN_OR_RETURN(dataset, ReadDataset(arguments.output));
  } else {
    dataset.name = fs::absolute(arguments.output).lexically_normal().filename().string();
    if (dataset.name.empty()) dataset.name = arguments.sim.task;
    dataset.license = "MIT";
  }
  for (const MadeEpisode& episode : made) {
    for (auto& [split, ids] : dataset.splits) std::erase(ids, episode.id);
    dataset.splits[arguments.split].push_back(episode.id);
    dataset.manifest_sha256[episode.id] = episode.manifest_sha256;
  }
  for (auto& [split, ids] : dataset.splits) std::sort(ids.begin(), ids.end());
  return WriteDataset(arguments.output, dataset);
}

StatusOr<ExitCode> RunSimulate(const SimulateArguments& arguments, const VerbContext& context) {
  std::error_code error;
  if (!arguments.resume && !arguments.force && fs::exists(arguments.output, error) &&
      !fs::is_empty(arguments.output, error)) {
    return FailedPrecondition(
               reason::OUTPUT_EXISTS,
               arguments.output + " exists; --resume adds what is missing, --force makes anew")
        .WithField(arguments.output);
  }
  INTERLACER_RETURN_IF_ERROR(MakeFolders(arguments.output));
  Factory factory(arguments, context);
  const Status status = factory.Run();
  if (!factory.made().empty()) {
    INTERLACER_RETURN_IF_ERROR(AddToDataset(arguments, factory.made()));
  }
  INTERLACER_RETURN_IF_ERROR(status);
  nlohmann::ordered_json json = {{"dataset", arguments.output}, {"split", arguments.split}};
  std::string text;
  for (const MadeEpisode& episode : factory.made()) {
    const std::string path = (fs::path(arguments.output) / episode.id).string();
    json["episodes"].push_back({{"path", path}, {"manifest_sha256", episode.manifest_sha256}});
    text += path + "\n";
  }
  context.Result(json, text);
  return kExitDone;
}

}  // namespace

void AddSimulate(CLI::App* app, VerbTable* verbs) {
  CLI::App* verb = app->add_subcommand("simulate", "Simulated episodes of two KUKA arms");
  const auto arguments = std::make_shared<SimulateArguments>();
  verb->add_option("-o,--output", arguments->output, "Folder of the data set")->required();
  verb->add_option("--task", arguments->sim.task, "What the arms do")
      ->capture_default_str()
      ->check(CLI::IsMember(sim::TaskNames()));
  verb->add_option("--seed", arguments->sim.seed, "Seed of the first episode; the next ones follow")
      ->capture_default_str()
      ->check(ZeroOrMore());
  verb->add_option("--episodes", arguments->episode_count, "How many")
      ->capture_default_str()
      ->check(AboveZero());
  verb->add_option("--steps", arguments->sim.step_count, "Steps of an episode, 0.5 s each")
      ->capture_default_str()
      ->check(AboveZero());
  verb->add_option("--width", arguments->sim.width_px, "Image width, pixels")
      ->capture_default_str()
      ->check(AboveZero());
  verb->add_option("--height", arguments->sim.height_px, "Image height, pixels")
      ->capture_default_str()
      ->check(AboveZero());
  verb->add_option("--depth-noise", arguments->sim.depth_noise_m,
                   "Standard deviation of depth at 1 m, metres")
      ->capture_default_str()
      ->check(ZeroOrMore());
  verb->add_option("--split", arguments->split, "Split of the data set that gets the episodes")
      ->capture_default_str()
      ->check(CLI::IsMember({"train", "val", "test"}));
  verb->add_option("--jobs", arguments->job_count, "Episodes at once; default one a core")
      ->check(AboveZero());
  CLI::Option* still =
      verb->add_flag("--still", arguments->sim.still, "The arms hold their first pose");
  verb->add_flag("--with-still", arguments->with_still, "A still control run beside each episode")
      ->excludes(still);
  CLI::Option* resume =
      verb->add_flag("--resume", arguments->resume, "Keep finished episodes, add what is missing");
  verb->add_flag("--force", arguments->force, "Replace existing episodes")->excludes(resume);
  verbs->Add(verb,
             [arguments](const VerbContext& context) { return RunSimulate(*arguments, context); });
}

}  // namespace interlacer::cli
