#include "server/transport/front_door.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/log.h"

namespace interlacer {
namespace {

constexpr std::size_t kReadBytes = 256 << 10;
/// Of a client's turn: headers cost a thousand times as much as the bytes of a frame, and whoever
/// sends nothing else must not hold up the turns of others for more than a millisecond or two.
constexpr std::size_t kClientReadBytes = 32 << 10;
/// No more is read for a side that has not taken this many bytes.
constexpr std::size_t kMaxWaitingBytes = 256 << 10;
constexpr int kTickMs = 100;
constexpr int kMaxEvents = 64;
/// Between looks at those that are there: in a flood MakeRoom would end who has spoken already.
constexpr int kMaxAcceptsAtOnce = 16;
/// A connection has this long to say that it speaks HTTP/2, and at least so long to read the last
/// words.
constexpr std::chrono::seconds kPatience(10);
/// Then it has this long to close its side.
constexpr std::chrono::seconds kLingerTime(1);
/// Time for the library's last words when the server stops.
constexpr std::chrono::milliseconds kFlushTime(200);
/// Pause after the process or the system was out of descriptors.
constexpr std::chrono::milliseconds kAcceptPause(100);
/// A lack that lasts is logged once.
constexpr std::chrono::seconds kAcceptLogPause(10);
/// Descriptors of a connection: the client's and both ends of the pair.
constexpr int kConnectionFds = 3;
/// Kept for files, the library and the metrics.
constexpr int kReservedFds = 64;
/// Between two looks at the files of TLS.
constexpr std::chrono::seconds kRefreshPause(1);
/// Who is refused often is logged once.
constexpr std::chrono::seconds kRefusalLogPause(10);
/// A client that has vanished without a word is noticed after about this time, or so much later
/// than one that may still read.
constexpr int kKeepAliveS = 60;
constexpr std::chrono::seconds kVanishedMargin(10);
constexpr char kLibraryPrefix[] = "unix-abstract:";

/// Events are told apart by this number: listeners first, then two a connection.
constexpr std::uint64_t kWakeTag = 0;
constexpr std::uint64_t kFirstListenerTag = 1;
constexpr std::uint64_t kFirstConnection = 1024;
constexpr std::uint64_t ClientTag(std::uint64_t id) { return 2 * id; }
constexpr std::uint64_t LibraryTag(std::uint64_t id) { return 2 * id + 1; }

int BoundByDescriptors(int max_connections) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > rlim_t{1} << 30) {
    return max_connections;
  }
  const int fds = static_cast<int>(limit.rlim_cur);
  return std::clamp((fds - kReservedFds) / kConnectionFds, 1, max_connections);
}

/// Changes what is watched. Without events the descriptor is not watched at all, since the end of a
/// connection would be reported again and again.
void SetEvents(int epoll, int fd, std::uint64_t tag, std::uint32_t events, std::uint32_t* present) {
  const std::uint32_t before = std::exchange(*present, events);
  if (before == events) return;
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag;
  const int operation = before == 0 ? EPOLL_CTL_ADD : events == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
  epoll_ctl(epoll, operation, fd, &event);
}

/// Random, because names of sockets are shared by all processes of a machine.
std::string RandomName() {
  std::random_device random;
  return std::to_string(random()) + std::to_string(random());
}

/// Names a socket's end, so that the library's name of the other end tells who the client is.
void SetName(int fd, const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t size = std::min(name.size(), sizeof(address.sun_path) - 1);
  std::memcpy(address.sun_path + 1, name.data(), size);
  // Without a name the connection works too; only the log line says less.
  static_cast<void>(bind(fd, reinterpret_cast<const sockaddr*>(&address),
                         static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size)));
}

/// The kernel also takes one for vanished that is there and does not read.
void SetTcpOptions(int fd, std::chrono::steady_clock::duration slow_reader_timeout) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &kKeepAliveS, sizeof(kKeepAliveS));
  const auto slow =
      std::chrono::duration_cast<std::chrono::milliseconds>(slow_reader_timeout) + kVanishedMargin;
  const auto timeout_ms = static_cast<int>(
      std::clamp<std::int64_t>(slow.count(), 1000 * kKeepAliveS, std::numeric_limits<int>::max()));
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof(timeout_ms));
}

