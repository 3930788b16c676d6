#include "common/log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

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

TEST(LogTest, APipeThatNobodyReadsStopsNobody) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const int old = dup(STDERR_FILENO);
  ASSERT_EQ(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
  const std::string value(1000, 'x');
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 2000; ++i) Log(LogLevel::kError, "filling", {{"value", value}});
  Log(LogLevel::kError, "long", {{"value", std::string(20'000, 'y')}});
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::string read_bytes(1 << 20, '\0');
  const ssize_t full = read(ends[0], read_bytes.data(), read_bytes.size());
  Log(LogLevel::kError, "again");
  const ssize_t count = read(ends[0], read_bytes.data(), read_bytes.size());
  dup2(old, STDERR_FILENO);
  for (const int fd : {old, ends[0], ends[1]}) close(fd);
  EXPECT_LT(seconds.count(), 5);
  EXPECT_GT(full, 30'000);
  ASSERT_GT(count, 0);
  read_bytes.resize(static_cast<std::size_t>(count));
  EXPECT_NE(read_bytes.find("WARNING lines of the log were lost count="), std::string::npos)
      << read_bytes;
  EXPECT_NE(read_bytes.find("ERROR again\n"), std::string::npos) << read_bytes;
}

TEST(LogTest, WordsAreParsed) {
  EXPECT_EQ(*ParseLogLevel("debug"), LogLevel::kDebug);
  EXPECT_EQ(ParseLogLevel("loud").status().field(), "log_level");
  EXPECT_EQ(*ParseLogFormat("json"), LogFormat::kJson);
  EXPECT_FALSE(ParseLogFormat("xml").ok());
}

}  // namespace
}  // namespace interlacer
