#include "common/replaceable_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temp_folder.h"

namespace interlacer {
namespace {

namespace fs = std::filesystem;

class ReplaceFolderTest : public ::testing::Test {
 protected:
  void Make(const std::string& folder, const std::string& file) const {
    fs::create_directories(folder);
    std::ofstream(folder + "/marker.json") << R"({"schema": "interlacer.test"})";
    std::ofstream(folder + "/" + file) << file;
  }
  std::size_t EntryCount() const {
    return std::distance(fs::directory_iterator(root_.path()), fs::directory_iterator());
  }
  const TempFolder root_;
  const std::string fresh_ = root_.File(".out.partial"), path_ = root_.File("out");
};

TEST_F(ReplaceFolderTest, TakesTheNameWhereNothingStands) {
  Make(fresh_, "new");
  EXPECT_TRUE(ReplaceFolder(fresh_, path_, "marker.json").ok());
  EXPECT_TRUE(fs::exists(path_ + "/new"));
  EXPECT_EQ(EntryCount(), 1u);
}

TEST_F(ReplaceFolderTest, RemovesWhatItReplaces) {
  Make(fresh_, "new");
  Make(path_, "old");
  EXPECT_TRUE(ReplaceFolder(fresh_, path_, "marker.json").ok());
  EXPECT_TRUE(fs::exists(path_ + "/new"));
  EXPECT_FALSE(fs::exists(path_ + "/old"));
  EXPECT_EQ(EntryCount(), 1u);
}

TEST_F(ReplaceFolderTest, KeepsFoldersOfOthers) {
  Make(fresh_, "new");
  fs::create_directories(path_);
  std::ofstream(path_ + "/thesis.txt") << "mine";
  EXPECT_EQ(ReplaceFolder(fresh_, path_, "marker.json").reason(), reason::OUTPUT_EXISTS);
  EXPECT_TRUE(fs::exists(path_ + "/thesis.txt"));
  EXPECT_TRUE(fs::exists(fresh_ + "/new"));
}

TEST_F(ReplaceFolderTest, OfALinkOnlyTheLinkGoes) {
  Make(fresh_, "new");
  Make(root_.File("elsewhere"), "old");
  fs::create_directory_symlink(root_.File("elsewhere"), path_);
  EXPECT_TRUE(ReplaceFolder(fresh_, path_, "marker.json").ok());
  EXPECT_TRUE(fs::exists(path_ + "/new"));
  EXPECT_TRUE(fs::exists(root_.File("elsewhere") + "/old"));
}

}  // namespace
}  // namespace interlacer
