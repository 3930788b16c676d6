#pragma once

/// A port of loopback that nobody uses at the moment.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/check.h"

namespace interlacer::testing {

inline int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof(address);
  INTERLACER_CHECK(bind(fd, reinterpret_cast<const sockaddr*>(&address), bytes) == 0, "bind");
  INTERLACER_CHECK(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &bytes) == 0,
                   "getsockname");
  close(fd);
  return ntohs(address.sin_port);
}

}  // namespace interlacer::testing
