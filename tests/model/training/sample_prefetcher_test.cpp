#include "model/training/sample_prefetcher.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "tests/support/must.h"

namespace interlacer {
namespace {

/// Its samples say their index in `step_count`; a draw waits until `together` are under way.
class CountingSource : public SampleSource {
 public:
  CountingSource(int together, std::int64_t failing_index)
      : together_(together), failing_index_(failing_index) {}

  StatusOr<TrainingSample> Draw(const SampleRequest& request) override {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      ++started_;
      changed_.notify_all();
      changed_.wait(lock, [&] { return started_ >= together_; });
    }
    if (request.index == failing_index_) return DataLoss(reason::PREDICTION_NOT_FINITE, "a draw");
    TrainingSample sample;
    sample.step_count = static_cast<int>(request.index);
    return sample;
  }
  bool Has(Split) const override { return true; }
  std::string robot_folder() const override { return ""; }
  int started() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return started_;
  }

 private:
  int together_;
  std::int64_t failing_index_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int started_ = 0;
};

SampleRequest TenTimes(std::int64_t number) {
  SampleRequest request;
  request.index = 10 * number;
  return request;
}

class SamplePrefetcherTest : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ahead, SamplePrefetcherTest, testing::Values(1, 2, 5));

TEST_P(SamplePrefetcherTest, DrawsSoManyAtOnceAndKeepsTheOrder) {
  CountingSource source(GetParam(), -1);
  SamplePrefetcher samples(&source, TenTimes, GetParam());
  for (int number = 0; number < 12; ++number) {
    const auto sample = samples.Take();
    ASSERT_TRUE(sample.ok());
    EXPECT_EQ(sample->step_count, 10 * number);
  }
}

TEST_P(SamplePrefetcherTest, AnErrorComesInItsTurn) {
  CountingSource source(1, 20);
  SamplePrefetcher samples(&source, TenTimes, GetParam());
  EXPECT_EQ(Must(samples.Take()).step_count, 0);
  EXPECT_EQ(Must(samples.Take()).step_count, 10);
  EXPECT_EQ(samples.Take().status().reason(), reason::PREDICTION_NOT_FINITE);
  EXPECT_EQ(Must(samples.Take()).step_count, 30);
}

TEST(SamplePrefetcher, StartsNothingBeforeTheFirstIsTaken) {
  CountingSource source(1, -1);
  {
    const SamplePrefetcher samples(&source, TenTimes, 3);
    EXPECT_EQ(source.started(), 0);
  }
  EXPECT_EQ(source.started(), 0);
}

}  // namespace
}  // namespace interlacer
