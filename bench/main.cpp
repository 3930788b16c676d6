/// interlacer_bench: every claim about speed, checked and measured on the machine at hand.

#include <cstdio>
#include <fstream>
#include <iostream>

#include "bench/ceilings.h"
#include "bench/machine.h"
#include "bench/runner.h"
#include "bench/stages.h"
#include "bench/threads.h"
#include "common/log.h"

namespace interlacer::bench {
namespace {

enum ExitCode { kPassed = 0, kFailed = 1, kUsage = 2, kAbsent = 3 };

/// Only what the names of cases depend on; inputs stay small.
constexpr std::int64_t kListParticles = 64;

ExitCode List(const Options& wanted) {
  for (const std::string& stage : StageNames()) {
    if (!wanted.stage.empty() && wanted.stage != stage) continue;
    Options options = wanted;
    options.stage = stage;
    options.n = kListParticles;
    options.timesteps = 2;
    options.dtype = "f32";
    for (const Case& item : MakeCases(options)) {
      std::cout << stage << "  " << item.peer << "  "
                << (item.run_peer ? "found " + item.peer_version : "missing: " + item.skipped)
                << "\n";
    }
  }
  return kPassed;
}

ExitCode WriteCeilings(std::ostream& out) {
  for (auto& ceiling : MeasureCeilings()) {
    std::fprintf(stderr, "%-32s %2d thread(s) %10.1f %s\n",
                 ceiling["case"].get<std::string>().c_str(), ceiling["threads"].get<int>(),
                 ceiling["value"].get<double>(), ceiling["unit"].get<std::string>().c_str());
    ceiling["versions"] = DescribeVersions();
    ceiling["machine"] = DescribeMachine();
    ceiling["git"] = GitRevision();
    ceiling["time_utc"] = TimeUtc();
    out << ceiling.dump() << std::endl;
  }
  return kPassed;
}

ExitCode RunStage(const Options& options, std::ostream& out) {
  std::vector<Case> cases = MakeCases(options);
  std::erase_if(
      cases, [&](const Case& item) { return !options.peer.empty() && item.peer != options.peer; });
  if (cases.empty()) throw UsageError("--peer: this stage has no peer " + options.peer);
  std::cerr << "seed " << options.seed << ", " << options.threads << " thread(s), "
            << options.rounds << " round(s)\n";
  ExitCode result = kPassed;
  for (Case& item : cases) {
    const Outcome outcome = RunCase(item, options);
    out << outcome.json.dump() << std::endl;
    PrintRow(outcome, std::cerr);
    if (!outcome.correct || !outcome.goal_held) result = kFailed;
    if (outcome.skipped && options.require_peer && result == kPassed) result = kAbsent;
    item = {};  // its memory is the next one's
  }
  return result;
}

ExitCode Main(int argc, char** argv) {
  int exit_code = 0;
  const auto options = ParseOptions(argc, argv, &exit_code);
  if (!options) return static_cast<ExitCode>(exit_code);
  UseThreads(options->threads);
  InitLogging(LogLevel::kError, LogFormat::kText);  // of the server that rpc measures
  try {
    if (options->list) return List(*options);
    std::ofstream file;
    if (options->json != "-") {
      file.open(options->json, std::ios::app);
      if (!file) throw UsageError("--json: cannot write " + options->json);
    }
    std::ostream& out = options->json == "-" ? std::cout : file;
    return options->ceilings ? WriteCeilings(out) : RunStage(*options, out);
  } catch (const UsageError& error) {
    std::cerr << "error: " << error.what() << "\n";
    return kUsage;
  } catch (const StageAbsent& error) {
    std::cerr << "error: " << error.what() << "\n";
    return kAbsent;
  }
}

}  // namespace
}  // namespace interlacer::bench

int main(int argc, char** argv) { return interlacer::bench::Main(argc, argv); }
