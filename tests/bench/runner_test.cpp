/// What a case becomes: gate before time, missing peers skipped, goals judged, every field there.

#include "bench/runner.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "bench/machine.h"

namespace interlacer::bench {
namespace {

struct Counts {
  int ours = 0;
  int peer = 0;
};

/// Ours takes 2 ms, the peer 10; the goal is 4 times.
Case MakeCase(Counts* counts, double error) {
  Case item;
  item.stage = "made_up";
  item.name = "made_up/case";
  item.goal = 4;
  item.gate = [error] {
    GateResult gate;
    gate.error = error;
    gate.error_bound = 1e-5;
    return gate;
  };
  item.run_ours = [counts] {
    ++counts->ours;
    return 2.0;
  };
  item.run_peer = [counts] {
    ++counts->peer;
    return 10.0;
  };
  return item;
}

const Platform kHere;

Options OneRound() {
  Options options;
  options.rounds = 1;
  options.threads = 1;
  options.seed = 3;
  return options;
}

TEST(RunCase, RatioIsPeerOverOurs) {
  Counts counts;
  const Outcome outcome = RunCase(kHere, MakeCase(&counts, 0), OneRound());
  EXPECT_TRUE(outcome.correct);
  EXPECT_EQ(outcome.json["ours_ms"], 2.0);
  EXPECT_EQ(outcome.json["peer_ms"], 10.0);
  EXPECT_EQ(outcome.json["ratio"], 5.0);
  EXPECT_EQ(outcome.json["goal_met"], true);
}

TEST(RunCase, AFailedGateTimesNothing) {
  for (const double error : {1.0, std::numeric_limits<double>::quiet_NaN()}) {
    Counts counts;
    const Outcome outcome = RunCase(kHere, MakeCase(&counts, error), OneRound());
    EXPECT_FALSE(outcome.correct);
    EXPECT_EQ(outcome.json["correct"], false);
    EXPECT_TRUE(outcome.json["ratio"].is_null());
    EXPECT_EQ(counts.ours + counts.peer, 0);
  }
}

TEST(RunCase, AGateThatThrowsFailsAndSaysWhy) {
  Counts counts;
  Case item = MakeCase(&counts, 0);
  item.gate = []() -> GateResult { throw std::runtime_error("no reference"); };
  const Outcome outcome = RunCase(kHere, item, OneRound());
  EXPECT_FALSE(outcome.correct);
  EXPECT_EQ(outcome.json["failure"], "no reference");
}

TEST(RunCase, AMissingOrFailingPeerIsSkippedAndOursTimed) {
  Counts counts;
  Case missing = MakeCase(&counts, 0);
  missing.run_peer = nullptr;
  missing.skipped = "not installed";
  Case failing = MakeCase(&counts, 0);
  failing.run_peer = []() -> double { throw std::runtime_error("it crashed"); };
  for (const auto& [item, reason] :
       {std::pair{missing, "not installed"}, std::pair{failing, "it crashed"}}) {
    const Outcome outcome = RunCase(kHere, item, OneRound());
    EXPECT_TRUE(outcome.skipped);
    EXPECT_TRUE(outcome.correct);
    EXPECT_TRUE(outcome.goal_held);
    EXPECT_EQ(outcome.json["skipped"], reason);
    EXPECT_EQ(outcome.json["ours_ms"], 2.0);
    EXPECT_TRUE(outcome.json["peer_ms"].is_null());
    EXPECT_TRUE(outcome.json["ratio"].is_null());
  }
}

TEST(RunCase, WhatTheGateFindsOutOfTheProblemStandsAmongTheParameters) {
  Counts counts;
  Case item = MakeCase(&counts, 0);
  item.params = {{"asked", 1}};
  item.gate = [gate = item.gate] {
    GateResult result = gate();
    result.params = {{"way", "fastmult"}};
    return result;
  };
  const Outcome outcome = RunCase(kHere, item, OneRound());
  EXPECT_EQ(outcome.json["params"].dump(), R"({"asked":1,"way":"fastmult"})");
}

TEST(RunCase, TheGateOptionAsksForAShareOfTheGoal) {
  Counts counts;
  Options options = OneRound();
  Case item = MakeCase(&counts, 0);
  item.goal = 6;  // the ratio is 5
  EXPECT_TRUE(RunCase(kHere, item, options).goal_held);
  options.gate = 0.7;
  EXPECT_TRUE(RunCase(kHere, item, options).goal_held);
  options.gate = 0.9;
  const Outcome outcome = RunCase(kHere, item, options);
  EXPECT_FALSE(outcome.goal_held);
  EXPECT_EQ(outcome.json["goal_met"], false);
}

TEST(RunCase, A99thPercentileHasAGoalOfItsOwn) {
  Counts counts;
  Case item = MakeCase(&counts, 0);
  item.goal_p99 = 6;
  EXPECT_EQ(RunCase(kHere, item, OneRound()).json["goal_met"], false);
}

TEST(RunCase, AnAbsentPlatformSkipsAndRunsNothing) {
  Counts counts;
  Platform nowhere;
  nowhere.absent = "no device";
  Case item = MakeCase(&counts, 0);
  item.gate = []() -> GateResult { throw std::runtime_error("was run"); };
  const Outcome outcome = RunCase(nowhere, item, OneRound());
  EXPECT_TRUE(outcome.skipped);
  EXPECT_EQ(outcome.json["skipped"], "no device");
  EXPECT_TRUE(outcome.json["correct"].is_null());
  EXPECT_TRUE(outcome.json["ours_ms"].is_null());
  EXPECT_FALSE(outcome.json.contains("failure"));
  EXPECT_EQ(counts.ours + counts.peer, 0);
}

TEST(RunCase, NoRoundsCheckTheGateAlone) {
  Counts counts;
  Options options = OneRound();
  options.rounds = 0;
  const Outcome outcome = RunCase(kHere, MakeCase(&counts, 0), options);
  EXPECT_TRUE(outcome.correct);
  EXPECT_EQ(counts.ours + counts.peer, 0);
}

TEST(Origin, TheRevisionIsThatOfTheBuildWhateverTheTreeIsNow) {
  unsetenv("BENCH_REVISION");
  const std::string built = GitRevision();
  setenv("BENCH_SOURCE_DIR", "/nonexistent", 1);
  EXPECT_EQ(GitRevision(), built);
  setenv("BENCH_REVISION", "told", 1);
  EXPECT_EQ(GitRevision(), built == "unknown" ? "told" : built);
  unsetenv("BENCH_REVISION");
  unsetenv("BENCH_SOURCE_DIR");
}

TEST(RunCase, WritesEveryFieldOfTheContractOnOneLine) {
  Counts counts;
  const Outcome outcome = RunCase(kHere, MakeCase(&counts, 0), OneRound());
  for (const char* field :
       {"schema",      "stage",       "case",        "device",      "dtype",       "cloud",
        "n",           "tokens",      "d",           "threads",     "params",      "ours",
        "peer",        "ours_ms",     "peer_ms",     "ratio",       "ours_p10_ms", "ours_p90_ms",
        "peer_p10_ms", "peer_p90_ms", "ours_p99_ms", "peer_p99_ms", "rounds",      "repeats",
        "error",       "error_kind",  "error_bound", "reference",   "correct",     "recall",
        "floor_ms",    "floor_kind",  "floor_ratio", "inputs",      "seed",        "goal",
        "goal_met",    "versions",    "machine",     "git",         "time_utc"}) {
    EXPECT_TRUE(outcome.json.contains(field)) << field;
  }
  EXPECT_EQ(outcome.json["schema"], "interlacer.bench/1");
  EXPECT_EQ(outcome.json.dump().find('\n'), std::string::npos);
}

}  // namespace
}  // namespace interlacer::bench