/// Sends from the front of `bytes`; false when the other side is gone.
bool SendSome(int fd, std::string* bytes) {
  std::size_t sent_bytes = 0;
  while (sent_bytes < bytes->size()) {
    const ssize_t sent =
        send(fd, bytes->data() + sent_bytes, bytes->size() - sent_bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) break;
    if (sent < 0) return false;
    sent_bytes += static_cast<std::size_t>(sent);
  }
  bytes->erase(0, sent_bytes);
  return true;
}

}  // namespace

StatusOr<std::unique_ptr<FrontDoor>> FrontDoor::Open(const std::string& address,
                                                     const FrontDoorLimits& limits,
                                                     std::unique_ptr<TlsIdentity> identity) {
  INTERLACER_ASSIGN_OR_RETURN(ListeningSockets sockets, ListeningSockets::Open(address));
  return std::unique_ptr<FrontDoor>(new FrontDoor(std::move(sockets), limits, std::move(identity)));
}

FrontDoor::FrontDoor(ListeningSockets sockets, const FrontDoorLimits& limits,
                     std::unique_ptr<TlsIdentity> identity)
    : limits_(limits),
      max_connections_(BoundByDescriptors(limits.max_connections)),
      sockets_(std::move(sockets)),
      identity_(std::move(identity)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      name_(RandomName()),
      next_id_(kFirstConnection),
      buffer_(kReadBytes, '\0') {}

FrontDoor::~FrontDoor() { Stop(); }

void FrontDoor::Start(HandOver hand_over, Http2Gate::OnRefusal on_refusal) {
  INTERLACER_CHECK(epoll_.is_open() && wake_.is_open(), "no descriptor is left at the start");
  hand_over_ = std::move(hand_over);
  on_refusal_ = std::move(on_refusal);
  std::uint32_t wake_events = 0;
  SetEvents(epoll_.get(), wake_.get(), kWakeTag, EPOLLIN, &wake_events);
  WatchListeners(true);
  thread_ = std::thread([this] { Run(); });
}

void FrontDoor::Stop() {
  if (!thread_.joinable()) return;
  is_stopping_ = true;
  Wake();
  thread_.join();
  connections_.clear();
}

void FrontDoor::Wake() {
  const std::uint64_t one = 1;
  static_cast<void>(!write(wake_.get(), &one, sizeof(one)));
}

UniqueFd FrontDoor::Connect() {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0) return {};
  UniqueFd theirs(pair[1]);
  {
    const std::lock_guard lock(own_mutex_);
    own_clients_.emplace_back(pair[0]);
  }
  Wake();
  return theirs;
}

void FrontDoor::AdmitOwn() {
  std::vector<UniqueFd> clients;
  {
    const std::lock_guard lock(own_mutex_);
    clients = std::exchange(own_clients_, {});
  }
  for (UniqueFd& client : clients) Admit(std::move(client), nullptr);
}

void FrontDoor::WatchListeners(bool is_accepting) {
  constexpr std::uint32_t kEvents = EPOLLIN;
  std::uint64_t tag = kFirstListenerTag;
  for (const UniqueFd& socket : sockets_.sockets()) {
    std::uint32_t present = is_accepting_ ? kEvents : 0;
    SetEvents(epoll_.get(), socket.get(), tag++, is_accepting ? kEvents : 0, &present);
  }
  is_accepting_ = is_accepting;
}

std::string FrontDoor::ClientName(const std::string& library_peer) {
  if (!library_peer.starts_with(kLibraryPrefix)) return library_peer;
  // "<connection>/<client>", percent-encoded by the library.
  std::string name;
  for (std::size_t i = library_peer.find('/') + 1; i < library_peer.size(); ++i) {
    if (library_peer.compare(i, 3, "%5B") == 0 || library_peer.compare(i, 3, "%5D") == 0) {
      name += library_peer[i + 2] == 'B' ? '[' : ']';
      i += 2;
    } else {
      name += library_peer[i];
    }
  }
  return name;
}

