#include "experiments/masks/page.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "evaluation/score_chart.h"

namespace interlacer {
namespace {

constexpr int kMostHoldingShown = 8;
/// Before verdicts that were measured with --quick.
constexpr char kQuickText[] = "Tiny sizes (--quick): the verdicts say nothing of the papers. ";

int Rank(Verdict verdict) {
  return verdict == Verdict::kDoesNotHold ? 0 : verdict == Verdict::kUndecided ? 1 : 2;
}

std::string CellText(const nlohmann::ordered_json& value) {
  if (value.is_null()) return "";
  if (!value.is_string()) return JsonText(value, -1);
  const auto text = value.get<std::string>();
  return text.find_first_of(",\"\n") == std::string::npos ? text : JsonText(text, -1);
}

/// Those that hold are folded away where they are many.
std::string ClaimsHtml(const std::vector<MaskClaim>& claims) {
  HtmlTable open, holding;
  for (HtmlTable* table : {&open, &holding}) {
    table->is_numeric = false;
    table->header = {"claim", "source", "paper", "ours", "holds if", "verdict"};
  }
  const auto count = std::count_if(claims.begin(), claims.end(), [](const MaskClaim& claim) {
    return claim.verdict == Verdict::kHolds;
  });
  const bool folds = count > kMostHoldingShown;
  for (const MaskClaim& claim : FailuresFirst(claims)) {
    HtmlTable& table = folds && claim.verdict == Verdict::kHolds ? holding : open;
    table.rows.push_back({claim.text, claim.source, claim.paper, claim.ours, claim.rule,
                          std::string(VerdictText(claim.verdict))});
  }
  return (open.rows.empty() ? "" : TableHtml(open)) +
         (folds ? DetailsHtml("The " + std::to_string(count) + " that hold", TableHtml(holding))
                : "");
}

std::string MachineText(const MaskProvenance& how) {
  char text[384];
  std::snprintf(text, sizeof text,
                "One thread on a machine of %d cores, in %.0f s; processes that wanted a core, on "
                "average over a minute: %.1f before and %.1f after. Times are of the processor, "
                "which such company lengthens little; counts and estimates do not depend on it.",
                how.cores, how.seconds, how.load_before, how.load_after);
  return text;
}

Verdict VerdictOf(const std::string& text) {
  for (const Verdict verdict : {Verdict::kHolds, Verdict::kDoesNotHold}) {
    if (text == VerdictText(verdict)) return verdict;
  }
  return Verdict::kUndecided;
}

std::vector<MaskClaim> ClaimsOf(const nlohmann::ordered_json& page) {
  std::vector<MaskClaim> claims;
  for (const auto& claim : page.at("claims")) {
    claims.push_back({claim.at("claim"), claim.at("source"), claim.at("paper"), claim.at("ours"),
                      std::nullopt, claim.at("rule"), VerdictOf(claim.at("verdict"))});
  }
  return claims;
}

/// Empty where no page was measured so.
std::string QuickText(const std::vector<nlohmann::ordered_json>& pages) {
  const bool has_quick = std::any_of(pages.begin(), pages.end(), [](const auto& page) {
    return page.at("quick").template get<bool>();
  });
  return has_quick ? kQuickText : "";
}

}  // namespace

std::string CountText(const std::vector<MaskClaim>& claims) {
  std::map<Verdict, std::size_t> counts;
  for (const MaskClaim& claim : claims) ++counts[claim.verdict];
  const auto count = [&](Verdict verdict) { return std::to_string(counts[verdict]); };
  return "Of " + std::to_string(claims.size()) + " claims " + count(Verdict::kDoesNotHold) +
         " do not hold, " + count(Verdict::kUndecided) + " are undecided, " +
         count(Verdict::kHolds) + " hold.";
}

std::vector<MaskClaim> FailuresFirst(std::vector<MaskClaim> claims) {
  std::stable_sort(claims.begin(), claims.end(), [](const MaskClaim& a, const MaskClaim& b) {
    return Rank(a.verdict) < Rank(b.verdict);
  });
  return claims;
}

std::string MaskPageHtml(const MaskPage& page, const MaskProvenance& provenance) {
  std::string notes, charts, tables;
  for (const std::string& note : page.notes) notes += ParagraphHtml(note);
  for (const ChartSpec& chart : page.charts) charts += FigureHtml(LineChartSvg(chart));
  for (const HtmlTable& table : page.tables) tables += TableHtml(table);
  const std::string body =
      SectionHtml("Claims", ClaimsHtml(page.claims)) +
      (charts.empty() ? "" : SectionHtml("Measured", ChartsHtml(charts))) +
      (tables.empty() ? "" : SectionHtml("Numbers", tables)) +
      SectionHtml("How it was made",
                  notes + ParagraphHtml(MachineText(provenance)) +
                      ParagraphHtml(provenance.created_time + ": " + provenance.command));
  return PageHtml(page.title, (provenance.is_quick ? kQuickText : "") + CountText(page.claims),
                  body);
}

nlohmann::ordered_json MaskPageToJson(const MaskPage& page, const MaskProvenance& provenance) {
  nlohmann::ordered_json json = {
      {"schema", "interlacer.masks"},
      {"schema_version", 1},
      {"page", page.name},
      {"title", page.title},
      {"quick", provenance.is_quick},
      {"bounds", provenance.bounds},
      {"machine",
       {{"cores", provenance.cores},
        {"load_before", provenance.load_before},
        {"load_after", provenance.load_after},
        {"seconds", provenance.seconds}}},
      {"command", provenance.command},
      {"created_time", provenance.created_time},
      {"notes", page.notes},
      {"claims", nlohmann::ordered_json::array()},
      {"points", nlohmann::ordered_json::array()},
  };
  for (const MaskClaim& claim : page.claims) {
    json["claims"].push_back(
        {{"claim", claim.text},
         {"source", claim.source},
         {"paper", claim.paper},
         {"ours", claim.ours},
         {"value", claim.value ? nlohmann::ordered_json(*claim.value) : nullptr},
         {"rule", claim.rule},
         {"verdict", VerdictText(claim.verdict)}});
  }
  for (const auto& row : page.points.rows) {
    nlohmann::ordered_json point;
    for (std::size_t i = 0; i < row.size(); ++i) point[page.points.columns[i]] = row[i];
    json["points"].push_back(std::move(point));
  }
  return json;
}

std::string PointsToCsv(const PointTable& points) {
  std::string csv;
  for (const std::string& column : points.columns) csv += (csv.empty() ? "" : ",") + column;
  csv += "\n";
  for (const auto& row : points.rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += (i == 0 ? "" : ",") + CellText(row[i]);
    csv += line + "\n";
  }
  return csv;
}

std::string MaskOverviewHtml(const std::vector<nlohmann::ordered_json>& pages) {
  std::string body;
  std::vector<MaskClaim> all;
  for (const auto& page : pages) {
    const std::vector<MaskClaim> claims = ClaimsOf(page);
    all.insert(all.end(), claims.begin(), claims.end());
    const auto name = page.at("page").get<std::string>();
    body += SectionHtml(page.at("title").get<std::string>(),
                        ParagraphHtml(CountText(claims) + " Charts and numbers: " + name +
                                      ".html, " + name + ".json, " + name + ".csv." +
                                      (page.at("quick").get<bool>() ? " Tiny sizes." : "")) +
                            ClaimsHtml(claims));
  }
  return PageHtml("Masks: the papers' statements, measured", QuickText(pages) + CountText(all),
                  body);
}

std::string ClaimsToText(const std::vector<nlohmann::ordered_json>& pages) {
  std::string text = QuickText(pages);
  if (!text.empty()) text += "\n";
  for (const auto& page : pages) {
    text += page.at("page").get<std::string>() + ": " + page.at("title").get<std::string>() + "\n";
    for (const MaskClaim& claim : FailuresFirst(ClaimsOf(page))) {
      char verdict[32];
      std::snprintf(verdict, sizeof verdict, "  %-13s  ",
                    std::string(VerdictText(claim.verdict)).c_str());
      text += verdict + claim.text + ": " + claim.ours + " (" + claim.rule + "; " + claim.source +
              ": " + claim.paper + ")\n";
    }
  }
  return text;
}

}  // namespace interlacer
