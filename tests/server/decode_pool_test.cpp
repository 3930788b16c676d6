/// The order in which waiting frames are decoded.

#include "server/calls/decode_pool.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/gate.h"

namespace interlacer::testing {
namespace {

TEST(DecodePoolTest, HigherPrioritiesGoFirstThenFirstCome) {
  std::vector<std::string> order;
  {
    Gate gate;
    gate.Close();
    DecodePool pool(1);
    pool.Post(0, nullptr, [&] { gate.Pass(); });
    ASSERT_TRUE(gate.WaitForUnit());
    for (const auto& [priority, name] :
         {std::pair{0, "background"}, {1, "normal 1"}, {2, "control"}, {1, "normal 2"}}) {
      pool.Post(priority, nullptr, [&order, name = std::string(name)] { order.push_back(name); });
    }
    gate.Open();
  }
  EXPECT_EQ(order, (std::vector<std::string>{"control", "normal 1", "normal 2", "background"}));
}

TEST(DecodePoolTest, RemovedTasksNeverRunAndAreForgotten) {
  std::vector<std::string> order;
  auto held = std::make_shared<int>(0);
  const std::weak_ptr<int> is_held = held;
  {
    Gate gate;
    gate.Close();
    DecodePool pool(1);
    pool.Post(0, nullptr, [&] { gate.Pass(); });
    ASSERT_TRUE(gate.WaitForUnit());
    const int a = 0, b = 0;
    pool.Post(1, &a, [&order, held = std::exchange(held, nullptr)] { order.push_back("a"); });
    pool.Post(1, &b, [&order] { order.push_back("b"); });
    pool.Remove(&a);
    EXPECT_TRUE(is_held.expired()) << "what a task holds goes with it, not when its turn comes";
    gate.Open();
  }
  EXPECT_EQ(order, (std::vector<std::string>{"b"}));
}

TEST(DecodePoolTest, CostsFollowWhatWasMeasured) {
  DecodePool pool(1);
  EXPECT_EQ(pool.CostS(1000), 0);
  pool.NoteCost(100, 2);
  EXPECT_DOUBLE_EQ(pool.CostS(1000), 20);
  for (int i = 0; i < 100; ++i) pool.NoteCost(100, 1);
  EXPECT_NEAR(pool.CostS(1000), 10, 0.01);
}

}  // namespace
}  // namespace interlacer::testing