void FrontDoor::Run() {
  std::array<epoll_event, kMaxEvents> events;
  Clock::time_point next_tick = Clock::now();
  std::optional<Clock::time_point> flush_limit;
  while (true) {
    if (is_stopping_) {
      const Clock::time_point now = Clock::now();
      if (!flush_limit) {
        flush_limit = now + kFlushTime;
        WatchListeners(false);
      }
      if (now > *flush_limit) {
        for (auto& [id, connection] : connections_) BeginEnd(&connection);
      }
      if (connections_.empty() || now > *flush_limit + kLingerTime) return;
    }
    const int count = epoll_wait(epoll_.get(), events.data(), kMaxEvents, kTickMs);
    for (int i = 0; i < count; ++i) {
      const std::uint64_t tag = events[i].data.u64;
      if (tag == kWakeTag) {
        std::uint64_t value = 0;
        static_cast<void>(!read(wake_.get(), &value, sizeof(value)));
        AdmitOwn();
        continue;
      }
      if (tag < 2 * kFirstConnection) {
        Accept(sockets_.sockets()[tag - kFirstListenerTag].get());
        continue;
      }
      const auto it = connections_.find(tag / 2);
      if (it == connections_.end()) continue;
      const bool is_client = tag == ClientTag(it->first);
      if (Serve(&it->second, is_client, !is_client)) {
        Watch(it->first, &it->second);
      } else {
        End(it);
      }
    }
    LimitUploads();
    const Clock::time_point now = Clock::now();
    if (now < next_tick) continue;
    next_tick = now + std::chrono::milliseconds(kTickMs);
    Tick(now);
  }
}

void FrontDoor::Accept(int listener) {
  for (int count = 0; count < kMaxAcceptsAtOnce; ++count) {
    UniqueFd client(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (client.is_open()) {
      MakeRoom();
      std::unique_ptr<TlsSession> tls = identity_ ? identity_->NewSession() : nullptr;
      if (identity_ && !tls) continue;
      Admit(std::move(client), std::move(tls));
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EAGAIN) return;
    // Out of descriptors or memory: who waits is accepted a little later.
    if (Clock::now() > accept_again_ + kAcceptLogPause) {
      Log(LogLevel::kWarning, "cannot accept connections", {{"error", std::strerror(errno)}});
    }
    accept_again_ = Clock::now() + kAcceptPause;
    WatchListeners(false);
    return;
  }
}

void FrontDoor::MakeRoom() {
  if (static_cast<int>(connections_.size()) < max_connections_) return;
  const auto rank = [](const Connection& connection) {
    return std::tuple(!connection.has_said_end, connection.gate.has_preface(),
                      connection.gate.has_work(), connection.last_heard);
  };
  End(std::min_element(connections_.begin(), connections_.end(), [&](const auto& a, const auto& b) {
    return rank(a.second) < rank(b.second);
  }));
}

void FrontDoor::Admit(UniqueFd client, std::unique_ptr<TlsSession> tls) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0) return;
  UniqueFd ours(pair[0]), theirs(pair[1]);
  const std::uint64_t id = next_id_++;
  SetTcpOptions(client.get(), limits_.slow_reader_timeout);
  SetName(ours.get(), name_ + "." + std::to_string(id) + "/" + PeerName(client.get()));
  const auto [it, is_new] =
      connections_.emplace(std::piecewise_construct, std::forward_as_tuple(id),
                           std::forward_as_tuple(std::move(client), std::move(ours), std::move(tls),
                                                 limits_.gate, on_refusal_, Clock::now()));
  Watch(id, &it->second);
  hand_over_(theirs.Release());
}

