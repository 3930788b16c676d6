#include "common/log.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace interlacer {
namespace {

// fm-41
TEST(LogTest, TextIsOneLine) {
  EXPECT_EQ(FormatLogEvent(LogFormat::kText, LogLevel::kInfo, "T", "ready", {{"port", "1"}}),
            "T INFO ready port=1");
  EXPECT_EQ(FormatLogEvent(LogFormat::kText, LogLevel::kError, "T", "a\nT INFO forged", {}),
            "T ERROR a\\x0aT INFO forged");
}

// fm-41
TEST(LogTest, NoValueCanForgeAField) {
  const auto line = [](const std::string& value) {
    return FormatLogEvent(LogFormat::kText, LogLevel::kInfo, "T", "call", {{"f", value}});
  };
  EXPECT_EQ(line("plain"), "T INFO call f=plain");
  EXPECT_EQ(line(""), "T INFO call f=");
  EXPECT_EQ(line("x\" code=OK request_id=forged"),
            "T INFO call f=\"x\\\" code=OK request_id=forged\"");
  EXPECT_EQ(line("a=b"), "T INFO call f=\"a=b\"");
  EXPECT_EQ(line("a\\x0a"), "T INFO call f=\"a\\\\x0a\"") << "an escape of the value's own";
  // Control characters beyond ASCII, such as U+009B, which begins a terminal's commands.
  EXPECT_EQ(line("\xc2\x9b"
                 "1m"),
            "T INFO call f=\\xc2\\x9b1m");
}

TEST(LogTest, JsonEscapesAndSurvivesBrokenText) {
  const std::string line = FormatLogEvent(LogFormat::kJson, LogLevel::kWarning, "T", "a\"\n\xff",
                                          {{"request_id", "x\ty"}});
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto parsed = nlohmann::json::parse(line);
  EXPECT_EQ(parsed.at("level"), "warning");
  EXPECT_EQ(parsed.at("request_id"), "x\ty");
}

TEST(LogTest, WordsAreParsed) {
  EXPECT_EQ(*ParseLogLevel("debug"), LogLevel::kDebug);
  EXPECT_EQ(ParseLogLevel("loud").status().field(), "log_level");
  EXPECT_EQ(*ParseLogFormat("json"), LogFormat::kJson);
  EXPECT_FALSE(ParseLogFormat("xml").ok());
}

}  // namespace
}  // namespace interlacer
