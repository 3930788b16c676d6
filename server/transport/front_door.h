#pragma once

/// Accepts the connections of the server and stands between each client and the gRPC library, which
/// gets the other end of a pair of sockets. Where the server speaks TLS, it ends here.
///
/// Why: the library holds all bytes of a message before it compares its size with a limit, waits
/// for ever for the rest of one, may never accept again after it was out of descriptors, and ends
/// all calls of a connection for one bad header. Each connection passes an Http2Gate. The number of
/// connections is bounded, by the descriptors of the process too: beyond, the one that has been
/// silent longest ends, first such that have never spoken HTTP/2, last such that wait for an answer
/// of the device. The bytes of all messages that are not whole yet are bounded: beyond, the upload
/// that has taken longest is refused.
///
/// A connection that ends says so once its bytes for the client are sent, and is closed when the
/// client has closed too or a second later: closing one with unread input would take back what its
/// client has not read. One thread of its own; Open, Start and Stop from one thread.

#include <sys/epoll.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/status.h"
#include "server/transport/http2_gate.h"
#include "server/transport/listening_sockets.h"
#include "server/transport/tls_session.h"

namespace interlacer {

struct FrontDoorLimits {
  GateLimits gate;
  /// Of all messages that are under way.
  std::int64_t max_upload_bytes = 0;
  int max_connections = 0;
  /// A client may take so long to read what waits for it.
  std::chrono::steady_clock::duration slow_reader_timeout{};
};

class FrontDoor {
 public:
  /// Gives the library its end of a connection; it owns the descriptor from then on.
  using HandOver = std::function<void(int fd)>;

  /// Listens; nobody is accepted before Start. With `identity` every client must speak TLS, and its
  /// files are read again when they change. Errors: those of ListeningSockets.
  static StatusOr<std::unique_ptr<FrontDoor>> Open(const std::string& address,
                                                   const FrontDoorLimits& limits,
                                                   std::unique_ptr<TlsIdentity> identity);
  ~FrontDoor();
  FrontDoor(const FrontDoor&) = delete;
  FrontDoor& operator=(const FrontDoor&) = delete;

  int port() const { return sockets_.port(); }
  bool speaks_tls() const { return identity_ != nullptr; }
  /// Whether the files of TLS have changed into such that are no good; the old ones serve. Any
  /// thread.
  bool has_stale_identity() const { return is_identity_stale_; }
  void Start(HandOver hand_over, Http2Gate::OnRefusal on_refusal);
  /// Asks all clients, also those that come later, to make their next calls elsewhere. They may
  /// stay, and their calls go on. Any thread.
  void Drain() { is_draining_ = true; }
  /// Whether clients have received all that the library had written when this was first called, as
  /// a look at least every tenth of a second finds; until the first one false. Any thread.
  bool HasSentAll() {
    is_asked_for_unsent_ = true;
    return has_sent_all_;
  }
  /// A connection of this process to itself, without TLS; not open where no descriptor is left. Any
  /// thread.
  UniqueFd Connect();
  /// Ends all connections and the thread. The library, which should have closed its ends, and the
  /// clients get a moment for what they still have to say and to read.
  void Stop();

  /// The name of the client behind the library's name of a connection.
  static std::string ClientName(const std::string& library_peer);

 private:
  using Clock = Http2Gate::Clock;

  struct Connection {
    UniqueFd client;
    UniqueFd library;
    /// Between the client and the gate; null where bytes pass as they are.
    std::unique_ptr<TlsSession> tls;
    Http2Gate gate;
    Clock::time_point last_heard;
    /// What upload_bytes_ has of it.
    std::int64_t counted_bytes = 0;
    /// Set when it is to end, and then once more when its last byte is sent: time at which it is
    /// closed at the latest. The library is not heard any more.
    std::optional<Clock::time_point> end_limit;
    /// The client was told that nothing more comes; what it sends is read and forgotten.
    bool has_said_end = false;
    std::uint32_t client_events = 0;
    std::uint32_t library_events = 0;

    Connection(UniqueFd client_fd, UniqueFd library_fd, std::unique_ptr<TlsSession> tls_session,
               const GateLimits& limits, const Http2Gate::OnRefusal& on_refusal,
               Clock::time_point now)
        : client(std::move(client_fd)),
          library(std::move(library_fd)),
          tls(std::move(tls_session)),
          gate(limits, on_refusal),
          last_heard(now) {}
    bool is_ending() const { return end_limit.has_value(); }
    /// What the client is sent next.
    std::string& output() { return tls ? tls->to_client : gate.to_client; }
    bool has_output() const {
      if (!tls) return !gate.to_client.empty();
      return !tls->to_client.empty() || (tls->can_send() && !gate.to_client.empty());
    }
  };
  using Connections = std::map<std::uint64_t, Connection>;

  FrontDoor(ListeningSockets sockets, const FrontDoorLimits& limits,
            std::unique_ptr<TlsIdentity> identity);
  void Run();
  void WatchListeners(bool is_accepting);
  void Accept(int listener);
  void AdmitOwn();
  void Admit(UniqueFd client, std::unique_ptr<TlsSession> tls);
  void MakeRoom();
  /// Moves bytes in both directions as far as they go; false when the connection is over.
  bool Serve(Connection* connection, bool is_client_ready, bool is_library_ready);
  static bool IsClientFull(const Connection& connection);
  static bool IsLibraryFull(const Connection& connection);
  bool SendBoth(Connection* connection);
  bool ReadClient(Connection* connection);
  bool ReadLibrary(Connection* connection);
  /// From now on what the library and the gate have said before is sent, and nothing else.
  void BeginEnd(Connection* connection) const;
  static void SayEnd(Connection* connection);
  /// Whether bytes for the client are on this side of its socket.
  static bool HasUnsent(const Connection& connection);
  void Watch(std::uint64_t id, Connection* connection);
  void CountUploads(Connection* connection);
  void End(Connections::iterator connection);
  void Tick(Clock::time_point now);
  void LimitUploads();
  void RefuseClient(const Connection& connection, const Status& status);
  void RefreshIdentity();
  void Wake();

  const FrontDoorLimits limits_;
  const int max_connections_;
  ListeningSockets sockets_;
  const std::unique_ptr<TlsIdentity> identity_;
  Clock::time_point next_refresh_;
  std::atomic<bool> is_identity_stale_{false};
  Clock::time_point next_refusal_log_;
  UniqueFd epoll_;
  UniqueFd wake_;
  HandOver hand_over_;
  Http2Gate::OnRefusal on_refusal_;
  /// Part of the names of all connections.
  const std::string name_;
  Connections connections_;
  /// Of all connections, as last counted.
  std::int64_t upload_bytes_ = 0;
  std::uint64_t next_id_ = 0;
  bool is_accepting_ = false;
  Clock::time_point accept_again_;
  std::string buffer_;
  std::string decrypted_;
  std::mutex own_mutex_;
  std::vector<UniqueFd> own_clients_;  ///< of Connect, not admitted yet
  std::atomic<bool> is_draining_{false};
  std::atomic<bool> is_asked_for_unsent_{false};
  std::atomic<bool> has_sent_all_{false};
  std::atomic<bool> is_stopping_{false};
  std::thread thread_;
};

}  // namespace interlacer
