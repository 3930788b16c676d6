/// Entry point of interlacer-server: options, signals, exit codes. The rest is in InterlacerServer.

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "common/log.h"
#include "common/printable_text.h"
#include "common/thread_pool.h"
#include "model/cuda/built_backend.h"
#include "model/runtime/process_setup.h"
#include "server/models/checkpoint_source.h"
#include "server/parse_options.h"
#include "server/supervisor.h"
#include "server/transport/interlacer_server.h"
#include "server/transport/library_log.h"

namespace interlacer {
namespace {

constexpr long kPollNanoseconds = 50'000'000;

std::map<std::string, std::string> Environment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) variables[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return variables;
}

std::vector<ModelSource> Sources(const ServerOptions& options) {
  std::vector<ModelSource> sources;
  for (const auto& [name, dir] : options.models) {
    sources.push_back(CheckpointSource(name, dir, options.device));
  }
  return sources;
}

/// Blocks the stop signals in every thread, so that only the loop below receives them.
sigset_t BlockStopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  // Of a terminal that goes. What is blocked would be received also where nohup has it ignored.
  struct sigaction hangup {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  // Who writes to a connection that is gone, or beyond the largest size of a file, gets an error.
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  return signals;
}

/// The first signal starts draining, the second cancels the remaining calls.
ServerExit RunUntilStopped(const sigset_t& signals, const Supervisor& supervisor,
                           InterlacerServer* server) {
  const timespec poll_interval{0, kPollNanoseconds};
  bool is_ready = false, is_draining = false;
  // This loop is part of what the pings vouch for.
  std::atomic<bool> has_polled = false;
  const WatchdogPings pings(supervisor,
                            [&](const std::stop_token& stop, std::chrono::microseconds limit) {
                              return server->ProbeItself(stop, limit) && has_polled.exchange(false);
                            });
  while (true) {
    if (sigtimedwait(&signals, nullptr, &poll_interval) > 0) {
      if (is_draining) server->CancelCalls();
      server->Drain();
      if (!std::exchange(is_draining, true)) supervisor.Tell("STOPPING=1");
    }
    if (const auto exit = server->Poll()) return *exit;
    has_polled = true;
    if (!is_ready && server->state() == ServerState::kServing) {
      is_ready = true;
      supervisor.Tell("READY=1");
    }
  }
}

int Serve(const ServerOptions& options) {
  InitLogging(options.log_level, options.log_format);
  LogLibraryLines();
  SetThreadCount(options.threads);
  const sigset_t signals = BlockStopSignals();
  const auto supervisor = Supervisor::FromEnvironment(Environment());
  auto server =
      supervisor.ok() ? InterlacerServer::Start(options, Sources(options)) : supervisor.status();
  if (!server.ok()) {
    std::fprintf(stderr, "interlacer-server: %s\n",
                 PrintableText(server.status().ToString()).c_str());
    return static_cast<int>(ServerExit::kUsage);
  }
  const ServerExit exit = RunUntilStopped(signals, *supervisor, server->get());
  Log(LogLevel::kInfo, "stopped", {{"exit", std::to_string(static_cast<int>(exit))}});
  // The destructor would wait for a model that loads, or a unit of work that hangs on a lost
  // device.
  if (exit == ServerExit::kInternal || (*server)->has_work()) {
    (*server)->Abandon();
    std::_Exit(static_cast<int>(exit));
  }
  return static_cast<int>(exit);
}

int RecordWarmUps(const ServerOptions& options) {
  SetThreadCount(options.threads);
  for (const auto& [name, dir] : options.models) {
    auto predictor = Predictor::Load(
        dir, {.model_name = name, .device = options.device, .cuda = BuiltCudaBackend()});
    const StatusOr<RecordedWarmUp> recorded =
        predictor.ok() ? RecordWarmUp(dir, predictor->get()) : predictor.status();
    if (!recorded.ok()) {
      std::fprintf(stderr, "interlacer-server: %s\n",
                   PrintableText(recorded.status().ToString()).c_str());
      return static_cast<int>(ServerExit::kBadModel);
    }
    if (GuardsLittle(*recorded)) {
      Log(LogLevel::kWarning,
          "the network moves so few of the recorded particles that other weights may pass the "
          "warm-up; an episode in whose last steps something is moved would help",
          {{"model", name},
           {"moved", std::to_string(recorded->moved_count)},
           {"of", std::to_string(recorded->sample_count)}});
    }
  }
  return static_cast<int>(ServerExit::kDone);
}

int Main(int argc, char** argv) {
  auto parsed = ParseServerOptions({argv + 1, argv + argc}, Environment());
  if (!parsed.ok()) {
    std::fprintf(stderr, "interlacer-server: %s\nSee interlacer-server --help.\n",
                 PrintableText(parsed.status().message()).c_str());
    return static_cast<int>(ServerExit::kUsage);
  }
  if (parsed->is_done) {
    std::fputs(PrintableText(parsed->text).c_str(), stdout);
    return static_cast<int>(ServerExit::kDone);
  }
  const ServerOptions& options = parsed->options;
  return options.record_warm_up ? RecordWarmUps(options) : Serve(options);
}

}  // namespace
}  // namespace interlacer

int main(int argc, char** argv) {
  interlacer::PrepareProcess();
  return interlacer::Main(argc, argv);
}
