#include "common/toml_options.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

namespace interlacer {
namespace {

constexpr std::size_t kQuotedBytes = 24;

bool IsOfKey(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

bool IsOfWord(char c) {
  return static_cast<unsigned char>(c) > ' ' &&
         std::string_view("\"'#,[]{}").find(c) == std::string_view::npos;
}

class TomlReader {
 public:
  explicit TomlReader(std::string_view text) : text_(text) {}

  StatusOr<std::vector<TomlOption>> Read() {
    std::vector<TomlOption> options;
    std::vector<std::string> section;
    std::map<std::vector<std::string>, int> line_of_path;
    while (SkipToText()) {
      const int line = line_;
      if (Take('[')) {
        INTERLACER_ASSIGN_OR_RETURN(section, ReadPath());
        if (!Take(']')) return Expected("] after the section's name");
      } else {
        INTERLACER_ASSIGN_OR_RETURN(const std::vector<std::string> key, ReadPath());
        std::vector<std::string> path = section;
        path.insert(path.end(), key.begin(), key.end());
        const auto [known, is_new] = line_of_path.emplace(path, line);
        if (!is_new)
          return At(line,
                    path.back() + " is set in line " + std::to_string(known->second) + " too");
        if (!Take('=')) return Expected("= after " + path.back());
        INTERLACER_ASSIGN_OR_RETURN(std::vector<std::string> values, ReadValue());
        std::string name = std::move(path.back());
        path.pop_back();
        options.push_back({std::move(path), std::move(name), std::move(values)});
      }
      SkipSpaces();
      if (at_ < text_.size() && text_[at_] != '\n' && text_[at_] != '#')
        return Expected("the end of the line");
    }
    return options;
  }

 private:
  static Status At(int line, const std::string& what) {
    return InvalidArgument(reason::CONFIG_INVALID, "line " + std::to_string(line) + ": " + what);
  }

  Status Expected(const std::string& expected) {
    SkipSpaces();
    const std::string_view rest = text_.substr(at_);
    const std::string got(rest.substr(0, std::min(rest.find('\n'), kQuotedBytes)));
    const char* end = at_ == text_.size() ? "the end of the file" : "the end of the line";
    return At(line_, "expected " + expected + ", got " + (got.empty() ? end : got));
  }

  void SkipSpaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }

  /// Over empty lines and comments too; false at the end.
  bool SkipToText() {
    for (SkipSpaces(); at_ < text_.size(); SkipSpaces()) {
      if (text_[at_] == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (text_[at_] == '\n') {
        ++at_, ++line_;
      } else {
        return true;
      }
    }
    return false;
  }

  bool Take(char c) {
    SkipSpaces();
    const bool is_there = at_ < text_.size() && text_[at_] == c;
    if (is_there) ++at_;
    return is_there;
  }

  StatusOr<std::vector<std::string>> ReadPath() {
    std::vector<std::string> path;
    do {
      INTERLACER_ASSIGN_OR_RETURN(std::string part, ReadText(IsOfKey, "a name"));
      path.push_back(std::move(part));
    } while (Take('.'));
    return path;
  }

  StatusOr<std::vector<std::string>> ReadValue() {
    std::vector<std::string> values;
    const bool is_array = Take('[');
    const std::string in_array = "in the array of line " + std::to_string(line_);
    while (true) {
      if (is_array && SkipToText() && Take(']')) return values;
      INTERLACER_ASSIGN_OR_RETURN(std::string value, ReadText(IsOfWord, "a value"));
      values.push_back(std::move(value));
      if (!is_array) return values;
      SkipToText();
      if (Take(',')) continue;
      if (Take(']')) return values;
      return Expected(", or ] " + in_array);
    }
  }

  /// A string in quotes, or the characters that need none.
  StatusOr<std::string> ReadText(bool (*needs_no_quotes)(char), const char* what) {
    if (Take('"')) return ReadQuoted('"');
    if (Take('\'')) return ReadQuoted('\'');
    const std::size_t begin = at_;
    while (at_ < text_.size() && needs_no_quotes(text_[at_])) ++at_;
    if (at_ == begin) return Expected(what);
    return std::string(text_.substr(begin, at_ - begin));
  }

  StatusOr<std::string> ReadQuoted(char quote) {
    static const std::map<char, char> kEscapes = {
        {'"', '"'}, {'\\', '\\'}, {'n', '\n'}, {'t', '\t'}, {'r', '\r'}};
    std::string value;
    while (at_ < text_.size() && text_[at_] != '\n') {
      const char c = text_[at_++];
      if (c == quote) return value;
      if (c != '\\' || quote == '\'') {
        value += c;
        continue;
      }
      const auto escape = at_ < text_.size() ? kEscapes.find(text_[at_]) : kEscapes.end();
      if (escape == kEscapes.end()) return Expected("one of \\ \" n r t behind a \\");
      value += escape->second;
      ++at_;
    }
    return Expected(std::string(1, quote) + " at the end of a string");
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

StatusOr<std::vector<TomlOption>> ParseTomlOptions(std::string_view text) {
  return TomlReader(text).Read();
}

}  // namespace interlacer
