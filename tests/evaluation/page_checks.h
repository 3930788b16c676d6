#pragma once

/// What every page must be: one file that needs nothing from outside.

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <string>
#include <vector>

namespace interlacer {

/// Texts of the elements that are opened by `tag`.
inline std::vector<std::string> ElementsOf(const std::string& page, const std::string& tag,
                                           const std::string& end) {
  std::vector<std::string> texts;
  for (std::size_t at = page.find(tag); at != std::string::npos; at = page.find(tag, at + 1)) {
    const std::size_t begin = at + tag.size();
    texts.push_back(page.substr(begin, page.find(end, begin) - begin));
  }
  return texts;
}

/// What is styled and run is what the page's policy names.
inline void ExpectPolicyOf(const std::string& page) {
  const auto policies = ElementsOf(page, "http-equiv=\"Content-Security-Policy\" content=\"", "\"");
  ASSERT_EQ(policies.size(), 1u);
  EXPECT_EQ(policies[0].find("unsafe"), std::string::npos);
  const auto expect_hash = [&](const std::string& directive, const std::string& text) {
    unsigned char digest[EVP_MAX_MD_SIZE], base64[EVP_MAX_MD_SIZE * 2];
    unsigned int size = 0;
    EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha256(), nullptr);
    EVP_EncodeBlock(base64, digest, static_cast<int>(size));
    const std::string source =
        directive + " 'sha256-" + reinterpret_cast<const char*>(base64) + "'";
    EXPECT_NE(policies[0].find(source), std::string::npos) << source;
  };
  EXPECT_NE(policies[0].find("default-src 'none'"), std::string::npos);
  for (const std::string& style : ElementsOf(page, "<style>", "</style>")) {
    expect_hash("style-src", style);
  }
  const auto scripts = ElementsOf(page, "<script>", "</script>");
  for (const std::string& script : scripts) expect_hash("script-src", script);
  // The rest is data, which no browser runs.
  EXPECT_EQ(
      ElementsOf(page, "<script", ">").size(),
      scripts.size() + ElementsOf(page, "<script type=\"application/json\" id=\"", "\"").size());
}

inline void ExpectSelfContained(const std::string& page) {
  constexpr std::size_t kMostBytes = 10u << 20;
  EXPECT_LT(page.size(), kMostBytes);
  ExpectPolicyOf(page);
  for (const char* forbidden : {"http://", "https://", "@import", "<link", "url("}) {
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
