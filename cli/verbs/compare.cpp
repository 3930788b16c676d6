
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/describe.h"
#include "cli/output.h"
#include "cli/verbs/verbs.h"
#include "common/file_io.h"
#include "common/json.h"
#include "data/manifest.h"
#include "evaluation/comparison.h"
#include "evaluation/report_html.h"
#include "evaluation/score_text.h"
#include "evaluation/view_scores.h"

namespace interlacer::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kComparisonFile[] = "comparison.json";

struct CompareArguments {
  std::vector<std::string> results;
  std::string output;
  std::vector<std::string> fail_if;
  bool allow_different = false;
  bool force = false;
};

/// A short and distinct name: the folder's, with a number where two are equal.
std::string NameOf(const std::string& path, const std::vector<Variant>& others) {
  std::error_code error;
  const fs::path normal = fs::absolute(path).lexically_normal();
  const fs::path folder = fs::is_directory(path, error) ? normal : normal.parent_path();
  const fs::path last = folder.has_filename() ? folder.filename() : folder.parent_path().filename();
  const std::string name = last.empty() ? "results" : last.string();
  for (const Variant& other : others) {
    if (other.name == name) return name + " (" + std::to_string(others.size() + 1) + ")";
  }
  return name;
}

std::string FramesDir(const std::string& path) {
  std::error_code error;
  return ((fs::is_directory(path, error) ? fs::path(path) : fs::path(path).parent_path()) /
          "frames")
      .string();
}

std::string SummaryText(const std::vector<Variant>& variants) {
  std::string text;
  bool has_few = false;
  for (const std::string& metric : MetricsOf(*variants[0].results)) {
    const std::vector<VariantScore> scores = CompareVariants(variants, metric, -1);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (!scores[i].mean) continue;
      text += Format("%-28s %-26s %8.4f", metric.c_str(), variants[i].name.c_str(),
                     scores[i].mean->mean);
      if (const auto& d = scores[i].difference) {
        text += Format("  %+.4f", d->difference.mean);
        if (d->difference.interval) {
          text +=
              Format(" [%+.4f, %+.4f]", d->difference.interval->low, d->difference.interval->high);
        }
        text += Format("  n %d, %d : %d", d->difference.n, d->wins, d->losses);
        has_few = has_few || (d->difference.interval && d->difference.n < kFewestToDecide);
        const int left_out = scores[i].left_out_count;
        if (left_out > 0) text += Format(", without %d values that one of both lacks", left_out);
      }
      text += "\n";
    }
  }
  for (const Variant& variant : variants) {
    if (variant.subject != kModelSubject) continue;
    for (const std::string_view metric : kMotionMetrics) {
      const std::optional<RatioEstimate> share = ShareOfMotion(variant, metric, -1);
      if (!share) continue;
      text += Format("%-28s %-26s %s of what true motion wins\n", std::string(metric).c_str(),
                     variant.name.c_str(), RatioText(share).c_str());
    }
  }
  if (has_few) text += std::string("95 % intervals") + kFewEpisodesText + "\n";
  return text;
}

StatusOr<bool> AnyRuleBroken(const CompareArguments& arguments,
                             const std::vector<Variant>& variants, const VerbContext& context) {
  bool is_broken = false;
  for (const std::string& text : arguments.fail_if) {
    INTERLACER_ASSIGN_OR_RETURN(const FailRule rule, ParseFailRule(text));
    INTERLACER_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                                VariantsThatBreak(rule, variants));
    for (const std::string& name : names) context.Message("regression: " + name + ", " + text);
    is_broken = is_broken || !names.empty();
  }
  return is_broken;
}

StatusOr<ExitCode> RunCompare(const CompareArguments& arguments, const VerbContext& context) {
  if (arguments.results.size() < 2 && !arguments.fail_if.empty()) {
    return Mismatch(reason::ARGUMENT_INVALID, "--fail-if", "two results or more", "one");
  }
  std::vector<Results> results;
  for (const std::string& path : arguments.results) {
    INTERLACER_ASSIGN_OR_RETURN(Results one, ReadResults(path));
    results.push_back(std::move(one));
  }
  ReportInput input;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Status comparable = CheckComparable(results[0], results[i]);
    if (!comparable.ok() && !arguments.allow_different) return comparable;
    input.variants.push_back({NameOf(arguments.results[i], input.variants), &results[i],
                              std::string(kModelSubject), FramesDir(arguments.results[i])});
    if (!comparable.ok()) {
      input.warnings.push_back("Not comparable as they stand: " + input.variants.back().name +
                               " differs from " + input.variants[0].name + " in " +
                               comparable.message());
    }
  }
  for (std::size_t i = 1; i < results.size(); ++i) {
    if (results[i].seed == results[0].seed) continue;
    input.warnings.push_back(input.variants[i].name + " has seed " +
                             std::to_string(results[i].seed) + " and " + input.variants[0].name +
                             " seed " + std::to_string(results[0].seed) +
                             ": their particles were drawn anew, a part of every difference");
    context.Message("note: " + input.warnings.back());
  }
  INTERLACER_ASSIGN_OR_RETURN(const bool is_broken,
                              AnyRuleBroken(arguments, input.variants, context));
  for (Variant& baseline : BaselineVariants(results[0], FramesDir(arguments.results[0]))) {
    input.variants.push_back(std::move(baseline));
  }
  const nlohmann::ordered_json json = ComparisonToJson(input.variants);
  const std::string summary = SummaryText(input.variants);
  if (!arguments.output.empty()) {
    INTERLACER_ASSIGN_OR_RETURN(OutputFolder folder,
                                OutputFolder::Create(arguments.output, kComparisonFile,
                                                     arguments.force, arguments.results));
    input.title = "Comparison on " + results[0].dataset_name;
    input.command = context.command_line();
    input.created_time = CurrentTimeRfc3339();
    INTERLACER_ASSIGN_OR_RETURN(const std::string page, folder.FilePath("report.html"));
    INTERLACER_RETURN_IF_ERROR(WriteFileAtomic(page, ReportHtml(input)));
    INTERLACER_ASSIGN_OR_RETURN(const std::string file, folder.FilePath(kComparisonFile));
    INTERLACER_RETURN_IF_ERROR(WriteJsonFile(file, json));
    INTERLACER_RETURN_IF_ERROR(folder.Commit());
  }
  context.Result(json, summary);
  return is_broken ? kExitCheckFailed : kExitDone;
}

}  // namespace

void AddCompare(CLI::App* app, VerbTable* verbs) {
  CLI::App* verb = app->add_subcommand(
      "compare", "Compare results, and the baselines of the first one, pair by pair");
  const auto arguments = std::make_shared<CompareArguments>();
  verb->add_option("results", arguments->results, "results.json files or their folders")
      ->required()
      ->expected(1, -1);
  verb->add_option("-o,--output", arguments->output,
                   "Folder to write comparison.json and report.html to");
  verb->add_option("--fail-if", arguments->fail_if,
                   "Exit 1 when a difference to the first breaks a rule such as 'ssim@8 < -0.01'");
  verb->add_flag("--allow-different", arguments->allow_different,
                 "Compare results of different data or settings; the page says so");
  verb->add_flag("--force", arguments->force, "Replace existing output");
  verbs->Add(verb,
             [arguments](const VerbContext& context) { return RunCompare(*arguments, context); });
}

}  // namespace interlacer::cli
