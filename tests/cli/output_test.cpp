#include "cli/output.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "common/file_io.h"
#include "tests/support/matchers.h"
#include "tests/support/must.h"

namespace interlacer::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kMarker[] = "prediction.json";

class OutputFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ =
        fs::path(::testing::TempDir()) /
        (std::string("output_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }
  std::string Target() const { return (root_ / "result").string(); }

  fs::path root_;
};

// fm-37
TEST_F(OutputFolderTest, NothingIsSeenBeforeCommit) {
  auto folder = Must(OutputFolder::Create(Target(), kMarker, false));
  ASSERT_TRUE(WriteFileAtomic(*folder.FilePath("views/left/a.txt"), "x").ok());
  EXPECT_FALSE(fs::exists(Target()));
  ASSERT_TRUE(folder.Commit().ok());
  EXPECT_TRUE(fs::exists(fs::path(Target()) / "views/left/a.txt"));
  EXPECT_EQ(std::distance(fs::directory_iterator(root_), fs::directory_iterator()), 1);
}

TEST_F(OutputFolderTest, AnAbandonedFolderIsRemoved) {
  { ASSERT_TRUE(OutputFolder::Create(Target() + "/", kMarker, false).ok()); }
  EXPECT_TRUE(fs::is_empty(root_));
}

// fm-37
TEST_F(OutputFolderTest, ExistingOutputNeedsForceAndStaysUntilCommit) {
  fs::create_directories(Target());
  std::ofstream(fs::path(Target()) / "old.txt") << "old";
  std::ofstream(fs::path(Target()) / kMarker) << R"({"schema": "interlacer.prediction"})";
  EXPECT_EQ(OutputFolder::Create(Target(), kMarker, false).status().reason(),
            reason::OUTPUT_EXISTS);
  auto folder = Must(OutputFolder::Create(Target(), kMarker, true));
  EXPECT_TRUE(fs::exists(fs::path(Target()) / "old.txt"));
  ASSERT_TRUE(folder.Commit().ok());
  EXPECT_FALSE(fs::exists(fs::path(Target()) / "old.txt"));
}

TEST_F(OutputFolderTest, ForceKeepsFoldersOfOthers) {
  fs::create_directories(Target());
  std::ofstream(fs::path(Target()) / "thesis.txt") << "mine";
  for (const char* marker :
       {"", "{}", "[1]", "no json", R"({"schema": 3})", R"({"schema": "other.prediction"})"}) {
    if (*marker != 0) std::ofstream(fs::path(Target()) / kMarker) << marker;
    EXPECT_EQ(OutputFolder::Create(Target(), kMarker, true).status().reason(),
              reason::OUTPUT_EXISTS)
        << marker;
  }
  EXPECT_TRUE(fs::exists(fs::path(Target()) / "thesis.txt"));
  const std::string file = (root_ / "file").string();
  std::ofstream(file) << "mine";
  EXPECT_FALSE(OutputFolder::Create(file, kMarker, true).ok());
  fs::remove_all(Target());
  fs::create_directories(Target());
  EXPECT_TRUE(OutputFolder::Create(Target(), kMarker, true).ok());  // empty
}

// fm-37
TEST_F(OutputFolderTest, ForceKeepsTheInputs) {
  const fs::path input = fs::path(Target()) / "models/arm.urdf";
  fs::create_directories(input.parent_path());
  std::ofstream(fs::path(Target()) / kMarker) << R"({"schema": "interlacer.robot"})";
  std::ofstream(input) << "mine";
  const std::string beside = Target() + "_of_another";
  for (const std::string& path : {Target(), Target() + "/", input.parent_path().string()}) {
    const Status refused =
        OutputFolder::Create(path, kMarker, true, {"", beside, input.string()}).status();
    EXPECT_EQ(refused.reason(), reason::ARGUMENT_INVALID) << path;
    EXPECT_THAT(refused.message(), HasSubstr(input.string()));
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(root_), fs::directory_iterator()), 1);
  EXPECT_TRUE(OutputFolder::Create(Target(), kMarker, true, {"", beside, root_.string()}).ok());
}

TEST_F(OutputFolderTest, RefusesPathsThatAreNoNewFolder) {
  for (const char* path : {".", "/", "..", ""}) {
    EXPECT_FALSE(OutputFolder::Create(path, kMarker, true).ok()) << path;
  }
}

}  // namespace
}  // namespace interlacer::cli
