#pragma once

/// SHA-256 as bytes or 64 lower-case hexadecimal digits; no other part includes OpenSSL's digests.
///
/// Errors of the file form: those of common/file_io.h. Thread-safety: one Sha256 a thread.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "common/status.h"

struct evp_md_ctx_st;

namespace interlacer {

/// Incremental digest.
class Sha256 {
 public:
  Sha256();
  void Update(std::span<const std::uint8_t> data);
  void Update(std::string_view text);
  /// Both end the digest; the object is used up.
  std::array<std::uint8_t, 32> Digest();
  std::string HexDigest();

 private:
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

std::array<std::uint8_t, 32> Sha256Bytes(std::string_view text);
std::string Sha256Hex(std::span<const std::uint8_t> data);
std::string Sha256Hex(std::string_view text);
/// Reads the file in pieces, whatever its size.
StatusOr<std::string> Sha256OfFile(const std::string& path);

}  // namespace interlacer
