#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cli/option_checks.h"
#include "cli/output.h"
#include "cli/verbs/verbs.h"
#include "common/file_io.h"
#include "common/json.h"
#include "common/thread_pool.h"
#include "data/manifest.h"
#include "experiments/masks/pages.h"

namespace interlacer::cli {
namespace {

namespace fs = std::filesystem;

constexpr double kBytesOfGib = 1 << 30;
/// --quick: a run of a length or two.
constexpr double kQuickLimitS = 0.02;

struct MasksArguments {
  std::string output;
  std::vector<std::string> pages;
  MaskRun run;
  double most_gib = 4;
  bool force = false;
};

double LoadAverage() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? load : 0;
}

/// The record of a finished page, if there is one of the same bounds.
StatusOr<std::optional<nlohmann::ordered_json>> FinishedPage(const MaskProvenance& how, bool force,
                                                             const std::string& record) {
  std::error_code ignored;
  if (force || !fs::exists(record, ignored)) {
    return std::optional<nlohmann::ordered_json>();
  }
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json read, ReadJsonFile(record));
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject page, JsonObject::Make(read));
  INTERLACER_ASSIGN_OR_RETURN(const auto schema, page.Get<std::string>("schema"));
  INTERLACER_ASSIGN_OR_RETURN(const bool is_quick, page.Get<bool>("quick"));
  const nlohmann::json bounds = how.bounds, theirs = read.value("bounds", nlohmann::json());
  if (schema != "interlacer.masks" || is_quick != how.is_quick || theirs != bounds) {
    return FailedPrecondition(reason::OUTPUT_EXISTS, record + ": expected a run within " +
                                                         bounds.dump() + ", got one within " +
                                                         theirs.dump() + "; --force replaces it")
        .WithField(record);
  }
  return std::optional<nlohmann::ordered_json>(read);
}

StatusOr<nlohmann::ordered_json> RunPage(const std::string& name, const MasksArguments& arguments,
                                         const VerbContext& context) {
  const fs::path folder(arguments.output);
  const std::string record = (folder / (name + ".json")).string();
  MaskRun run = arguments.run;
  MaskProvenance how;
  how.is_quick = run.is_quick;
  how.bounds = {{"longest", run.longest}, {"limit_s", run.limit_s}, {"most_bytes", run.most_bytes}};
  INTERLACER_ASSIGN_OR_RETURN(const auto finished, FinishedPage(how, arguments.force, record));
  if (finished) {
    context.Message(name + ": finished before");
    return *finished;
  }
  const auto progress = context.MakeProgress(name, 0);
  std::int64_t done = 0;
  run.stop = context.stop();
  run.progress = [&](const std::string& note) { progress->Update(++done, note); };
  how.cores = static_cast<int>(std::thread::hardware_concurrency());
  how.load_before = LoadAverage();
  how.command = context.command_line();
  const auto start = std::chrono::steady_clock::now();
  INTERLACER_ASSIGN_OR_RETURN(const MaskPage page, MakeMaskPage(name, run));
  how.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  how.load_after = LoadAverage();
  how.created_time = CurrentTimeRfc3339();
  progress->Finish();
  INTERLACER_RETURN_IF_ERROR(
      WriteFileAtomic((folder / (name + ".html")).string(), MaskPageHtml(page, how)));
  INTERLACER_RETURN_IF_ERROR(
      WriteFileAtomic((folder / (name + ".csv")).string(), PointsToCsv(page.points)));
  const nlohmann::ordered_json json = MaskPageToJson(page, how);
  // Last, because it says that the page is finished.
  INTERLACER_RETURN_IF_ERROR(WriteJsonFile(record, json));
  return json;
}

StatusOr<ExitCode> RunMasks(const MasksArguments& given, const VerbContext& context) {
  MasksArguments arguments = given;
  if (arguments.pages.empty()) arguments.pages = MaskPageNames();
  arguments.run.most_bytes = static_cast<std::int64_t>(arguments.most_gib * kBytesOfGib);
  if (arguments.run.is_quick) arguments.run.limit_s = kQuickLimitS;
  // What is measured is the time of one.
  SetThreadCount(1);
  INTERLACER_RETURN_IF_ERROR(MakeFolders(arguments.output));
  nlohmann::ordered_json result = nlohmann::ordered_json::array();
  for (const std::string& name : arguments.pages) {
    INTERLACER_ASSIGN_OR_RETURN(nlohmann::ordered_json page, RunPage(name, arguments, context));
    result.push_back(std::move(page));
    // After every page, so that what is interrupted can be read.
    const std::string overview = (fs::path(arguments.output) / "report.html").string();
    INTERLACER_RETURN_IF_ERROR(WriteFileAtomic(overview, MaskOverviewHtml(result)));
  }
  context.Result(result, ClaimsToText(result));
  return kExitDone;
}

}  // namespace

void AddMasksExperiment(CLI::App* experiment, VerbTable* verbs) {
  CLI::App* verb = experiment->add_subcommand(
      "masks", "What the papers say of cost and theory of masked attention, measured");
  const auto arguments = std::make_shared<MasksArguments>();
  verb->add_option("--pages", arguments->pages, "Pages, comma separated; default all")
      ->delimiter(',')
      ->check(CLI::IsMember(MaskPageNames()));
  verb->add_option("-o,--output", arguments->output,
                   "Folder to write; pages that are finished are kept")
      ->required();
  verb->add_flag("--quick", arguments->run.is_quick, "Tiny sizes, to see that it works");
  verb->add_option("--longest", arguments->run.longest, "Largest number of tokens")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{4096}, std::int64_t{1} << 20));
  verb->add_option("--limit", arguments->run.limit_s,
                   "CPU seconds of a run after which longer inputs are left out")
      ->capture_default_str()
      ->check(AboveZero());
  verb->add_option("--most-gib", arguments->most_gib,
                   "Memory in GiB that no measurement is expected to exceed")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 1024.0));
  verb->add_flag("--force", arguments->force, "Make finished pages anew");
  verbs->Add(verb,
             [arguments](const VerbContext& context) { return RunMasks(*arguments, context); });
}

}  // namespace interlacer::cli
