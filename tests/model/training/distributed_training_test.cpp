#include "model/training/distributed_training.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "common/file_io.h"
#include "common/folder_lock.h"
#include "common/json.h"
#include "model/files/tensor_file.h"
#include "model/training/distributed/back_end.h"
#include "tests/model/training/distributed_worker.h"
#include "tests/model/training/trainer_fixture.h"
#include "tests/support/child_process.h"
#include "tests/support/held_port.h"
#include "tests/support/painted_plane.h"
#include "tests/support/tolerances.h"

namespace interlacer {
namespace {

using testing::ChildProcess;
using testing::HeldPort;
using testing::ProcessResult;

/// Until a run of two ranks has ended, whatever happens to it.
constexpr double kRunLimitS = 60;
/// How long ranks wait for each other where one falls silent.
constexpr char kShortTimeoutS[] = "3";

std::string ThisProgram() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

class DistributedTrainingTest : public ::testing::Test {
 protected:
  void SetUp() override { testing::WritePaintedPlane(folder_.File("plane")).value(); }

  std::unique_ptr<ChildProcess> Start(int rank, const std::string& what, const std::string& run,
                                      const std::string& timeout_s = "60",
                                      const std::string& batch_size = "2") const {
    return std::make_unique<ChildProcess>(
        std::vector<std::string>{"/usr/bin/env", "RANK=" + std::to_string(rank), "WORLD_SIZE=2",
                                 "LOCAL_RANK=" + std::to_string(rank), "MASTER_ADDR=127.0.0.1",
                                 "MASTER_PORT=" + std::to_string(port_), "GLOO_SOCKET_IFNAME=lo",
                                 "INTERLACER_RANK_TIMEOUT_S=" + timeout_s, ThisProgram(),
                                 testing::kWorkerFlag, what, folder_.path(), run, batch_size});
  }

  /// One process without others.
  ProcessResult RunAlone(const std::string& what, const std::string& run) const {
    return ChildProcess({ThisProgram(), testing::kWorkerFlag, what, folder_.path(), run, "2"})
        .Wait(kRunLimitS);
  }

  /// Both ranks to their end.
  std::vector<ProcessResult> RunRanks(const std::string& what, const std::string& run) const {
    const auto first = Start(0, what, run), second = Start(1, what, run);
    return {first->Wait(kRunLimitS), second->Wait(kRunLimitS)};
  }

  void ExpectBothDone(const std::string& what, const std::string& run) const {
    for (const ProcessResult& rank : RunRanks(what, run)) EXPECT_EQ(rank.exit_code, 0) << rank.err;
  }

  NamedTensors Weights(const std::string& run) const {
    return ReadTensorFile(folder_.File(run) + "/checkpoint/weights.safetensors").value().tensors;
  }

  std::vector<double> Losses(const std::string& run) const {
    std::vector<double> losses;
    std::istringstream lines(ReadTextFile(folder_.File(run) + "/metrics.jsonl").value());
    for (std::string line; std::getline(lines, line);) {
      const auto record = nlohmann::json::parse(line);
      if (record.at("kind") == "train") losses.push_back(record.at("loss"));
    }
    return losses;
  }