bool FrontDoor::Serve(Connection* connection, bool is_client_ready, bool is_library_ready) {
  // What waits goes first, so that a side that reads lets the other one send on.
  if (!SendBoth(connection)) return false;
  if (is_client_ready && !ReadClient(connection)) return false;
  if (is_library_ready && !ReadLibrary(connection)) return false;
  if (!SendBoth(connection)) return false;
  if (connection->is_ending() && !connection->has_output()) SayEnd(connection);
  return true;
}

bool FrontDoor::IsClientFull(const Connection& connection) {
  return connection.gate.to_client.size() >= kMaxWaitingBytes ||
         (connection.tls && connection.tls->to_client.size() >= kMaxWaitingBytes);
}

bool FrontDoor::IsLibraryFull(const Connection& connection) {
  return connection.gate.to_library.size() >= kMaxWaitingBytes;
}

bool FrontDoor::SendBoth(Connection* connection) {
  Http2Gate& gate = connection->gate;
  if (!connection->is_ending() && !SendSome(connection->library.get(), &gate.to_library)) {
    BeginEnd(connection);
  }
  if (connection->tls) {
    if (connection->tls->to_client.size() < kMaxWaitingBytes &&
        !connection->tls->Encrypt(&gate.to_client)) {
      BeginEnd(connection);
    }
    if (connection->is_ending() && gate.to_client.empty()) connection->tls->Close();
  }
  return SendSome(connection->client.get(), &connection->output());
}

bool FrontDoor::ReadClient(Connection* connection) {
  const bool is_forgotten = connection->has_said_end;
  if (!is_forgotten &&
      (connection->is_ending() || IsClientFull(*connection) || IsLibraryFull(*connection))) {
    return true;
  }
  const ssize_t count = recv(connection->client.get(), buffer_.data(), kClientReadBytes, 0);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  if (count == 0) return false;
  if (is_forgotten) return true;
  Http2Gate::Bytes bytes(reinterpret_cast<const std::uint8_t*>(buffer_.data()),
                         static_cast<std::size_t>(count));
  if (connection->tls) {
    decrypted_.clear();
    const Status status = connection->tls->FromClient(bytes, &decrypted_);
    if (!status.ok()) {
      BeginEnd(connection);
      if (status.reason() == reason::CLIENT_NOT_ALLOWED) RefuseClient(*connection, status);
    }
    bytes = {reinterpret_cast<const std::uint8_t*>(decrypted_.data()), decrypted_.size()};
    if (bytes.empty()) return true;
  }
  connection->last_heard = Clock::now();
  if (!connection->gate.FromClient(bytes, connection->last_heard)) BeginEnd(connection);
  return true;
}

bool FrontDoor::ReadLibrary(Connection* connection) {
  if (connection->is_ending() || IsClientFull(*connection)) return true;
  const ssize_t count = recv(connection->library.get(), buffer_.data(), buffer_.size(), 0);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  if (count == 0) {
    BeginEnd(connection);
    return true;
  }
  const Http2Gate::Bytes bytes(reinterpret_cast<const std::uint8_t*>(buffer_.data()),
                               static_cast<std::size_t>(count));
  connection->gate.FromLibrary(bytes);
  return true;
}

void FrontDoor::BeginEnd(Connection* connection) const {
  if (connection->is_ending()) return;
  connection->end_limit =
      Clock::now() + std::max<Clock::duration>(kPatience, limits_.slow_reader_timeout);
}

void FrontDoor::SayEnd(Connection* connection) {
  if (std::exchange(connection->has_said_end, true)) return;
  shutdown(connection->client.get(), SHUT_WR);
  connection->end_limit = Clock::now() + kLingerTime;
  // The library hears at once that the client is gone.
  connection->library = {};
  connection->library_events = 0;
}

bool FrontDoor::HasUnsent(const Connection& connection) {
  int unread_bytes = 0, unsent_bytes = 0;
  if (!connection.is_ending()) ioctl(connection.library.get(), FIONREAD, &unread_bytes);
  // Of TCP what has not been acknowledged, of others what has not been read.
  ioctl(connection.client.get(), SIOCOUTQ, &unsent_bytes);
  return connection.has_output() || unread_bytes > 0 || unsent_bytes > 0;
}

