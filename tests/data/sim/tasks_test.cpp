#include "data/sim/tasks.h"

#include <gtest/gtest.h>

#include <cmath>

namespace interlacer::sim {
namespace {

constexpr double kMaxToolStepM = 0.13;

RandomSequence Draws(std::uint64_t seed) {
  return RandomSequence(seed, RandomStream::kDataGeneration);
}

TEST(TasksTest, UnknownTaskIsRefusedWithTheKnownOnes) {
  const StatusOr<std::unique_ptr<Task>> task =
      MakeTask("juggle", RobotSetup(), Draws(1), ColorSet::kTraining);
  ASSERT_FALSE(task.ok());
  EXPECT_EQ(task.status().field(), "task");
  EXPECT_NE(task.status().message().find("push_block"), std::string::npos);
}

TEST(TasksTest, OneArmCannotSweep) {
  const RobotSetup one_arm{&Panda(), 1};
  const Status task = MakeTask("sweep", one_arm, Draws(1), ColorSet::kTraining).status();
  EXPECT_EQ(task.field(), "arms");
  EXPECT_NE(task.message().find("sweep"), std::string::npos);
  EXPECT_TRUE(MakeTask("push_block", one_arm, Draws(1), ColorSet::kTraining).ok());
}

TEST(TasksTest, PushBlockMovesBothToolsEvenly) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::unique_ptr<Task> task =
        *MakeTask("push_block", RobotSetup(), Draws(seed), ColorSet::kTraining);
    Scene scene;
    ToolTargets tool = task->Prepare(scene);
    ASSERT_EQ(scene.objects.size(), 1u);
    EXPECT_NE(task->Text().find("block"), std::string::npos);
    std::vector<Transform> poses = {scene.objects.front().world_from_object};
    for (int step = 0; step < 24; ++step) {
      const ToolTargets next = task->Next(poses);
      for (int arm = 0; arm < kMaxArmCount; ++arm) {
        const Vec3d& a = tool[arm].position_m;
        const Vec3d& b = next[arm].position_m;
        EXPECT_LT(std::hypot(b[0] - a[0], b[1] - a[1], b[2] - a[2]), kMaxToolStepM);
        EXPECT_GT(next[arm].position_m[2], 0.01);
        EXPECT_LE(std::abs(next[arm].yaw_rad), std::acos(0.0) + 1e-9);
      }
      tool = next;
    }
  }
}

TEST(TasksTest, PushBlockSucceedsOnlyWhenTheBlockMovedAndStands) {
  std::unique_ptr<Task> task = *MakeTask("push_block", RobotSetup(), Draws(3), ColorSet::kTraining);
  const Transform start = {{0, 0, 0.04}, {0, 0, 0, 1}};
  const Transform moved = {{0.2, 0, 0.04}, {0, 0, 0, 1}};
  const Transform fallen = {{0.2, 0, 0.04}, {std::sqrt(0.5), 0, 0, std::sqrt(0.5)}};
  const Transform beside_the_table = {{0.2, 0.9, 0.04}, {0, 0, 0, 1}};
  EXPECT_TRUE(task->Succeeded({{start}, {moved}}));
  EXPECT_FALSE(task->Succeeded({{start}, {start}}));
  EXPECT_FALSE(task->Succeeded({{start}, {fallen}}));
  EXPECT_FALSE(task->Succeeded({{start}, {beside_the_table}}));
}

}  // namespace
}  // namespace interlacer::sim
