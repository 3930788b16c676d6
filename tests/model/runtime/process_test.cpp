/// What PrepareProcess and passive waiting do to a process, and that a program which links the
/// model alone keeps its own settings. The program starts itself again, or the twin that it has for
/// this, as the process looked at.

#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "model/runtime/process_setup.h"
#include "model/runtime/tensor_memory.h"
#include "model/runtime/torch_errors.h"
#include "tests/support/child_process.h"
#include "tests/support/matchers.h"

namespace interlacer::testing {
namespace {

constexpr char kPrepared[] = "--prepared";
constexpr char kUnprepared[] = "--unprepared";
constexpr char kLoader[] = "/lib64/ld-linux-x86-64.so.2";
constexpr std::size_t kLargeBlockBytes = std::size_t{64} << 20;

bool IsLargeBlockMapped() {
  const std::size_t before = mallinfo2().hblkhd;
  // Volatile: a block that nobody looks at is none.
  void* volatile block = std::malloc(kLargeBlockBytes);
  const bool is_mapped = mallinfo2().hblkhd > before;
  std::free(block);
  return is_mapped;
}

int Report(char** argv) {
  const char* policy = std::getenv("OMP_WAIT_POLICY");
  std::printf("pid %d\npolicy %s\nlast argument %s\nlarge blocks %s\n", getpid(),
              policy == nullptr ? "none" : policy, argv[2],
              IsLargeBlockMapped() ? "mapped" : "heap");
  const Status status = CatchTorchErrors([] {
    const at::Tensor tensor = at::empty({3, 5}, at::kFloat);
    std::printf("tensors %s\n",
                tensor.storage().allocator() == TensorMemory() ? "ours" : "torch's");
    at::empty({std::int64_t{1} << 60}, at::kByte);
    return Status();
  });
  std::printf("too large a tensor %s\n", status.reason().c_str());
  return 0;
}

std::string ThisProgram() { return std::filesystem::read_symlink("/proc/self/exe"); }
std::string PreparedProgram() { return ThisProgram() + "_prepared"; }

/// Without the policy that the tests run under; libgomp shows what it has read.
ProcessResult Start(const std::vector<std::string>& command,
                    const std::vector<std::string>& variables = {}) {
  std::vector<std::string> all = {"/usr/bin/env", "-u", "OMP_WAIT_POLICY",
                                  "OMP_DISPLAY_ENV=VERBOSE"};
  all.insert(all.end(), variables.begin(), variables.end());
  all.insert(all.end(), command.begin(), command.end());
  all.emplace_back("the last");
  return ChildProcess(std::move(all)).Wait();
}

/// How often a waiting thread of OpenMP looks before it sleeps, by libgomp's own account: it prints
/// no policy and a passive one alike.
std::string SpinCount(const ProcessResult& result) {
  constexpr std::string_view kName = "GOMP_SPINCOUNT = '";
  const std::size_t at = result.err.find(kName);
  if (at == std::string::npos) return "none";
  const std::size_t begin = at + kName.size();
  return result.err.substr(begin, result.err.find('\'', begin) - begin);
}

int LoadCount(const ProcessResult& result) {
  constexpr std::string_view kMark = "OPENMP DISPLAY ENVIRONMENT BEGIN";
  int count = 0;
  for (std::size_t at = result.err.find(kMark); at != std::string::npos;
       at = result.err.find(kMark, at + 1)) {
    ++count;
  }
  return count;
}

void ExpectLargeBlocks(const ProcessResult& result, const std::string& where) {
#if !defined(__SANITIZE_ADDRESS__)
  EXPECT_THAT(result.out, HasSubstr("large blocks " + where + "\n"));
#endif
}

TEST(ProcessTest, WhoLinksTheModelKeepsItsOwnSettings) {
  const ProcessResult result = Start({ThisProgram(), kUnprepared});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("policy none\n"));
  EXPECT_THAT(result.out, HasSubstr("tensors torch's\n"));
  EXPECT_THAT(result.out, HasSubstr("too large a tensor HOST_MEMORY\n"));
  ExpectLargeBlocks(result, "mapped");
  EXPECT_NE(SpinCount(result), "0");
  EXPECT_EQ(LoadCount(result), 1);
}

TEST(ProcessTest, APreparedProcessWaitsPassivelyKeepsItsMemoryAndLoadsLibrariesOnce) {
  const ProcessResult result = Start({PreparedProgram(), kPrepared});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("policy passive\n"));
  EXPECT_THAT(result.out, HasSubstr("last argument the last\n"));
  EXPECT_THAT(result.out, HasSubstr("tensors ours\n"));
  EXPECT_THAT(result.out, HasSubstr("too large a tensor HOST_MEMORY\n"));
  ExpectLargeBlocks(result, "heap");
  EXPECT_EQ(SpinCount(result), "0");
  EXPECT_EQ(LoadCount(result), 1);
}

TEST(ProcessTest, AReExecutedProcessKeepsItsId) {
  ChildProcess child({"/usr/bin/env", "-u", "OMP_WAIT_POLICY", PreparedProgram(), kPrepared, "x"});
  const std::string id = std::to_string(child.id());
  EXPECT_THAT(child.Wait().out, HasSubstr("pid " + id + "\n"));
}

TEST(ProcessTest, APolicyOfTheUserStays) {
  for (const std::string policy : {"active", "passive"}) {
    const ProcessResult result =
        Start({PreparedProgram(), kPrepared}, {"OMP_WAIT_POLICY=" + policy});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("policy " + policy + "\n"));
    EXPECT_THAT(result.out, HasSubstr("tensors ours\n"));
    EXPECT_EQ(SpinCount(result) == "0", policy == "passive");
    EXPECT_EQ(LoadCount(result), 1);
  }
}

TEST(ProcessTest, StartedThroughTheLoaderItGoesOnAsItIs) {
  if (!std::filesystem::exists(kLoader)) GTEST_SKIP() << kLoader << " is absent";
  const ProcessResult result = Start({kLoader, PreparedProgram(), kPrepared});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("policy none\n"));
  EXPECT_THAT(result.out, HasSubstr("last argument the last\n"));
  EXPECT_THAT(result.out, HasSubstr("tensors ours\n"));
  EXPECT_EQ(LoadCount(result), 1);
}

}  // namespace
}  // namespace interlacer::testing

int main(int argc, char** argv) {
  using namespace interlacer::testing;
  if (argc == 3 && std::string_view(argv[1]) == kPrepared) {
    interlacer::PrepareProcess();
    return Report(argv);
  }
  if (argc == 3 && std::string_view(argv[1]) == kUnprepared) return Report(argv);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
