#include "bench/program.h"

#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <set>
#include <string>

#include "bench/runner.h"

namespace interlacer::bench {
namespace {

/// Particles when cases are only listed, so that their inputs stay small.
constexpr std::int64_t kListParticles = 64;

ExitCode List(const Platform& platform, const Options& wanted) {
  for (const Stage& stage : platform.stages) {
    if (!wanted.stage.empty() && wanted.stage != stage.name) continue;
    Options options = wanted;
    options.stage = stage.name;
    options.n = kListParticles;
    options.timesteps = 2;
    options.dtype = "f32";
    for (const Case& item : MakeCases(platform, options)) {
      std::cout << stage.name << "  " << item.peer << "  "
                << (item.run_peer ? "found " + item.peer_version : "missing: " + item.skipped)
                << "\n";
    }
  }
  return kPassed;
}

ExitCode WriteCeilings(const Platform& platform, std::ostream& out) {
  if (!platform.absent.empty()) throw StageAbsent("ceilings: " + platform.absent);
  for (auto& ceiling : platform.measure_ceilings()) {
    std::fprintf(stderr, "%-32s %2d thread(s) %10.1f %s\n",
                 ceiling["case"].get<std::string>().c_str(), ceiling["threads"].get<int>(),
                 ceiling["value"].get<double>(), ceiling["unit"].get<std::string>().c_str());
    AddOrigin(platform, &ceiling);
    out << ceiling.dump() << std::endl;
  }
  return kPassed;
}

/// Ours without a peer, each form of it once.
void KeepOursAlone(std::vector<Case>* cases) {
  std::set<std::string> kept;
  std::erase_if(*cases, [&](const Case& item) { return !kept.insert(item.ours).second; });
  for (Case& item : *cases) {
    item.name = item.name.substr(0, item.name.rfind('/')) + "/" + kNoPeer;
    item.peer = kNoPeer;
    item.skipped = "not asked for";
    item.run_peer = nullptr;
    item.goal.reset();
    item.goal_p99.reset();
  }
}

ExitCode RunStage(const Platform& platform, const Options& options, std::ostream& out) {
  std::vector<Case> cases = MakeCases(platform, options);
  if (options.peer == kNoPeer) {
    KeepOursAlone(&cases);
  } else if (!options.peer.empty()) {
    std::erase_if(cases, [&](const Case& item) { return item.peer != options.peer; });
  }
  if (cases.empty()) throw UsageError("--peer: this stage has no peer " + options.peer);
  std::cerr << "seed " << options.seed << ", " << options.threads << " thread(s), "
            << options.rounds << " round(s)\n";
  ExitCode result = kPassed;
  for (Case& item : cases) {
    const Outcome outcome = RunCase(platform, item, options);
    out << outcome.json.dump() << std::endl;
    PrintRow(outcome, std::cerr);
    if (!outcome.correct || !outcome.goal_held) result = kFailed;
    if (outcome.skipped && options.require_peer && result == kPassed) result = kAbsent;
    item = {};  // frees its memory for the next case
  }
  return platform.absent.empty() ? result : kAbsent;
}

ExitCode Run(const Options& options, const std::vector<Platform>& platforms) {
  for (const Platform& platform : platforms) {
    if (platform.device != options.device) continue;
    platform.prepare(options);
    if (options.list) return List(platform, options);
    std::ofstream file;
    if (options.json != "-") {
      file.open(options.json, std::ios::app);
      if (!file) throw UsageError("--json: cannot write " + options.json);
    }
    std::ostream& out = options.json == "-" ? std::cout : file;
    return options.ceilings ? WriteCeilings(platform, out) : RunStage(platform, options, out);
  }
  throw UsageError("--device: this build does not measure on " + options.device);
}

}  // namespace

std::vector<Case> MakeCases(const Platform& platform, const Options& options) {
  for (const Stage& stage : platform.stages) {
    if (options.stage == stage.name) return stage.make_cases(options);
  }
  throw StageAbsent(options.stage + ": has no form on " + platform.device);
}

int RunProgram(int argc, const char* const* argv, std::vector<Platform> (*make_platforms)()) {
  int exit_code = 0;
  const auto options = ParseOptions(argc, argv, &exit_code);
  if (!options) return exit_code;
  try {
    return Run(*options, make_platforms());
  } catch (const UsageError& error) {
    std::cerr << "error: " << error.what() << "\n";
    return kUsage;
  } catch (const StageAbsent& error) {
    std::cerr << "error: " << error.what() << "\n";
    return kAbsent;
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << "\n";
    return kFailed;
  }
}

}  // namespace interlacer::bench
