#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "common/json.h"
#include "experiments/hdvpd/runs.h"
#include "model/files/tensor_header.h"
#include "tests/support/matchers.h"
#include "tests/support/must.h"
#include "tests/support/temp_folder.h"

namespace interlacer {
namespace {

class TrainedRunsTest : public ::testing::Test {
 protected:
  void WriteRun(const std::string& name, const std::string& kind, int width = 64,
                const std::string& last_loss = "0.1", int step_count = 5,
                int ffn_factor = 4) const {
    const std::string dir = folder_.File(name);
    std::filesystem::create_directories(dir + "/checkpoint");
    WriteWeights(name, "5");
    std::ofstream(dir + "/checkpoint/config.json")
        << R"({"network": {"width": )" << width << R"(, "ffn_factor": )" << ffn_factor
        << R"(, "local": {"kind": ")" << kind << "\"}}}";
    std::ofstream(dir + "/run.json") << R"({"training": {"step_count": )" << step_count << "}}";
    std::ofstream log(dir + "/metrics.jsonl");
    int step = 0;
    for (const double seconds : {50.0, 9.0, 8.0, 0.25, 0.5}) {
      log << R"({"kind":"train","step":)" << ++step << R"(,"cpu_seconds":)" << seconds << "}\n";
    }
    log << R"({"kind":"validation","step":5,"loss":)" << last_loss << "}\n";
    log << R"({"kind":"train","st)";
  }
  void WriteWeights(const std::string& name, const std::string& steps) const {
    std::ofstream(folder_.File(name) + "/checkpoint/weights.safetensors")
        << FormatTensorHeader(nlohmann::ordered_json::object(), {{kOptimizerStepsKey, steps}});
  }
  auto Read(const std::vector<std::string>& variants, const std::vector<std::int64_t>& seeds) {
    return ReadTrainedRuns(folder_.path(), variants, seeds);
  }
  void WriteInputs(const std::string& name, int seed, const std::string& path,
                   const std::string& sha256) const {
    std::ofstream(folder_.File(name) + "/inputs.json")
        << R"({"seed": )" << seed << R"(, "data": [{"path": ")" << path
        << R"(", "weight": 1.0, "episodes_sha256": ")" << sha256 << "\"}]}";
  }
  const TempFolder folder_;
};

TEST_F(TrainedRunsTest, ReadsSpeedAndLossOfALogWithABrokenLine) {
  WriteRun("grf_exact-0", "grf_exact");
  WriteRun("unmasked-0", "unmasked");
  const auto runs = Must(Read({"grf_exact", "unmasked"}, {0}));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[1].name(), "unmasked-0");
  EXPECT_EQ(runs[0].step_s, 0.5) << "of 8, 0.25 and 0.5";
  EXPECT_EQ(runs[0].LastValidationLoss(), 0.1);
  EXPECT_FALSE(runs[0].has_diverged);
}

TEST_F(TrainedRunsTest, AMissingRunNamesFolderAndCommand) {
  WriteRun("grf_exact-0", "grf_exact");
  const auto runs = Read({"grf_exact"}, {0, 7});
  EXPECT_EQ(runs.status().code(), StatusCode::kNotFound);
  EXPECT_EQ(runs.status().field(), folder_.File("grf_exact-7"));
  EXPECT_THAT(
      runs.status().message(),
      HasSubstr("interlacer train --config CONFIG --variant grf_exact --seed 7 --data TRAIN"));
}

TEST_F(TrainedRunsTest, RefusesARunThatIsNotWhatItsFolderSays) {
  WriteRun("grf_exact-0", "unmasked");
  EXPECT_EQ(Read({"grf_exact"}, {0}).status().reason(), reason::CONFIG_INVALID);
}

