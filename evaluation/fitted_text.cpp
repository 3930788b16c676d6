#include "evaluation/fitted_text.h"

#include <vector>

#include "common/printable_text.h"

namespace interlacer {
namespace {

constexpr std::string_view kEllipsis = "\xE2\x80\xA6";
/// First bytes from here on: kana, Han, Hangul, pictures.
constexpr unsigned char kFirstOfWide = 0xE3;

std::size_t WidthOf(std::string_view character) {
  return static_cast<unsigned char>(character.front()) >= kFirstOfWide ? 2 : 1;
}

/// Of text that is UTF-8.
std::vector<std::string_view> CharactersOf(std::string_view text) {
  std::vector<std::string_view> characters;
  while (!text.empty()) {
    characters.push_back(text.substr(0, Utf8CharacterBytes(text)));
    text.remove_prefix(characters.back().size());
  }
  return characters;
}

std::size_t WidthOf(const std::vector<std::string_view>& characters) {
  std::size_t width = 0;
  for (const std::string_view character : characters) width += WidthOf(character);
  return width;
}

/// What of [first, last) fits, in that order.
template <typename Iterator>
std::vector<std::string_view> Fitting(Iterator first, Iterator last, std::size_t most) {
  std::vector<std::string_view> fitting;
  for (std::size_t width = 0; first != last && width + WidthOf(*first) <= most; ++first) {
    width += WidthOf(*first);
    fitting.push_back(*first);
  }
  return fitting;
}

}  // namespace

std::size_t WidthInCharacters(std::string_view text) {
  const std::string printable = PrintableText(text);
  return WidthOf(CharactersOf(printable));
}

std::string ShortenedInTheMiddle(std::string_view text, std::size_t most) {
  std::string printable = PrintableText(text);
  const std::vector<std::string_view> all = CharactersOf(printable);
  if (WidthOf(all) <= most) return printable;
  const auto head = Fitting(all.begin(), all.end(), most / 2);
  const std::size_t left = most - WidthOf(head);
  const auto tail = Fitting(all.rbegin(), all.rend(), left > 0 ? left - 1 : 0);
  std::string shortened;
  for (const std::string_view character : head) shortened += character;
  shortened += kEllipsis;
  for (auto at = tail.rbegin(); at != tail.rend(); ++at) shortened += *at;
  return shortened;
}

}  // namespace interlacer
