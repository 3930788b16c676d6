#include "common/output_selection.h"

#include <gtest/gtest.h>

#include <vector>

namespace interlacer {
namespace {

using Indices = std::vector<std::uint32_t>;
using Steps = std::vector<int>;

constexpr int kMaxStep = 8;

TEST(SelectSteps, TakesAllFromOneUnasked) {
  EXPECT_EQ(*SelectSteps({}, true, 3, kMaxStep), (Steps{1, 2, 3}));
  const Status none = SelectSteps({}, false, 0, kMaxStep).status();
  EXPECT_EQ(none.reason(), reason::STEP_INVALID);
  EXPECT_EQ(none.field(), "steps");
}

TEST(SelectSteps, ActionRowsBoundTheStepsOfARobotOnly) {
  EXPECT_EQ(*SelectSteps(Steps{0, 2}, true, 2, kMaxStep), (Steps{0, 2}));
  const Status beyond = SelectSteps(Steps{0, 3}, true, 2, kMaxStep).status();
  EXPECT_EQ(beyond.reason(), reason::STEP_INVALID);
  EXPECT_EQ(beyond.field(), "steps[1]");
  EXPECT_EQ(*SelectSteps(Steps{8}, false, 0, kMaxStep), Steps{8});
}

TEST(SelectSteps, RefusesTheFirstThatIsOutOfOrderOrAboveTheLimit) {
  EXPECT_EQ(SelectSteps(Steps{-1}, true, 2, kMaxStep).status().field(), "steps[0]");
  EXPECT_EQ(SelectSteps(Steps{1, 1, 9}, false, 0, kMaxStep).status().field(), "steps[1]");
  const Status limit = SelectSteps(Steps{1, 9, 2}, true, 2, kMaxStep).status();
  EXPECT_EQ(limit.code(), StatusCode::kOutOfRange);
  EXPECT_EQ(limit.reason(), reason::LIMIT_STEPS);
  EXPECT_EQ(limit.field(), "steps[1]");
  EXPECT_EQ(limit.metadata().at("limit"), "8");
}

TEST(SelectParticles, TakesEveryOneUnasked) {
  EXPECT_EQ(SelectParticles(3, nullptr, {}), (Indices{0, 1, 2}));
  EXPECT_EQ(SelectParticles(0, nullptr, {}), Indices{});
}

TEST(SelectParticles, StridesFromTheFirst) {
  OutputOptions output;
  output.stride = 3;
  EXPECT_EQ(SelectParticles(7, nullptr, output), (Indices{0, 3, 6}));
  output.stride = 0;
  EXPECT_EQ(SelectParticles(2, nullptr, output), (Indices{0, 1}));
}

TEST(SelectParticles, StridesInsideTheRegion) {
  std::vector<float> positions_m;
  for (int i = 0; i < 6; ++i) positions_m.insert(positions_m.end(), {0.1f * i, 0, 0});
  OutputOptions output;
  output.initial_region = Box{{0.05, -1, -1}, {0.45, 1, 1}};
  EXPECT_EQ(SelectParticles(6, positions_m.data(), output), (Indices{1, 2, 3, 4}));
  output.stride = 2;
  EXPECT_EQ(SelectParticles(6, positions_m.data(), output), (Indices{1, 3}));
}

}  // namespace
}  // namespace interlacer