TEST_F(TrainedRunsTest, NamesAFileThatIsNoneOfARun) {
  for (const char* file : {"checkpoint/config.json", "run.json", "inputs.json"}) {
    WriteRun("grf_exact-0", "grf_exact");
    std::ofstream(folder_.File("grf_exact-0") + "/" + file) << "[]";
    const Status status = Read({"grf_exact"}, {0}).status();
    EXPECT_EQ(status.reason(), reason::SCHEMA_INVALID) << status.ToString();
    EXPECT_THAT(status.ToString(), HasSubstr(file));
    std::filesystem::remove(folder_.File("grf_exact-0") + "/inputs.json");
  }
}

TEST_F(TrainedRunsTest, RefusesACopyOfARunUnderAnotherSeed) {
  WriteRun("grf_exact-1", "grf_exact");
  WriteInputs("grf_exact-1", 0, "data", "aa");
  const Status status = Read({"grf_exact"}, {1}).status();
  EXPECT_EQ(status.reason(), reason::CONFIG_INVALID);
  EXPECT_THAT(status.message(), HasSubstr("inputs.json: seed: expected 1, got 0"));
}

TEST_F(TrainedRunsTest, RunsMustHaveSeenTheSameDataWhereverItLay) {
  for (const int seed : {0, 1}) {
    const std::string name = "grf_exact-" + std::to_string(seed);
    WriteRun(name, "grf_exact");
    WriteInputs(name, seed, "data" + std::to_string(seed), "aa");
  }
  EXPECT_TRUE(Read({"grf_exact"}, {0, 1}).ok());
  WriteInputs("grf_exact-1", 1, "data0", "bb");
  const Status status = Read({"grf_exact"}, {0, 1}).status();
  EXPECT_EQ(status.reason(), reason::CONFIG_INVALID);
  EXPECT_THAT(status.message(), HasSubstr("/data/0/episodes_sha256"));
}

TEST_F(TrainedRunsTest, RefusesRunsThatDifferInMoreThanTheLocalLayer) {
  WriteRun("grf_exact-0", "grf_exact");
  WriteRun("unmasked-0", "unmasked", 128);
  const auto runs = Read({"grf_exact", "unmasked"}, {0});
  EXPECT_EQ(runs.status().reason(), reason::CONFIG_INVALID);
  EXPECT_THAT(runs.status().message(), HasSubstr("/network/width"));
}

TEST_F(TrainedRunsTest, WithoutALocalLayerTheOthersMayBeWider) {
  WriteRun("grf_exact-0", "grf_exact");
  WriteRun("none-0", "none", 64, "0.1", 5, 10);
  EXPECT_TRUE(Read({"grf_exact", "none"}, {0}).ok());
  EXPECT_TRUE(Read({"none", "grf_exact"}, {0}).ok());
  WriteRun("unmasked-0", "unmasked", 64, "0.1", 5, 10);
  EXPECT_EQ(Read({"grf_exact", "unmasked"}, {0}).status().reason(), reason::CONFIG_INVALID);
}

TEST_F(TrainedRunsTest, MarksARunFarAboveTheMedianOfItsVariant) {
  WriteRun("unmasked-0", "unmasked", 64, "0.1");
  WriteRun("unmasked-1", "unmasked", 64, "0.11");
  WriteRun("unmasked-2", "unmasked", 64, "0.3");
  const auto runs = Must(Read({"unmasked"}, {0, 1, 2}));
  EXPECT_FALSE(runs[1].has_diverged);
  EXPECT_TRUE(runs[2].has_diverged);
}

TEST_F(TrainedRunsTest, ALossThatIsNotFiniteIsDivergence) {
  WriteRun("unmasked-0", "unmasked");
  WriteRun("unmasked-1", "unmasked");
  WriteRun("unmasked-2", "unmasked", 64, "null");
  const auto runs = Must(Read({"unmasked"}, {0, 1, 2}));
  EXPECT_FALSE(runs[0].has_diverged);
  EXPECT_TRUE(runs[2].has_diverged);
}

