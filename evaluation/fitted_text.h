#pragma once

/// What of a text fits a place of a chart, whose letters nobody can measure before a browser draws
/// them. Pure functions, thread-safe.

#include <cstddef>
#include <string>
#include <string_view>

namespace interlacer {

/// In characters of UTF-8, of which those of East Asia and pictures count twice.
std::size_t WidthInCharacters(std::string_view text);

/// `text` where it is at most `most` characters wide; else its beginning and its end, where names
/// of folders differ, around an ellipsis. What no page can show becomes \xNN, as in EscapeHtml.
std::string ShortenedInTheMiddle(std::string_view text, std::size_t most);

}  // namespace interlacer
