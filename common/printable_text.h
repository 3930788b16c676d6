#pragma once

/// Text from outside (names of files, bytes of broken files, arguments) as a terminal, a log or a
/// JSON document can take it.
///
/// Bytes that are no UTF-8 and characters that steer a terminal or turn the direction of writing
/// (C0, DEL, C1, line and paragraph separators, bidirectional overrides) become \xNN, byte by byte;
/// everything else stays. Pure functions, thread-safe.

#include <string>
#include <string_view>

namespace interlacer {

/// Keeps line feeds and tabs.
std::string PrintableText(std::string_view text);
/// One line: line feeds and tabs become \x0a and \x09.
std::string PrintableLine(std::string_view text);
/// Changes nothing but bytes that are no UTF-8.
std::string ValidUtf8(std::string_view text);

/// Bytes of the UTF-8 character at the front of `text`, 0 where there is none: no continuation,
/// an overlong form, a surrogate, above U+10FFFF, or an empty text.
std::size_t Utf8CharacterBytes(std::string_view text);

}  // namespace interlacer