TEST_F(TrainedRunsTest, OfALossWithoutVideoTheLossItselfMustBeFinite) {
  WriteRun("unmasked-0", "unmasked");
  std::ofstream(folder_.File("unmasked-0/metrics.jsonl"))
      << R"({"kind":"validation","step":5,"prediction_loss":0.0,"loss":null})"
      << "\n";
  const auto runs = Must(Read({"unmasked"}, {0}));
  EXPECT_TRUE(runs[0].has_diverged);
}

TEST_F(TrainedRunsTest, ALogThatDoesNotSayTheLossJudgesNothing) {
  WriteRun("unmasked-0", "unmasked");
  std::ofstream(folder_.File("unmasked-0/metrics.jsonl"))
      << R"({"kind":"train","step":5,"cpu_seconds":null})"
      << "\n"
      << R"({"kind":"validation","step":5,"prediction_loss":0.1})"
      << "\n";
  const auto runs = Must(Read({"unmasked"}, {0}));
  EXPECT_FALSE(runs[0].has_diverged);
  EXPECT_FALSE(runs[0].LastValidationLoss());
  EXPECT_EQ(runs[0].step_s, 0);
}

TEST_F(TrainedRunsTest, EarlierStagesCountTheirUpdatesSecondsAndFlatness) {
  WriteRun("grf_exact-0", "grf_exact");
  StudyPlan plan;
  plan.stages = {{"one_step", 1, {{"stop_when_flat", {{"window", 2}}}}}, {"rollouts", 1, {}}};
  TrainedRun lost;
  lost.variant = "grf_exact";
  lost.is_flat = true;
  AddEarlierStages(plan, folder_.path(), &lost);
  EXPECT_FALSE(lost.is_flat) << "no log";
  const auto read_with = [&](const std::string& end) {
    std::filesystem::create_directories(folder_.File("one_step/grf_exact-0"));
    std::ofstream(folder_.File("one_step/grf_exact-0/metrics.jsonl"))
        << R"({"kind":"train","step":1,"cpu_seconds":2})"
        << "\n"
        << R"({"kind":"validation","step":1,"loss":0.5})"
        << "\n"
        << R"({"kind":"end","step":1,"flat":)" << end << "}\n";
    TrainedRun run = Must(Read({"grf_exact"}, {0}))[0];
    run.is_flat = true;
    AddEarlierStages(plan, folder_.path(), &run);
    return run;
  };
  const TrainedRun run = read_with("true");
  EXPECT_TRUE(run.is_flat);
  EXPECT_EQ(run.UpdateCount(), 6);
  EXPECT_EQ(run.EarlierCpuSeconds(), 2);
  ASSERT_EQ(run.earlier_stages[0].validations.size(), 1u);
  EXPECT_FALSE(read_with("false").is_flat);
  plan.stages[0].training = nlohmann::json::object();
  EXPECT_TRUE(read_with("false").is_flat) << "no stopping rule";
}

TEST_F(TrainedRunsTest, RefusesARunGivenTwice) {
  WriteRun("grf_exact-0", "grf_exact");
  EXPECT_EQ(Read({"grf_exact"}, {0, 0}).status().field(), "--seeds");
  EXPECT_EQ(Read({"grf_exact", "grf_exact"}, {0}).status().field(), "--variants");
}

TEST_F(TrainedRunsTest, RefusesARunThatEndedEarly) {
  WriteRun("grf_exact-0", "grf_exact", 64, "0.1", 6);
  const Status status = Read({"grf_exact"}, {0}).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.field(), folder_.File("grf_exact-0"));
  EXPECT_EQ(status.metadata().at("expected"), "weights after 6 training steps");
  EXPECT_EQ(status.metadata().at("got"), "weights after 5");
}

TEST_F(TrainedRunsTest, TakesARunThatItsStoppingRuleEnded) {
  WriteRun("grf_exact-0", "grf_exact", 64, "0.1", 6);
  std::ofstream(folder_.File("grf_exact-0/metrics.jsonl"))
      << R"({"kind":"validation","step":5,"prediction_loss":0.1,"loss":0.7})"
      << "\n"
      << R"({"kind":"end","step":5,"flat":true})"
      << "\n";
  const auto runs = Must(Read({"grf_exact"}, {0}));
  EXPECT_TRUE(runs[0].is_flat);
  EXPECT_EQ(runs[0].LastValidationLoss(), 0.7);
}

