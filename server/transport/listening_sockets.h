#pragma once

/// Sockets that listen on an address in gRPC's form: HOST:PORT, [IPv6]:PORT, unix:PATH,
/// unix-abstract:NAME. A host name listens on all its addresses, at one port.
///
/// A path that another process listens on, or may use otherwise, is an error; a socket whose
/// listener is gone is replaced. The destructor removes the path unless another socket stands there
/// by then. Errors: INVALID_ARGUMENT CONFIG_INVALID. One thread.

#include <sys/types.h>

#include <string>
#include <vector>

#include "common/status.h"

namespace interlacer {

/// Closes a descriptor when it goes.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept;
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  ~UniqueFd();

  int get() const { return fd_; }
  int Release();
  bool is_open() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

class ListeningSockets {
 public:
  static StatusOr<ListeningSockets> Open(const std::string& address);
  ListeningSockets(ListeningSockets&&) = default;
  ListeningSockets& operator=(ListeningSockets&&) = default;
  ~ListeningSockets();

  const std::vector<UniqueFd>& sockets() const { return sockets_; }
  /// The port in use; 0 for unix sockets.
  int port() const { return port_; }

 private:
  ListeningSockets() = default;
  Status OpenPath(const std::string& path);
  Status OpenAbstract(const std::string& name);
  Status OpenHost(const std::string& host, const std::string& port);
  Status Bind(int family, const void* address, unsigned address_bytes);

  std::vector<UniqueFd> sockets_;
  int port_ = 0;
  /// Of a unix socket: where it stands, and which file it is.
  std::string path_;
  ino_t inode_ = 0;
};

/// The name of a connection's other end for logs, such as "ipv4:127.0.0.1:50051".
std::string PeerName(int fd);

}  // namespace interlacer
