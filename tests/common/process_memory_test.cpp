#include "common/process_memory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/temp_folder.h"

namespace interlacer {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

class HostRoomTest : public ::testing::Test {
 protected:
  void Put(const std::string& path, const std::string& text) {
    const std::filesystem::path file = folder_.File("root") + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void PutMachine() {
    Put("/proc/meminfo", "MemTotal:  8388608 kB\nMemFree: 1 kB\nMemAvailable:  4194304 kB\n");
  }
  std::optional<HostRoom> Read() { return ReadHostRoom(folder_.File("root")); }

  const TempFolder folder_;
};

TEST_F(HostRoomTest, WithoutGroupsItIsTheMachines) {
  EXPECT_FALSE(Read().has_value());
  PutMachine();
  ASSERT_TRUE(Read().has_value());
  EXPECT_EQ(Read()->free_bytes, 4096 * kMiB);
  EXPECT_EQ(Read()->total_bytes, 8192 * kMiB);
}

TEST_F(HostRoomTest, TheLeastOfAllGroupsCounts) {
  PutMachine();
  Put("/proc/self/cgroup", "0::/pod/server\n");
  Put("/sys/fs/cgroup/pod/server/memory.max", "max\n");
  Put("/sys/fs/cgroup/pod/server/memory.current", "1048576\n");
  EXPECT_EQ(Read()->free_bytes, 4096 * kMiB);
  Put("/sys/fs/cgroup/pod/memory.max", std::to_string(1024 * kMiB));
  Put("/sys/fs/cgroup/pod/memory.current", std::to_string(900 * kMiB));
  Put("/sys/fs/cgroup/pod/memory.stat", "anon 1\nfile " + std::to_string(200 * kMiB) + "\n");
  EXPECT_EQ(Read()->free_bytes, 324 * kMiB);
  EXPECT_EQ(Read()->total_bytes, 1024 * kMiB);
  // A container sees its own group as the root.
  Put("/proc/self/cgroup", "0::/\n");
  Put("/sys/fs/cgroup/memory.max", std::to_string(512 * kMiB));
  Put("/sys/fs/cgroup/memory.current", std::to_string(600 * kMiB));
  EXPECT_EQ(Read()->free_bytes, 0);
  EXPECT_EQ(Read()->total_bytes, 512 * kMiB);
}

TEST_F(HostRoomTest, GroupsOfTheFirstVersionCountToo) {
  PutMachine();
  Put("/proc/self/cgroup", "5:cpu:/a\n3:memory:/a\n");
  Put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", std::to_string(2048 * kMiB));
  Put("/sys/fs/cgroup/memory/a/memory.usage_in_bytes", std::to_string(48 * kMiB));
  EXPECT_EQ(Read()->free_bytes, 2000 * kMiB);
}

TEST(ProcessMemory, TheHeapGrowsByWhatIsTaken) {
  const auto before = ReadHeapBytes();
  const std::vector<char> taken(32 * kMiB, 1);
  const auto after = ReadHeapBytes();
  if (!before || *after == 0) GTEST_SKIP() << "the heap is not glibc's";
  EXPECT_GE(*after - *before, 32 * kMiB);
  EXPECT_EQ(taken.back(), 1);
}

}  // namespace
}  // namespace interlacer
