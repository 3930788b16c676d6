#include "model/training/run_log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

namespace interlacer {
namespace {

class RunLogTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove(path_); }
  std::vector<std::int64_t> Steps() const {
    std::vector<std::int64_t> steps;
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) {
      const auto at = line.find("\"step\":");
      steps.push_back(std::stoll(line.substr(at + 7)));
    }
    return steps;
  }
  std::string path_ = ::testing::TempDir() + "run_log_test_" + std::to_string(getpid()) + ".jsonl";
};

TEST_F(RunLogTest, ResumeDropsLaterLinesAndACutTail) {
  {
    RunLog log = RunLog::Open(path_, 0).value();
    for (int step = 1; step <= 5; ++step) {
      ASSERT_TRUE(log.Write(TrainingRecord{.step = step, .loss = 0.5}).ok());
    }
  }
  std::ofstream(path_, std::ios::app) << "{\"kind\": \"tra";
  RunLog log = RunLog::Open(path_, 3).value();
  ASSERT_TRUE(log.Write(ValidationRecord{.step = 4}).ok());
  EXPECT_EQ(Steps(), (std::vector<std::int64_t>{1, 2, 3, 4}));
}

TEST_F(RunLogTest, ALineThatIsNoRecordIsACutTail) {
  for (const char* line : {"[1]", R"({"step": "two"})", R"({"kind": 3})"}) {
    std::ofstream(path_) << R"({"kind": 3, "step": 1})"
                         << "\n"
                         << line << "\n";
    const RunLog log = RunLog::Open(path_, 3).value();
    EXPECT_EQ(Steps(), (std::vector<std::int64_t>{1})) << line;
  }
}

TEST_F(RunLogTest, ResumeKeepsValidationLossesAndDropsTheEnd) {
  {
    RunLog log = RunLog::Open(path_, 0).value();
    ASSERT_TRUE(log.Write(ValidationRecord{.step = 2, .loss = 0.5}).ok());
    ASSERT_TRUE(log.Write(ValidationRecord{.step = 4, .loss = std::nan("")}).ok());
    ASSERT_TRUE(log.WriteEnd(4, true).ok());
  }
  const std::vector<double> losses = ReadValidationLosses(path_);
  ASSERT_EQ(losses.size(), 2u);
  EXPECT_EQ(losses[0], 0.5);
  EXPECT_FALSE(std::isfinite(losses[1]));
  EXPECT_EQ(ReadValidationLosses(path_, 1).size(), 2u);
  EXPECT_EQ(ReadValidationLosses(path_, 2).size(), 1u);
  EXPECT_TRUE(ReadValidationLosses(path_, 4).empty());
  const RunLog resumed = RunLog::Open(path_, 4).value();
  EXPECT_EQ(Steps(), (std::vector<std::int64_t>{2, 4}));
}

TEST(ValidationRecord, AModelThatMovesNothingIsAsGoodAsStandingStill) {
  ValidationRecord record{.track_loss_m = 0.0287983, .still_track_loss_m = 0.0287983};
  EXPECT_TRUE(record.IsOfAModelThatMovesNothing());
  record.track_loss_m = 0.02879;
  EXPECT_FALSE(record.IsOfAModelThatMovesNothing());
  EXPECT_FALSE(ValidationRecord{}.IsOfAModelThatMovesNothing());  // no tracks at all
}

TEST_F(RunLogTest, UnwritableFolderIsAnError) {
  EXPECT_EQ(RunLog::Open("/nonexistent/folder/log", 0).status().reason(), reason::FILE_UNWRITABLE);
}

}  // namespace
}  // namespace interlacer
