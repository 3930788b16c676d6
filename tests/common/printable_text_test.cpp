#include "common/printable_text.h"

#include <gtest/gtest.h>

#include <string>

#include "common/json.h"

namespace interlacer {
namespace {

TEST(PrintableTextTest, OrdinaryTextStays) {
  for (const char* text :
       {"", "plain = text", "Gerät 42 µm", "実験", "\xf0\x9f\xa4\x96", "a\n\tb"}) {
    EXPECT_EQ(PrintableText(text), text);
    EXPECT_EQ(ValidUtf8(text), text);
  }
  EXPECT_EQ(PrintableLine("a\n\tb"), "a\\x0a\\x09b");
}

TEST(PrintableTextTest, BytesThatAreNoUtf8AreShown) {
  EXPECT_EQ(PrintableText("f\xfcr"), "f\\xfcr");                // Latin-1
  EXPECT_EQ(PrintableText("\xff\xfe\x31"), "\\xff\\xfe1");      // the mark of UTF-16
  EXPECT_EQ(PrintableText("\xc0\xaf"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(PrintableText("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // half of a pair
  EXPECT_EQ(PrintableText("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(PrintableText("\xe2\x82"), "\\xe2\\x82");  // cut at the end
  EXPECT_EQ(PrintableText("\xc3("), "\\xc3(");
}

TEST(PrintableTextTest, NothingSteersTheTerminal) {
  EXPECT_EQ(PrintableText("\x1b[31mred\r\x7f"), "\\x1b[31mred\\x0d\\x7f");
  EXPECT_EQ(PrintableText("\xc2\x9b"
                          "31m"),
            "\\xc2\\x9b31m");  // C1: CSI in one character
  EXPECT_EQ(PrintableText("\xe2\x80\xae"
                          "gnp"),
            "\\xe2\\x80\\xaegnp");  // right to left
  EXPECT_EQ(PrintableText(std::string_view("\0", 1)), "\\x00");
}

TEST(PrintableTextTest, JsonIsAlwaysValidAndKeepsWhatIsUtf8) {
  nlohmann::ordered_json json = {{"name", "f\xfcr"}, {"list", {"\x1b\x7f\xc2\x9b", "Gerät"}}};
  json["k\xff"] = 1;
  const std::string text = JsonText(json, 1);
  const auto read = nlohmann::json::parse(text);
  EXPECT_EQ(read.at("name"), "f\\xfcr");
  EXPECT_EQ(read.at("list")[0], "\x1b\x7f\xc2\x9b");
  EXPECT_EQ(read.at("list")[1], "Gerät");
  EXPECT_EQ(read.at("k\\xff"), 1);
  EXPECT_EQ(PrintableText(text), text);
}

}  // namespace
}  // namespace interlacer
