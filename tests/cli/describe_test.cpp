#include "cli/describe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace interlacer::cli {
namespace {

std::string CostOf(const ModelMetadata& metadata) {
  const TextRows rows = ToRows(metadata);
  const auto cost =
      std::find_if(rows.begin(), rows.end(), [](const auto& row) { return row.first == "cost"; });
  return cost == rows.end() ? "" : cost->second;
}

TEST(ModelRows, EachCostHasItsName) {
  ModelMetadata metadata;
  EXPECT_EQ(CostOf(metadata), "not measured (a server measures it)");
  metadata.ingest_cost_s = 0.25;
  metadata.step_cost_s = 0.5;
  metadata.carry_cost_s = 0.125;
  metadata.render_cost_s = 5.5;
  metadata.longest_unit_s = 0.75;
  EXPECT_EQ(CostOf(metadata),
            "lift 0.250 s, step 0.500 s, carry 0.125 s, 320x240 field view 5.500 s, "
            "longest unit 0.750 s");
}

}  // namespace
}  // namespace interlacer::cli
