#pragma once

/// Accepts the connections of the server and stands between each client and the gRPC library, which
/// gets the other end of a pair of sockets.
///
/// Why: the library holds all bytes of a message before it compares its size with a limit, waits
/// for ever for the rest of one, may never accept again after it was out of descriptors, and ends
/// all calls of a connection for one bad header. Each connection passes an Http2Gate. The number of
/// connections is bounded, by the descriptors of the process too: beyond, the one that has been
/// silent longest ends, first such that have never spoken HTTP/2. The bytes of all messages that
/// are not whole yet are bounded: beyond, the upload that has taken longest is refused. One thread
/// of its own; Open, Start and Stop from one thread.

#include <sys/epoll.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "common/status.h"
#include "server/transport/http2_gate.h"
#include "server/transport/listening_sockets.h"

namespace interlacer {

struct FrontDoorLimits {
  GateLimits gate;
  /// Of all messages that are under way.
  std::int64_t max_upload_bytes = 0;
  int max_connections = 0;
};

class FrontDoor {
 public:
  /// Gives the library its end of a connection; it owns the descriptor from then on.
  using HandOver = std::function<void(int fd)>;

  /// Listens; nobody is accepted before Start. Errors: those of ListeningSockets.
  static StatusOr<std::unique_ptr<FrontDoor>> Open(const std::string& address,
                                                   const FrontDoorLimits& limits);
  ~FrontDoor();
  FrontDoor(const FrontDoor&) = delete;
  FrontDoor& operator=(const FrontDoor&) = delete;

  int port() const { return sockets_.port(); }
  void Start(HandOver hand_over, Http2Gate::OnRefusal on_refusal);
  /// Asks all clients, also those that come later, to make their next calls elsewhere. They may
  /// stay, and their calls go on. Any thread.
  void Drain() { is_draining_ = true; }
  /// Ends all connections and the thread.
  void Stop();

  /// The name of the client behind the library's name of a connection.
  static std::string ClientName(const std::string& library_peer);

 private:
  using Clock = Http2Gate::Clock;

  struct Connection {
    UniqueFd client;
    UniqueFd library;
    Http2Gate gate;
    Clock::time_point last_heard;
    /// What upload_bytes_ has of it.
    std::int64_t counted_bytes = 0;
    /// Ends once its bytes for the client are sent; the library is not heard any more.
    bool is_ending = false;
    std::uint32_t client_events = 0;
    std::uint32_t library_events = 0;

    Connection(UniqueFd client_fd, UniqueFd library_fd, const GateLimits& limits,
               const Http2Gate::OnRefusal& on_refusal, Clock::time_point now)
        : client(std::move(client_fd)),
          library(std::move(library_fd)),
          gate(limits, on_refusal),
          last_heard(now) {}
  };
  using Connections = std::map<std::uint64_t, Connection>;

  FrontDoor(ListeningSockets sockets, const FrontDoorLimits& limits);
  void Run();
  void WatchListeners(bool is_accepting);
  void Accept(int listener);
  void Admit(UniqueFd client);
  void MakeRoom();
  /// Moves bytes in both directions as far as they go; false when the connection is over.
  bool Serve(Connection* connection, bool is_client_ready, bool is_library_ready);
  bool SendBoth(Connection* connection);
  bool ReadClient(Connection* connection);
  bool ReadLibrary(Connection* connection);
  void Watch(std::uint64_t id, Connection* connection);
  void CountUploads(Connection* connection);
  void End(Connections::iterator connection);
  void Tick(Clock::time_point now);
  void LimitUploads();

  const FrontDoorLimits limits_;
  const int max_connections_;
  ListeningSockets sockets_;
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
  std::atomic<bool> is_draining_{false};
  std::atomic<bool> is_stopping_{false};
  std::thread thread_;
};

}  // namespace interlacer
