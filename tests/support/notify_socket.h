#pragma once

/// The socket at which a service manager listens to sd_notify.

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <string>

namespace interlacer::testing {

class NotifySocket {
 public:
  explicit NotifySocket(const std::string& path) : fd_(socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0) << path;
  }
  ~NotifySocket() { close(fd_); }
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;

  /// The next word; empty when none comes within `limit_s`.
  std::string Next(double limit_s) {
    pollfd waiting{fd_, POLLIN, 0};
    if (poll(&waiting, 1, static_cast<int>(1000 * limit_s)) <= 0) return "";
    char text[256];
    const ssize_t bytes = recv(fd_, text, sizeof(text), 0);
    return bytes > 0 ? std::string(text, static_cast<std::size_t>(bytes)) : "";
  }
  /// Whether `word` comes within `limit_s`; what comes before is passed over.
  bool Hears(const std::string& word, double limit_s) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point end =
        Clock::now() + std::chrono::milliseconds(static_cast<int>(1000 * limit_s));
    while (Clock::now() < end) {
      const std::chrono::duration<double> left = end - Clock::now();
      if (Next(left.count()) == word) return true;
    }
    return false;
  }

 private:
  const int fd_;
};

}  // namespace interlacer::testing
