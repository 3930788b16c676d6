#include "common/toml_options.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/must.h"

namespace interlacer {
namespace {

using Strings = std::vector<std::string>;

/// The values of the only option in `text`.
Strings ValuesOf(const std::string& text) {
  const std::vector<TomlOption> options = Must(ParseTomlOptions(text));
  EXPECT_EQ(options.size(), 1u) << text;
  return options.empty() ? Strings() : options[0].values;
}

TEST(TomlOptions, ValuesAreStringsWordsAndArraysOfThem) {
  const std::pair<const char*, Strings> cases[] = {
      {"key = \"/data/#1\"", {"/data/#1"}},
      {"key = '/data/#1\\n'  # a path", {"/data/#1\\n"}},
      {"key = \"a \\\"b\\\" \\\\ c\"", {"a \"b\" \\ c"}},
      {"key=8# eight", {"8"}},
      {"key = true\r\n", {"true"}},
      {"key = \"\"", {""}},
      {"key = []", {}},
      {"key = [\"a, b\", 'c]', 3,]", {"a, b", "c]", "3"}},
      {"\n# of two\nkey = [  # models\n  \"a=/1\",\n\n  # the other\n  \"b=/2\",\n]\n",
       {"a=/1", "b=/2"}},
  };
  for (const auto& [text, values] : cases) EXPECT_EQ(ValuesOf(text), values) << text;
}

TEST(TomlOptions, KeysHaveTheirSectionsAndDots) {
  const std::vector<TomlOption> options = Must(
      ParseTomlOptions("quiet = true\na.\"b c\" = 1\n[predict]\nmax-steps = 3\n[x.y]\nz.w = 4"));
  const std::pair<Strings, const char*> expected[] = {
      {{}, "quiet"}, {{"a"}, "b c"}, {{"predict"}, "max-steps"}, {{"x", "y", "z"}, "w"}};
  ASSERT_EQ(options.size(), std::size(expected));
  for (std::size_t i = 0; i < options.size(); ++i) {
    EXPECT_EQ(options[i].parents, expected[i].first);
    EXPECT_EQ(options[i].name, expected[i].second);
  }
  for (const char* text : {"", "\n", "# nothing", "[predict]\n"}) {
    EXPECT_TRUE(Must(ParseTomlOptions(text)).empty()) << text;
  }
}

TEST(TomlOptions, RefusalsNameTheLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"a = [\"robot#1\"\ndevice = \"cuda\"\n",
       "line 2: expected , or ] in the array of line 1, got device = \"cuda\""},
      {"a = [\"b\",\n", "line 2: expected a value, got the end of the file"},
      {"a = 1\nb = \"c\n", "line 2: expected \" at the end of a string, got the end of the line"},
      {"a = \"b\" c", "line 1: expected the end of the line, got c"},
      {"a = \"\"\"b\"\"\"", "line 1: expected the end of the line, got \"b\"\"\""},
      {"a =\nb = 1", "line 1: expected a value, got the end of the line"},
      {"\n\nverbose", "line 3: expected = after verbose, got the end of the file"},
      {"a = {b = 1}", "line 1: expected a value, got {b = 1}"},
      {"a = [[1]]", "line 1: expected a value, got [1]]"},
      {"[[a]]", "line 1: expected a name, got [a]]"},
      {"[a\nb = 1", "line 1: expected ] after the section's name, got the end of the line"},
      {"a = \"\\u0041\"", "line 1: expected one of \\ \" n r t behind a \\, got u0041\""},
      {"a = 1\n[b]\na = 2\n[c]\nb.a = 1\n[b]\na = 3\n", "line 7: a is set in line 3 too"},
  };
  for (const auto& [text, message] : cases) {
    const Status status = ParseTomlOptions(text).status();
    EXPECT_EQ(status.reason(), reason::CONFIG_INVALID) << text;
    EXPECT_EQ(status.message(), message);
  }
}

}  // namespace
}  // namespace interlacer
