#include "common/base64.h"

#include <openssl/evp.h>

#include <algorithm>

namespace interlacer {

std::string Base64(std::span<const std::uint8_t> data) {
  // OpenSSL counts in int; pieces of a multiple of three bytes need no padding between them.
  constexpr std::size_t kPieceBytes = std::size_t{3} << 20;
  std::string text;
  for (std::size_t at = 0; at < data.size(); at += kPieceBytes) {
    const auto piece = data.subspan(at, std::min(kPieceBytes, data.size() - at));
    const std::size_t end = text.size(), count = (piece.size() + 2) / 3 * 4;
    text.resize(end + count + 1);  // OpenSSL ends each piece with a zero byte
    EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data() + end), piece.data(),
                    static_cast<int>(piece.size()));
    text.resize(end + count);
  }
  return text;
}

}  // namespace interlacer
