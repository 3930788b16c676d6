#include "server/transport/tls_session.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "common/check.h"

namespace interlacer {
namespace {

/// Of what a record can hold.
constexpr std::size_t kReadBytes = 16 << 10;
constexpr std::array<unsigned char, 3> kHttp2 = {2, 'h', '2'};

struct FreeContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using ContextPtr = std::unique_ptr<SSL_CTX, FreeContext>;

/// The library's latest error of this thread in words; forgets all of them.
std::string LastError() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  if (code == 0) return "no reason given";
  const char* const reason = ERR_reason_error_string(code);
  return reason ? reason : "error " + std::to_string(code);
}

Status Refused(const char* option, const std::string& file, const std::string& expected) {
  return InvalidArgument(reason::CONFIG_INVALID, std::string(option) + ": expected " + expected +
                                                     " in " + file + ", got: " + LastError())
      .WithField(option);
}

/// Whether all are files; what blocks when it is opened would stop every connection.
Status CheckFiles(const TlsServerFiles& files) {
  for (const auto& [option, file] :
       {std::pair{"tls-cert", &files.certificate}, std::pair{"tls-key", &files.key},
        std::pair{"tls-client-ca", &files.client_authority}}) {
    std::error_code error;
    if (std::filesystem::is_regular_file(*file, error)) continue;
    return InvalidArgument(
               reason::CONFIG_INVALID,
               std::string(option) + ": expected a PEM file, got '" + *file + "', which is none")
        .WithField(option);
  }
  for (const std::string& name : files.clients) {
    // The library takes one that begins with a dot for all names below it.
    if (!name.empty() && name.front() != '.') continue;
    return InvalidArgument(reason::CONFIG_INVALID,
                           "allow-client: expected a whole name, got '" + name + "'")
        .WithField("allow-client");
  }
  return Status::Ok();
}

/// A key behind a password is an error, not a question to a terminal.
int NoPassword(char*, int, int, void*) { return 0; }

int SelectHttp2(SSL*, const unsigned char** chosen, unsigned char* chosen_bytes,
                const unsigned char* offered, unsigned offered_bytes, void*) {
  unsigned char* selected = nullptr;
  const int result = SSL_select_next_proto(&selected, chosen_bytes, kHttp2.data(), kHttp2.size(),
                                           offered, offered_bytes);
  *chosen = selected;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

int NamesIndex() {
  static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

/// Beside what the library has checked of a chain: the name of its end.
int CheckName(int is_valid, X509_STORE_CTX* chain) {
  if (is_valid == 0 || X509_STORE_CTX_get_error_depth(chain) != 0) return is_valid;
  const auto* const session = static_cast<const SSL*>(
      X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
  const auto* const names = static_cast<const std::vector<std::string>*>(
      SSL_CTX_get_ex_data(SSL_get_SSL_CTX(session), NamesIndex()));
  X509* const certificate = X509_STORE_CTX_get_current_cert(chain);
  const bool is_listed =
      names->empty() || std::any_of(names->begin(), names->end(), [&](const std::string& name) {
        return X509_check_host(certificate, name.data(), name.size(), X509_CHECK_FLAG_NO_WILDCARDS,
                               nullptr) == 1;
      });
  if (!is_listed) X509_STORE_CTX_set_error(chain, X509_V_ERR_APPLICATION_VERIFICATION);
  return is_listed ? 1 : 0;
}

StatusOr<ContextPtr> MakeContext(const TlsServerFiles& files) {
  INTERLACER_RETURN_IF_ERROR(CheckFiles(files));
  ERR_clear_error();
  ContextPtr context(SSL_CTX_new(TLS_server_method()));
  INTERLACER_CHECK(context != nullptr, "the TLS library cannot start");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_default_passwd_cb(context.get(), &NoPassword);
  SSL_CTX_set_alpn_select_cb(context.get(), &SelectHttp2, nullptr);
  if (SSL_CTX_use_certificate_chain_file(context.get(), files.certificate.c_str()) != 1) {
    return Refused("tls-cert", files.certificate, "a PEM certificate, its chain behind it");
  }
  // A key of another kind than the certificate's is taken without a word.
  if (SSL_CTX_use_PrivateKey_file(context.get(), files.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context.get()) != 1) {
    return Refused("tls-key", files.key,
                   "the PEM key of " + files.certificate + ", without a password");
  }
  STACK_OF(X509_NAME)* const names = SSL_load_client_CA_file(files.client_authority.c_str());
  if (names != nullptr) SSL_CTX_set_client_CA_list(context.get(), names);
  if (names == nullptr ||
      SSL_CTX_load_verify_locations(context.get(), files.client_authority.c_str(), nullptr) != 1) {
    return Refused("tls-client-ca", files.client_authority,
                   "PEM certificates of who vouches for clients");
  }
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, &CheckName);
  SSL_CTX_set_ex_data(context.get(), NamesIndex(),
                      const_cast<std::vector<std::string>*>(&files.clients));
  return context;
}

}  // namespace

TlsSession::TlsSession(ssl_st* session) : session_(session) {
  SSL_set_bio(session_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  SSL_set_accept_state(session_);
}

TlsSession::~TlsSession() { SSL_free(session_); }

Status TlsSession::FromClient(Bytes bytes, std::string* plain) {
  // A record at a time: the library's buffers never shrink again.
  for (; !is_closed_ && !bytes.empty(); bytes = bytes.subspan(std::min(bytes.size(), kReadBytes))) {
    INTERLACER_RETURN_IF_ERROR(TakeSome(bytes.first(std::min(bytes.size(), kReadBytes)), plain));
  }
  return Status::Ok();
}

Status TlsSession::TakeSome(Bytes bytes, std::string* plain) {
  ERR_clear_error();
  const bool was_ready = can_send();
  BIO_write(SSL_get_rbio(session_), bytes.data(), static_cast<int>(bytes.size()));
  std::array<char, kReadBytes> buffer;
  int count = 0;
  while ((count = SSL_read(session_, buffer.data(), buffer.size())) > 0) {
    plain->append(buffer.data(), static_cast<std::size_t>(count));
  }
  const int error = SSL_get_error(session_, count);
  const bool is_ready = can_send();
  TakeOutput();
  // After the handshake a message of it, such as new keys, is whole or its sender no friend: until
  // its end nothing could be sent, and nobody would hear that the client has gone.
  if (error == SSL_ERROR_WANT_READ && (is_ready || !was_ready)) return Status::Ok();
  is_closed_ = true;
  if (was_ready || is_ready) {
    return Status(StatusCode::kCancelled, reason::CANCELLED_BY_CALLER, "the client has left");
  }
  const long verdict = SSL_get_verify_result(session_);
  const std::string why = verdict == X509_V_OK ? LastError()
                          : verdict == X509_V_ERR_APPLICATION_VERIFICATION
                              ? "the name is not listed"
                              : X509_verify_cert_error_string(verdict);
  ERR_clear_error();
  return Status(StatusCode::kPermissionDenied, reason::CLIENT_NOT_ALLOWED,
                "the TLS handshake failed: " + why);
}

bool TlsSession::can_send() const { return !is_closed_ && SSL_is_init_finished(session_) != 0; }

bool TlsSession::Encrypt(std::string* plain) {
  if (!can_send()) return !is_closed_;
  ERR_clear_error();
  for (std::size_t at = 0; at < plain->size(); at += kReadBytes) {
    const std::size_t count = std::min(plain->size() - at, kReadBytes);
    if (SSL_write(session_, plain->data() + at, static_cast<int>(count)) <= 0) {
      is_closed_ = true;
      break;
    }
    TakeOutput();
  }
  plain->clear();
  return !is_closed_;
}

void TlsSession::Close() {
  if (!can_send()) return;
  is_closed_ = true;
  ERR_clear_error();
  SSL_shutdown(session_);
  TakeOutput();
}

void TlsSession::TakeOutput() {
  BIO* const from = SSL_get_wbio(session_);
  const std::size_t before = to_client.size(), count = BIO_ctrl_pending(from);
  to_client.resize(before + count);
  if (count > 0) BIO_read(from, to_client.data() + before, static_cast<int>(count));
}

StatusOr<std::unique_ptr<TlsIdentity>> TlsIdentity::Load(const TlsServerFiles& files) {
  std::unique_ptr<TlsIdentity> identity(new TlsIdentity(files));
  identity->stamps_ = identity->Stamps();
  INTERLACER_ASSIGN_OR_RETURN(ContextPtr context, MakeContext(identity->files_));
  identity->context_ = context.release();
  return identity;
}

TlsIdentity::~TlsIdentity() { SSL_CTX_free(context_); }

std::unique_ptr<TlsSession> TlsIdentity::NewSession() const {
  SSL* const session = SSL_new(context_);
  return session == nullptr ? nullptr : std::make_unique<TlsSession>(session);
}

StatusOr<bool> TlsIdentity::Refresh() {
  std::vector<Stamp> stamps = Stamps();
  if (stamps == stamps_) return false;
  stamps_ = std::move(stamps);
  INTERLACER_ASSIGN_OR_RETURN(ContextPtr context, MakeContext(files_));
  SSL_CTX_free(std::exchange(context_, context.release()));
  return true;
}

std::vector<TlsIdentity::Stamp> TlsIdentity::Stamps() const {
  std::vector<Stamp> stamps;
  for (const std::string* file : {&files_.certificate, &files_.key, &files_.client_authority}) {
    struct stat info {};
    // A file that is not there has the stamp of none, and is refused when it is read.
    static_cast<void>(stat(file->c_str(), &info));
    stamps.push_back({info.st_ino, info.st_size,
                      info.st_mtim.tv_sec * std::int64_t{1'000'000'000} + info.st_mtim.tv_nsec});
  }
  return stamps;
}

}  // namespace interlacer
