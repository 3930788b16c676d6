#pragma once

/// What every page must be: one file that needs nothing from outside.

#include <gtest/gtest.h>

#include <string>

namespace interlacer {

inline void ExpectSelfContained(const std::string& page) {
  constexpr std::size_t kMaxPageBytes = 10u << 20;
  EXPECT_LT(page.size(), kMaxPageBytes);
  for (const char* forbidden : {"<script", "http://", "https://", "@import", "<link", "url("}) {
    EXPECT_EQ(page.find(forbidden), std::string::npos) << forbidden;
  }
  std::size_t images = 0, described = 0;
  for (std::size_t at = page.find("<img"); at != std::string::npos;
       at = page.find("<img", at + 1)) {
    const std::string tag = page.substr(at, page.find('>', at) - at);
    ++images;
    described += tag.find(" alt=\"") != std::string::npos ? 1 : 0;
    EXPECT_NE(tag.find("src=\"data:image/jpeg;base64,"), std::string::npos);
  }
  EXPECT_EQ(images, described);
}

}  // namespace interlacer
