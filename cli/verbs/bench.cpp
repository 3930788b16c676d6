#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/connection_options.h"
#include "cli/describe.h"
#include "cli/durations.h"
#include "cli/option_checks.h"
#include "cli/verbs/verbs.h"
#include "client/interlacer_client.h"
#include "client/kept_scene.h"
#include "client/load_generator.h"
#include "common/json.h"
#include "data/episode_reader.h"
#include "evaluation/prediction_task.h"
#include "evaluation/statistics.h"

namespace interlacer::cli {
namespace {

struct BenchArguments {
  std::string address, episode, model_name;
  std::vector<std::string> priorities{"normal"};
  LoadOptions load;
  PredictionRequest request;
  ConnectionOptions connection{.deadline_s = kStreamDeadlineS};
  int candidate_count = 0;
  bool keeps_scene = false;
  bool draws_pictures = false;
};

const std::map<std::string, RequestPriority> kPriorities = [] {
  std::map<std::string, RequestPriority> by_name;
  for (const auto priority :
       {RequestPriority::kControl, RequestPriority::kNormal, RequestPriority::kBackground}) {
    by_name.emplace(PriorityName(priority), priority);
  }
  return by_name;
}();

/// What every call asks for, and where it is sent.
struct Target {
  Client* client = nullptr;
  KeptScene* scene = nullptr;  ///< null: the frames travel with each call
  PredictionTask task;
  std::vector<ActionSequence> candidates;  ///< empty: a rollout
};

Status MakeCall(const Target& target, const CallOptions& options,
                const std::function<void()>& on_message) {
  const ActionSequence& actions = target.task.actions;
  const OutputOptions& output = target.task.output;
  if (target.candidates.empty()) {
    const auto on_step = [&](const PredictedStep&) {
      on_message();
      return Status::Ok();
    };
    if (target.scene != nullptr) {
      return target.scene->PredictRollout(actions, output, on_step, options).status();
    }
    return target.client->PredictRollout(target.task.input, actions, output, on_step, options)
        .status();
  }
  const auto on_candidate = [&](const PredictedCandidate&) {
    on_message();
    return Status::Ok();
  };
  if (target.scene != nullptr) {
    return target.scene->PredictCandidates(target.candidates, output, on_candidate, options)
        .status();
  }
  return target.client
      ->PredictCandidates(target.task.input, target.candidates, output, on_candidate, options)
      .status();
}

nlohmann::ordered_json PercentilesJson(const std::vector<double>& seconds) {
  if (seconds.empty()) return nullptr;
  return {{"p50", *Percentile(seconds, 0.5)},
          {"p90", *Percentile(seconds, 0.9)},
          {"p99", *Percentile(seconds, 0.99)},
          {"max", *std::max_element(seconds.begin(), seconds.end())}};
}

nlohmann::ordered_json PriorityJson(const LoadReport& report, RequestPriority priority) {
  std::vector<double> first_s, whole_s;
  std::map<std::string, int> errors;
  for (const CallTimes& call : report.calls) {
    if (call.priority != priority) continue;
    if (!call.error.empty()) {
      ++errors[call.error];
      continue;
    }
    first_s.push_back(call.first_s);
    whole_s.push_back(call.whole_s);
  }
  return {{"priority", PriorityName(priority)},
          {"answered", whole_s.size()},
          {"answered_per_s", static_cast<double>(whole_s.size()) / report.duration_s},
          {"errors", errors},
          {"first_message_s", PercentilesJson(first_s)},
          {"whole_answer_s", PercentilesJson(whole_s)}};
}

std::string PriorityText(const nlohmann::ordered_json& json) {
  std::string text = Format("%-10s %6d %9.3g", json["priority"].get<std::string>().c_str(),
                            json["answered"].get<int>(), json["answered_per_s"].get<double>());
  for (const char* const times : {"first_message_s", "whole_answer_s"}) {
    for (const char* const p : {"p50", "p99", "max"}) {
      text += json[times].is_null() ? Format(" %8s", "-")
                                    : Format(" %8.3g", json[times][p].get<double>());
    }
  }
  for (const auto& [reason, count] : json["errors"].items()) {
    text += Format("  %d %s", count.get<int>(), reason.c_str());
  }
  return text + "\n";
}

StatusOr<ExitCode> RunBench(BenchArguments arguments, const VerbContext& context) {
  arguments.load.priorities.clear();
  for (const std::string& name : arguments.priorities) {
    arguments.load.priorities.push_back(kPriorities.at(name));
  }
  INTERLACER_ASSIGN_OR_RETURN(const EpisodeReader episode, EpisodeReader::Open(arguments.episode));
  INTERLACER_ASSIGN_OR_RETURN(
      const std::unique_ptr<Client> client,
      Client::Create(ToClientOptions(arguments.address, arguments.connection)));
  CallOptions call;
  call.deadline_s = arguments.connection.deadline_s;
  call.model_name = arguments.model_name;
  call.stop = context.stop();
  INTERLACER_ASSIGN_OR_RETURN(const ModelMetadata metadata, client->GetModelMetadata(call));
  Target target{client.get(), nullptr, {}, {}};
  INTERLACER_ASSIGN_OR_RETURN(target.task,
                              MakePredictionTask(episode, metadata, arguments.request));
  target.task.output.steps = {target.task.step_count};
  if (!arguments.draws_pictures) target.task.output.render_targets.clear();
  target.candidates.assign(static_cast<std::size_t>(arguments.candidate_count),
                           target.task.actions);
  std::unique_ptr<KeptScene> scene;
  if (arguments.keeps_scene) {
    INTERLACER_ASSIGN_OR_RETURN(scene, KeptScene::Create(client.get(), target.task.input, 0, call));
    target.scene = scene.get();
  }

  const auto progress = context.MakeProgress("bench", 0);
  const LoadReport report = RunLoad(
      arguments.load,
      [&](RequestPriority priority, const std::function<void()>& on_message) {
        CallOptions options = call;
        options.priority = priority;
        return MakeCall(target, options, on_message);
      },
      [&](const LoadReport& so_far) {
        progress->Update(static_cast<std::int64_t>(so_far.calls.size()));
      },
      context.stop());
  progress->Finish();

  nlohmann::ordered_json by_priority = nlohmann::ordered_json::array();
  std::string text = Format("%-10s %6s %9s %26s %26s\n%-10s %6s %9s", "", "", "",
                            "first message, s", "whole answer, s", "priority", "ok", "ok/s");
  for (int i = 0; i < 2; ++i) text += Format(" %8s %8s %8s", "p50", "p99", "max");
  text += "\n";
  int answered = 0;
  std::vector<RequestPriority> priorities = arguments.load.priorities;
  std::sort(priorities.rbegin(), priorities.rend());
  priorities.erase(std::unique(priorities.begin(), priorities.end()), priorities.end());
  for (const RequestPriority priority : priorities) {
    by_priority.push_back(PriorityJson(report, priority));
    text += PriorityText(by_priority.back());
    answered += by_priority.back()["answered"].get<int>();
  }
  context.Result({{"address", arguments.address},
                  {"model", metadata.model_name},
                  {"clients", arguments.load.client_count},
                  {"rate_per_s", arguments.load.rate_hz},
                  {"steps", target.task.step_count},
                  {"candidates", arguments.candidate_count},
                  {"duration_s", report.duration_s},
                  {"by_priority", std::move(by_priority)}},
                 text);
  if (context.stop().stop_requested()) return Cancelled("stopped");
  return answered > 0 ? kExitDone : kExitCheckFailed;
}

}  // namespace

void AddBench(CLI::App* app, VerbTable* verbs) {
  CLI::App* verb =
      app->add_subcommand("bench", "Put load on a server and measure how long predictions take");
  const auto arguments = std::make_shared<BenchArguments>();
  LoadOptions& load = arguments->load;
  verb->add_option("address", arguments->address, "host:port or unix:PATH")->required();
  verb->add_option("episode", arguments->episode, "Folder of the episode whose scene is sent")
      ->required();
  verb->add_option("--model-name", arguments->model_name, "Model of the server; default its first");
  verb->add_option("--clients", load.client_count, "Calls in flight at most")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  verb->add_option("--rate", load.rate_hz,
                   "Calls a second, whether earlier ones are answered or not; default each client "
                   "waits for its answer")
      ->check(AboveZero());
  verb->add_option("--duration", load.duration_s, "Calls begin within it, such as 30s")
      ->capture_default_str()
      ->transform(AsSeconds())
      ->check(AboveZero());
  verb->add_option("--priority", arguments->priorities,
                   "control, normal or background; of several, calls take turns")
      ->capture_default_str()
      ->delimiter(',')
      ->check(CLI::IsMember(kPriorities));
  verb->add_option("--steps", arguments->request.step_count, "Steps of a rollout")
      ->check(RolloutSteps(1));
  verb->add_option("--start-step", arguments->request.start_step,
                   "Newest observed step; default the first with a full history");
  verb->add_option("--candidates", arguments->candidate_count,
                   "So many rollouts in one call instead of one")
      ->check(CLI::PositiveNumber);
  verb->add_flag("--keep-scene", arguments->keeps_scene,
                 "Frames travel once; calls name the scene that the server keeps");
  verb->add_flag("--pictures", arguments->draws_pictures,
                 "Asks for the pictures of the last step, not for its particles alone");
  verb->add_option("--seed", load.seed, "Of the times of --rate")->capture_default_str();
  AddConnectionOptions(verb, &arguments->connection);
  verbs->Add(verb,
             [arguments](const VerbContext& context) { return RunBench(*arguments, context); });
}

}  // namespace interlacer::cli
