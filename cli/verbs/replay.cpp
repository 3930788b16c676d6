#include "client/replay.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/connection_options.h"
#include "cli/describe.h"
#include "cli/verbs/verbs.h"
#include "common/json.h"
#include "evaluation/statistics.h"

namespace interlacer::cli {
namespace {

struct ReplayArguments {
  std::string file;
  std::string address;
  ConnectionOptions connection{.deadline_s = ReplayOptions{}.deadline_s};
  bool check = false;
};

/// Models whose weights are not those of the record.
std::vector<std::string> OtherWeights(const ReplayReport& report) {
  std::vector<std::string> names;
  for (const auto& [name, weights] : report.recorded_weights) {
    for (const auto& [served, served_weights] : report.served_weights) {
      if (served == name && served_weights != weights) names.push_back(name);
    }
  }
  return names;
}

nlohmann::ordered_json ReportJson(const ReplayReport& report) {
  nlohmann::ordered_json calls = nlohmann::ordered_json::array();
  for (const ReplayedCall& call : report.calls) {
    calls.push_back({{"request_id", call.request_id},
                     {"method", call.method},
                     {"duration_s", call.duration_s},
                     {"error", call.error},
                     {"was_whole", call.was_whole},
                     {"is_equal", call.is_equal},
                     {"difference", call.difference}});
  }
  return {{"calls", std::move(calls)},
          {"over_kept_scenes", report.kept_scene_count},
          {"broken", report.broken_count},
          {"other_weights", OtherWeights(report)},
          {"is_cut", report.is_cut}};
}

std::string ReportText(const ReplayReport& report, bool check) {
  std::vector<double> seconds;
  int equal = 0, whole = 0;
  std::string text;
  for (const ReplayedCall& call : report.calls) {
    seconds.push_back(call.duration_s);
    equal += call.is_equal;
    whole += call.was_whole;
    if (check && call.was_whole && !call.is_equal) {
      text += call.request_id + ": " + call.difference +
              (call.error.empty() ? "" : " (" + call.error + ")") + "\n";
    }
  }
  text += Format("%zu calls repeated", report.calls.size());
  if (check) text += Format(", %d of %d recorded answers equal", equal, whole);
  if (const auto median = Percentile(seconds, 0.5)) {
    text += Format(", %.3g s a call (median), %.3g s (99 %%)", *median, *Percentile(seconds, 0.99));
  }
  if (report.kept_scene_count > 0) {
    text += Format("\n%d calls over kept scenes left out", report.kept_scene_count);
  }
  if (report.broken_count > 0) {
    text += Format("\n%d requests that are no messages left out", report.broken_count);
  }
  for (const std::string& name : OtherWeights(report)) {
    text += "\nthe server has other weights of " + name + " than the record";
  }
  if (report.is_cut) text += "\nthe recording is cut; what lies before was repeated";
  return text + "\n";
}

StatusOr<ExitCode> RunReplay(const ReplayArguments& arguments, const VerbContext& context) {
  const ReplayOptions options{.address = arguments.address,
                              .deadline_s = arguments.connection.deadline_s,
                              .stop = context.stop(),
                              .tls = ToClientOptions(arguments.address, arguments.connection).tls};
  std::int64_t count = 0;
  const auto progress = context.MakeProgress("replay", 0);
  INTERLACER_ASSIGN_OR_RETURN(const ReplayReport report,
                              Replay(arguments.file, options, [&](const ReplayedCall& call) {
                                progress->Update(++count, call.request_id);
                              }));
  progress->Finish();
  context.Result(ReportJson(report), ReportText(report, arguments.check));
  const bool all_equal =
      std::all_of(report.calls.begin(), report.calls.end(),
                  [](const ReplayedCall& call) { return call.is_equal || !call.was_whole; });
  return arguments.check && !all_equal ? kExitCheckFailed : kExitDone;
}

}  // namespace

void AddReplay(CLI::App* app, VerbTable* verbs) {
  CLI::App* verb = app->add_subcommand(
      "replay", "Repeats recorded predictions on a server; --check compares the answers");
  const auto arguments = std::make_shared<ReplayArguments>();
  verb->add_option("file", arguments->file,
                   "Recording of a client, or of a server with --record-dir")
      ->required();
  verb->add_option("--server", arguments->address, "host:port or unix:PATH of the server")
      ->required();
  AddConnectionOptions(verb, &arguments->connection);
  verb->add_flag("--check", arguments->check,
                 "Ends with code 1 where an answer is not the recorded one, byte for byte but for "
                 "durations");
  verbs->Add(verb,
             [arguments](const VerbContext& context) { return RunReplay(*arguments, context); });
}

}  // namespace interlacer::cli
