#include "common/toml_options.h"

#include <gmock/gmock.h>
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

TEST(TomlOptions, ValuesAreTextsNumbersTruthsAndArraysOfThem) {
  const std::pair<const char*, Strings> cases[] = {
      {"key = \"/data/#1\"", {"/data/#1"}},
      {"key = '/data/#1\\n'  # a path", {"/data/#1\\n"}},
      {"key = \"a \\\"b\\\" \\\\ c\"", {"a \"b\" \\ c"}},
      {"key=8# eight", {"8"}},
      {"key = -0.25", {"-0.25"}},
      {"key = true\r\n", {"true"}},
      {"key = \"\"", {""}},
      {"key = []", {}},
      {"key = [\"a, b\", 'c]', 3,]", {"a, b", "c]", "3"}},
      {"\n# of two\nkey = [  # models\n  \"a=/1\",\n\n  # the other\n  \"b=/2\",\n]\n",
       {"a=/1", "b=/2"}},
  };
  for (const auto& [text, values] : cases) EXPECT_EQ(ValuesOf(text), values) << text;
}

TEST(TomlOptions, KeysHaveTheirTables) {
  const std::vector<TomlOption> options = Must(
      ParseTomlOptions("quiet = true\na.\"b c\" = 1\n[predict]\nmax-steps = 3\n[x.y]\nz.w = 4"));
  const std::pair<Strings, const char*> expected[] = {
      {{"a"}, "b c"}, {{"predict"}, "max-steps"}, {{}, "quiet"}, {{"x", "y", "z"}, "w"}};
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
      {"a = [\"robot#1\"\ndevice = \"cuda\"\n", "line 2: "},
      {"a = 1\nb = \"c\n", "line 2: "},
      {"a = \"b\" c", "line 1: "},
      {"a =\nb = 1", "line 1: "},
      {"\n\nverbose", "line 3: "},
      {"a = 1\nb = auto", "line 2: "},
      {"a = 1\nb = [[1]]", "line 2: b: expected a text, a number, true or false"},
      {"a = 1\n\nb = 1979-05-27", "line 3: b: expected a text, a number, true or false"},
      {"\n[[a]]\nb = 1", "line 2: a: expected a text, a number, true or false"},
      {"[a\nb = 1", "line 1: "},
      {"a = 1\na = 2", "line 2: "},
  };
  for (const auto& [text, message] : cases) {
    const Status status = ParseTomlOptions(text).status();
    EXPECT_EQ(status.reason(), reason::CONFIG_INVALID) << text;
    EXPECT_THAT(status.message(), ::testing::StartsWith(message));
  }
}

}  // namespace
}  // namespace interlacer
