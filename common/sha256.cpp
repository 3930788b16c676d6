#include "common/sha256.h"

#include <openssl/evp.h>

#include <fstream>
#include <vector>

#include "common/check.h"
#include "common/file_io.h"

namespace interlacer {

Sha256::Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
  INTERLACER_CHECK(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1,
                   "OpenSSL offers no SHA-256");
}

void Sha256::Update(std::span<const std::uint8_t> data) {
  INTERLACER_CHECK(EVP_DigestUpdate(context_.get(), data.data(), data.size()) == 1,
                   "digest update failed");
}

void Sha256::Update(std::string_view text) {
  Update(std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

std::array<std::uint8_t, 32> Sha256::Digest() {
  std::array<std::uint8_t, 32> digest;
  INTERLACER_CHECK(EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr) == 1,
                   "digest failed");
  return digest;
}

std::string Sha256::HexDigest() {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const std::uint8_t byte : Digest()) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

std::array<std::uint8_t, 32> Sha256Bytes(std::string_view text) {
  Sha256 digest;
  digest.Update(text);
  return digest.Digest();
}

std::string Sha256Hex(std::span<const std::uint8_t> data) {
  Sha256 digest;
  digest.Update(data);
  return digest.HexDigest();
}

std::string Sha256Hex(std::string_view text) {
  Sha256 digest;
  digest.Update(text);
  return digest.HexDigest();
}

StatusOr<std::string> Sha256OfFile(const std::string& path) {
  INTERLACER_RETURN_IF_ERROR(FileSizeBytes(path).status());  // names an absent file or a folder
  std::ifstream file(path, std::ios::binary);
  Sha256 digest;
  std::vector<char> buffer(1 << 16);
  while (file) {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    digest.Update(std::string_view(buffer.data(), static_cast<std::size_t>(file.gcount())));
  }
  if (!file.eof()) {
    return InvalidArgument(reason::FILE_UNREADABLE, "cannot read " + path).WithField(path);
  }
  return digest.HexDigest();
}

}  // namespace interlacer
