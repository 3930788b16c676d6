
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/dataset_folder.h"
#include "cli/option_checks.h"
#include "cli/output.h"
#include "cli/simulation_jobs.h"
#include "cli/verbs/verbs.h"
#include "common/json.h"

namespace interlacer::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kAllTasks[] = "all";

/// Makes episodes on several threads; finished ones stay when one fails or the user stops.
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
    const int count = std::clamp(wanted, 1, std::max(1, static_cast<int>(jobs_.size())));
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
      StatusOr<MadeEpisode> episode = WithoutExceptions([&] {
        return arguments_.parts.empty() ? MakeEpisode(arguments_, jobs_[i])
                                        : FetchEpisode(arguments_, jobs_[i]);
      });
      const std::lock_guard lock(mutex_);
      if (!episode.ok()) {
        if (status_.ok()) status_ = episode.status();
        next_ = jobs_.size();
        return;
      }
      made_.push_back(*std::move(episode));
      const auto done = static_cast<std::int64_t>(made_.size());
      if (made_.back().was_there) {
        progress_->Found(done);
      } else {
        progress_->Update(done);
      }
    }
  }

  const SimulateArguments& arguments_;
  const VerbContext& context_;
  const std::vector<SimulationJob> jobs_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;  // guards the rest
  const std::unique_ptr<Progress> progress_;
  std::vector<MadeEpisode> made_;
  Status status_;
};

StatusOr<ExitCode> RunSimulate(const SimulateArguments& arguments, const VerbContext& context) {
  INTERLACER_RETURN_IF_ERROR(
      CheckDatasetFolder(arguments.output, arguments.resume, arguments.force));
  INTERLACER_RETURN_IF_ERROR(MakeFolders(arguments.output));
  Factory factory(arguments, context);
  const Status status = factory.Run();
  // A shard without an episode is a data set too; a run that failed at once is none.
  if (status.ok() || !factory.made().empty()) {
    INTERLACER_RETURN_IF_ERROR(AddToDataset(arguments, factory.made()));
  }
  INTERLACER_RETURN_IF_ERROR(status);
  nlohmann::ordered_json json = {{"dataset", arguments.output},
                                 {"split", sim::NameOf(arguments.sim.split)},
                                 {"episodes", nlohmann::ordered_json::array()}};
  std::string text;
  for (const MadeEpisode& episode : factory.made()) {
    const std::string path = (fs::path(arguments.output) / episode.id).string();
    json["episodes"].push_back({{"path", path}, {"manifest_sha256", episode.manifest_sha256}});
    text += path + "\n";
  }
  context.Result(json, text);
  return kExitDone;
}

std::vector<std::string> TaskWords() {
  std::vector<std::string> words = sim::TaskNames();
  words.emplace_back(kAllTasks);
  return words;
}

/// "all" stands for every task of the mix that the arms can do.
void ExpandTasks(int arm_count, std::vector<std::string>& tasks) {
  std::vector<std::string> mix = sim::MixOfTasks();
  std::erase_if(mix, [&](const std::string& task) { return sim::ArmsOfTask(task) > arm_count; });
  std::vector<std::string> expanded;
  for (const std::string& task : tasks) {
    if (task == kAllTasks) {
      expanded.insert(expanded.end(), mix.begin(), mix.end());
    } else {
      expanded.push_back(task);
    }
  }
  tasks = std::move(expanded);
}

void AddSceneOptions(CLI::App* verb, SimulateArguments& arguments) {
  verb->add_option("--task", arguments.tasks,
                   "What the arms do: one, several that take turns, or all")
      ->capture_default_str()
      ->delimiter(',')
      ->check(CLI::IsMember(TaskWords()));
  verb->add_option("--robot", "The arms, kuka or panda")
      ->default_str(std::string(arguments.sim.robot.model->name))
      ->check(ParsedInto(&arguments.sim.robot.model, sim::ParseArmModel));
  verb->add_option("--arms", arguments.sim.robot.arm_count, "1 or 2; the task sweep needs both")
      ->capture_default_str()
      ->check(CLI::Range(1, sim::kMaxArmCount));
  verb->add_option("--seed", arguments.sim.seed, "Seed of the first episode; the next ones follow")
      ->capture_default_str()
      ->check(ZeroOrMore());
  verb->add_option("--episodes", arguments.episode_count, "How many")
      ->capture_default_str()
      ->check(AboveZero());
  verb->add_option("--steps", arguments.sim.step_count, "Steps of an episode, 0.5 s each")
      ->capture_default_str()
      ->check(AboveZero());
  verb->add_option("--width", arguments.sim.width_px, "Image width, pixels")
      ->capture_default_str()
      ->check(AboveZero());
  verb->add_option("--height", arguments.sim.height_px, "Image height, pixels")
      ->capture_default_str()
      ->check(AboveZero());
  verb->add_option("--depth-noise", arguments.sim.depth_noise_m,
                   "Standard deviation of depth at 1 m, metres")
      ->capture_default_str()
      ->check(ZeroOrMore());
  verb->add_option("--split",
                   "Part of the data set, train, val or test, with scenes of its own; test has "
                   "colours and cameras that the others never have")
      ->default_str(sim::NameOf(arguments.sim.split))
      ->check(ParsedInto(&arguments.sim.split, sim::ParseSplit));
}

}  // namespace

void AddSimulate(CLI::App* app, VerbTable* verbs) {
  CLI::App* verb = app->add_subcommand("simulate", "Simulate episodes of robot arms at a table");
  const auto arguments = std::make_shared<SimulateArguments>();
  verb->add_option("-o,--output", arguments->output, "Folder of the data set")->required();
  AddSceneOptions(verb, *arguments);
  verb->add_option("--jobs", arguments->job_count, "Episodes at once; default one a core")
      ->check(AboveZero());
  CLI::Option* shard =
      verb->add_option("--shard", "Only the episodes I, I + N, ... of the command: I/N")
          ->check(ParsedInto(&arguments->shard, ParseShard));
  verb->add_option("--merge", arguments->parts,
                   "Take the episodes from these folders, which the shards of the same command "
                   "have written")
      ->check(CLI::ExistingDirectory)
      ->excludes(shard);
  CLI::Option* still =
      verb->add_flag("--still", arguments->sim.still, "The arms hold their first pose");
  CLI::Option* with_still = verb->add_flag("--with-still", arguments->with_still,
                                           "A still control run beside each episode");
  with_still->excludes(still);
  CLI::Option* motions =
      verb->add_option(
              "--motions", arguments->motion_count,
              "So many other motions of each push_block or grasp_can scene, instead of its "
              "own: they begin with the same two steps")
          ->check(AboveZero())
          ->excludes(still)
          ->excludes(with_still);
  verb->add_option("--motion-seed", arguments->first_motion_seed,
                   "Seed of the first of them; the next ones follow")
      ->check(ZeroOrMore())
      ->needs(motions);
  CLI::Option* resume =
      verb->add_flag("--resume", arguments->resume, "Keep finished episodes, add what is missing");
  verb->add_flag("--force", arguments->force, "Replace existing episodes")->excludes(resume);
  verbs->Add(verb, [arguments](const VerbContext& context) {
    ExpandTasks(arguments->sim.robot.arm_count, arguments->tasks);
    return RunSimulate(*arguments, context);
  });
}

}  // namespace interlacer::cli
