#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <set>
#include <string>

#include "tests/build/parts.h"

namespace interlacer {
namespace {

/// Paths of the OpenMP runtimes mapped into this process, whatever vendor they come from.
std::set<std::string> LoadedOpenMpRuntimes() {
  std::set<std::string> runtimes;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t slash = line.find('/');
    if (slash == std::string::npos) continue;
    const std::string path = line.substr(slash);
    for (const char* name : {"/libgomp", "/libomp", "/libiomp"}) {
      if (path.find(name) != std::string::npos) runtimes.insert(path);
    }
  }
  return runtimes;
}

TEST(OneProcessTest, TorchGrpcFaissAndOpen3dWorkTogether) {
  EXPECT_DOUBLE_EQ(one_process::TorchGradientOfSquareAtThree(), 6.0);
  EXPECT_EQ(one_process::GrpcStreamedMessages(5), 5);
  EXPECT_EQ(one_process::FaissNearestToSeven(), 7);
  const std::string path =
      ::testing::TempDir() + "one_process_test." + std::to_string(getpid()) + ".ply";
  EXPECT_EQ(one_process::Open3dPointsReadBack(path.c_str(), 4), 4);
  // Once more, now that every library has started its threads.
  EXPECT_DOUBLE_EQ(one_process::TorchGradientOfSquareAtThree(), 6.0);

  const std::set<std::string> runtimes = LoadedOpenMpRuntimes();
  for (const std::string& runtime : runtimes) std::cout << "OpenMP runtime: " << runtime << '\n';
  EXPECT_THAT(runtimes, ::testing::SizeIs(1));
}

}  // namespace
}  // namespace interlacer