  const TempFolder folder_;
  const HeldPort held_port_;
  const int port_ = held_port_.number();
};

double LargestDifference(const NamedTensors& one, const NamedTensors& other) {
  double largest = 0;
  for (const auto& [name, tensor] : one) {
    largest = std::max(largest, (tensor - other.at(name)).abs().max().item<double>());
  }
  return largest;
}

TEST_F(DistributedTrainingTest, TwoRanksEqualOneProcessWithTheDoubleBatch) {
  ExpectBothDone("train", "two");
  ASSERT_EQ(RunAlone("train", "one").exit_code, 0);
  const std::vector<double> one = Losses("one"), two = Losses("two");
  ASSERT_EQ(two.size(), static_cast<std::size_t>(testing::kRunSteps));
  for (std::size_t i = 0; i < one.size(); ++i)
    EXPECT_NEAR(one[i], two[i], testing::kFloatSumTolerance);
  EXPECT_LE(LargestDifference(Weights("one"), Weights("two")), testing::kFloatSumTolerance);
  EXPECT_NE(one.front(), one.back());
}

TEST_F(DistributedTrainingTest, StoppedOnOneRankAndResumedEqualsUninterruptedToTheBit) {
  for (const ProcessResult& rank : RunRanks("stop", "parts")) {
    EXPECT_NE(rank.err.find("stopped after step 2"), std::string::npos) << rank.err;
  }
  ExpectBothDone("resume", "parts");
  ExpectBothDone("train", "whole");
  EXPECT_EQ(LargestDifference(Weights("parts"), Weights("whole")), 0);
}

TEST_F(DistributedTrainingTest, ARankThatDiesEndsTheRun) {
  const std::vector<ProcessResult> ranks = RunRanks("die", "run");
  EXPECT_EQ(ranks[1].exit_code, 9);
  EXPECT_EQ(ranks[0].exit_code, 1);
  EXPECT_NE(ranks[0].err.find("another process of the run ended"), std::string::npos)
      << ranks[0].err;
}

TEST_F(DistributedTrainingTest, ASilentRankEndsTheRunAfterTheTimeLimit) {
  const auto first = Start(0, "silent", "run", kShortTimeoutS);
  const auto second = Start(1, "silent", "run", kShortTimeoutS);
  const ProcessResult result = first->Wait(kRunLimitS);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("did not answer within 3 s"), std::string::npos) << result.err;
}

TEST_F(DistributedTrainingTest, ARankWithoutTheOthersSaysWhereItWaited) {
  const ProcessResult result = Start(0, "train", "run", kShortTimeoutS)->Wait(kRunLimitS);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("did not meet"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find(std::to_string(port_)), std::string::npos) << result.err;
}

TEST_F(DistributedTrainingTest, AFolderInUseIsToldToAllRanks) {
  ExpectBothDone("train", "run");
  const std::vector<ProcessResult> ranks = RunRanks("train", "run");
  EXPECT_NE(ranks[0].err.find("OUTPUT_EXISTS"), std::string::npos) << ranks[0].err;
  EXPECT_NE(ranks[1].err.find("could not go on"), std::string::npos) << ranks[1].err;
  const FolderLock held = FolderLock::Take(folder_.File("other")).value();
  const std::vector<ProcessResult> late = RunRanks("train", "other");
  EXPECT_NE(late[0].err.find("at work here"), std::string::npos) << late[0].err;
  EXPECT_NE(late[1].err.find("could not go on"), std::string::npos) << late[1].err;
}

TEST_F(DistributedTrainingTest, AValidationLongerThanTheTimeLimitIsNoSilence) {
  ASSERT_TRUE(testing::TrainerFixture::WriteSplits(folder_.File("data")).ok());
  constexpr int kFewSamples = 100;
  const ProcessResult few = RunAlone("validate " + std::to_string(kFewSamples), "one");
  ASSERT_EQ(few.exit_code, 0) << few.err;
  // Four times the limit in all, however busy the machine gets, while no sample comes near it.
  const double limit_s = std::stod(kShortTimeoutS), seconds_of_few = std::stod(few.out);
  const int count = static_cast<int>(4 * limit_s / seconds_of_few * kFewSamples);
  const std::string what = "validate " + std::to_string(count);
  const auto first = Start(0, what, "two", kShortTimeoutS);
  const auto second = Start(1, what, "two", kShortTimeoutS);
  const ProcessResult validating = first->Wait(kRunLimitS), waiting = second->Wait(kRunLimitS);
  EXPECT_EQ(validating.exit_code, 0) << validating.err;
  EXPECT_EQ(waiting.exit_code, 0) << waiting.err;
  EXPECT_GT(std::stod(validating.out), limit_s) << "not long enough to show anything";
}

TEST_F(DistributedTrainingTest, RanksOfOtherSettingsOrDataAreRefusedOnAll) {
  testing::WritePaintedPlane(folder_.File("other"), {.episode_id = "other"}).value();
  const auto expect_refused = [&](const std::string& what, const std::string& batch_of_last,
                                  const std::string& field) {
    const auto first = Start(0, what, "run"), second = Start(1, what, "run", "60", batch_of_last);
    for (const ProcessResult& rank : {first->Wait(kRunLimitS), second->Wait(kRunLimitS)}) {
      EXPECT_EQ(rank.exit_code, 1) << what;
      EXPECT_NE(rank.err.find("CONFIG_INVALID: " + field + ": expected rank 0's"),
                std::string::npos)
          << rank.err;
    }
  };
  expect_refused("train", "4", "configuration");
  expect_refused("other_data", "2", "seed and data");
  expect_refused("other_seed", "2", "seed and data");
  EXPECT_FALSE(std::filesystem::exists(folder_.File("run")));
}

TEST_F(DistributedTrainingTest, MoreRanksThanSequencesIsRefused) {
  const ProcessResult result = Start(1, "train", "run", "60", "1")->Wait(kRunLimitS);
  EXPECT_NE(result.err.find("training.batch_size"), std::string::npos) << result.err;
}

TEST_F(DistributedTrainingTest, WrongEnvironmentIsNamed) {
  const ProcessResult result = Start(2, "train", "run")->Wait(kRunLimitS);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("RANK: expected an integer from 0 to 1"), std::string::npos)
      << result.err;
}

TEST_F(DistributedTrainingTest, GradientsAreSummedWhereAnyRankHasOne) {
  ExpectBothDone("gradients", "");
}

TEST_F(DistributedTrainingTest, WeightsThatDifferAreFound) {
  for (const ProcessResult& rank : RunRanks("differ", "")) {
    EXPECT_EQ(rank.exit_code, 1);
    EXPECT_NE(rank.err.find("weights differ"), std::string::npos) << rank.err;
  }
}

TEST(DistributedBackEndTest, RanksWithDifferentOnesAreNamedOnAllRanks) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  const std::vector<std::string> back_ends{"gloo", "nccl", "gloo"};
  std::vector<std::string> messages(back_ends.size());
  std::vector<std::thread> ranks;
  for (std::size_t rank = 0; rank < back_ends.size(); ++rank) {
    ranks.emplace_back([&, rank] {
      DistributedEnvironment place;
      place.rank = static_cast<int>(rank);
      place.world_size = static_cast<int>(back_ends.size());
      try {
        CheckEqualBackEnds(place, back_ends[rank], store.get());
      } catch (const StatusException& error) {
        messages[rank] = error.status().message();
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
  for (const std::string& message : messages) {
    EXPECT_NE(message.find("got gloo: ranks 0, 2; nccl: ranks 1;"), std::string::npos) << message;
  }
}

TEST(DistributedBackEndTest, ARankThatNeverSaysItsOwnIsAnError) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  store->setTimeout(std::chrono::milliseconds(50));
  DistributedEnvironment place;
  place.world_size = 2;
  EXPECT_THROW(CheckEqualBackEnds(place, "gloo", store.get()), StatusException);
}

}  // namespace
}  // namespace interlacer

int main(int argc, char** argv) {
  using namespace interlacer::testing;
  if (argc == 6 && std::string(argv[1]) == kWorkerFlag) {
    return RunWorker({argv[2], argv[3], argv[4], std::atoi(argv[5])});
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
