#include "cli/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>

#include "cli/exit_codes.h"
#include "common/check.h"

namespace interlacer::cli {
namespace {

// A handler may be called on any thread, so it only writes a byte; the watcher thread does the
// rest.
int wake_pipe[2] = {-1, -1};
std::atomic<int> signal_count{0};

constexpr char kSignalByte = 's';
constexpr char kEndByte = 'e';

extern "C" void OnStopSignal(int) {
  const int saved_errno = errno;
  if (signal_count.fetch_add(1) > 0) _exit(kExitInterrupted);
  [[maybe_unused]] const auto written = write(wake_pipe[1], &kSignalByte, 1);
  errno = saved_errno;
}

void Watch(std::stop_source stop) {
  char byte = 0;
  while (byte != kEndByte) {
    const auto count = read(wake_pipe[0], &byte, 1);
    if (count < 0 && errno != EINTR) return;
    if (count == 1 && byte == kSignalByte) stop.request_stop();
  }
}

}  // namespace

InterruptWatcher::InterruptWatcher() {
  INTERLACER_CHECK(pipe(wake_pipe) == 0, "no pipe for signals");
  thread_ = std::thread(Watch, source_);
  struct sigaction action = {};
  action.sa_handler = OnStopSignal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

InterruptWatcher::~InterruptWatcher() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  [[maybe_unused]] const auto written = write(wake_pipe[1], &kEndByte, 1);
  thread_.join();
  close(wake_pipe[0]);
  close(wake_pipe[1]);
}

}  // namespace interlacer::cli
