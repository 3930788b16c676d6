#pragma once

/// A port of loopback for a program under test that cannot choose one itself.
///
/// It is bound as long as this lives, so that nobody else is given it, and not listened to, so that
/// a server which sets SO_REUSEADDR, as all servers do, can have it.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/check.h"

namespace interlacer::testing {

class HeldPort {
 public:
  HeldPort() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int reuse = 1;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof(address);
    INTERLACER_CHECK(setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse)) == 0,
                     "setsockopt");
    INTERLACER_CHECK(bind(fd_, reinterpret_cast<const sockaddr*>(&address), bytes) == 0, "bind");
    INTERLACER_CHECK(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &bytes) == 0,
                     "getsockname");
    number_ = ntohs(address.sin_port);
  }
  ~HeldPort() { close(fd_); }
  HeldPort(const HeldPort&) = delete;
  HeldPort& operator=(const HeldPort&) = delete;

  int number() const { return number_; }

 private:
  const int fd_;
  int number_ = 0;
};

}  // namespace interlacer::testing
