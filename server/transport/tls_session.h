#pragma once

/// TLS of the front door: who the server is, which clients it takes, and one connection's bytes.
///
/// TLS 1.2 or newer, HTTP/2 alone, always with a client certificate that the authority vouches for
/// and, where names are listed, that bears one of them: a DNS name among its alternative names or,
/// without such, its common name. Sessions are not resumed, so that every connection is judged
/// anew.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "server/server_options.h"

struct ssl_ctx_st;
struct ssl_st;

namespace interlacer {

/// One connection: bytes in, bytes out, no sockets. One thread.
class TlsSession {
 public:
  using Bytes = std::span<const std::uint8_t>;

  explicit TlsSession(ssl_st* session);  ///< owns it
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  /// Appends what the bytes of a client say to `plain`. Not OK when the connection must end once
  /// to_client has been sent: PERMISSION_DENIED CLIENT_NOT_ALLOWED for a handshake that failed,
  /// CANCELLED CANCELLED_BY_CALLER after it.
  Status FromClient(Bytes bytes, std::string* plain);
  /// Encrypts and takes all of `plain`; before the end of the handshake nothing. False when the
  /// connection must end.
  bool Encrypt(std::string* plain);
  /// Whether Encrypt takes anything: after the handshake and before the end.
  bool can_send() const;
  /// Says that nothing more comes.
  void Close();

  /// Bytes to be sent; the owner removes what it has sent.
  std::string to_client;

 private:
  Status TakeSome(Bytes bytes, std::string* plain);
  void TakeOutput();

  ssl_st* session_;
  bool is_closed_ = false;
};

/// The files of TlsServerFiles. Errors: INVALID_ARGUMENT CONFIG_INVALID naming the option. One
/// thread; sessions must not outlive it.
class TlsIdentity {
 public:
  static StatusOr<std::unique_ptr<TlsIdentity>> Load(const TlsServerFiles& files);
  ~TlsIdentity();
  TlsIdentity(const TlsIdentity&) = delete;
  TlsIdentity& operator=(const TlsIdentity&) = delete;

  std::unique_ptr<TlsSession> NewSession() const;
  /// Reads the files again where they have changed: true when later sessions have the new ones, an
  /// error when these are no good, and sessions go on having the old.
  StatusOr<bool> Refresh();

 private:
  /// Tells a file from the one that had its name before.
  struct Stamp {
    std::uint64_t inode = 0;
    std::int64_t size = 0;
    std::int64_t time_ns = 0;
    bool operator==(const Stamp&) const = default;
  };

  explicit TlsIdentity(TlsServerFiles files) : files_(std::move(files)) {}
  std::vector<Stamp> Stamps() const;

  const TlsServerFiles files_;
  std::vector<Stamp> stamps_;
  ssl_ctx_st* context_ = nullptr;
};

}  // namespace interlacer
