#include "common/base64.h"

#include <gtest/gtest.h>

#include <vector>

namespace interlacer {
namespace {

std::string OfText(std::string_view text) {
  return Base64({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

TEST(Base64Test, ExamplesOfRfc4648) {
  EXPECT_EQ(OfText(""), "");
  EXPECT_EQ(OfText("f"), "Zg==");
  EXPECT_EQ(OfText("fo"), "Zm8=");
  EXPECT_EQ(OfText("foo"), "Zm9v");
  EXPECT_EQ(OfText("foobar"), "Zm9vYmFy");
  EXPECT_EQ(OfText("\xfb\xff\xbf"), "+/+/");
}

TEST(Base64Test, LongDataHaveNoSeams) {
  const std::vector<std::uint8_t> zeros((std::size_t{3} << 20) + 4);
  const std::string text = Base64(zeros);
  ASSERT_EQ(text.size(), (std::size_t{4} << 20) + 8);
  EXPECT_EQ(text.find_first_not_of('A'), text.size() - 2);
  EXPECT_TRUE(text.ends_with("AA=="));
}

}  // namespace
}  // namespace interlacer
