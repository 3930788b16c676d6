/// What calls measure, and what the next ones are told, by a pretended clock.

#include "server/models/measured_costs.h"

#include <gtest/gtest.h>

#include <chrono>

#include "tests/support/fake_predictor.h"

namespace interlacer::testing {
namespace {

using std::chrono::seconds;

constexpr std::int64_t kModelPx = 2 * 16 * 12;  // both cameras of FakeMetadata

ModelMetadata MeasuredAtWarmUp() {
  ModelMetadata metadata = FakeMetadata();
  metadata.step_cost_s = 1;
  metadata.ingest_cost_s = 2;
  metadata.render_cost_s = 3;
  metadata.carry_cost_s = 4;
  return metadata;
}

class MeasuredCostsTest : public ::testing::Test {
 protected:
  ModelMetadata Published() const {
    ModelMetadata metadata = FakeMetadata();
    costs_.CopyTo(&metadata, now_);
    return metadata;
  }

  RunningMean::Time now_{seconds(1000)};
  MeasuredCosts costs_{MeasuredAtWarmUp(), now_};
};

TEST_F(MeasuredCostsTest, BeginWithTheWarmUp) {
  const ModelMetadata metadata = Published();
  EXPECT_DOUBLE_EQ(metadata.step_cost_s, 1);
  EXPECT_DOUBLE_EQ(metadata.ingest_cost_s, 2);
  EXPECT_DOUBLE_EQ(metadata.render_cost_s, 3);
  EXPECT_DOUBLE_EQ(metadata.carry_cost_s, 4);
  EXPECT_DOUBLE_EQ(metadata.longest_unit_s, 4);
  EXPECT_DOUBLE_EQ(costs_.StepS(now_), 1);
  EXPECT_DOUBLE_EQ(costs_.LiftS(kModelPx, now_), 2);
  EXPECT_DOUBLE_EQ(costs_.FieldS(kReferenceViewPx, now_), 3);
  EXPECT_DOUBLE_EQ(costs_.CarryS(kModelPx, now_), 4);
}

TEST_F(MeasuredCostsTest, AreRunningMeansOfWhatWasMeasured) {
  costs_.NoteStep(2, now_);
  EXPECT_DOUBLE_EQ(costs_.StepS(now_), 1.1);
  costs_.NoteStep(2, now_);
  EXPECT_DOUBLE_EQ(costs_.StepS(now_), 1.19);
  for (int i = 0; i < 200; ++i) costs_.NoteStep(0.01, now_);
  EXPECT_NEAR(costs_.StepS(now_), 0.01, 1e-6) << "a slow warm-up is forgotten";
  EXPECT_DOUBLE_EQ(Published().step_cost_s, costs_.StepS(now_));
  EXPECT_DOUBLE_EQ(costs_.LiftS(kModelPx, now_), 2) << "each has its own";
}

TEST_F(MeasuredCostsTest, OfTheFieldAreByPixels) {
  EXPECT_DOUBLE_EQ(costs_.FieldS(2 * kReferenceViewPx, now_), 6);
  // Views of another size that cost as much by pixel say nothing new.
  costs_.NoteField(4 * kReferenceViewPx, 12, now_);
  EXPECT_DOUBLE_EQ(Published().render_cost_s, 3);
  costs_.NoteField(4 * kReferenceViewPx, 24, now_);
  EXPECT_DOUBLE_EQ(Published().render_cost_s, 3.3);
}

TEST_F(MeasuredCostsTest, FramesBeyondTheSizeOfTheModelCostMoreByEveryPixel) {
  EXPECT_DOUBLE_EQ(costs_.LiftS(5 * kModelPx, now_), 2) << "none has been seen";
  costs_.NoteLift(3 * kModelPx, 6, now_);
  EXPECT_DOUBLE_EQ(costs_.LiftS(3 * kModelPx, now_), 6);
  EXPECT_DOUBLE_EQ(costs_.LiftS(5 * kModelPx, now_), 10);
  EXPECT_DOUBLE_EQ(costs_.LiftS(kModelPx, now_), 2) << "of the model's size as before";
  EXPECT_DOUBLE_EQ(costs_.LiftS(kModelPx / 2, now_), 2);
  costs_.NoteLift(kModelPx, 1, now_);
  EXPECT_DOUBLE_EQ(costs_.LiftS(kModelPx, now_), 1.9);
  costs_.NoteLift(2 * kModelPx, 0.5, now_);
  EXPECT_GE(costs_.LiftS(2 * kModelPx, now_), costs_.LiftS(kModelPx, now_));
}

/// One slow moment must not have all later calls refused, for then none is measured again.
TEST_F(MeasuredCostsTest, OldOnesFallToTheLeastTheyEverWere) {
  for (int i = 0; i < 20; ++i) costs_.NoteStep(100, now_);
  const double slow_s = costs_.StepS(now_);
  EXPECT_GT(slow_s, 50);
  EXPECT_DOUBLE_EQ(costs_.StepS(now_ + seconds(9)), slow_s);
  EXPECT_DOUBLE_EQ(costs_.StepS(now_ + seconds(10)), 1);
  now_ += seconds(10);
  EXPECT_DOUBLE_EQ(Published().step_cost_s, 1);
  costs_.NoteStep(100, now_);
  EXPECT_GT(costs_.StepS(now_), slow_s) << "it is slow again";
}

TEST_F(MeasuredCostsTest, TheLongestUnitOnlyGrows) {
  costs_.NoteUnit(3);
  EXPECT_DOUBLE_EQ(Published().longest_unit_s, 4);
  costs_.NoteUnit(5);
  costs_.NoteUnit(1);
  now_ += seconds(3600);
  EXPECT_DOUBLE_EQ(Published().longest_unit_s, 5);
}

/// A model that was not measured costs nothing, as before its first call.
TEST_F(MeasuredCostsTest, WithoutAWarmUpAreZeroUntilSomethingIsMeasured) {
  MeasuredCosts costs(FakeMetadata(), now_);
  EXPECT_DOUBLE_EQ(costs.StepS(now_), 0);
  costs.NoteStep(1, now_);
  EXPECT_DOUBLE_EQ(costs.StepS(now_), 1);
  now_ += seconds(10);
  EXPECT_DOUBLE_EQ(costs.StepS(now_), 1) << "nothing ever took no time";
}

}  // namespace
}  // namespace interlacer::testing
