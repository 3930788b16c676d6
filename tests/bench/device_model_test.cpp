#include <gtest/gtest.h>

#include <set>
#include <string>

#include "bench/case.h"
#include "bench/device/device_platform.h"
#include "bench/device/model/model_platform.h"
#include "tests/bench/small_options.h"

namespace interlacer::bench {
namespace {

TEST(DeviceModelStages, CasesHaveNamesWithoutADevice) {
  if (DeviceAbsence().empty()) GTEST_SKIP() << "Python's peers would be started";
  Options options = SmallDeviceOptions();
  options.n = options.d = 64;
  options.timesteps = 2;
  const Platform platform = WithModelStages(Platform{});
  std::set<std::string> names;
  for (const Stage& stage : platform.stages) {
    for (const Case& item : stage.make_cases(options)) {
      EXPECT_EQ(item.name.find(std::string(stage.name) + "/cuda/"), 0u) << item.name;
      EXPECT_TRUE(names.insert(item.name).second) << item.name;
    }
  }
  EXPECT_EQ(names.size(), 17u);
}

}  // namespace
}  // namespace interlacer::bench