TEST_F(TrainedRunsTest, WhatASearchChoosesMayDifferBetweenVariants) {
  const auto change = [&](const std::string& name, const std::string& local,
                          const std::string& training) {
    WriteRun(name, "grf_exact");
    std::ofstream(folder_.File(name) + "/checkpoint/config.json")
        << R"({"network": {"width": 64, "ffn_factor": 4, "local": )" << local << "}}";
    std::ofstream(folder_.File(name) + "/run.json") << R"({"training": )" << training << "}";
  };
  change("grf_exact-0", R"({"kind": "grf_exact", "key_width": 32})",
         R"({"step_count": 5, "learning_rate": [{"from_step": 0, "value": 1}]})");
  const std::string ones = R"({"kind": "grf_exact", "mask_positivity": "ones", "key_width": 64})";
  change("grf_ones-0", ones,
         R"({"step_count": 5, "learning_rate": [{"from_step": 0, "value": 2}]})");
  const auto runs = Must(Read({"grf_exact", "grf_ones"}, {0}));
  EXPECT_EQ(runs[1].variant, "grf_ones");
  change("grf_exact-0", ones, R"({"step_count": 5})");
  EXPECT_EQ(Read({"grf_exact"}, {0}).status().reason(), reason::CONFIG_INVALID)
      << "a mask of ones under the name of the learnt one";
  change("grf_ones-0", ones, R"({"step_count": 4})");
  change("grf_exact-0", R"({"kind": "grf_exact"})", R"({"step_count": 5})");
  EXPECT_EQ(Read({"grf_exact", "grf_ones"}, {0}).status().reason(), reason::CONFIG_INVALID);
}

TEST_F(TrainedRunsTest, RunsThatAreLeftOutNeedNotBeThere) {
  WriteRun("grf_exact-0", "grf_exact");
  const auto runs =
      Must(ReadTrainedRuns(folder_.path(), {"grf_exact"}, {0, 1}, {std::string("grf_exact-1")}));
  EXPECT_EQ(runs.size(), 1u);
}

TEST_F(TrainedRunsTest, RefusesWeightsThatTheLogIsAheadOf) {
  WriteRun("grf_exact-0", "grf_exact");
  EXPECT_EQ((*Read({"grf_exact"}, {0}))[0].steps_done, 5);
  WriteWeights("grf_exact-0", "3");
  const Status status = Read({"grf_exact"}, {0}).status();
  EXPECT_EQ(status.reason(), reason::CHECKPOINT_INVALID);
  EXPECT_THAT(status.message(),
              HasSubstr("expected weights after 5 training steps, got weights after 3; finish"));
}

TEST_F(TrainedRunsTest, LeavesTornWeightsToTheirEvaluation) {
  WriteRun("grf_exact-0", "grf_exact");
  std::ofstream(folder_.File("grf_exact-0/checkpoint/weights.safetensors")) << "torn";
  const auto runs = Must(Read({"grf_exact"}, {0}));
  EXPECT_EQ(runs[0].steps_done, 0);
}

TEST_F(TrainedRunsTest, RefusesWeightsThatDoNotSayTheirSteps) {
  WriteRun("grf_exact-0", "grf_exact");
  WriteWeights("grf_exact-0", "all");
  const Status status = Read({"grf_exact"}, {0}).status();
  EXPECT_EQ(status.reason(), reason::CHECKPOINT_INVALID);
  EXPECT_THAT(status.ToString(), HasSubstr(folder_.File("grf_exact-0/checkpoint")));
  EXPECT_THAT(status.ToString(), HasSubstr("optimizer_steps: expected a count, got \"all\""));
}

}  // namespace
}  // namespace interlacer
