#include "server/calls/random_id.h"

#include <unistd.h>

#include <array>
#include <cstdint>

#include "common/check.h"

namespace interlacer {

std::string NewRandomId() {
  std::array<std::uint8_t, 16> bytes;
  INTERLACER_CHECK(getentropy(bytes.data(), bytes.size()) == 0, "the system gives no random bytes");
  constexpr char kDigits[] = "0123456789abcdef";
  std::string id;
  for (const std::uint8_t byte : bytes) {
    id += kDigits[byte >> 4];
    id += kDigits[byte & 15];
  }
  return id;
}

}  // namespace interlacer
