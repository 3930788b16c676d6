/// What carrying observed pixels is estimated to cost, by the size of the frames.

#include <gtest/gtest.h>

#include <string>

#include "server/models/measured_costs.h"
#include "tests/server/rollout_call.h"

namespace interlacer::testing {
namespace {

constexpr std::int64_t kModelPx = 2 * 16 * 12;  // both cameras of FakeMetadata
const RunningMean::Time kNow{std::chrono::seconds(1000)};

TEST(CarryCosts, HaveAFixedPartAndMoreForEveryPixelBeyondTheModels) {
  ModelMetadata metadata = FakeMetadata();
  metadata.carry_cost_s = 4;
  MeasuredCosts costs(metadata, kNow);
  EXPECT_DOUBLE_EQ(costs.CarryS(kModelPx, kNow), 4);
  EXPECT_DOUBLE_EQ(costs.CarryS(kModelPx / 2, kNow), 4);
  EXPECT_DOUBLE_EQ(costs.CarryS(5 * kModelPx, kNow), 4) << "none has been seen";
  costs.NoteCarry(3 * kModelPx, 6, kNow);
  EXPECT_DOUBLE_EQ(costs.CarryS(3 * kModelPx, kNow), 6);
  EXPECT_DOUBLE_EQ(costs.CarryS(5 * kModelPx, kNow), 8);
  EXPECT_DOUBLE_EQ(costs.CarryS(kModelPx, kNow), 4) << "of the model's size as before";
  costs.NoteCarry(kModelPx, 3, kNow);
  EXPECT_DOUBLE_EQ(costs.CarryS(kModelPx, kNow), 3.9);
  costs.CopyTo(&metadata, kNow);
  EXPECT_DOUBLE_EQ(metadata.carry_cost_s, 3.9);
}

/// As two 64x64 views of a shipped model cost, and two of 640x480: a line through zero would say 3
/// s.
TEST(CarryCosts, OfLargeFramesAreNotThoseOfSmallOnesByPixel) {
  MeasuredCosts costs(FakeMetadata(64, 64), kNow);
  for (int i = 0; i < 20; ++i) costs.NoteCarry(8192, 0.04, kNow);
  for (int i = 0; i < 3; ++i) costs.NoteCarry(614'400, 0.4, kNow);
  EXPECT_NEAR(costs.CarryS(614'400, kNow), 0.4, 0.04);
  for (int i = 0; i < 20; ++i) costs.NoteCarry(8192, 0.04, kNow);
  EXPECT_NEAR(costs.CarryS(614'400, kNow), 0.4, 0.04) << "whatever others send meanwhile";
}

/// Frames of WideSceneCameraRequest have four times the pixels of the model's.
TEST(CarryCosts, AreEstimatedByTheFramesThatWereSent) {
  auto fixture = ServingServer();
  fixture->controls->unit_s = 0.3;
  const auto wide = WideSceneCameraRequest();
  ASSERT_TRUE(Call(fixture.get(), wide).Finish().ok());
  fixture->controls->unit_s = 0;
  // A lift, a step and the carrying; of frames of the model's size neither the first nor the last
  // has cost anything.
  EXPECT_EQ(ReadDetails(Call(fixture.get(), wide, 0.7).Finish()).info.reason(),
            "DEADLINE_TOO_SHORT");
  auto small = MakeRolloutRequest(1);
  AddView(small.mutable_output(), "view", "left");
  const grpc::Status status = Call(fixture.get(), small, 0.7).Finish();
  EXPECT_TRUE(status.ok()) << status.error_message();
}

}  // namespace
}  // namespace interlacer::testing
