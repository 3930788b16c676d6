/// The order in which waiting frames are decoded.

#include "server/calls/decode_pool.h"

#include <gtest/gtest.h>

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
    pool.Post(0, [&] { gate.Pass(); });
    ASSERT_TRUE(gate.WaitForUnit());
    for (const auto& [priority, name] :
         {std::pair{0, "background"}, {1, "normal 1"}, {2, "control"}, {1, "normal 2"}}) {
      pool.Post(priority, [&order, name = std::string(name)] { order.push_back(name); });
    }
    gate.Open();
  }
  EXPECT_EQ(order, (std::vector<std::string>{"control", "normal 1", "normal 2", "background"}));
}

}  // namespace
}  // namespace interlacer::testing
