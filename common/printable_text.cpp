#include "common/printable_text.h"

#include <cstdint>
#include <cstdio>

namespace interlacer {
namespace {

enum class Kept { kUtf8, kLines, kOneLine };

std::uint32_t CodePoint(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first;
  std::uint32_t code = first & (0xffu >> (character.size() + 1));
  for (const char c : character.substr(1)) {
    code = code << 6 | (static_cast<unsigned char>(c) & 0x3fu);
  }
  return code;
}

bool IsSteering(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0x200e || code == 0x200f || code == 0x61c;
}

bool IsKept(std::string_view character, Kept kept) {
  if (kept == Kept::kUtf8) return true;
  const std::uint32_t code = CodePoint(character);
  if (code == '\n' || code == '\t') return kept == Kept::kLines;
  return !IsSteering(code);
}

void AppendCode(unsigned char byte, std::string* out) {
  char code[8];
  std::snprintf(code, sizeof(code), "\\x%02x", static_cast<unsigned>(byte));
  *out += code;
}

std::string Escaped(std::string_view text, Kept kept) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t valid = Utf8CharacterBytes(text);
    const std::string_view character = text.substr(0, valid == 0 ? 1 : valid);
    text.remove_prefix(character.size());
    if (valid > 0 && IsKept(character, kept)) {
      out += character;
      continue;
    }
    for (const char c : character) AppendCode(static_cast<unsigned char>(c), &out);
  }
  return out;
}

}  // namespace

std::size_t Utf8CharacterBytes(std::string_view text) {
  if (text.empty()) return 0;
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const std::size_t count = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < count) return 0;
  for (const char c : text.substr(1, count - 1)) {
    if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) return 0;
  }
  const std::uint32_t code = CodePoint(text.substr(0, count));
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  return code < kLeast[count] || code > 0x10ffff || is_surrogate ? 0 : count;
}

std::string PrintableText(std::string_view text) { return Escaped(text, Kept::kLines); }
std::string PrintableLine(std::string_view text) { return Escaped(text, Kept::kOneLine); }
std::string ValidUtf8(std::string_view text) { return Escaped(text, Kept::kUtf8); }

}  // namespace interlacer
