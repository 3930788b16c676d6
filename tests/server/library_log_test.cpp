/// What libraries would write to stderr by themselves.

#include "server/transport/library_log.h"

#include <gtest/gtest.h>

#include <iostream>
#include <sstream>
#include <streambuf>
#include <string>
#include <utility>
#include <vector>

#include "common/json.h"
#include "common/log.h"
#include "interlacer/v1/interlacer_service.pb.h"

namespace interlacer::testing {
namespace {

/// Message and text of each line of a log in JSON.
std::vector<std::pair<std::string, std::string>> ReadLines(const std::string& log) {
  std::vector<std::pair<std::string, std::string>> lines;
  std::istringstream stream(log);
  for (std::string text; std::getline(stream, text);) {
    const auto line = ParseJson(text, "log");
    EXPECT_TRUE(line.ok()) << text;
    if (line.ok()) lines.emplace_back(line->value("message", ""), line->value("text", ""));
  }
  return lines;
}

TEST(LibraryLog, LinesOfLibrariesAreLinesOfTheLog) {
  std::streambuf* const before = std::cerr.rdbuf();
  InitLogging(LogLevel::kWarning, LogFormat::kJson);
  LogLibraryLines();
  ::testing::internal::CaptureStderr();
  v1::GetModelMetadataRequest request;
  EXPECT_FALSE(request.ParseFromString("\x0a\x02\xff\xfe"));
  std::cerr << "[W] Warning: " << 1 << '\n' << "two\nthree" << std::endl;
  const auto lines = ReadLines(::testing::internal::GetCapturedStderr());
  std::cerr.rdbuf(before);
  InitLogging(LogLevel::kInfo, LogFormat::kText);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0].first, "protobuf");
  EXPECT_NE(lines[0].second.find("GetModelMetadataRequest.model_name"), std::string::npos);
  const std::vector<std::string> texts = {"[W] Warning: 1", "two", "three"};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(lines[i + 1], std::pair(std::string("stderr"), texts[i]));
  }
}

/// Whoever asks for errors alone gets no warnings of libraries either.
TEST(LibraryLog, TheLevelHoldsForLibraries) {
  std::streambuf* const before = std::cerr.rdbuf();
  InitLogging(LogLevel::kError, LogFormat::kText);
  LogLibraryLines();
  ::testing::internal::CaptureStderr();
  v1::GetModelMetadataRequest request;
  EXPECT_FALSE(request.ParseFromString("\x0a\x02\xff\xfe"));
  std::cerr << "[W] Warning" << std::endl;
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  std::cerr.rdbuf(before);
  InitLogging(LogLevel::kInfo, LogFormat::kText);
}

}  // namespace
}  // namespace interlacer::testing
