#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "experiments/masks/cost_series.h"
#include "experiments/masks/graphs.h"
#include "experiments/masks/pages.h"
#include "tests/evaluation/page_checks.h"
#include "tests/support/matchers.h"

namespace interlacer {
namespace {

using attention::EstimateForm;

MeanEstimate Around(double mean, double reach) {
  return {mean, 1, 10, Interval{mean - reach, mean + reach}};
}

TEST(MaskClaim, RangesHoldAndFail) {
  EXPECT_EQ(JudgeRange(1.04, 0.95, 1.05), Verdict::kHolds);
  EXPECT_EQ(JudgeRange(1.06, 0.95, 1.05), Verdict::kDoesNotHold);
  EXPECT_EQ(JudgeRange(0.94, 0.95, 1.05), Verdict::kDoesNotHold);
  EXPECT_EQ(JudgeRange(std::nullopt, 0.95, 1.05), Verdict::kUndecided);
  EXPECT_EQ(JudgeRange(NAN, 0.95, 1.05), Verdict::kUndecided);
  EXPECT_EQ(JudgeRange(INFINITY, 0.95, 1.05), Verdict::kUndecided);
  EXPECT_EQ(JudgeAtMost(0.05, 0.05), Verdict::kHolds);
  EXPECT_EQ(JudgeAtMost(0.0625, 0.05), Verdict::kDoesNotHold);
  EXPECT_EQ(JudgeAbove(1.001, 1), Verdict::kHolds);
  EXPECT_EQ(JudgeAbove(1, 1), Verdict::kDoesNotHold);
}

TEST(MaskClaim, MeansDifferWhereTheirIntervalsDoNotOverlap) {
  EXPECT_EQ(JudgeSmaller(Around(1, 0.1), Around(2, 0.1)), Verdict::kHolds);
  EXPECT_EQ(JudgeSmaller(Around(2, 0.1), Around(1, 0.1)), Verdict::kDoesNotHold);
  EXPECT_EQ(JudgeSmaller(Around(1, 0.6), Around(2, 0.6)), Verdict::kUndecided);
  EXPECT_EQ(JudgeSmaller(std::nullopt, Around(2, 0.1)), Verdict::kUndecided);
  MeanEstimate lone = Around(1, 0);
  lone.interval.reset();
  EXPECT_EQ(JudgeSmaller(lone, Around(2, 0.1)), Verdict::kUndecided);
}

TEST(MaskClaim, SaysItsRuleAndValue) {
  const MaskClaim claim = AtMost({.text = "t", .source = "s", .paper = "p"}, 2.0, 1.15);
  EXPECT_EQ(claim.ours, "2");
  EXPECT_EQ(claim.rule, "at most 1.15");
  EXPECT_EQ(claim.verdict, Verdict::kDoesNotHold);
  // So that "1.15, at most 1.15" is never what a failure looks like.
  EXPECT_EQ(AtMost({}, 1.1523, 1.15).ours, "1.152");
  EXPECT_EQ(AtMost({}, 1.15, 1.15).ours, "1.15");
  EXPECT_EQ(Above({}, 1.0002, 1).ours, "1.0002");
  EXPECT_EQ(WithinRange({}, 2.0496, 1.95, 2.05).ours, "2.0496");
  EXPECT_EQ(AtMost({}, 1000.04, 1000).ours, "1000.04");
  EXPECT_EQ(Above({}, 999.96, 1000).ours, "999.96");
  EXPECT_EQ(WithinRange({}, NAN, 1.95, 2.05).ours, "–");
  EXPECT_EQ(FigureText(std::nullopt), "–");
  EXPECT_EQ(FigureText(1.2345), "1.23");
  EXPECT_EQ(FigureText(1680.4), "1680");
  EXPECT_EQ(FigureText(1e-5), "1e-05");
}

TEST(MaskClaim, SlopesAndCrossings) {
  const std::vector<double> x{1, 2, 4, 8};
  EXPECT_NEAR(LogSlope(x, std::vector<double>{3, 12, 48, 192}).value(), 2, 1e-12);
  EXPECT_FALSE(LogSlope(std::vector<double>{1, 2}, std::vector<double>{1, 2}));
  EXPECT_FALSE(LogSlope(x, std::vector<double>{1, 0, 1, 1})) << "no logarithm";
  EXPECT_FALSE(LogSlope(x, std::vector<double>{1, NAN, 1, 1}));
  // x^2 crosses 8 x at 8, between points.
  const std::vector<double> far{1, 4, 16}, square{1, 16, 256}, line{8, 32, 128};
  EXPECT_NEAR(Crossing(far, square, line).value(), 8, 1e-9);
  EXPECT_NEAR(Crossing(far, line, square).value(), 8, 1e-9);
  EXPECT_FALSE(Crossing(far, line, line));
}

TEST(CostSeries, ExponentsAreOfTheFarPointsAndWithoutLogarithms) {
  CostSeries series;
  for (const std::int64_t n : {64, 1024, 4096, 16384}) {
    const auto length = static_cast<double>(n);
    attention::Cost cost;
    cost.cpu_seconds = n == 64 ? 1000 : length * std::log2(length);
    cost.peak_bytes = n * n;
    series.points.push_back({n, cost});
  }
  EXPECT_NEAR(Exponent(series, CostKind::kSeconds, 1024, 1).value(), 1, 1e-12);
  EXPECT_GT(Exponent(series, CostKind::kSeconds, 1024).value(), 1.05);
  EXPECT_NEAR(Exponent(series, CostKind::kBytes, 64).value(), 2, 1e-12);
  EXPECT_FALSE(Exponent(series, CostKind::kSeconds, 4096)) << "two points";
}

TEST(CostSeries, EndsAtTheLimitsAndSaysSo) {
  MaskRun run;
  run.limit_s = 1e-9;
  attention::CostRequest request;
  request.mechanism = "linear_relu";
  const CostSeries slow = MeasureSeries(request, {64, 128}, run).value();
  EXPECT_EQ(slow.points.size(), 1u);
  EXPECT_THAT(slow.end, HasSubstr("took more than"));
  run.limit_s = 100;
  run.most_bytes = -1;
  const CostSeries large = MeasureSeries(request, {64, 128}, run).value();
  EXPECT_EQ(large.points.size(), 1u);
  EXPECT_THAT(large.end, HasSubstr("GiB expected"));
  request.mechanism = "gdk_hypercube";
  const CostSeries failed = MeasureSeries(request, {65}, MaskRun()).value();
  EXPECT_TRUE(failed.points.empty());
  EXPECT_FALSE(failed.end.empty());
  std::stop_source source;
  source.request_stop();
  run.stop = source.get_token();
  EXPECT_EQ(MeasureSeries(request, {64}, run).status().code(), StatusCode::kCancelled);
}

TEST(CostSeries, CrossingsAreFoundOrForeseen) {
  const auto series = [](std::int64_t longest, const auto& seconds) {
    CostSeries made;
    for (const std::int64_t length : Doublings(16, longest)) {
      made.points.push_back({length, {}});
      made.points.back().cost.cpu_seconds = seconds(static_cast<double>(length));
    }
    return made;
  };
  const auto linear = [](double length) { return 1e-6 * length; };
  const auto square = [](double length) { return 1e-8 * length * length; };  // meets it at 100
  const Overtaking found = FindOvertaking(series(1024, linear), series(1024, square));
  EXPECT_EQ(found.length, 128);
  EXPECT_EQ(found.measured_length, 1024);
  EXPECT_EQ(found.foreseen_length, std::nullopt);

  const Overtaking foreseen = FindOvertaking(series(64, linear), series(64, square));
  EXPECT_EQ(foreseen.length, std::nullopt);
  EXPECT_EQ(foreseen.measured_length, 64);
  EXPECT_EQ(foreseen.foreseen_length, 128);
  // The dense one became too slow.
  EXPECT_EQ(FindOvertaking(series(64, linear), series(32, square)).length, 64);
  // Never, and too few points to say.
  const auto twice = [&](double length) { return 2 * linear(length); };
  EXPECT_EQ(FindOvertaking(series(64, twice), series(64, linear)).foreseen_length, std::nullopt);
  EXPECT_EQ(FindOvertaking(series(32, linear), series(32, square)).foreseen_length, std::nullopt);
  const auto slow = [&](double length) { return 100 * linear(length); };
  EXPECT_EQ(FindOvertaking(series(64, slow), series(64, square)).foreseen_length, std::nullopt);
  EXPECT_EQ(FindOvertaking({}, series(32, square)).measured_length, 0);
  // A single slow run in between does not hide that it is overtaken from there on alone.
  CostSeries late = series(1024, linear);
  late.points[5].cost.cpu_seconds = 1;
  EXPECT_EQ(FindOvertaking(late, series(1024, square)).length, 1024);
}

TEST(MaskGraphs, HaveTheirSizes) {
  EXPECT_THAT(PathGraph(3).neighbors, ElementsAre(1, 0, 2, 1));
  EXPECT_EQ(CirculantGraph(80, 32).neighbors.size(), 80u * 64);
  EXPECT_EQ(GridGraph(4).neighbors.size(), 2u * 24);
  const attention::EdgeLists random = RandomGraph(24, 60, 3);
  EXPECT_EQ(random.size(), 24);
  EXPECT_EQ(random.neighbors.size(), 120u);
  EXPECT_EQ(RandomGraph(24, 60, 3).neighbors, random.neighbors);
  const auto tree = RandomBinaryTree(50, 1);
  std::vector<int> children(50, 0);
  for (const std::int64_t parent : tree) {
    if (parent >= 0) ++children[static_cast<std::size_t>(parent)];
  }
  EXPECT_LE(*std::max_element(children.begin(), children.end()), 2);
  EXPECT_EQ(TreeGraph(tree).neighbors.size(), 98u);
  const auto caterpillar = Caterpillar(10, 4, 1);
  EXPECT_EQ(caterpillar.size(), 10u);
  for (std::size_t i = 4; i < 10; ++i) {
    EXPECT_THAT(caterpillar[i], ::testing::AllOf(::testing::Ge(1), ::testing::Le(2)));
  }
}

TEST(MaskEstimates, AreUnbiasedOffTheDiagonalInBothForms) {
  attention::WalkSetting walks;
  walks.graph = GridGraph(3);
  walks.walks = 8;
  walks.max_hops = 2;
  walks.f = {1, 0.5, 0.25};
  for (const EstimateForm form : {EstimateForm::kSymmetric, EstimateForm::kAsymmetric}) {
    const std::vector<double> exact = attention::ExactMask(walks, form).value();
    constexpr int kDraws = 2000;
    double sum = 0, squares = 0;
    for (std::uint32_t draw = 0; draw < kDraws; ++draw) {
      const double entry = attention::EstimateMask(walks, form, draw).value()[1];
      sum += entry / kDraws;
      squares += entry * entry / kDraws;
    }
    const double deviation = std::sqrt((squares - sum * sum) / kDraws);
    EXPECT_LT(std::abs(sum - exact[1]), 4 * deviation);
    EXPECT_GT(deviation, 0);
  }
  // Both are the mask of f * f where the second has its coefficients.
  attention::WalkSetting squared = walks;
  squared.f = {1, 1, 0.75, 0.25, 0.0625};
  squared.max_hops = 4;
  const auto a = attention::ExactMask(walks, EstimateForm::kSymmetric).value();
  const auto b = attention::ExactMask(squared, EstimateForm::kAsymmetric).value();
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-12);
}

TEST(MaskEstimates, RefuseWhatDoesNotFit) {
  attention::WalkSetting walks;
  walks.graph = PathGraph(4);
  walks.f = {1};
  EXPECT_EQ(attention::ExactMask(walks, EstimateForm::kSymmetric).status().field(), "f");
  walks.sampler = "other";
  EXPECT_EQ(attention::CountFeatureEntries(walks, 0).status().field(), "sampler");
  attention::CostRequest request;
  request.mechanism = "softmax";
  EXPECT_EQ(attention::MeasureCost(request).status().field(), "length");
  request.length = 4;
  request.way = "slow";
  EXPECT_EQ(attention::MeasureCost(request).status().field(), "way");
  request.way = "dense";
  const attention::Cost cost = attention::MeasureCost(request).value();
  EXPECT_EQ(cost.way, "dense");
  EXPECT_GT(cost.cpu_seconds, 0);
}

TEST(MaskEstimates, KeptWalksAreTimedInARunThatDrawsNone) {
  attention::CostRequest request;
  request.mechanism = "grf_sym";
  request.options = {{"keep_walks", true}, {"walks", 3000}};
  request.length = 512;
  request.limit_s = 0;  // the first run is above it, and draws walks for longer than all else takes
  const double kept_s = attention::MeasureCost(request).value().cpu_seconds;
  request.options["keep_walks"] = false;
  const double drawn_s = attention::MeasureCost(request).value().cpu_seconds;
  EXPECT_LT(2 * kept_s, drawn_s);
}

TEST(MaskEstimates, PeaksOfMemoryAreThoseOfTheArrays) {
  attention::CostRequest request;
  request.mechanism = "softmax";
  request.length = 2048;
  request.repeats = 0;
  const attention::Cost cost = attention::MeasureCost(request).value();
  if (!cost.peak_bytes) GTEST_SKIP() << "the kernel does not tell";
  EXPECT_GE(*cost.peak_bytes, 4 * 2048 * 2048) << "the scores alone";
  EXPECT_LE(*cost.peak_bytes, 10 * 4 * 2048 * 2048);
}

TEST(MaskPage, ShowsFailuresFirstInEveryForm) {
  MaskPage page;
  page.name = "flops";
  page.title = "Cost <of> masks";
  page.claims = {AtMost({.text = "first", .source = "s", .paper = "1"}, 1, 2),
                 AtMost({.text = "second", .source = "s", .paper = "1"}, std::nullopt, 2),
                 AtMost({.text = "third", .source = "s", .paper = "1"}, 3, 2)};
  page.points.columns = {"a", "b"};
  page.points.rows = {{"x, y", 1.5}, {nullptr, 2}};
  EXPECT_EQ(PointsToCsv(page.points), "a,b\n\"x, y\",1.5\n,2\n");
  const std::string html = MaskPageHtml(page, {});
  ExpectSelfContained(html);
  EXPECT_THAT(html, HasSubstr("Cost &lt;of&gt; masks"));
  EXPECT_LT(html.find(">third<"), html.find(">second<"));
  EXPECT_LT(html.find(">second<"), html.find(">first<"));
  const nlohmann::ordered_json json = MaskPageToJson(page, {});
  EXPECT_EQ(json["claims"][0]["verdict"], "holds");
  EXPECT_EQ(json["claims"][1]["value"], nullptr);
  EXPECT_EQ(json["points"][0]["b"], 1.5);
  const std::string text = ClaimsToText({json});
  EXPECT_LT(text.find("third"), text.find("first"));
  ExpectSelfContained(MaskOverviewHtml({json, json}));
  EXPECT_EQ(CountText(page.claims), "Of 3 claims 1 do not hold, 1 are undecided, 1 hold.");
}

TEST(MaskPage, VerdictsAtTinySizesSayThatTheyAreNotOfThePapers) {
  MaskPage page;
  page.claims = {AtMost({.text = "t"}, 1, 2)};
  MaskProvenance quick;
  quick.is_quick = true;
  const char* warning = "Tiny sizes (--quick): the verdicts say nothing of the papers.";
  const nlohmann::ordered_json json = MaskPageToJson(page, quick);
  for (const std::string& head :
       {MaskPageHtml(page, quick), MaskOverviewHtml({MaskPageToJson(page, {}), json})}) {
    EXPECT_THAT(head, HasSubstr(std::string("<p class=\"verdict\">") + warning + " Of "));
  }
  EXPECT_THAT(ClaimsToText({json}), HasSubstr(warning));
  const nlohmann::ordered_json full = MaskPageToJson(page, {});
  for (const std::string& text :
       {MaskPageHtml(page, {}), MaskOverviewHtml({full}), ClaimsToText({full})}) {
    EXPECT_THAT(text, Not(HasSubstr("Tiny sizes")));
  }
}

TEST(MaskPage, FoldsManyClaimsThatHoldAway) {
  MaskPage page;
  const auto add = [&page](double value, int count) {
    for (int i = 0; i < count; ++i) page.claims.push_back(AtMost({.text = "t"}, value, 2));
  };
  add(1, 8);
  add(3, 1);
  EXPECT_EQ(MaskPageHtml(page, {}).find("<details>"), std::string::npos);
  add(1, 1);
  const std::string html = MaskPageHtml(page, {});
  ExpectSelfContained(html);
  const std::size_t fold = html.find("<details><summary>The 9 that hold</summary>");
  ASSERT_NE(fold, std::string::npos);
  EXPECT_LT(html.find(">does not hold<"), fold);
  EXPECT_GT(html.find(">holds<"), fold);
}

TEST(MaskPages, AnUnknownNameIsRefusedWithThoseThatAre) {
  const Status status = MakeMaskPage("other", MaskRun()).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_EQ(status.field(), "pages");
  EXPECT_THAT(status.message(), HasSubstr("gkat_cost"));
}

TEST(MaskPages, VariancesAreListedOnceHoweverManyComparisonsTakeThem) {
  MaskRun run;
  run.is_quick = true;
  const MaskPage page = MakeMaskPage("variance", run).value();
  std::set<std::string> settings;
  for (const auto& row : page.points.rows) {
    std::string setting;
    for (std::size_t i = 0; i < 5; ++i) setting += row[i].dump() + " ";
    EXPECT_TRUE(settings.insert(setting).second) << setting;
  }
  EXPECT_EQ(page.tables.front().rows.size(), settings.size());
  EXPECT_EQ(page.charts.front().series.front().y.size(), 3u) << "4, 8 and 16 walks";
}

TEST(MaskPages, GkatIsMeasuredByTheWaysThatItsNamesSay) {
  MaskRun run;
  run.is_quick = true;
  run.limit_s = 0;  // a run each
  const MaskPage page = MakeMaskPage("gkat_cost", run).value();
  std::set<std::string> layers;
  for (const auto& row : page.points.rows) {
    const std::string layer = row[1], way = row[2];
    EXPECT_TRUE(layer.ends_with(", " + way)) << layer << " by " << way;
    EXPECT_TRUE(row[4].is_number() && row[5].is_number()) << layer;
    layers.insert(layer);
  }
  for (const char* layer : {"GKAT, fastmult", "GKAT, pairs", "GKAT, dense", "GKAT-0, dense"}) {
    EXPECT_TRUE(layers.contains(layer)) << layer;
  }
  for (const MaskClaim& claim : page.claims) {
    EXPECT_TRUE(claim.text.find("GKAT, fastmult") != std::string::npos ||
                claim.text.find("GKAT, pairs") != std::string::npos)
        << claim.text;
  }
  ASSERT_EQ(page.charts.size(), 3u);
  for (const ChartSeries& series : page.charts[0].series) {
    EXPECT_TRUE(layers.contains(series.name)) << series.name;
    EXPECT_EQ(series.y.size(), page.charts[0].x_names.size());
    for (const double y : series.y) EXPECT_TRUE(std::isfinite(y)) << series.name;
  }
}

}  // namespace
}  // namespace interlacer
