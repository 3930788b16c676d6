#include "server/transport/listening_sockets.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

#include "common/address.h"

namespace interlacer {
namespace {

constexpr int kBacklog = 512;
constexpr char kPathScheme[] = "unix:";
constexpr char kAbstractScheme[] = "unix-abstract:";

Status Unusable(const std::string& why) { return InvalidArgument(reason::CONFIG_INVALID, why); }

Status SystemError() { return Unusable(std::strerror(errno)); }

StatusOr<sockaddr_un> UnixAddress(const std::string& name, std::size_t offset) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.empty() || name.size() + offset >= sizeof(address.sun_path)) {
    return Unusable("a name of 1 to " + std::to_string(sizeof(address.sun_path) - offset - 1) +
                    " bytes is needed");
  }
  std::memcpy(address.sun_path + offset, name.data(), name.size());
  return address;
}

/// OK where nobody listens at a unix socket any more, or it has gone meanwhile. Any other answer
/// may come from a socket in use: of another kind, or of another user.
Status CheckUnused(const sockaddr_un& address) {
  const UniqueFd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const bool is_served =
      connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  if (is_served || errno == EAGAIN) return Unusable("another process listens there");
  if (errno == ECONNREFUSED || errno == ENOENT) return Status::Ok();
  return Unusable(std::string("a socket stands there that may be in use (") + std::strerror(errno) +
                  "); if nothing needs it, remove it");
}

int PortOf(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  }
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  }
  return 0;
}

}  // namespace

UniqueFd::UniqueFd(UniqueFd&& other) noexcept : fd_(other.Release()) {}

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

UniqueFd::~UniqueFd() {
  if (fd_ >= 0) close(fd_);
}

int UniqueFd::Release() { return std::exchange(fd_, -1); }

StatusOr<ListeningSockets> ListeningSockets::Open(const std::string& address) {
  INTERLACER_RETURN_IF_ERROR(CheckListenAddress(address));
  ListeningSockets result;
  Status status;
  if (address.starts_with(kPathScheme)) {
    status = result.OpenPath(address.substr(sizeof(kPathScheme) - 1));
  } else if (address.starts_with(kAbstractScheme)) {
    status = result.OpenAbstract(address.substr(sizeof(kAbstractScheme) - 1));
  } else {
    const std::size_t colon = address.rfind(':');
    std::string host = address.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    status = result.OpenHost(host, address.substr(colon + 1));
  }
  if (status.ok()) return result;
  return Unusable("cannot listen on " + address + ": " + status.message()).WithField("address");
}

ListeningSockets::~ListeningSockets() {
  struct stat file {};
  if (path_.empty() || stat(path_.c_str(), &file) != 0 || file.st_ino != inode_) return;
  unlink(path_.c_str());
}

Status ListeningSockets::OpenPath(const std::string& path) {
  INTERLACER_ASSIGN_OR_RETURN(const sockaddr_un address, UnixAddress(path, 0));
  struct stat file {};
  if (lstat(path.c_str(), &file) == 0) {
    if (!S_ISSOCK(file.st_mode)) return Unusable("a file stands there that is no socket");
    INTERLACER_RETURN_IF_ERROR(CheckUnused(address));
    unlink(path.c_str());
  }
  INTERLACER_RETURN_IF_ERROR(Bind(AF_UNIX, &address, sizeof(address)));
  if (stat(path.c_str(), &file) != 0) return SystemError();
  path_ = path;
  inode_ = file.st_ino;
  return Status::Ok();
}

Status ListeningSockets::OpenAbstract(const std::string& name) {
  INTERLACER_ASSIGN_OR_RETURN(const sockaddr_un address, UnixAddress(name, 1));
  const std::size_t bytes = offsetof(sockaddr_un, sun_path) + 1 + name.size();
  return Bind(AF_UNIX, &address, static_cast<unsigned>(bytes));
}

Status ListeningSockets::OpenHost(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); error != 0) {
    return Unusable(gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, &freeaddrinfo);
  Status failure = Unusable("the host has no address");
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    sockaddr_storage address{};
    std::memcpy(&address, entry->ai_addr, entry->ai_addrlen);
    // A port that the system chose for the first address holds for the others.
    const auto chosen = htons(static_cast<std::uint16_t>(port_));
    if (port_ != 0 && entry->ai_family == AF_INET) {
      reinterpret_cast<sockaddr_in&>(address).sin_port = chosen;
    } else if (port_ != 0) {
      reinterpret_cast<sockaddr_in6&>(address).sin6_port = chosen;
    }
    if (Status status = Bind(entry->ai_family, &address, entry->ai_addrlen); !status.ok()) {
      failure = std::move(status);
      // A name may have an address of a family that this machine lacks.
      if (errno == EADDRINUSE || errno == EACCES) return failure;
    }
  }
  return sockets_.empty() ? failure : Status::Ok();
}

Status ListeningSockets::Bind(int family, const void* address, unsigned address_bytes) {
  UniqueFd fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.is_open()) return SystemError();
  const int on = 1;
  // Without it a restart would wait for the connections of the last process.
  if (family != AF_UNIX) setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(fd.get(), static_cast<const sockaddr*>(address), address_bytes) != 0 ||
      listen(fd.get(), kBacklog) != 0) {
    return SystemError();
  }
  sockaddr_storage bound{};
  socklen_t bound_bytes = sizeof(bound);
  if (getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound), &bound_bytes) != 0) {
    return SystemError();
  }
  port_ = PortOf(bound);
  sockets_.push_back(std::move(fd));
  return Status::Ok();
}

std::string PeerName(int fd) {
  sockaddr_storage address{};
  socklen_t bytes = sizeof(address);
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&address), &bytes) != 0) return "unknown";
  if (address.ss_family == AF_UNIX) return "unix";
  if (getnameinfo(reinterpret_cast<sockaddr*>(&address), bytes, host, sizeof(host), port,
                  sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "unknown";
  }
  const bool is_ipv4 = address.ss_family == AF_INET;
  return is_ipv4 ? std::string("ipv4:") + host + ":" + port
                 : std::string("ipv6:[") + host + "]:" + port;
}

}  // namespace interlacer
