#include "evaluation/svg.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <regex>
#include <string>

#include "evaluation/fitted_text.h"
#include "evaluation/svg_parts.h"
#include "tests/support/matchers.h"

namespace interlacer {
namespace {

using svg::NiceTicks;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Where the text begins or ends, as it is anchored.
double XOf(const std::string& svg, const std::string& text) {
  std::smatch found;
  const std::regex pattern("<text x=\"([-0-9.]+)\"[^>]*>" + text + "</text>");
  return std::regex_search(svg, found, pattern) ? std::stod(found[1]) : kNan;
}

TEST(NiceTicks, RoundStepsInsideTheRange) {
  EXPECT_THAT(NiceTicks(0, 8, 8), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));
  const std::vector<double> ticks = NiceTicks(0.73, 0.91, 5);
  ASSERT_EQ(ticks.size(), 4u);
  EXPECT_NEAR(ticks.front(), 0.75, 1e-12);
  EXPECT_NEAR(ticks.back(), 0.90, 1e-12);
  EXPECT_THAT(NiceTicks(3, 3, 5), ElementsAre(3));
}

TEST(NiceTicks, EndsAFewRoundingsApartHaveOne) {
  for (const double low : {0.9, 1.0, 1e300, -1e-300}) {
    const double high = std::nextafter(low, std::numeric_limits<double>::infinity());
    EXPECT_THAT(NiceTicks(low, high, 5), ElementsAre(low));
  }
  const double most = std::numeric_limits<double>::max();
  EXPECT_THAT(NiceTicks(-most, most, 5), ElementsAre(-most)) << "the span is no number";
}

TEST(LineChart, GapsAtMissingValues) {
  ChartSpec spec;
  spec.series.push_back({"model", {0, 1, 2, 3}, {1, kNan, 2, 3}, {}, {}, 0});
  const std::string svg = LineChartSvg(spec);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  const std::size_t path = svg.find("<path d=\"M");
  ASSERT_NE(path, std::string::npos);
  const std::string curve = svg.substr(path, svg.find("fill", path) - path);
  EXPECT_EQ(std::count(curve.begin(), curve.end(), 'M'), 2);
  EXPECT_EQ(std::count(curve.begin(), curve.end(), 'L'), 1);
}

TEST(LineChart, SurvivesEmptyAndConstantData) {
  ChartSpec empty;
  EXPECT_THAT(LineChartSvg(empty), HasSubstr("no values"));
  ChartSpec constant;
  constant.series.push_back({"flat", {0, 1}, {0.5, 0.5}, {}, {}, 0});
  EXPECT_THAT(LineChartSvg(constant), Not(HasSubstr("nan")));
  ChartSpec nearly;
  nearly.series.push_back({"almost flat", {0, 1}, {0.9, std::nextafter(0.9, 1)}, {}, {}, 0});
  EXPECT_THAT(LineChartSvg(nearly), Not(HasSubstr("nan")));
  ChartSpec single;
  single.series.push_back({"dot", {4}, {0}, {}, {}, 0});
  EXPECT_THAT(LineChartSvg(single), Not(HasSubstr("nan")));
}

TEST(LineChart, WhatIsNeverNegativeHasNoNegativeAxis) {
  ChartSpec spec;
  spec.series.push_back({"still", {0, 1}, {0, 0}, {}, {}, 0});
  EXPECT_THAT(LineChartSvg(spec), Not(HasSubstr(">-0.00")));
  spec.series[0].y = {0, -0.0004};
  EXPECT_THAT(LineChartSvg(spec), HasSubstr(">-0.0004<"));
}

TEST(LineChart, LongLabelsOfTicksStandBesideTheNameOfTheAxis) {
  ChartSpec spec;
  spec.series.push_back({"still", {0, 1}, {0, 0.00015}, {}, {}, 0});
  constexpr double kDigits = 7, kDigitWidth = 7, kNameEnds = 17;
  EXPECT_GT(XOf(LineChartSvg(spec), "0.00015") - kDigits * kDigitWidth, kNameEnds);
  spec.series[0].y = {0, 1};
  EXPECT_EQ(XOf(LineChartSvg(spec), "0.5"), 50) << "short ones where they are in all charts";
}

TEST(FittedText, IsShortenedInTheMiddleByCharactersNotBytes) {
  EXPECT_EQ(ShortenedInTheMiddle("abcdefghij", 10), "abcdefghij");
  EXPECT_EQ(ShortenedInTheMiddle("abcdefghij", 7), "abc\xE2\x80\xA6hij");
  EXPECT_EQ(ShortenedInTheMiddle("abcdefghij", 6), "abc\xE2\x80\xA6ij");
  EXPECT_EQ(ShortenedInTheMiddle("abc", 1), "\xE2\x80\xA6");
  EXPECT_EQ(ShortenedInTheMiddle("\xC3\xA4\xC3\xB6\xC3\xBC", 3), "\xC3\xA4\xC3\xB6\xC3\xBC");
  EXPECT_EQ(ShortenedInTheMiddle("\xC3\xA4\xC3\xB6\xC3\xBC\xC3\x9F", 3),
            "\xC3\xA4\xE2\x80\xA6\xC3\x9F");
  EXPECT_EQ(ShortenedInTheMiddle("a\xFFz", 6), "a\\xffz") << "as every text that no page can show";
  EXPECT_EQ(WidthInCharacters("\xC3\xA4z"), 2u);
  EXPECT_EQ(WidthInCharacters("\xE6\xBC\xA2"), 2u) << "a Han character";
  EXPECT_EQ(WidthInCharacters(""), 0u);
}

/// Longer than any place; beginnings and ends are what differs between runs.
std::string LongName() { return "run_1_" + std::string(94, 'x') + "_fine"; }

TEST(LineChart, LongNamesAndTitlesAreShortenedAndWholeInATooltip) {
  ChartSpec spec;
  spec.title = "difference to " + LongName();
  spec.series.push_back({LongName(), {0, 1}, {1, 2}, {}, {}, 0});
  spec.series.push_back({"short", {0, 1}, {1, 2}, {}, {}, 1});
  const std::string svg = LineChartSvg(spec);
  EXPECT_THAT(svg, HasSubstr("<title>" + LongName() + "</title>run_1_x"));
  EXPECT_THAT(svg,
              HasSubstr("<title>difference to " + LongName() + "</title>difference to run_1_"));
  EXPECT_THAT(svg, HasSubstr("x_fine</text>"));
  EXPECT_THAT(svg, HasSubstr(">short</text>")) << "without a tooltip";
}

TEST(LineChart, ALineWithoutANameIsDrawnAndNotListed) {
  ChartSpec spec;
  spec.series.push_back({"runs", {0, 1}, {1, 2}, {}, {}, 1});
  const auto count_of = [&](const std::string& part) {
    const std::string svg = LineChartSvg(spec);
    int count = 0;
    for (std::size_t at = svg.find(part); at != std::string::npos; at = svg.find(part, at + 1)) {
      ++count;
    }
    return count;
  };
  const int texts = count_of("<text");
  EXPECT_EQ(count_of("<path d=\"M"), 1);
  spec.series.push_back({"", {0, 1}, {1, 2}, {}, {}, 1});
  EXPECT_EQ(count_of("<text"), texts);
  EXPECT_EQ(count_of("<path d=\"M"), 2);
}

TEST(LineChart, ThingsWithNamesAreNotJoined) {
  ChartSpec spec;
  spec.series.push_back({"time", {0, 1}, {1, 2}, {}, {}, 1});
  const std::string joined = LineChartSvg(spec);
  EXPECT_THAT(joined, HasSubstr("<path d=\"M"));
  spec.x_names = {"cave", "a<b"};
  const std::string apart = LineChartSvg(spec);
  EXPECT_THAT(apart, Not(HasSubstr("<path")));
  EXPECT_THAT(apart, Not(HasSubstr("stroke-dasharray"))) << "nor in the legend";
  EXPECT_THAT(apart, HasSubstr("<rect"));
  EXPECT_THAT(apart, HasSubstr(">cave</text>"));
  EXPECT_THAT(apart, HasSubstr(">a&lt;b</text>"));
  EXPECT_THAT(apart, Not(HasSubstr(">0</text>"))) << "no numbers beside the names";
}

TEST(LineChart, EscapesNamesAndTellsSeriesApartWithoutColour) {
  ChartSpec spec;
  spec.title = "a<b";
  spec.alt_text = "\"quoted\"";
  for (const char* name : {"x&y", "two", "three"}) {
    spec.series.push_back({name, {0, 1}, {0, 1}, {0, 0}, {1, 1}, spec.series.size()});
  }
  const std::string svg = LineChartSvg(spec);
  EXPECT_THAT(svg, HasSubstr("a&lt;b"));
  EXPECT_THAT(svg, HasSubstr("x&amp;y"));
  EXPECT_THAT(svg, HasSubstr("aria-label=\"&quot;quoted&quot;\""));
  EXPECT_THAT(svg, HasSubstr("stroke-dasharray=\"7 4\""));
  EXPECT_THAT(svg, HasSubstr("stroke-dasharray=\"2 3\""));
}

TEST(Distribution, OneDotForEachValueAndAMean) {
  DistributionSpec spec;
  spec.groups = {{"model", {0.1, 0.2, 0.3}}, {"none", {}}};
  const std::string svg = DistributionSvg(spec);
  std::size_t dots = 0;
  for (std::size_t at = svg.find("<circle"); at != std::string::npos;
       at = svg.find("<circle", at + 1)) {
    ++dots;
  }
  EXPECT_EQ(dots, 3u);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(Distribution, NamesKeepTheirBeginningAndTheirPlaceIsByCharacters) {
  DistributionSpec spec;
  spec.groups = {{LongName(), {0.1}}, {"a", {0.2}}};
  const std::string svg = DistributionSvg(spec);
  EXPECT_THAT(svg, HasSubstr("<title>" + LongName() + "</title>run_1_x"));
  EXPECT_THAT(svg, HasSubstr("x_fine</text>"));
  std::string umlauts, letters;
  for (int i = 0; i < 20; ++i) {
    umlauts += "\xC3\xA4";
    letters += "a";
  }
  spec.groups = {{umlauts, {0.1}}};
  const double at = XOf(DistributionSvg(spec), umlauts);
  spec.groups = {{letters, {0.1}}};
  EXPECT_EQ(at, XOf(DistributionSvg(spec), letters));
}

TEST(Distribution, AColourIsThatOfTheStyleOrOfTheRow) {
  DistributionSpec spec;
  spec.groups = {{"a", {0.1}}, {"b", {0.2}, 5}};
  const std::string svg = DistributionSvg(spec);
  EXPECT_THAT(svg, HasSubstr("fill=\"var(--c0)\""));
  EXPECT_THAT(svg, HasSubstr("fill=\"var(--c5)\""));
  EXPECT_THAT(svg, Not(HasSubstr("fill=\"var(--c1)\"")));
}

}  // namespace
}  // namespace interlacer
