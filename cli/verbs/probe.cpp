
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "cli/connection_options.h"
#include "cli/durations.h"
#include "cli/option_checks.h"
#include "cli/verbs/verbs.h"
#include "client/interlacer_client.h"
#include "common/json.h"

namespace interlacer::cli {
namespace {

constexpr std::chrono::milliseconds kPause{250};

struct ProbeOptions {
  std::string address;
  std::string service = "interlacer.v1.InterlacerService";
  double wait_s = 0;
  /// Of one try.
  ConnectionOptions connection{.deadline_s = 2};
};

/// Asks until the service is ready or the time is over; returns the last answer.
StatusOr<bool> AskUntilReady(Client* client, const ProbeOptions& options,
                             const VerbContext& context) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end =
      Clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(options.wait_s * 1000));
  CallOptions call;
  call.deadline_s = options.connection.deadline_s;
  call.stop = context.stop();
  while (true) {
    const StatusOr<bool> answer = client->IsServing(options.service, call);
    const bool is_ready = answer.ok() && *answer;
    if (is_ready || Clock::now() + kPause > end || context.stop().stop_requested()) return answer;
    std::this_thread::sleep_for(kPause);
  }
}

StatusOr<ExitCode> RunProbe(const ProbeOptions& options, const VerbContext& context) {
  INTERLACER_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                              Client::Create(ToClientOptions(options.address, options.connection)));
  const StatusOr<bool> answer = AskUntilReady(client.get(), options, context);
  // A health service that does not know the name has not started it: not ready, yet reachable.
  if (!answer.ok() && answer.status().code() != StatusCode::kNotFound) return answer.status();
  const bool is_ready = answer.ok() && *answer;
  context.Result({{"address", options.address}, {"service", options.service}, {"ready", is_ready}},
                 is_ready ? "ready\n" : "not ready\n");
  return is_ready ? kExitDone : kExitCheckFailed;
}

}  // namespace

void AddProbe(CLI::App* app, VerbTable* verbs) {
  CLI::App* verb = app->add_subcommand("probe", "Ask a server whether it is ready: exit 0, 1 or 4");
  const auto options = std::make_shared<ProbeOptions>();
  verb->add_option("address", options->address, "host:port or unix:PATH")->required();
  verb->add_option("--service", options->service, "Name in the health service")
      ->capture_default_str();
  verb->add_option("--wait", options->wait_s, "Time to wait until it is ready, such as 30s")
      ->transform(AsSeconds())
      ->check(ZeroOrMore());
  AddConnectionOptions(verb, &options->connection);
  verbs->Add(verb, [options](const VerbContext& context) { return RunProbe(*options, context); });
}

}  // namespace interlacer::cli
