#include "bench/runner.h"

#include <cmath>
#include <cstdio>
#include <exception>
#include <iomanip>
#include <ostream>
#include <utility>

#include "bench/machine.h"
#include "bench/timer.h"

namespace interlacer::bench {
namespace {

using Json = nlohmann::ordered_json;

/// NaN and infinity have no form in JSON.
Json Number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// `work` with inputs as the option `inputs` says. Work measures its own time, without the flush.
Work WithInputs(const Platform& platform, const Work& work, const Options& options) {
  if (!work || options.inputs == "warm") return work;
  return [work, flush = platform.flush_caches] {
    flush();
    return work();
  };
}

GateResult CheckGate(const Case& item, std::string* failure) {
  try {
    return item.gate();
  } catch (const std::exception& error) {
    *failure = error.what();
    return {};
  }
}

void WriteTimes(const Platform& platform, const Case& item, const PairTiming& timing,
                const Options& options, Json* json) {
  const double ours_ms = timing.ours.quantile_ms(0.5), peer_ms = timing.peer.quantile_ms(0.5);
  (*json)["ours_ms"] = Number(ours_ms);
  (*json)["peer_ms"] = Number(peer_ms);
  (*json)["ratio"] = Number(peer_ms / ours_ms);
  for (const auto& [name, q] :
       {std::pair{"p10", 0.1}, std::pair{"p90", 0.9}, std::pair{"p99", 0.99}}) {
    (*json)[std::string("ours_") + name + "_ms"] = Number(timing.ours.quantile_ms(q));
    (*json)[std::string("peer_") + name + "_ms"] = Number(timing.peer.quantile_ms(q));
  }
  (*json)["rounds"] = options.rounds;
  (*json)["repeats"] = {{"ours", timing.ours.repeats}, {"peer", timing.peer.repeats}};
  if (item.floor) {
    const bool memory = item.floor->kind == Floor::Kind::kMemoryBytes;
    const double floor_ms = 1e3 * item.floor->amount / platform.rate(item.floor->kind, item.dtype);
    (*json)["floor_ms"] = Number(floor_ms);
    (*json)["floor_kind"] = memory ? platform.memory : "best_matmul";
    (*json)["floor_ratio"] = Number(ours_ms / floor_ms);
  }
}

/// Whether the case reached the fraction `share` of its goals; a case without a ratio misses none.
bool ReachesGoals(const Case& item, const Json& json, double share) {
  const auto reached = [&](const std::optional<double>& goal, double ratio) {
    return !goal || ratio >= share * *goal;
  };
  if (!json["ratio"].is_number()) return true;
  bool result = reached(item.goal, json["ratio"].get<double>());
  if (item.goal_p99) {
    result = result && reached(item.goal_p99, json["peer_p99_ms"].get<double>() /
                                                  json["ours_p99_ms"].get<double>());
  }
  return result;
}

Json Describe(const Case& item, const Options& options) {
  Json json = {{"schema", "interlacer.bench/1"},
               {"stage", item.stage},
               {"case", item.name},
               {"device", options.device},
               {"dtype", item.dtype},
               {"cloud", item.cloud.empty() ? Json(nullptr) : Json(item.cloud)},
               {"n", item.n},
               {"tokens", item.tokens},
               {"d", item.d},
               {"threads", options.threads},
               {"params", item.params},
               {"ours", item.ours},
               {"peer", item.peer}};
  for (const char* key :
       {"ours_ms",     "peer_ms",     "ratio",       "ours_p10_ms", "ours_p90_ms",
        "peer_p10_ms", "peer_p90_ms", "ours_p99_ms", "peer_p99_ms", "rounds",
        "repeats",     "error",       "error_kind",  "error_bound", "reference",
        "correct",     "recall",      "floor_ms",    "floor_kind",  "floor_ratio"}) {
    json[key] = nullptr;
  }
  json["inputs"] = options.inputs;
  json["seed"] = options.seed;
  json["goal"] = OrNull(item.goal);
  if (item.goal_p99) json["goal_p99"] = *item.goal_p99;
  json["goal_met"] = nullptr;
  return json;
}

void CheckAndTime(const Platform& platform, const Case& item, const Options& options,
                  Outcome* outcome) {
  Json& json = outcome->json;
  std::string failure;
  const GateResult gate = CheckGate(item, &failure);
  outcome->correct = gate.correct();
  json["error"] = Number(gate.error);
  json["error_kind"] = gate.error_kind;
  json["error_bound"] = gate.error_bound;
  json["reference"] = gate.reference;
  json["correct"] = outcome->correct;
  json["recall"] = OrNull(gate.recall);
  json["params"].update(gate.params);
  if (!failure.empty()) json["failure"] = failure;

  std::string skipped = item.skipped;
  if (outcome->correct && options.rounds > 0) {
    const Work ours = WithInputs(platform, item.run_ours, options);
    const Work peer = WithInputs(platform, item.run_peer, options);
    PairTiming timing;
    try {
      timing = TimeInTurn(ours, peer, options.rounds);
    } catch (const std::exception& error) {  // the peer's: ours ran in the gate
      skipped = error.what();
      timing = TimeInTurn(ours, nullptr, options.rounds);
    }
    WriteTimes(platform, item, timing, options, &json);
    if (item.peer_recall && skipped.empty()) json["peer_recall"] = Number(item.peer_recall());
  }
  outcome->skipped = !skipped.empty();
  if (outcome->skipped) json["skipped"] = skipped;
  if (json["ratio"].is_number() && item.goal) json["goal_met"] = ReachesGoals(item, json, 1);
  if (options.gate) outcome->goal_held = ReachesGoals(item, json, *options.gate);
}

}  // namespace

void AddOrigin(const Platform& platform, Json* json) {
  (*json)["versions"].update(DescribeVersions());
  (*json)["machine"] = DescribeMachine();
  (*json)["machine"].update(platform.machine);
  (*json)["git"] = GitRevision();
  (*json)["time_utc"] = TimeUtc();
}

Outcome RunCase(const Platform& platform, const Case& item, const Options& options) {
  Outcome outcome;
  Json& json = outcome.json;
  json = Describe(item, options);
  if (platform.absent.empty()) {
    CheckAndTime(platform, item, options, &outcome);
  } else {
    json["skipped"] = platform.absent;
    outcome.skipped = true;
  }
  AddOrigin(platform, &json);
  if (!item.peer_version.empty()) json["versions"]["peer"] = item.peer_version;
  return outcome;
}

void PrintRow(const Outcome& outcome, std::ostream& out) {
  const Json& json = outcome.json;
  const auto number = [&](const char* key, int digits) -> std::string {
    if (!json[key].is_number()) return "-";
    char text[32];
    std::snprintf(text, sizeof(text), "%.*f", digits, json[key].get<double>());
    return text;
  };
  char error[32] = "-";
  if (json["error"].is_number()) {
    std::snprintf(error, sizeof(error), "%.1e", json["error"].get<double>());
  }
  out << std::left << std::setw(58) << json["case"].get<std::string>() << std::right
      << std::setw(11) << number("ours_ms", 3) << std::setw(11) << number("peer_ms", 3)
      << std::setw(9) << number("ratio", 2) << std::setw(8) << number("goal", 2) << std::setw(10)
      << error << (json["correct"] == false ? "  WRONG" : "");
  if (json.contains("failure")) out << "  " << json["failure"].get<std::string>();
  if (json["goal_met"].is_boolean()) out << (json["goal_met"].get<bool>() ? "  met" : "  missed");
  if (json.contains("peer_recall")) out << "  peer's recall " << number("peer_recall", 4);
  if (json.contains("skipped")) out << "  skipped: " << json["skipped"].get<std::string>();
  out << std::endl;
}

}  // namespace interlacer::bench
