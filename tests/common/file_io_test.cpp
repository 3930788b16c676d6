#include "common/file_io.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/temp_folder.h"

namespace interlacer {
namespace {

namespace fs = std::filesystem;

TEST(FileIoTest, WritesWholeFilesAndLeavesNoTemporaries) {
  const TempFolder folder;
  const std::string path = folder.File("a.txt");
  ASSERT_TRUE(WriteFileAtomic(path, std::string_view("one")).ok());
  ASSERT_TRUE(WriteFileAtomic(path, std::string_view("two")).ok());
  EXPECT_EQ(*ReadTextFile(path), "two");
  EXPECT_EQ(*FileSizeBytes(path), 3);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
}

TEST(FileIoTest, EmptyFilesAreFiles) {
  const TempFolder folder;
  ASSERT_TRUE(WriteFileAtomic(folder.File("empty"), std::string_view()).ok());
  EXPECT_TRUE(ReadFileBytes(folder.File("empty"))->empty());
}

TEST(FileIoTest, NamesWhatIsWrong) {
  const TempFolder folder;
  const Status absent = ReadFileBytes(folder.File("absent")).status();
  EXPECT_EQ(absent.code(), StatusCode::kNotFound);
  EXPECT_EQ(absent.field(), folder.File("absent"));
  EXPECT_EQ(ReadFileBytes(folder.path()).status().reason(), "FILE_UNREADABLE");
  EXPECT_EQ(ReadFileBytes("/dev/zero").status().reason(), "FILE_UNREADABLE");
  EXPECT_EQ(WriteFileAtomic(folder.File("no/such/folder"), std::string_view("x")).reason(),
            "FILE_UNWRITABLE");
}

TEST(FileIoTest, LargerThanTheCapIsRefusedBeforeReading) {
  const TempFolder folder;
  const std::string path = folder.File("sparse");
  ASSERT_TRUE(WriteFileAtomic(path, std::string_view("x")).ok());
  fs::resize_file(path, std::uintmax_t{1} << 40);  // a hole of one tebibyte
  const Status status = ReadFileBytes(path, 1 << 20).status();
  EXPECT_EQ(status.reason(), "FILE_UNREADABLE");
  EXPECT_EQ(status.metadata().at("expected"), "at most 1048576 bytes");
}

}  // namespace
}  // namespace interlacer
