
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "cli/output.h"
#include "cli/verbs/verbs.h"
#include "common/file_io.h"
#include "common/json.h"
#include "data/manifest.h"
#include "evaluation/report_html.h"
#include "evaluation/score_text.h"
#include "evaluation/view_scores.h"

namespace interlacer::cli {
namespace {

namespace fs = std::filesystem;

struct ReportArguments {
  std::string results;
  std::string output;
  bool force = false;
};

StatusOr<ExitCode> RunReport(const ReportArguments& arguments, const VerbContext& context) {
  std::error_code error;
  const fs::path folder = fs::is_directory(arguments.results, error)
                              ? fs::path(arguments.results)
                              : fs::path(arguments.results).parent_path();
  const std::string output =
      arguments.output.empty() ? (folder / "report.html").string() : arguments.output;
  INTERLACER_RETURN_IF_ERROR(CheckNoOutput(output, arguments.force));
  INTERLACER_ASSIGN_OR_RETURN(const Results results, ReadResults(arguments.results));

  ReportInput input;
  input.title = "Evaluation on " + results.dataset_name;
  const std::string frames = (folder / "frames").string();
  input.variants = BaselineVariants(results, frames);
  const bool has_model = !EpisodeMeans(results, {kModelSubject, "", -1, "", {}}).empty();
  if (has_model || input.variants.empty()) {
    input.variants.insert(input.variants.begin(), {SubjectLabel(kModelSubject), &results,
                                                   std::string(kModelSubject), frames});
  }
  input.command = context.command_line();
  input.created_time = CurrentTimeRfc3339();
  INTERLACER_RETURN_IF_ERROR(WriteFileAtomic(output, ReportHtml(input)));
  context.Result({{"report", output}}, output + "\n");
  return kExitDone;
}

}  // namespace

void AddReport(CLI::App* app, VerbTable* verbs) {
  CLI::App* verb = app->add_subcommand("report", "One static page of the results of evaluate");
  const auto arguments = std::make_shared<ReportArguments>();
  verb->add_option("results", arguments->results, "results.json or its folder")->required();
  verb->add_option("-o,--output", arguments->output,
                   "Page to write; default report.html beside the results");
  verb->add_flag("--force", arguments->force, "Replace an existing page");
  verbs->Add(verb,
             [arguments](const VerbContext& context) { return RunReport(*arguments, context); });
}

}  // namespace interlacer::cli
