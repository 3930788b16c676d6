#include "server/supervisor.h"

#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <utility>

namespace interlacer {
namespace {

constexpr int kPingsWithinLimit = 4;

/// The value of a variable that is set and not empty.
const std::string* Find(const std::map<std::string, std::string>& variables, const char* name) {
  const auto it = variables.find(name);
  return it == variables.end() || it->second.empty() ? nullptr : &it->second;
}

StatusOr<std::int64_t> ReadNumber(const char* name, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) {
    return Mismatch(reason::CONFIG_INVALID, name, "a whole number above 0", text);
  }
  return value;
}

}  // namespace

StatusOr<Supervisor> Supervisor::FromEnvironment(
    const std::map<std::string, std::string>& variables) {
  Supervisor supervisor;
  if (const std::string* name = Find(variables, "NOTIFY_SOCKET")) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const bool is_abstract = name->front() == '@';
    if ((name->front() != '/' && !is_abstract) || name->size() >= sizeof(address.sun_path)) {
      return Mismatch(reason::CONFIG_INVALID, "NOTIFY_SOCKET", "a path or @NAME of a socket",
                      *name);
    }
    std::memcpy(address.sun_path, name->data(), name->size());
    if (is_abstract) address.sun_path[0] = '\0';
    supervisor.address_ = address;
    supervisor.address_bytes_ =
        static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name->size());
  }
  if (const std::string* limit = Find(variables, "WATCHDOG_USEC")) {
    if (const std::string* pid = Find(variables, "WATCHDOG_PID")) {
      INTERLACER_ASSIGN_OR_RETURN(const std::int64_t watched, ReadNumber("WATCHDOG_PID", *pid));
      if (watched != getpid()) return supervisor;
    }
    INTERLACER_ASSIGN_OR_RETURN(const std::int64_t limit_us, ReadNumber("WATCHDOG_USEC", *limit));
    supervisor.watchdog_limit_ = std::chrono::microseconds(limit_us);
  }
  return supervisor;
}

void Supervisor::Tell(const std::string& state) const {
  if (!address_) return;
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return;
  // Who does not listen does not want to know.
  static_cast<void>(!sendto(fd, state.data(), state.size(), MSG_NOSIGNAL,
                            reinterpret_cast<const sockaddr*>(&*address_), address_bytes_));
  close(fd);
}

WatchdogPings::WatchdogPings(const Supervisor& supervisor, Probe probe) {
  if (!supervisor.watchdog_limit()) return;
  thread_ = std::jthread([&supervisor, probe = std::move(probe)](const std::stop_token& stop) {
    const auto pause = *supervisor.watchdog_limit() / kPingsWithinLimit;
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
      if (probe(stop, *supervisor.watchdog_limit() - pause)) supervisor.Tell("WATCHDOG=1");
      stopped.wait_for(lock, stop, pause, [] { return false; });
    }
  });
}

}  // namespace interlacer
