#include "evaluation/html.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/evaluation/page_checks.h"
#include "tests/support/matchers.h"

namespace interlacer {
namespace {

constexpr char kHostile[] = "<script>alert(\"1\")</script>&'";
constexpr char kHarmless[] = "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;";

RgbImage GreyImage(int width_px, int height_px) {
  return {width_px, height_px,
          std::vector<std::uint8_t>(static_cast<std::size_t>(width_px * height_px * 3), 90)};
}

TEST(EscapeHtml, EscapesMarkupAndControls) {
  EXPECT_EQ(EscapeHtml(kHostile), kHarmless);
  EXPECT_EQ(EscapeHtml("a\x01 f\xfcr"), "a\\x01 f\\xfcr");
  EXPECT_EQ(EscapeHtml("Würfel 盒"), "Würfel 盒");
}

TEST(Page, EveryTextIsEscaped) {
  HtmlTable table{kHostile, {kHostile}, {{kHostile, kHostile}}, false};
  ImageEmbedder images;
  const std::string body = SectionHtml(kHostile, TableHtml(table) + ParagraphHtml(kHostile)) +
                           HeadlineHtml({{kHostile, kHostile, kHostile}}) +
                           images.Embed(GreyImage(8, 8), kHostile, 8);
  const std::string page = PageHtml(kHostile, kHostile, body);
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, HasSubstr(kHarmless));
  ExpectSelfContained(page);
}

TEST(ImageEmbedder, ShrinksToTheWidth) {
  ImageEmbedder images;
  const std::string html = images.Embed(GreyImage(400, 300), "a view", 200);
  EXPECT_THAT(html, HasSubstr("width=\"200\" height=\"150\" alt=\"a view\""));
  EXPECT_THAT(html, HasSubstr("data:image/jpeg;base64,/9j/"));
  EXPECT_THAT(images.Embed(GreyImage(64, 48), "", 200), HasSubstr("width=\"64\" height=\"48\""));
}

TEST(ImageEmbedder, StopsAtTheBudget) {
  ImageEmbedder images(1500);
  EXPECT_TRUE(images.has_all());
  int embedded = 0;
  int described = 0;
  for (int i = 0; i < 5; ++i) {
    const std::string html = images.Embed(GreyImage(16, 16), "frame", 16);
    embedded += html.find("<img") == 0 ? 1 : 0;
    described += html.find("frame (see the files beside)") != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(embedded, 0);
  EXPECT_GT(described, 0);
  EXPECT_EQ(embedded + described, 5);
  EXPECT_FALSE(images.has_all());
}

}  // namespace
}  // namespace interlacer