void FrontDoor::CountUploads(Connection* connection) {
  // Those of a connection that has ended the library has forgotten.
  const std::int64_t bytes = connection->has_said_end ? 0 : connection->gate.upload_bytes();
  upload_bytes_ += bytes - std::exchange(connection->counted_bytes, bytes);
}

void FrontDoor::End(Connections::iterator connection) {
  upload_bytes_ -= connection->second.counted_bytes;
  connections_.erase(connection);
}

void FrontDoor::Watch(std::uint64_t id, Connection* connection) {
  CountUploads(connection);
  std::uint32_t client_events = 0;
  std::uint32_t library_events = 0;
  if (connection->has_output()) client_events |= EPOLLOUT;
  if (connection->has_said_end) client_events |= EPOLLIN;
  if (!connection->is_ending()) {
    const bool is_client_full = IsClientFull(*connection);
    if (!connection->gate.to_library.empty()) library_events |= EPOLLOUT;
    if (!is_client_full && !IsLibraryFull(*connection)) client_events |= EPOLLIN;
    if (!is_client_full) library_events |= EPOLLIN;
  }
  SetEvents(epoll_.get(), connection->client.get(), ClientTag(id), client_events,
            &connection->client_events);
  SetEvents(epoll_.get(), connection->library.get(), LibraryTag(id), library_events,
            &connection->library_events);
}

void FrontDoor::RefuseClient(const Connection& connection, const Status& status) {
  on_refusal_(status);
  if (Clock::now() < next_refusal_log_) return;
  next_refusal_log_ = Clock::now() + kRefusalLogPause;
  Log(LogLevel::kWarning, "a client is refused",
      {{"peer", PeerName(connection.client.get())}, {"error", status.message()}});
}

void FrontDoor::RefreshIdentity() {
  const StatusOr<bool> refreshed = identity_->Refresh();
  if (!refreshed.ok()) {
    is_identity_stale_ = true;
    on_refusal_(refreshed.status());
    Log(LogLevel::kError, "the files of TLS have changed and are no good: the old ones stay",
        {{"error", refreshed.status().message()}});
  } else if (*refreshed) {
    is_identity_stale_ = false;
    Log(LogLevel::kInfo, "the files of TLS were read again");
  }
}

void FrontDoor::Tick(Clock::time_point now) {
  if (identity_ && now >= next_refresh_) {
    next_refresh_ = now + kRefreshPause;
    RefreshIdentity();
  }
  if (!is_accepting_ && !is_stopping_ && now >= accept_again_) WatchListeners(true);
  for (auto it = connections_.begin(); it != connections_.end();) {
    const auto here = it++;
    Connection& connection = here->second;
    if (!connection.is_ending() && !connection.gate.Tick(now)) BeginEnd(&connection);
    if (is_draining_ && !connection.is_ending()) connection.gate.AskToLeave();
    const bool is_mute = !connection.gate.has_preface() && now > connection.last_heard + kPatience;
    const bool is_over = connection.is_ending() && now > *connection.end_limit;
    if (is_mute || is_over || !Serve(&connection, false, false)) {
      End(here);
    } else {
      Watch(here->first, &connection);
    }
  }
  if (is_asked_for_unsent_) {
    has_sent_all_ =
        std::none_of(connections_.begin(), connections_.end(),
                     [](const auto& connection) { return HasUnsent(connection.second); });
  }
}

void FrontDoor::LimitUploads() {
  while (upload_bytes_ > limits_.max_upload_bytes) {
    Connection* slowest = nullptr;
    for (auto& [id, connection] : connections_) {
      const auto oldest = connection.gate.oldest_upload();
      if (connection.counted_bytes == 0 || !oldest) continue;
      if (slowest == nullptr || *oldest < *slowest->gate.oldest_upload()) slowest = &connection;
    }
    if (slowest == nullptr) return;
    slowest->gate.RefuseOldestUpload();
    CountUploads(slowest);
  }
}

}  // namespace interlacer
